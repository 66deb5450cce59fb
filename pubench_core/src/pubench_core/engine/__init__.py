"""One run, in modules named after its steps; :mod:`~pubench_core.engine.execute` calls them."""

"""Imported before any test: the folders ``pubench_core/`` and ``pubench_cli/`` have the names of the packages in them,
and pytest, which names a test module by its folders, must not take the folder for the package.
"""

import pubench_cli
import pubench_core

__all__ = ["pubench_cli", "pubench_core"]

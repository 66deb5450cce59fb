"""``pubench advise``: from a table without negatives to an answer.

``look``, ``labeling``, ``prior``, ``fitting`` (with ``portfolio`` and ``fits``), ``evidence``, ``choose`` and
``facts`` are the steps, ``advise`` carries them out, ``page`` shows them.
"""

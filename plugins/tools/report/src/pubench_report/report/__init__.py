"""``pubench study report``: tables, tests, figures and one HTML page of finished runs. No torch, nothing is trained.

``gather`` reads runs, ``model`` makes cells of them and tests them, ``tables`` shows them, ``write`` makes files.
"""

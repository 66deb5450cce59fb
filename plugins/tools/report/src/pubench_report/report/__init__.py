"""``pubench study report``: tables, tests, figures and one HTML page of finished runs. No torch.

Nothing is trained.

``gather`` reads runs, ``model`` makes cells of them and tests them, ``tables`` shows them, ``figures`` draws them,
``write`` makes files.
"""

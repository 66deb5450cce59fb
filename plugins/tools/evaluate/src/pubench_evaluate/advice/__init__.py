"""``pubench advise``: from a table without negatives to an answer.

``look`` checks the table, ``fits`` scores its rows, ``choice`` compares methods by checked rows, ``advise`` carries the
steps out and ``page`` shows the answer.
"""

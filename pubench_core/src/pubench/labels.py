"""Labels as scikit-learn's users write them: which of two values means labeled positive, and of which rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

BoolArray = npt.NDArray[np.bool_]


def positive_label(values: npt.NDArray[Any], pos_label: Any = None) -> Any:
    """The one of the values of ``y`` that means labeled positive; the other means unlabeled.

    Raises ValueError unless they are 1 and 0, 1 and -1, True and False, or two of which ``pos_label`` is one.
    """
    found = np.unique(values)
    shown = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
    if len(found) == 1:
        raise ValueError(f"y has 1 class ({shown}); PU learning needs labeled positives and unlabeled rows")
    if len(found) > 2:
        raise ValueError(
            f"Only binary classification is supported. Unknown label type: y has the values {shown}; expected two, "
            "labeled positive and unlabeled"
        )
    if pos_label is not None:
        if not (found == pos_label).any():
            raise ValueError(f"pos_label={pos_label!r} is no value of y, which has the values {shown}")
        return found[found == pos_label][0]
    if not (found.dtype.kind in "biuf" and found[1] == 1 and found[0] in (0, -1)):
        raise ValueError(
            f"y has the values {shown}; expected 1 and 0, 1 and -1, True and False, or pos_label says which means "
            "labeled positive"
        )
    return found[1]


def labeled_rows(y: Any, pos_label: Any = None) -> BoolArray:
    """(n,) True where ``y`` says labeled positive. Raises ValueError as :func:`positive_label` does."""
    from sklearn.utils import column_or_1d

    values = column_or_1d(y)
    return np.asarray(values == positive_label(values, pos_label), dtype=bool)


def refuse_other_rows(x: Any, given: Any, names: tuple[str, str], *, by_position: bool = False) -> None:
    """RequestError where both name their rows, as the index of pandas does, and do so in other words or orders.

    ``names``: what ``x`` and ``given`` are called. ``by_position``: other words are no reason, as scikit-learn, whose
    steps may number rows again, goes by position; the same words in another order are one.
    """
    of_pandas = hasattr(x, "iloc") and hasattr(given, "iloc")  # pandas is not loaded for arrays
    if not of_pandas or len(x) != len(given) or x.index.equals(given.index):
        return
    if by_position and not _same_names(x.index, given.index):
        return
    of, what = names
    raise RequestError(
        f"{what}: its index is not that of {of}, so that rows may be other rows; give {of} and {what} with one index "
        f"({what}.loc[{of}.index]), or {what}.to_numpy() where they go by position",
        field=what,
    )


def _same_names(one: Any, other: Any) -> bool:
    """Whether both name the same rows, each once, in whatever order."""
    return bool(one.is_unique and other.is_unique and one.isin(other).all())

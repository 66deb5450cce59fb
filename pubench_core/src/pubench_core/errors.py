"""What can go wrong, sorted by whose turn it is.

The command line turns these into one line on stderr and an exit code; a Python caller catches them by class.
Anything else that is raised is a defect of pubench or of a plugin and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any


class PubenchError(Exception):
    """Base of every error whose message is written for the user: what was given, what is right, what to do."""

    exit_code = 1


class RequestError(PubenchError):
    """The request cannot be carried out as it stands (unknown key, value out of bounds, missing files)."""

    exit_code = 2


class PluginError(PubenchError):
    """A plugin that was asked for cannot be used: it fails to import, or breaks the contract."""


class RecordError(PubenchError):
    """A record could not be written or read (disk full, permissions, damaged file).

    ``result`` is what a finished run would have recorded: it can still be shown, and must be.
    """

    result: Mapping[str, Any] | None = None


class RunFailed(PubenchError):
    """A run that started and did not finish.

    ``stage``, ``epoch`` and ``batch`` say where (epoch and batch count from 1; ``None`` where not reached).
    """

    def __init__(
        self, reason: str, *, stage: str | None = None, epoch: int | None = None, batch: int | None = None
    ) -> None:
        self.reason, self.stage, self.epoch, self.batch = reason, stage, epoch, batch
        places = [
            f"{name} {value}"
            for name, value in (("stage", stage), ("epoch", epoch), ("batch", batch))
            if value is not None
        ]
        super().__init__(f"{reason} ({', '.join(places)})" if places else reason)


class Undefined(Exception):
    """A metric has no value on the data it was given; the text says why. Never a number, never NaN."""


def unknown(kind: str, given: str, known: Iterable[str], *, listing: str = "") -> RequestError:
    """The error for a name that does not exist, with the nearest spelling that does.

    >>> str(unknown("method", "nnpuu", ["nnpu", "upu"], listing="pubench list methods"))
    "unknown method 'nnpuu'; did you mean 'nnpu'? (pubench list methods)"
    """
    names = sorted(known)
    near = get_close_matches(given.lower(), names, n=1, cutoff=0.5)
    everything = f"known: {', '.join(names)}" if names else "none is installed"
    hint = f"did you mean '{near[0]}'?" if near else everything
    return RequestError(f"unknown {kind} '{given}'; {hint}" + (f" ({listing})" if listing else ""))

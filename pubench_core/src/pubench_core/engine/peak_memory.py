"""Peak memory of one run: resident on the CPU, allocated on a GPU; reset when the run starts."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import torch

from ..results import PeakMemory

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class PeakMemoryMeter:
    """Starts measuring when created."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._resettable = False
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        elif _CLEAR.exists():
            try:
                _CLEAR.write_text("5")  # resets the high-water mark of resident memory (Linux, proc(5))
                self._resettable = True
            except OSError:
                pass  # not permitted in this container: the peak since the process started is reported, as such

    def read(self) -> PeakMemory:
        """The peak since this object was made."""
        if self._device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(self._device)
            return PeakMemory(bytes=peak, what="peak allocated on the GPU")
        if self._resettable:
            line = next(row for row in _STATUS.read_text().splitlines() if row.startswith("VmHWM:"))
            return PeakMemory(bytes=int(line.split()[1]) * 1024, what="peak resident during the run")
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return PeakMemory(bytes=peak, what="peak resident since the process started")

"""What the page shows in numbers: how far a run is, and the last line of its series."""

from __future__ import annotations

import time as clock
from collections import deque
from typing import TYPE_CHECKING, Any

from pdem.foundation.errors import PdemError
from pdem.output.series import TABLE
from pdem.output.storage import HDF5_ERRORS
from pdem.output.summary import duration, quantity
from pdem.simulation.results import Results

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.simulation.results import SeriesTable

LOG_LINES = 12
"""Lines of the log that are shown."""

_READINGS = 20
_COUNTS = ("step", "particles", "detections", "stage")


class RunState:
    """State of the run in a folder, as often as somebody asks.

    Parameters
    ----------
    folder : Path
        Output folder of a run, which may have yet to begin.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._readings: deque[tuple[float, float]] = deque(maxlen=_READINGS)

    def read(self) -> dict[str, Any]:
        """Return the state as a dictionary for JSON; files that are just being written leave it at what it can say."""
        try:
            results = Results(self.folder)
            series, case = results.series, results.case
        except (PdemError, *HDF5_ERRORS) as error:
            return {"status": "waiting", "reason": str(error), "folder": str(self.folder)}
        if not len(series):
            return {"status": "waiting", "reason": "the series has no line yet", "folder": str(self.folder)}
        return {
            "title": case.title or self.folder.name,
            "folder": str(self.folder),
            "lines": len(series),
            "numbers": _numbers(series),
            "columns": [name for name in series.names if name not in ("time", "step")],
            "log": _log_of(results),
            **self._progress(series, case.time.end),
        }

    def _progress(self, series: SeriesTable, end: float) -> dict[str, Any]:
        """Return time, share, speed and what is left."""
        time, step = float(series["time"][-1]), int(series["step"][-1])
        if not self._readings or self._readings[-1][1] != time:
            self._readings.append((clock.monotonic(), time))
        finished = time >= end - (time / step if step else 0.0)
        speed = self._speed()
        left = (end - time) / speed if speed > 0.0 and not finished else None
        return {
            "status": "finished" if finished else "running",
            "time": time,
            "end": end,
            "share": min(1.0, time / end),
            "speed": speed,
            "left": None if left is None else duration(left),
            "age": duration(max(0.0, clock.time() - (self.folder / f"{TABLE}.h5").stat().st_mtime)),
            "rate": quantity(float(series["particle_steps_per_second"][-1])),
        }

    def _speed(self) -> float:
        """Return simulated seconds per second, over the last lines that this process has seen come."""
        if len(self._readings) < 2:
            return 0.0
        (first, begin), (last, end) = self._readings[0], self._readings[-1]
        return max(0.0, (end - begin) / (last - first)) if last > first else 0.0


def _numbers(series: SeriesTable) -> list[dict[str, str]]:
    """Return name, value and unit of every column of the last line."""
    rows = []
    for name in series.names:
        value = series[name][-1]
        text = f"{int(value):,}" if name in _COUNTS else f"{value:.6g}"
        rows.append({"name": name, "value": text, "unit": series.units.get(name, "1")})
    return rows


def _log_of(results: Results) -> str:
    """Return the last lines of the log."""
    try:
        return "\n".join(results.log.rstrip().splitlines()[-LOG_LINES:])
    except OSError:
        return ""

"""Numbers of the page: progress of a run, and the last line of its series."""

from __future__ import annotations

import time as clock
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.foundation.errors import PdemError
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.run_status import COMPILING, FAILED, FINISHED, READY, RUNNING, STOPPED, read_status
from pdem.output.series import TABLE
from pdem.output.storage import HDF5_ERRORS
from pdem.output.summary import counted, duration, quantity
from pdem.run.reading.results import Results
from pdem.watch.columns import first_column, groups_of, texts_of

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.output.run_status import RunStatus
    from pdem.run.reading.results import SeriesTable

LOG_LINES = 12
"""Number of log lines on the page."""

_READINGS = 20
_COUNTS = ("step", "particles", "detections", "stage")
_NOT_PLOTTED = ("time", "step")


WAITING, KILLED = "waiting", "killed"
"""Names of phases: no run has started yet; the process of a run ended without a message."""


class RunState:
    """State of the run in a folder, read at each request.

    Parameters
    ----------
    folder : Path
        Output folder of a run, which may not have started.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._readings: deque[tuple[float, float]] = deque(maxlen=_READINGS)

    def read(self) -> dict[str, Any]:
        """Return the state as a dictionary for JSON; files that cannot be read at this moment leave parts of it out."""
        status = read_status(self.folder)
        try:
            results = Results(self.folder)
            series, case, log = results.series, results.case, _log_of(results)
            reason = "" if len(series) else "the series has no line yet"
        except (PdemError, *HDF5_ERRORS) as error:
            series, reason = None, _in_short(error, self.folder)
        if series is None or reason:
            phase = phase_of(self.folder, status, None, reason)
            return {"status": phase.name, "sentence": phase.text, "folder": str(self.folder)}
        return {
            "title": case.title or self.folder.name,
            "folder": str(self.folder),
            "lines": len(series),
            "groups": _groups(series, case),
            "default": first_column(series.names, case),
            "log": "\n".join(log.splitlines()[-LOG_LINES:]),
            **self._progress(series, case, status, log),
        }

    def _progress(self, series: SeriesTable, case: Case, status: RunStatus | None, log: str) -> dict[str, Any]:
        """Return time, share, speed, remaining time, and a sentence with all of these."""
        time, end = float(series["time"][-1]), self._end(case, status)
        step = int(series["step"][-1])
        complete = time >= end - (time / step if step else 0.0) or _has_report(log)
        phase = phase_of(self.folder, status, Reached(time, end, complete))
        speed = self._speed(time)
        left = max(end - time, 0.0) / speed if phase.name == RUNNING and speed > 0.0 else None
        share = 1.0 if phase.name == FINISHED else min(1.0, time / end)
        age = max(0.0, clock.time() - (self.folder / f"{TABLE}.h5").stat().st_mtime)
        found = {
            "status": phase.name, "time": time, "end": end, "share": share, "speed": speed,
            "left": None if left is None else duration(left), "age": duration(age),
            "rate": quantity(float(series["particle_steps_per_second"][-1])), "stage": _stage(series, case),
        }  # fmt: skip
        return {**found, "sentence": _sentence(phase.text, found, at_most=_may_end_early(case))}

    def _end(self, case: Case, status: RunStatus | None) -> float:
        """Return the latest time at which the run ends [s], according to the last run that wrote into the folder."""
        return status.end if status is not None and status.end > 0.0 else case.time.end

    def _speed(self, time: float) -> float:
        """Return simulated seconds per second, over the last lines that arrived while this process was watching."""
        if self._readings and time < self._readings[-1][1]:
            self._readings.clear()  # a restart from an earlier checkpoint
        if not self._readings or self._readings[-1][1] != time:
            self._readings.append((clock.monotonic(), time))
        if len(self._readings) < 2:
            return 0.0
        (first, begin), (last, end) = self._readings[0], self._readings[-1]
        return max(0.0, (end - begin) / (last - first)) if last > first else 0.0


def _sentence(text: str, found: dict[str, Any], *, at_most: bool) -> str:
    """Return the sentence below the progress bar."""
    if found["status"] != RUNNING:
        return text
    parts = [f"{100.0 * found['share']:.1f} %", text]
    parts += [found["stage"]] if found["stage"] else []
    parts.append(f"{found['rate']} particle-steps/s")
    if found["left"] is not None:
        parts.append(f"left {'at most ' if at_most else ''}{found['left']}")
    return ", ".join([*parts, f"last line {found['age']} ago"])


def _stage(series: SeriesTable, case: Case) -> str:
    """Return the present stage in words, empty without stages."""
    present = int(series["stage"][-1]) if "stage" in series.names else -1
    if not 0 <= present < len(case.stages):
        return ""
    return f"stage {case.stages[present].name} ({present + 1} of {len(case.stages)})"


def _may_end_early(case: Case) -> bool:
    """Return whether the last stage may end the run before its end time."""
    return bool(case.stages) and (case.stages[-1].until is not None or case.stages[-1].end is not None)


def _groups(series: SeriesTable, case: Case) -> list[dict[str, Any]]:
    """Return the columns of the last line by group: name, value, unit, meaning, and whether the page may plot them."""
    texts, rows = texts_of(series.names, case), dict[str, list[dict[str, Any]]]()
    for name in series.names:
        value, unit = series[name][-1], series.units.get(name, "1")
        text = f"{int(value):,}" if name in _COUNTS else f"{value:.6g}"
        row = {"name": name, "value": text, "unit": unit, "meaning": texts[name].meaning}
        rows.setdefault(texts[name].group, []).append({**row, "plotted": name not in _NOT_PLOTTED})
    return [{"name": group, "columns": rows[group]} for group in groups_of(case) if group in rows]


def _has_report(log: str) -> bool:
    """Return whether a log ends with the final report of a run."""
    last = log.rstrip().rpartition("\n")[2]
    return last.startswith("results in ")


def _log_of(results: Results) -> str:
    try:
        return results.log.rstrip()
    except OSError:
        return ""


def _in_short(error: BaseException, folder: Path) -> str:
    """Return a short reason why the page has no data yet."""
    if not folder.is_dir():
        return f"{folder} does not exist; the page shows the run when it has begun"
    return str(error)


class Reached(NamedTuple):
    """Progress of the series of a run.

    Attributes
    ----------
    time, end : float
        Simulated time of the last line, and latest end of the run [s].
    is_complete : bool
        Whether this is the final line of the run, judged by its times and log.
    """

    time: float
    end: float
    is_complete: bool

    def __str__(self) -> str:
        return f"{self.time:.5g} of {self.end:g} s"


class Phase(NamedTuple):
    """Name of a phase, and a sentence about it; for a run in progress, the text before its speed."""

    name: str
    text: str


def phase_of(folder: Path, status: RunStatus | None, reached: Reached | None, reason: str = "") -> Phase:
    """Return the phase of the run in a folder.

    Parameters
    ----------
    folder : Path
        The output folder.
    status : RunStatus or None
        The status file of the run; None for runs of earlier versions, and for scripts.
    reached : Reached or None
        Progress of the series, None without a series.
    reason : str
        Why the run has no series.
    """
    if status is not None and status.goes_on and status.is_alive is False:
        return _gone(folder, status, reached)
    if status is not None and status.state in (COMPILING, READY):
        return Phase(status.state, _before_first_step(status))
    if status is not None and status.state in (FINISHED, STOPPED, FAILED):
        return _ended(status, reached)
    if reached is None:
        return Phase(RUNNING if status is not None else WAITING, f"nothing to show yet: {reason}")
    if status is None and reached.is_complete:
        return Phase(FINISHED, f"finished at {reached}")
    begun = "" if status is None else _continued(status)
    where = f"on {status.host}" if status is not None and not status.is_here else ""
    return Phase(RUNNING, ", ".join(one for one in (str(reached), begun, where) if one))


def _continued(status: RunStatus) -> str:
    """Return the time from which a run was continued, with the number of restarts if there were several."""
    again = f", restart {status.starts - 1}" if status.starts > 2 else ""
    return f"continued from {status.begin:.5g} s{again}" if status.begin > 0.0 else ""


def _before_first_step(status: RunStatus) -> str:
    if status.state == READY:
        return "kernels are ready, the first step is next"
    so_far = duration(clock.time() - status.since)
    if status.kernels < 1:
        return f"compiling the first kernels, for {so_far} so far"
    return f"compiling kernels, {status.kernels:,} so far, for {so_far}"


def _ended(status: RunStatus, reached: Reached | None) -> Phase:
    at = "" if reached is None else f" at {reached}"
    return Phase(status.state, f"{status.state}{at}{f': {status.detail}' if status.detail else ''}")


def _gone(folder: Path, status: RunStatus, reached: Reached | None) -> Phase:
    """Return the phase of a run with a process that ended without a message."""
    process = f"its process {status.process} is gone, and has not said why (killed, or out of memory)"
    if status.state in (COMPILING, READY):
        return Phase(KILLED, f"ended before the first step: {process}; start it again, compiled kernels are kept")
    at = "" if reached is None else f" at {reached}"
    many = len(CheckpointFolder(folder).paths())
    if not many:
        return Phase(KILLED, f"ended{at}: {process}; there is no checkpoint, start it again")
    remedy = f"pdem restart {folder} goes on from the last of {counted(many, 'checkpoint')}"
    return Phase(KILLED, f"ended{at}: {process}; {remedy}")

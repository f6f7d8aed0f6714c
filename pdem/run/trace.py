"""Trace of the phases of every rank, step by step: a file for viewers of Chrome traces (Perfetto, chrome://tracing).

Each rank is a process of the trace. Its events are steps, and within them the phases of the final report, one event per
reading of the stopwatch. Only the first steps of a run are recorded, and only on request.
"""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import wait_for_all
from pdem.engine.phases import Phases, parts_of
from pdem.foundation.errors import BlowUpError, InputError, Interrupted
from pdem.foundation.files import write_file
from pdem.foundation.version import VERSION
from pdem.output.log import logger
from pdem.output.saving import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.engine.protocol import Engine
    from pdem.engine.system import System

    Columns = Mapping[str, NDArray[Any]]

BETWEEN_STEPS = "output"
"""The phase between steps."""

_LONGEST_NAME = 32
_ROUNDS = 51


class TracedPhases(Phases):
    """A stopwatch that also records its readings.

    Parameters
    ----------
    earlier : Phases
        Stopwatch with the times to continue.
    system : System
        System that provides the step number.

    Attributes
    ----------
    readings : list of (str, float, float, int)
        Phase, begin and end by the clock [s], step.
    """

    records_steps = True

    def __init__(self, earlier: Phases, system: System) -> None:
        super().__init__(earlier)
        self.readings: list[tuple[str, float, float, int]] = []
        self._system = system

    def lap(self, phase: str) -> None:
        """Add the time since the last reading to `phase`, and record it."""
        begin = self._last
        super().lap(phase)
        self.readings.append((phase, begin, self._last, self._system.progress.step))

    def divide(self, shares: Mapping[str, int]) -> None:
        """Distribute the time since the last reading over several phases, and record them one after the other."""
        begin = self._last
        super().divide(shares)
        spent = self._last - begin
        for phase, part in parts_of(shares).items():
            end = begin + spent * part
            self.readings.append((phase, begin, end, self._system.progress.step))
            begin = end


class Trace:
    """The trace of a run, written to one file.

    Parameters
    ----------
    path : path
        File to write, by rank 0.
    steps : int
        Number of steps to record, from the first step of the run on.
    """

    def __init__(self, path: str | Path, steps: int) -> None:
        self.path = Path(path)
        self.steps = steps
        self._last = 0
        self._origin = 0.0
        self._phases: TracedPhases | None = None

    def check(self) -> None:
        """Check that the file can be written, before a long run.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        try:
            self.path.touch()
        except OSError as error:
            raise InputError(f"{self.path}: the trace cannot be written ({reason(error)}); name another file") from None

    @contextmanager
    def recording(self, simulation: Engine) -> Iterator[None]:
        """Record a run in this context, and write the file however the run ends. Collective.

        If a single rank fails, it writes a separate file with its own records.
        """
        self._begin(simulation)
        try:
            yield
        except (BlowUpError, Interrupted):  # raised on all ranks together
            self.end(simulation)
            raise
        except BaseException:
            self._write_own_records(simulation)
            raise
        self.end(simulation)

    def next_stop(self, step: int) -> int:
        """Return `step`, or the last recorded step if that is earlier."""
        return step if self._phases is None else min(step, self._last)

    def end_if_due(self, simulation: Engine) -> None:
        """Write the file after the last recorded step. Collective."""
        if simulation.step >= self._last:
            self.end(simulation)

    def end(self, simulation: Engine) -> None:
        """Stop recording and write the file, unless already done. Collective."""
        own = self._stop(simulation)
        if own is None:
            return
        exchange = simulation.system.exchange
        joined = exchange.collect(own)
        if joined is not None:
            self._write(self.path, joined)
        wait_for_all(exchange)  # otherwise a rank could end the run before the file is written

    def _begin(self, simulation: Engine) -> None:
        exchange = simulation.system.exchange
        self._last = simulation.step + self.steps
        self._phases = TracedPhases(simulation.phases, simulation.system)
        simulation.phases = self._phases
        offset = _clock_offset(exchange)
        self._origin = float(exchange.share(time.perf_counter())) + offset
        self._phases.start()

    def _write_own_records(self, simulation: Engine) -> None:
        own, rank = self._stop(simulation), simulation.system.exchange.rank
        if own is not None:
            name = f"{self.path.stem}.rank{rank}{self.path.suffix}" if rank else self.path.name
            self._write(self.path.with_name(name), own)

    def _stop(self, simulation: Engine) -> dict[str, NDArray[Any]] | None:
        """Stop recording and return the records of this rank; None if recording had stopped before."""
        if self._phases is None:
            return None
        readings, simulation.phases, self._phases = self._phases.readings, Phases(self._phases), None
        clock = [(begin - self._origin, end - self._origin) for _, begin, end, _ in readings]
        return {
            "phase": np.array([reading[0] for reading in readings], f"S{_LONGEST_NAME}"),
            "clock": np.rint(1e9 * np.array(clock, np.float64).reshape(-1, 2)).astype(np.int64),
            "step": np.array([reading[3] for reading in readings], np.int64),
            "rank": np.full(len(readings), simulation.system.exchange.rank),
        }

    def _write(self, path: Path, columns: Columns) -> None:
        document = {"displayTimeUnit": "ms", "otherData": {"pdem": VERSION}, "traceEvents": events_of(columns)}
        try:
            write_file(path, json.dumps(document, separators=(",", ":")) + "\n")
        except OSError as error:  # the run is more important than its trace
            logger.warning("%s: the trace cannot be written (%s)", path, reason(error))


def _clock_offset(exchange: Exchange) -> float:
    """Return the clock of this rank minus the clock of rank 0 [s]. Collective.

    All ranks leave a barrier at about the same time; the median over many barriers is robust against delays of a rank.
    """
    times = []
    for _ in range(_ROUNDS):
        wait_for_all(exchange)
        times.append(time.perf_counter())
    return float(np.median(np.subtract(times, exchange.share(times))))


def events_of(columns: Columns) -> list[dict[str, Any]]:
    """Return the events of a trace: the name of each rank, its steps, and their phases.

    Parameters
    ----------
    columns : mapping of ndarray
        One entry per reading, for each rank in order of time: ``phase`` (bytes), ``clock`` (n, 2) with begin and end
        since the start of the trace [ns], ``step``, ``rank``.
    """
    events: list[dict[str, Any]] = []
    rank, step, clock = (columns[name] for name in ("rank", "step", "clock"))
    inside = columns["phase"] != BETWEEN_STEPS.encode()
    for one in np.unique(rank).tolist():
        events += _names(one)
        rows = np.flatnonzero(rank == one)
        steps = np.where(inside[rows], step[rows], -1)
        bounds = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(rows)]
        for first, last in pairwise(bounds):
            part = rows[first:last]
            if inside[part[0]]:
                begin, end = int(clock[part[0], 0]), int(clock[part[-1], 1])
                events.append(_event(f"step {step[part[0]]}", "step", one, begin, end, int(step[part[0]])))
            for row in part.tolist():
                name = columns["phase"][row].decode()
                events.append(_event(name, "phase", one, int(clock[row, 0]), int(clock[row, 1]), int(step[row])))
    return events


def _names(rank: int) -> list[dict[str, Any]]:
    described = {"process_name": {"name": f"rank {rank}"}, "process_sort_index": {"sort_index": rank}}
    return [{"name": key, "ph": "M", "pid": rank, "tid": 0, "args": text} for key, text in described.items()]


def _event(name: str, kind: str, rank: int, begin: int, end: int, step: int) -> dict[str, Any]:
    """Return one event; times in ns are converted to microseconds."""
    return {
        "name": name, "cat": kind, "ph": "X", "ts": begin / 1e3, "dur": (end - begin) / 1e3, "pid": rank, "tid": 0,
        "args": {"step": step},
    }  # fmt: skip

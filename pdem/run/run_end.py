"""Status file of a run in its output folder: in progress, or ended with a reason."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pdem.engine.stages.timeline import BY_CONDITION
from pdem.foundation.errors import Interrupted, PdemError
from pdem.output.run_status import FAILED, FINISHED, RUNNING, STOPPED, RunStatus, read_status, write_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.engine.protocol import Engine


@contextmanager
def telling_status(simulation: Engine, last: int) -> Iterator[None]:
    """Write to the status file that a run is in progress up to step `last`, and its end. For all ranks."""
    if simulation.system.exchange.rank != 0:
        yield
        return
    folder, step = simulation.case.output.folder, simulation.system.constants.time_step.dt
    before = read_status(folder)
    status = replace(
        RunStatus.of_this_process(RUNNING), begin=simulation.time, end=last * step,
        starts=1 + (before.starts if simulation.step and before is not None else 0),
    )  # fmt: skip
    write_status(folder, status)
    try:
        yield
    except BaseException as error:
        state = STOPPED if isinstance(error, (Interrupted, KeyboardInterrupt)) else FAILED
        write_status(folder, replace(status, state=state, since=time.time(), detail=_words_of(error)))
        raise
    write_status(folder, replace(status, state=FINISHED, since=time.time(), detail=end_of_run(simulation, last)))


def end_of_run(simulation: Engine, last: int) -> str:
    """Return the reason of a regular end, empty if the run has reached its end time."""
    stages = simulation.system.stages
    if stages.finished:
        stage = stages.section
        how = f" by {stage.until}" if stages.state.outcome == BY_CONDITION else ""
        return f"its last stage, {stage.name}, has ended{how}"
    return "an observer has ended it" if simulation.step < last else ""


def _words_of(error: BaseException) -> str:
    """Return an error message in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, PdemError) else f"{type(error).__name__}: {text}".rstrip(": ")

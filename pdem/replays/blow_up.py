"""Replay of a run that blew up, step by step near its end, and the history of the contact that caused it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.model import Case
from pdem.engine.blow_up import BlowUp
from pdem.engine.protocol import RestartPoint
from pdem.engine.ranks import on_first
from pdem.engine.schedule import OutputWindow
from pdem.engine.state import kept_state
from pdem.features.observers.feature import Observers
from pdem.features.observers.observed import ObservedState
from pdem.features.observers.observer import Observer
from pdem.foundation.arguments import whole_number
from pdem.foundation.errors import InputError
from pdem.replays.contact_history import ContactHistory
from pdem.replays.origin import begun, case_in, origin_of
from pdem.replays.replay import Request, changed_case, notes_of
from pdem.run.files.folder_use import PYTHON
from pdem.run.files.output_folder import check_free, is_same_folder
from pdem.run.run import run
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.engine.state import StatePart

STEPS = 20
"""Default number of steps before the blow-up with full output."""

COPY_EVERY = 500
"""Number of steps between two copies of the state during the search for the blow-up."""

HISTORY_FILE = "blow_up.csv"
"""Name of the file in the output folder with all quantities of the contact, a line per step."""


@dataclass(frozen=True)
class BlowUpReplayed:
    """The last steps of a run that blew up.

    Attributes
    ----------
    folder : Path
        Folder with snapshots, contacts and `HISTORY_FILE` of the last steps.
    started, step : int
        Step at which the replay started, and step of the blow-up.
    message : str
        Error message of the blow-up.
    history : ContactHistory
        History of the contact that caused the blow-up in the last steps; without rows if nothing touched.
    notes : tuple of str
        Remarks, such as other versions or changes of the case.
    """

    folder: Path
    started: int
    step: int
    message: str
    history: ContactHistory
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        """Return the result as lines of text."""
        head = f"blows up again, computed from step {self.started}: {self.message}"
        where = f"snapshots and contacts of the last steps, and {HISTORY_FILE}, are in {self.folder}"
        return "\n".join([head, str(self.history), where, *self.notes])


@dataclass(frozen=True)
class _Plan:
    """Plan of the replay, identical on all ranks: cases of both passes, their start, and the last step."""

    first: str
    second: str
    directory: str
    start: Path | None
    last: int
    notes: tuple[str, ...]

    def case(self, text: str) -> Case:
        return Case.from_text(text, self.directory)


def replay_blow_up(
    folder: Path | str,
    *,
    output: Path | str | None = None,
    steps: int = STEPS,
    settings: Sequence[str] = (),
    observers: Sequence[Observer | Callable[[Any], Any]] = (),
    comm: Any = None,
    threads: int | None = None,
    quiet: bool = True,
) -> BlowUpReplayed:
    """Replay a run that blew up from its newest checkpoint, and record the contact that caused the blow-up.

    Each of the last steps has a snapshot with all contacts in a new folder. Collective.

    Parameters
    ----------
    folder : path
        Output folder of the run; it is not changed.
    output : path, optional
        New folder; by default the folder of the run with the suffix ``-replay``.
    steps : int
        Number of last steps with full output.
    settings : sequence of str
        Further changes of the case, as for `pdem.replay`.
    observers : sequence of callable
        The observers of the run, if they wrote to particles.
    comm, threads
        As for `pdem.Simulation`.
    quiet : bool
        Suppress the progress line.

    Raises
    ------
    InputError
        If the run does not blow up, or the new folder already contains results.
    """
    steps = whole_number("steps", steps, 1)
    request = Request(folder, 0.0, 0.0, output, settings=tuple(settings))
    plan = on_first(comm, lambda: _plan_of(request))
    simulation = begun(plan.case(plan.first), plan.start, comm, threads)
    started = simulation.step
    error, state = _found(simulation, plan.last, steps, observers)
    if error is None:
        raise InputError(
            f"{folder}: does not blow up: replayed from step {started} it came to its end at step "
            f"{simulation.step} ({simulation.time:.6g} s); pdem replay --from --to shows an interval of it"
        )
    again = Simulation(plan.case(plan.second), comm, threads=threads, state=state)
    again.restart_point = RestartPoint(Path(folder), None, again.step)
    end, history = _shown(again, error, steps, observers, plan.notes, quiet=quiet)
    if again.system.exchange.rank == 0:
        history.write(request.target / HISTORY_FILE)
    return BlowUpReplayed(request.target, started, end.step, str(end), history, plan.notes)


def _plan_of(request: Request) -> _Plan:
    origin = origin_of(request.folder)
    if is_same_folder(request.target, request.folder):
        raise InputError(f"{request.target}: a replay is not written over its run; name another folder by --output")
    check_free(request.target, PYTHON)
    newest = max(origin.checkpoints)
    reader = origin.reader_after(newest)
    case, length = case_in(reader), origin.step
    each = (f"output.{name}_every={length!r}" for name in ("fields", "contacts", "series"))
    close = Request(request.folder, 0.0, 0.0, request.target, settings=(*each, *request.settings))
    changed = changed_case(case, close, length)
    last = round(case.time.end / length)
    start = origin.checkpoints[newest]
    return _Plan(
        case.to_toml(), changed.to_toml(), str(case.directory), start, last, notes_of(origin, reader, case, start)
    )  # fmt: skip


def _found(simulation: Simulation, last: int, steps: int, observers: Sequence[Any]) -> tuple[BlowUp | None, StatePart]:
    """Run until the blow-up; return the error, and a state at least `steps` steps before it, or the first state."""
    copies = [(simulation.step, _copy(simulation))]
    try:
        while simulation.step < last and not simulation.system.stages.finished:
            if simulation.step - copies[-1][0] >= COPY_EVERY:
                copies = [copies[-1], (simulation.step, _copy(simulation))]
            simulation.advance(min(COPY_EVERY, last - simulation.step), observers=observers)
    except BlowUp as error:
        early = [state for step, state in copies if step <= error.step - steps]
        return error, early[-1] if early else copies[0][1]
    return None, copies[0][1]


def _copy(simulation: Simulation) -> StatePart:
    return kept_state(simulation.system, simulation.first_balance)


def _shown(
    simulation: Simulation, error: BlowUp, steps: int, observers: Sequence[Any], notes: Sequence[str], *, quiet: bool
) -> tuple[BlowUp, ContactHistory]:
    """Run to the blow-up with full output of the last steps; return the error and the history of its contact."""
    if not observers:
        simulation.system.features.get(Observers).state = ObservedState()
    begin = max(error.step - steps, simulation.step)
    simulation.advance(begin - simulation.step, observers=observers)
    history = ContactHistory(error.particles, error.wall)
    window = OutputWindow(begin, error.step, error.step, ())
    try:
        run(
            simulation, quiet=quiet, findings=notes, window=window,
            observers=(*observers, Observer(history, steps=1)),
        )  # fmt: skip
    except BlowUp as again:
        history(simulation)  # the step that fails does not call observers
        history.choose([wall.name for wall in simulation.case.walls])
        return again, history
    raise InputError(f"step {error.step}: did not blow up again with output in each step; observers differ")

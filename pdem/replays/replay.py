"""Replay of an interval of a finished run with additional output, and proof by digests of the same motion."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.case.differences import differences, differences_text, physical_differences
from pdem.case.model import Case
from pdem.engine.protocol import RestartPoint
from pdem.engine.ranks import on_first
from pdem.engine.schedule import OutputWindow
from pdem.foundation.arguments import earlier_argument, real_number
from pdem.foundation.errors import CaseError, InputError
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.checkpoints.content_digest import read_digests
from pdem.output.provenance import changes_since
from pdem.replays.origin import Origin, begun, case_in, observers_in, origin_of
from pdem.run.files.output_folder import is_same_folder
from pdem.run.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.features.observers.observer import Observer

ALLOWED = ("title", "time.end", "output.", "decomposition.", "detection.", "sensors", "fields")
"""Prefixes of keys that a replay may change."""

NOT_ALLOWED = ("detection.wall", "output.energies", "output.contact_ages")
"""Exceptions from `ALLOWED`: these keys change the motion, or the data that contacts store from their begin on."""


@dataclass(frozen=True)
class Replayed:
    """The outcome of a replay.

    Attributes
    ----------
    folder : Path
        Folder of the output.
    begin, end : float
        The interval [s], rounded to steps.
    started : int
        Step at which the computation started: the step of a checkpoint, or 0.
    same, other : tuple of int
        Steps at which the digest of the state agreed with the run, and steps at which it did not.
    notes : tuple of str
        Remarks, such as other versions or changes of the case.
    """

    folder: Path
    begin: float
    end: float
    started: int
    same: tuple[int, ...] = ()
    other: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether at least one digest was compared with the run, and all of them agree."""
        return bool(self.same) and not self.other

    def __str__(self) -> str:
        """Return the result as lines of text."""
        head = f"replayed {self.begin:.9g} s to {self.end:.9g} s from step {self.started}; results in {self.folder}"
        return "\n".join([head, self._verdict(), *self.notes])

    def _verdict(self) -> str:
        if self.other:
            good = f"the same at step {self.same[-1]}, " if self.same and self.same[-1] < self.other[0] else ""
            return f"not the same motion: {good}other bits at step {self.other[0]}, where the run has a digest"
        if not self.same:
            return "not proved: the run has no digest of a later state to compare with"
        steps = ", ".join(map(str, self.same))
        return f"the same motion, bit for bit: the digest of the state is that of the run at step {steps}"


@dataclass(frozen=True)
class Request:
    """The parameters of a replay.

    Attributes
    ----------
    folder : Path or str
        Output folder of the run.
    begin, end : float
        First and last time of the output [s].
    output : Path or str or None
        New folder; by default the folder of the run with the suffix ``-replay``.
    snapshots_every : float or None
        Interval of the snapshots [s].
    contacts : bool
        Also write all contacts, at the times of the snapshots.
    settings : tuple of str
        Further changes of the case, as ``key=value``, which must not change the motion.
    """

    folder: Path | str
    begin: float
    end: float
    output: Path | str | None = None
    snapshots_every: float | None = None
    contacts: bool = False
    settings: tuple[str, ...] = ()

    @property
    def target(self) -> Path:
        """The folder of the replay."""
        given = Path(self.folder)
        return given.with_name(f"{given.resolve().name}-replay") if self.output is None else Path(self.output)

    def changes(self, usual: float) -> list[str]:
        """Return the changes of the case as ``key=value``; `usual` is its interval of snapshots [s]."""
        every = usual if self.snapshots_every is None else self.snapshots_every
        changes = [f"output.folder={json.dumps(str(self.target))}", f"output.snapshots_every={every!r}"]
        if self.contacts:
            changes.append(f"output.contacts_every={every!r}")
        return [*changes, *self.settings]


@dataclass(frozen=True)
class Plan:
    """Plan of a replay, identical on all ranks."""

    text: str
    directory: str
    start: Path | None
    window: OutputWindow
    digests: dict[int, str]
    notes: tuple[str, ...]

    def case(self) -> Case:
        """Return the case of the replay."""
        return Case.from_text(self.text, self.directory)


@earlier_argument("fields_every", "snapshots_every")
def replay(
    folder: Path | str,
    begin: float,
    end: float,
    *,
    output: Path | str | None = None,
    snapshots_every: float | None = None,
    contacts: bool = False,
    settings: Sequence[str] = (),
    observers: Sequence[Observer | Callable[[Any], Any]] = (),
    comm: Any = None,
    threads: int | None = None,
) -> Replayed:
    """Replay an interval of a finished run with additional output, on any number of ranks. Collective.

    The computation starts from the newest checkpoint before the interval, or at time 0. After the interval it continues
    to the next state with a digest, which decides whether the motion is the same.

    Parameters
    ----------
    folder : path
        Output folder of the run; it is not changed.
    begin, end : float
        First and last time of the output [s].
    output : path, optional
        New folder; by default the folder of the run with the suffix ``-replay``.
    snapshots_every : float, optional
        Interval of the snapshots [s]; by default the interval of the run.
    contacts : bool
        Also write all contacts, at the times of the snapshots.
    settings : sequence of str
        Further changes of the case, as ``key=value``: outputs and sensors, without effect on the motion.
    observers : sequence of callable
        Functions as for `Simulation.run`. They must include the observers of the run that wrote to particles.
    comm, threads
        As for `Simulation`.

    Raises
    ------
    InputError
        If the interval exceeds the run, or the new folder already contains results. Nothing is changed.
    CaseError
        If a change is not valid, or would change the motion.
    BlowUpError
        If the run blew up as well: all output before the blow-up is written.
    """
    request = Request(
        folder, real_number("begin", begin), real_number("end", end), output, snapshots_every, contacts, tuple(settings)
    )
    plan = on_first(comm, lambda: plan_of(request))
    return replay_plan(request, plan, comm, threads, observers)


def replay_plan(
    request: Request, plan: Plan, comm: Any, threads: int | None, observers: Sequence[Any] = (), *, quiet: bool = True
) -> Replayed:
    """Carry out the plan of a replay; see `replay`. Collective."""
    simulation = begun(plan.case(), plan.start, comm, threads)
    started = simulation.step
    simulation.restart_point = RestartPoint(Path(request.folder), None, started)
    run(
        simulation, quiet=quiet, findings=plan.notes, observers=tuple(observers),
        window=plan.window,
    )  # fmt: skip
    return on_first(comm, lambda: _compared(request, plan, started, simulation.system.constants.time_step.dt))


def _compared(request: Request, plan: Plan, started: int, length: float) -> Replayed:
    """Compare the digests of a replay with the digests of the run."""
    found = read_digests(request.target)
    both = [step for step in plan.digests if step in found]
    same = tuple(step for step in both if found[step] == plan.digests[step])
    other = tuple(step for step in both if found[step] != plan.digests[step])
    begin, end = plan.window.begin * length, plan.window.end * length
    return Replayed(request.target, begin, end, started, same, other, plan.notes)


def plan_of(request: Request) -> Plan:
    """Return the plan of a replay, without any change on the disk.

    Raises
    ------
    InputError, CaseError
        See `replay`.
    """
    origin = origin_of(request.folder)
    if is_same_folder(request.target, request.folder):
        raise InputError(f"{request.target}: a replay is not written over its run; name another folder by --output")
    reader = origin.reader_after(_step(request.begin, origin))
    case = case_in(reader)
    first, last = _interval(request, origin, case)
    start, proof = origin.before(first), origin.proof_after(last)
    stop = last if proof is None else proof
    digests = {step: one for step, one in origin.digests.items() if (start or 0) < step <= stop}
    file = None if start is None else origin.checkpoints[start]
    changed = changed_case(case, request, origin.step)
    window = OutputWindow(first, last, stop, tuple(sorted({*digests, *_more_checkpoints(case, changed, first, last)})))
    return Plan(changed.to_toml(), str(case.directory), file, window, digests, notes_of(origin, reader, case, file))


def _more_checkpoints(case: Case, changed: Case, first: int, last: int) -> list[int]:
    """Return the steps of the interval with additional checkpoints, if the replay changes their interval."""
    if changed.output.checkpoint_every == case.output.checkpoint_every:
        return []
    every = max(1, round(changed.output.checkpoint_every / changed.resolved_step()))
    return [step for step in range(first, last + 1) if step % every == 0]


def changed_case(case: Case, request: Request, length: float) -> Case:
    """Return the case of a replay, with the time step of the run."""
    changed = Case.from_text(case.to_toml(), case.directory)
    for assignment in request.changes(case.output.snapshots_every):
        changed.override(assignment)
    check_same_motion(case, changed)
    if changed.resolved_step() != length:
        changed.override(f"time.step={length!r}")
    return changed


def _step(time: float, origin: Origin) -> int:
    return round(time / origin.step)


def _interval(request: Request, origin: Origin, case: Case) -> tuple[int, int]:
    """Return first and last step of the output."""
    first, last = _step(request.begin, origin), _step(request.end, origin)
    # a run that blew up has no last row; the replay ends with the same blow-up
    ended = max(origin.reached, round(case.time.end / origin.step))
    if not origin.begin <= first < last or last > ended or first > origin.reached:
        begin, reached = (step * origin.step for step in (origin.begin, origin.reached))
        raise InputError(
            f"{origin.folder}: the interval from {request.begin:g} s to {request.end:g} s is not one of steps of this "
            f"run, which reaches from {begin:.9g} to {reached:.9g} s in steps of {origin.step:.6g} s; give --from "
            "before --to within that"
        )
    return first, last


def notes_of(origin: Origin, reader: CheckpointReader, case: Case, start: Path | None) -> tuple[str, ...]:
    """Return the remarks on a replay: changes of versions and of the case, observers of the run."""
    notes = list(origin.notes)
    if changes := changes_since(reader.attributes):
        notes.append(f"the run was made under {changes}: bits may differ, the motion is as valid")
    if start is not None and start != reader.path:
        changed = physical_differences(case_in(CheckpointReader(start)), case)
        if changed:
            notes.append(f"the run continued from {start.name} with a different case: {differences_text(changed)}")
    names = observers_in(reader)
    if names:
        notes.append(
            f"the run had the observers {', '.join(names)}: if they wrote to particles, give pdem.replay these"
        )
    return tuple(notes)


def check_same_motion(run: Case, again: Case) -> None:
    """Check that a case moves particles exactly as the case of the run.

    Raises
    ------
    CaseError
        If it changes anything but outputs and sensors, or changes sensors that remove particles.
    """
    changed = [
        row for row in differences(run, again) if not row[0].startswith(ALLOWED) or row[0].startswith(NOT_ALLOWED)
    ]
    if changed:
        raise CaseError(
            f"a replay changes outputs and sensors only, and this changes {differences_text(changed)}; leave it out, "
            "or begin another run from the checkpoint by pdem restart --set output.folder=..."
        )
    outlets = [[one for one in case.sensors if one.remove] for case in (run, again)]
    if outlets[0] != outlets[1]:
        raise CaseError(
            "a replay keeps the sensors that take particles out (remove = true) as they are, in their order; add "
            "others behind them"
        )

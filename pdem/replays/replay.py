"""An interval of a finished run again, with more output, and the proof by digests that it is the same motion."""

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
from pdem.foundation.arguments import real_number
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
"""Those among them that it may not: they change the motion, or what contacts have to remember from their begin."""


@dataclass(frozen=True)
class Replayed:
    """What a replay was, and whether it was the same motion.

    Attributes
    ----------
    folder : Path
        Where its output is.
    begin, end : float
        The interval [s], in whole steps.
    started : int
        Step from which it was computed: of a checkpoint, or 0.
    same, other : tuple of int
        Steps at which the digests of the state were those of the run, and at which they were not.
    notes : tuple of str
        What else is to be known: other versions, changes.
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
        """Whether it was compared with the run and is the same motion, bit for bit."""
        return bool(self.same) and not self.other

    def __str__(self) -> str:
        """Return the result in lines of text."""
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
    """What is to be replayed.

    Attributes
    ----------
    folder : Path or str
        Output folder of the run.
    begin, end : float
        First and last time of the output [s].
    output : Path or str or None
        New folder; by default that of the run with ``-replay`` behind its name.
    fields_every : float or None
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
    fields_every: float | None = None
    contacts: bool = False
    settings: tuple[str, ...] = ()

    @property
    def target(self) -> Path:
        """The folder of the replay."""
        given = Path(self.folder)
        return given.with_name(f"{given.resolve().name}-replay") if self.output is None else Path(self.output)

    def changes(self, usual: float) -> list[str]:
        """Return the changes of a case whose snapshots usually have this interval [s]."""
        every = usual if self.fields_every is None else self.fields_every
        changes = [f"output.folder={json.dumps(str(self.target))}", f"output.fields_every={every!r}"]
        if self.contacts:
            changes.append(f"output.contacts_every={every!r}")
        return [*changes, *self.settings]


@dataclass(frozen=True)
class Plan:
    """How a request is met: known on all ranks alike."""

    text: str
    directory: str
    start: Path | None
    window: OutputWindow
    digests: dict[int, str]
    notes: tuple[str, ...]

    def case(self) -> Case:
        """Return the case of the replay."""
        return Case.from_text(self.text, self.directory)


def replay(
    folder: Path | str,
    begin: float,
    end: float,
    *,
    output: Path | str | None = None,
    fields_every: float | None = None,
    contacts: bool = False,
    settings: Sequence[str] = (),
    observers: Sequence[Observer | Callable[[Any], Any]] = (),
    comm: Any = None,
    threads: int | None = None,
) -> Replayed:
    """Run an interval of a finished run again, with more output, on any number of ranks. Collective.

    It begins from the newest checkpoint before the interval, or at time 0, and goes on behind the interval to the next
    state of which the run has a digest, which says whether it is the same motion.

    Parameters
    ----------
    folder : path
        Output folder of the run, which stays as it is.
    begin, end : float
        First and last time of the output [s].
    output : path, optional
        New folder; by default that of the run with ``-replay`` behind its name.
    fields_every : float, optional
        Interval of the snapshots [s]; by default that of the run.
    contacts : bool
        Also write all contacts, at the times of the snapshots.
    settings : sequence of str
        Further changes of the case, as ``key=value``: outputs and sensors, nothing that changes the motion.
    observers : sequence of callable
        Functions as for `Simulation.run`. Those of the run that wrote to particles have to be among them.
    comm, threads
        As for `Simulation`.

    Raises
    ------
    InputError
        If the interval is not within the run, or the new folder is taken. Nothing is changed then.
    CaseError
        If a change is not valid, or would change the motion.
    BlowUpError
        Where the run blew up as well: all output until there is written.
    """
    request = Request(
        folder, real_number("begin", begin), real_number("end", end), output, fields_every, contacts, tuple(settings)
    )
    plan = on_first(comm, lambda: plan_of(request))
    return replay_plan(request, plan, comm, threads, observers)


def replay_plan(
    request: Request, plan: Plan, comm: Any, threads: int | None, observers: Sequence[Any] = (), *, quiet: bool = True
) -> Replayed:
    """Carry out a plan; see `replay`. Collective."""
    simulation = begun(plan.case(), plan.start, comm, threads)
    started = simulation.step
    simulation.restart_point = RestartPoint(Path(request.folder), None, started)
    run(
        simulation, quiet=quiet, findings=plan.notes, observers=tuple(observers),
        window=plan.window,
    )  # fmt: skip
    return on_first(comm, lambda: _compared(request, plan, started, simulation.system.constants.step))


def _compared(request: Request, plan: Plan, started: int, length: float) -> Replayed:
    """Compare the digests of a replay with those of the run."""
    found = read_digests(request.target)
    both = [step for step in plan.digests if step in found]
    same = tuple(step for step in both if found[step] == plan.digests[step])
    other = tuple(step for step in both if found[step] != plan.digests[step])
    begin, end = plan.window.begin * length, plan.window.end * length
    return Replayed(request.target, begin, end, started, same, other, plan.notes)


def plan_of(request: Request) -> Plan:
    """Return how a request is met; changes nothing.

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
    """Return the steps of the interval at which checkpoints are asked for, if another interval is given for them."""
    if changed.output.checkpoint_every == case.output.checkpoint_every:
        return []
    every = max(1, round(changed.output.checkpoint_every / changed.resolved_step()))
    return [step for step in range(first, last + 1) if step % every == 0]


def changed_case(case: Case, request: Request, length: float) -> Case:
    """Return the case of a replay; its time step is that of the run."""
    changed = Case.from_text(case.to_toml(), case.directory)
    for assignment in request.changes(case.output.fields_every):
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
    # a run that blew up has no last row; it is replayed until it does so again
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
    """Return what is to be known of a replay."""
    notes = list(origin.notes)
    if changes := changes_since(reader.attributes):
        notes.append(f"the run was made under {changes}: bits may differ, the motion is as valid")
    if start is not None and start != reader.path:
        changed = physical_differences(case_in(CheckpointReader(start)), case)
        if changed:
            notes.append(f"the run went on from {start.name} with another case: {differences_text(changed)}")
    names = observers_in(reader)
    if names:
        notes.append(
            f"the run had the observers {', '.join(names)}: if they wrote to particles, give pdem.replay these"
        )
    return tuple(notes)


def check_same_motion(run: Case, again: Case) -> None:
    """Require that a case moves particles as that of the run did.

    Raises
    ------
    CaseError
        If it changes something else than outputs and sensors, or what sensors take out.
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

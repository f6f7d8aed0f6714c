"""Search for the first step at which two runs differ: by digests of stored states, then by computing both again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pdem.case.differences import differences
from pdem.case.laws import law_of
from pdem.engine.ranks import on_first
from pdem.features.registry import COMPARED
from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.checkpoints.history_columns import upgraded_groups
from pdem.output.compare import compare_groups
from pdem.replays.contact_inputs import ContactPair, first_contact, view_of
from pdem.replays.difference_report import FirstDifference
from pdem.replays.first_entry import first_entry
from pdem.replays.motion import accounts_of, layouts_of, motion_digest, shared_columns, state_digest_of
from pdem.replays.origin import case_in, origin_of
from pdem.replays.run_again import Ranks, RunAgain, RunRecipe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.replays.contact_inputs import View
    from pdem.replays.origin import Origin

    Groups = Mapping[str, Mapping[str, NDArray[Any]]]
    Both = tuple[View, View] | None
    """Views of both runs on rank 0, None elsewhere."""

PARTS = 8
"""Initial number of parts of the interval between two stored states; the runs are compared after each part."""

LOOK_ON = 200
"""Number of steps after the first difference in which to search for the first differing contact."""


def first_difference(
    a: Path | str,
    b: Path | str,
    *,
    observers: tuple[Sequence[Any], Sequence[Any]] = ((), ()),
    comm: Any = None,
    threads: int | None = None,
) -> FirstDifference:
    """Find the first step, particle, contact and column at which two runs differ. Collective.

    The digests in both folders bracket the first difference between two stored states. From the last common state both
    runs are computed again, each with its own case, and compared at ever shorter intervals, down to one step.

    Parameters
    ----------
    a, b : path
        Output folders; they are not changed.
    observers : tuple of two sequences
        Functions as for `Simulation.run`, for each run: its observers that wrote to particles.
    comm, threads
        As for `Simulation`.

    Returns
    -------
    FirstDifference
        The result, on all ranks; ``str(result)`` is the report.

    Raises
    ------
    InputError
        If a folder has no run that can be computed again, or the runs have no common step.
    """
    origins = on_first(comm, lambda: (origin_of(a), origin_of(b)))
    bounds, recipes = on_first(comm, lambda: _plan_of(*origins))
    ranks = Ranks(comm, threads)
    both = [RunAgain(*one) for one in zip(origins, (ranks, ranks), recipes, observers, strict=True)]
    return _Search(both[0], both[1], bounds).result()


@dataclass(frozen=True)
class _Bounds:
    """Bounds of the search: last step at which both runs agree, first step at which they differ, and last step of all.

    If `differs` is false, no differing step is recorded, and `high` is the last step.
    """

    low: int
    high: int
    end: int
    differs: bool


def _plan_of(a: Origin, b: Origin) -> tuple[_Bounds, tuple[RunRecipe, RunRecipe]]:
    """Return the bounds of the search, and the recipes for computing both runs again."""
    begin, end = max(a.begin, b.begin), min(_end_of(a), _end_of(b))
    if min(a.reached, b.reached) < begin:
        raise InputError(
            f"{a.folder} and {b.folder} have no step in common: one reaches from {a.begin} to {a.reached}, the other "
            f"from {b.begin} to {b.reached}"
        )
    known = {step: _is_same(a, b, step) for step in sorted(a.digests.keys() & b.digests.keys())}
    other = [step for step, same in known.items() if same is False]
    high = min(other, default=end)
    low = max([begin, *(step for step, same in known.items() if same and (step < high or not other))])
    return _Bounds(low, max(high, low), end, bool(other)), (RunRecipe.of(a, low), RunRecipe.of(b, low))


def _end_of(origin: Origin) -> int:
    """Return the last step that a run may have reached; a blow-up happens before the next line of the series."""
    case = case_in(origin.reader_after(origin.reached))
    if case.stages and CheckpointFolder(origin.folder).of_stage(case.stages[-1].name).exists():
        return origin.reached
    line = max(1, round(case.output.series_every / origin.step))
    return max(origin.reached, min(origin.reached + line, round(case.time.end / origin.step)))


def _is_same(a: Origin, b: Origin, step: int) -> bool | None:
    """Return whether two runs agree at a step, None if this cannot be decided because the states have other columns."""
    if a.digests[step] == b.digests[step]:
        return True
    if step not in a.checkpoints or step not in b.checkpoints:
        return None if _columns_differ(a, b) else False
    one, other = (CheckpointReader(origin.checkpoints[step]) for origin in (a, b))
    chosen = shared_columns(one.layout, other.layout, _accounts(one) | _accounts(other))
    return one.digest(only=chosen) == other.digest(only=chosen)


def _accounts(reader: CheckpointReader) -> set[str]:
    return {one.name for one in law_of(case_in(reader)).energies} | {"wall_work"}


def _columns_differ(a: Origin, b: Origin) -> bool:
    """Return whether digests cannot decide: the states have different columns, or columns that are not compared."""
    readers = [CheckpointReader(next(iter(one.checkpoints.values()))) for one in (a, b)]
    if any(group in COMPARED for one in readers for group in one.layout):
        return True
    names = [{(group, name) for group, some in one.layout.items() for name in some} for one in readers]
    return names[0] != names[1]


class _Search:
    """Two runs computed again side by side. All methods are collective."""

    def __init__(self, a: RunAgain, b: RunAgain, bounds: _Bounds) -> None:
        self.a, self.b, self.runs, self.bounds = a, b, (a, b), bounds
        accounts = accounts_of(a.simulation) | accounts_of(b.simulation)
        self.chosen = shared_columns(layouts_of(a.simulation), layouts_of(b.simulation), accounts)

    def result(self) -> FirstDifference:
        """Return the first difference."""
        for run in self.runs:
            if not run.advance_to(self.bounds.low):
                raise InputError(
                    f"{run.origin.folder}: blows up before the runs differ, when it is computed again: {run.blow_up}"
                )
            run.check()
        step = self._search() if self._is_same() else None
        if step is not None:
            return self._found(step)
        if (odd := self._odd()) is not None:
            return self._of_run(odd)
        if not self._is_same():
            return self._at_the_begin()
        return self._of_records() if self.bounds.differs else self._describe("none", self.a.step)

    def _is_same(self) -> bool:
        first, second = (motion_digest(run.simulation, self.chosen) for run in self.runs)
        return first == second

    def _odd(self) -> RunAgain | None:
        """Return the single run that disagrees with its own record, without a change of versions; None otherwise."""
        odd = [run for run in self.runs if run.other]
        return odd[0] if len(odd) == 1 and not odd[0].recipe.change else None

    def _search(self) -> int | None:
        """Return the first differing step, with both runs at the step before it; None if there is no difference."""
        end, chunk = self.bounds.end, max(1, -(-(self.bounds.high - self.bounds.low) // PARTS))
        while self.a.step < end and self._odd() is None:
            begin = self.a.step
            for run in self.runs:
                run.keep()
            stop = min(begin + chunk, end, *(run.next_record() or end for run in self.runs))
            came = [run.advance_to(stop) for run in self.runs]
            if all(came) and self._is_same():
                for run in self.runs:
                    run.check()
                continue
            for run in self.runs:
                run.go_back()
            if stop - begin == 1:
                return stop if any(came) else None
            chunk = max(1, (stop - begin) // 2)
        return None

    def _views(self) -> Both:
        a, b = (view_of(run.simulation, self.chosen) for run in self.runs)
        return None if a is None or b is None else (a, b)

    def _found(self, step: int) -> FirstDifference:
        """Return the difference at a step; both runs are at the step before it."""
        before = self._views()
        came = [run.advance_to(step) for run in self.runs]
        if not all(came):
            ended = self.runs[came.index(False)]
            return self._describe("blow-up", step, since=step - 1, text=f"{ended.origin.folder}: {ended.blow_up}")
        after = self._views()
        later = self._first_contact(before, after) or self._later_contact(after)
        return self._describe("motion", step, since=step - 1, states=_groups(after), contact=later)

    def _first_contact(self, before: Both, after: Both) -> ContactPair | None:
        return on_first(self.a.ranks.comm, lambda: first_contact(before, after) if before and after else None)

    def _later_contact(self, before: Both) -> ContactPair | None:
        """Return the first contact that differs after the present step."""
        for _ in range(LOOK_ON):
            came = [self.a.step < self.bounds.end and run.advance_to(run.step + 1) for run in self.runs]
            if not all(came):
                return None
            after = self._views()
            contact = self._first_contact(before, after)
            if contact is not None:
                return contact
            before = after
        return None

    def _at_the_begin(self) -> FirstDifference:
        """Return the difference at the first compared step."""
        now = self._views()
        contact = self._first_contact(now, now)
        return self._describe("begin", self.bounds.low, states=_groups(now), contact=contact)

    def _of_run(self, run: RunAgain) -> FirstDifference:
        """Return the report on a run that disagrees with its own record at the present step."""
        step, origin = run.other[0], run.origin
        since = max([run.recipe.start, *(one for one in run.same if one < step)])
        altered = origin.written.get(step) == state_digest_of(run.simulation)
        path, now, is_a = origin.checkpoints.get(step), self._views(), run is self.a

        def states() -> tuple[Groups, Groups] | None:
            if path is None or now is None:
                return None
            then = self._stored(path)
            return (then, now[1].groups) if is_a else (now[0].groups, then)

        names = ", ".join(run.recipe.observers)
        text = f"{origin.folder} was not at this step what its case gives. It " + (
            f"had the observers {names}; pdem.first_difference(a, b, observers=...) takes these"
            if names
            else "continued from a state that was removed, or the machine made an error"
        )
        kind, what = ("altered", str(origin.folder)) if altered else ("record", text)
        return self._describe(kind, step, since=since, states=states, text=what)

    def _of_records(self) -> FirstDifference:
        """Return the report on runs with different records that agree when computed again."""
        step, paths = self.bounds.high, [run.origin.checkpoints.get(self.bounds.high) for run in self.runs]
        text = (
            "what differs is what made them. For the step, compute the interval again where each was made, with a "
            "checkpoint in each step (pdem replay --set output.checkpoint_every=...), and compare these folders"
        )
        return self._describe(
            "record", step, since=self.bounds.low, text=text,
            states=lambda: None if None in paths else (self._stored(paths[0]), self._stored(paths[1])),
        )  # fmt: skip

    def _stored(self, path: Path | None) -> Groups:
        """Return the compared columns of a checkpoint."""
        assert path is not None
        stored = upgraded_groups(read_checkpoint(path).groups)
        return {group: {name: stored[group][name] for name in some} for group, some in self.chosen.items()}

    def _describe(
        self,
        kind: str,
        step: int,
        *,
        since: int | None = None,
        states: Callable[[], tuple[Groups, Groups] | None] | None = None,
        contact: ContactPair | None = None,
        text: str = "",
    ) -> FirstDifference:
        a, b = self.runs
        folders, time = (str(a.origin.folder), str(b.origin.folder)), a.simulation.system.progress.time_of(step)

        def describe() -> FirstDifference:
            found = FirstDifference(
                kind, folders, step, time, since, contact=contact, text=text,
                changes=_changes(a, b), notes=tuple(_notes(a, b)),
            )  # fmt: skip
            both = None if states is None else states()
            if both is None:
                return found
            compared: Any = compare_groups(*both)  # type: ignore[arg-type]
            return replace(found, entry=first_entry(*both), compared=compared)

        return on_first(a.ranks.comm, describe)


def _groups(views: Both) -> Callable[[], tuple[Groups, Groups] | None]:
    return lambda: None if views is None else (views[0].groups, views[1].groups)


def _changes(a: RunAgain, b: RunAgain) -> tuple[tuple[str, str, str], ...]:
    """Return the differences of the cases, titles and outputs excluded."""
    rows = differences(a.recipe.case(), b.recipe.case())
    return tuple(row for row in rows if not row[0].startswith(("output.", "title")))


def _notes(a: RunAgain, b: RunAgain) -> list[str]:
    found = []
    lengths = [run.simulation.system.constants.time_step.dt for run in (a, b)]
    if lengths[0] != lengths[1]:
        found.append(f"time steps differ: {lengths[0]!r} s in A, {lengths[1]!r} s in B")
    for name, run in zip("AB", (a, b), strict=True):
        if run.recipe.change:
            found.append(f"{name} was made under {run.recipe.change}: computed again its bits may differ")
        if run.same:
            found.append(f"{name} computed again is the run, bit for bit, at step {_steps(run.same)}")
        if run.other:
            found.append(f"{name} computed again is another than the run at step {_steps(run.other)}")
        if not run.same and not run.other:
            found.append(f"{name} has no digest where it was computed again: that it is the same run is not proved")
    return found


def _steps(steps: list[int]) -> str:
    return ", ".join(map(str, sorted(steps)))

"""A run that is computed again beside another one: forward, and back to a state that was kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.case.differences import physical_differences
from pdem.case.model import Case
from pdem.engine.blow_up import BlowUp
from pdem.engine.ranks import on_first
from pdem.engine.state import kept_state
from pdem.output.checkpoints.checkpoint_reader import CheckpointReader
from pdem.output.provenance import changes_since
from pdem.replays.motion import state_digest_of
from pdem.replays.origin import begun, case_in, observers_in
from pdem.run.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pdem.engine.state import StatePart
    from pdem.replays.origin import Origin


class Ranks(NamedTuple):
    """Who computes: a communicator (None for this process alone) and threads per rank."""

    comm: Any = None
    threads: int | None = None


@dataclass(frozen=True)
class RunRecipe:
    """How a run is computed again from a state on, known on all ranks alike.

    Attributes
    ----------
    text, directory : str
        Its case.
    start : int
        Step from which it is computed.
    file : Path or None
        The checkpoint of that step; None for the begin of the case.
    until : int
        Last step to which this case rules it.
    change : str
        What has changed since it ran: versions, processor; empty if nothing has.
    observers : tuple of str
        Names of those it had.
    """

    text: str
    directory: str
    start: int
    file: Path | None
    until: int
    change: str
    observers: tuple[str, ...]

    @classmethod
    def of(cls, origin: Origin, low: int) -> RunRecipe:
        """Return how a run is computed from the newest state that is not after a step."""
        reader = origin.reader_after(low)
        case, start = case_in(reader), origin.before(low)
        return cls(
            case.to_toml(), str(case.directory), start or 0,
            None if start is None else origin.checkpoints[start], _ruled_until(origin, low, case),
            changes_since(reader.attributes), tuple(observers_in(reader)),
        )  # fmt: skip

    def case(self) -> Case:
        """Return its case."""
        return Case.from_text(self.text, self.directory)


def _ruled_until(origin: Origin, low: int, case: Case) -> int:
    """Return the last step that is known to belong to a case which rules the steps behind `low`."""
    last = low
    for step, path in origin.checkpoints.items():
        if step > low:
            if physical_differences(case, case_in(CheckpointReader(path))):
                return last
            last = step
    return max(origin.reached, last)


@dataclass
class RunAgain:
    """A run that is computed again. All methods are collective.

    Attributes
    ----------
    origin : Origin
        What its folder holds.
    ranks : Ranks
        Who computes.
    recipe : RunRecipe
        How, at present.
    observers : sequence
        Of the run, those that wrote to particles at least.
    same, other : list of int
        Steps at which the state was that of the run, and at which it was another.
    blow_up : BlowUp or None
        With which it ended, if it did.
    simulation : Simulation
        At its present step.
    """

    origin: Origin
    ranks: Ranks
    recipe: RunRecipe
    observers: Sequence[Any] = ()
    same: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    blow_up: BlowUp | None = None

    def __post_init__(self) -> None:
        self._begin(self.recipe)
        self._kept: tuple[RunRecipe, StatePart] | None = None

    def _begin(self, recipe: RunRecipe) -> None:
        self.recipe = recipe
        self._use(begun(recipe.case(), recipe.file, *self.ranks))

    def _use(self, simulation: Simulation) -> None:
        simulation.system.contacts.keep_forces(keep=True)
        self.simulation = simulation

    @property
    def step(self) -> int:
        """Its present step."""
        return self.simulation.step

    def advance_to(self, step: int) -> bool:
        """Compute until a step; return whether it came there, or blew up."""
        self.blow_up = None
        try:
            while self.step < step:
                changes = self.recipe.until if self.recipe.until < self.origin.reached else step
                if self.step == changes:  # it went on with another case
                    self._begin(on_first(self.ranks.comm, lambda: RunRecipe.of(self.origin, self.step)))
                    continue
                self.simulation.advance(min(step, changes) - self.step, observers=self.observers)
        except BlowUp as error:
            self.blow_up = error
        return self.blow_up is None

    def keep(self) -> None:
        """Keep the present state, to go back to."""
        self._kept = self.recipe, kept_state(self.simulation.system, self.simulation.first_balance)

    def go_back(self) -> None:
        """Go back to the state that was kept last."""
        assert self._kept is not None
        self.recipe, state = self._kept
        self._use(Simulation(self.recipe.case(), self.ranks.comm, threads=self.ranks.threads, state=state.copy()))

    def next_record(self) -> int | None:
        """Return the next step of which the run has a digest."""
        return min((one for one in self.origin.digests if one > self.step), default=None)

    def check(self) -> None:
        """Compare the present state with the digest that the run has of it, if it has one."""
        digest = self.origin.digests.get(self.step)
        if digest is not None and self.step not in (*self.same, *self.other):
            (self.same if state_digest_of(self.simulation) == digest else self.other).append(self.step)

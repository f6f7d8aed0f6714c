"""A run that is computed again for comparison: forward, and back to a saved state."""

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
    """A communicator (None for this process alone) and the number of threads per rank."""

    comm: Any = None
    threads: int | None = None


@dataclass(frozen=True)
class RunRecipe:
    """How to compute a run again from a state on, identical on all ranks.

    Attributes
    ----------
    text, directory : str
        Text of the case, and base folder of the paths in it.
    start : int
        Step at which the computation starts.
    file : Path or None
        Checkpoint of this step; None for the begin of the case.
    until : int
        Last step for which this case is valid.
    change : str
        Changes of versions and processor since the run; empty if there are none.
    observers : tuple of str
        Names of the observers of the run.
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
        """Return the recipe to compute a run from its newest state at or before a step."""
        reader = origin.reader_after(low)
        case, start = case_in(reader), origin.before(low)
        return cls(
            case.to_toml(), str(case.directory), start or 0,
            None if start is None else origin.checkpoints[start], _ruled_until(origin, low, case),
            changes_since(reader.attributes), tuple(observers_in(reader)),
        )  # fmt: skip

    def case(self) -> Case:
        """Return the case of the run."""
        return Case.from_text(self.text, self.directory)


def _ruled_until(origin: Origin, low: int, case: Case) -> int:
    """Return the last step for which a case is certainly valid, if it is valid just after step `low`."""
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
        Data of the folder of the run.
    ranks : Ranks
        Communicator and threads of the computation.
    recipe : RunRecipe
        The present recipe.
    observers : sequence
        Observers of the run, at least the observers that wrote to particles.
    same, other : list of int
        Steps at which the state agreed with the run, and steps at which it did not.
    blow_up : BlowUp or None
        The error if the run blew up.
    simulation : Simulation
        The simulation at the present step.
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
        """The present step."""
        return self.simulation.step

    def advance_to(self, step: int) -> bool:
        """Compute up to a step; return False if the run blew up before it."""
        self.blow_up = None
        try:
            while self.step < step:
                changes = self.recipe.until if self.recipe.until < self.origin.reached else step
                if self.step == changes:  # the run continued with a different case
                    self._begin(on_first(self.ranks.comm, lambda: RunRecipe.of(self.origin, self.step)))
                    continue
                self.simulation.advance(min(step, changes) - self.step, observers=self.observers)
        except BlowUp as error:
            self.blow_up = error
        return self.blow_up is None

    def keep(self) -> None:
        """Save the present state for `go_back`."""
        self._kept = self.recipe, kept_state(self.simulation.system, self.simulation.first_balance)

    def go_back(self) -> None:
        """Return to the state saved last."""
        assert self._kept is not None
        self.recipe, state = self._kept
        self._use(Simulation(self.recipe.case(), self.ranks.comm, threads=self.ranks.threads, state=state.copy()))

    def next_record(self) -> int | None:
        """Return the next step with a digest of the run."""
        return min((one for one in self.origin.digests if one > self.step), default=None)

    def check(self) -> None:
        """Compare the present state with the digest of the run at this step, if there is one."""
        digest = self.origin.digests.get(self.step)
        if digest is not None and self.step not in (*self.same, *self.other):
            (self.same if state_digest_of(self.simulation) == digest else self.other).append(self.step)

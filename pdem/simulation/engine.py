"""What runs, their outputs and their traces need of a simulation: all that it is without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.containers.mesh import Mesh
    from pdem.containers.particles import Particles
    from pdem.simulation.energy import Measures
    from pdem.simulation.phases import Phases
    from pdem.simulation.system import System


@dataclass(frozen=True)
class Beginning:
    """Where a run begins that continues another one.

    Attributes
    ----------
    folder : Path
        Of the checkpoint; in it the run goes on, unless its case names another one.
    case : Case or None
        Of the checkpoint, None if that is not known.
    step : int
        At which it begins.
    """

    folder: Path
    case: Case | None
    step: int


class Engine(Protocol):
    """A case and the state it has reached; `pdem.simulation.simulation.Simulation` is one.

    Attributes
    ----------
    case : Case
        What is simulated.
    system : System
        The state of this rank.
    meshes : list of Mesh
        Of the walls, in their order.
    phases : Phases
        The stopwatch of the steps.
    begins : Beginning or None
        Where it began, if it continues a run.
    first_balance : float
        Energy balance at time 0 [J].
    """

    case: Case
    system: System
    meshes: list[Mesh]
    phases: Phases
    begins: Beginning | None
    first_balance: float

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        ...

    @property
    def step(self) -> int:
        """Steps taken since time 0."""
        ...

    @property
    def particles(self) -> Particles:
        """The particles this rank owns."""
        ...

    def advance(self, steps: int) -> int:
        """Take time steps; return the signal that stopped it early, or 0. Collective."""
        ...

    def measures(self) -> Measures:
        """Return energies, numbers of contacts and the largest overlap, over all ranks. Collective."""
        ...

    def wall_loads(self) -> dict[str, dict[str, Any]]:
        """Return force, torque and power of the particles on each wall. Collective."""
        ...

"""The part of a simulation that runs, outputs and traces use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.containers.particles import Particles
    from pdem.engine.energy import Measures
    from pdem.engine.phases import Phases
    from pdem.engine.system import System


@dataclass(frozen=True)
class RestartPoint:
    """Checkpoint from which a run continues.

    Attributes
    ----------
    folder : Path
        Folder of the checkpoint; the run continues in it, unless its case names another one.
    case : Case or None
        Case of the checkpoint, None if unknown.
    step : int
        Step of the checkpoint.
    """

    folder: Path
    case: Case | None
    step: int


class Engine(Protocol):
    """A case and its present state; `pdem.run.simulation.Simulation` is one.

    Attributes
    ----------
    case : Case
        The case that is simulated.
    system : System
        The state of this rank.
    meshes : list of Mesh
        Meshes of the walls, in their order.
    phases : Phases
        The stopwatch of the steps.
    restart_point : RestartPoint or None
        Checkpoint from which it continues, if any.
    first_balance : float
        Energy balance at time 0 [J].
    outputs : Outputs or None
        Files that a script has opened, which a run continues.
    """

    case: Case
    system: System
    meshes: list[Mesh]
    phases: Phases
    restart_point: RestartPoint | None
    first_balance: float
    outputs: Any

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
        """Take time steps; return the number of the signal that stopped them, or 0. Collective."""
        ...

    def measures(self) -> Measures:
        """Return energies, numbers of contacts and the largest overlap, over all ranks. Collective."""
        ...

    def wall_loads(self) -> dict[str, dict[str, Any]]:
        """Return force, torque and power of the particles on each wall. Collective."""
        ...

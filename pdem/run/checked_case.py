"""The particles and meshes of a case, made for the checks before its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.groups.initial import initial_particles
from pdem.case.wall_files import read_walls
from pdem.engine.ranks import exchange_of, on_first, once_per_node, release
from pdem.output.summary import body_count
from pdem.preflight.given_particles import PartOfParticles
from pdem.preflight.preflight import preflight
from pdem.run.forecast import forecast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh
    from pdem.foundation.signals import SignalFlag
    from pdem.preflight.findings import Finding


class CheckedCase:
    """Meshes and this rank's particles for the checks of a case; the simulation uses them afterwards."""

    particles: Mapping[str, NDArray[Any]] | None = None
    meshes: list[Mesh] | None = None

    def __init__(self, communicator: Any, threads: int, crowded: Sequence[str] | None) -> None:
        self._communicator, self._threads, self._crowded = communicator, threads, crowded

    def prepare_unless_stopped(self, case: Case, flag: SignalFlag, *, progress: bool) -> list[Finding]:
        """Call `prepare`; on a single rank, leave it immediately when a stop signal comes."""
        if self._communicator is not None:
            return self.prepare(case, progress=progress)
        return flag.unless_stopped(lambda: self.prepare(case, progress=progress)) or []

    def prepare(self, case: Case, *, progress: bool) -> list[Finding]:
        """Read walls, make particles, and return the findings of the checks. Collective."""
        ranks, threads = 1 if self._communicator is None else self._communicator.size, self._threads
        over = exchange_of(case, self._communicator, threads)
        meshes, _ = once_per_node(self._communicator, lambda: read_walls(case))
        self.meshes = meshes
        self.particles = PartOfParticles(initial_particles(case, meshes, progress=progress, over=over))
        counts = np.array([body_count(self.particles), len(self.particles["radius"])])
        number, spheres = over.add(counts).tolist()
        return [
            *preflight(case, self.particles, meshes, ranks, threads, over, self._crowded),
            *on_first(
                self._communicator, lambda: list(forecast(case, number, meshes, ranks, threads, spheres=spheres))
            ),
        ]

    def forget(self) -> None:
        """Release the memory, because the simulation has its own copy."""
        self.particles = self.meshes = None
        release(self._communicator)

"""The rigid clusters of a rank as carriers of their members: see `pdem.motion.rigid_clusters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.foundation.arrays import line_zeros, room_for
from pdem.foundation.kernels import plain
from pdem.motion.integration import StepColumns
from pdem.motion.inverse_masses import TENSOR
from pdem.motion.own_forces import ForcedColumns
from pdem.motion.rigid_clusters import (
    ClusterArrays,
    begin_clusters,
    finish_clusters,
    members_in_order,
    place_ghosts,
    write_tensors,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.motion.integration import Motion

    Integers = NDArray[np.int64]


class RigidClusters:
    """Moves the members of clusters; implements `pdem.motion.carriers.Carriers`.

    Parameters
    ----------
    table : Clusters
        The clusters of this rank.
    density : callable
        Returns the density by material [kg/m^3].
    motion : callable
        Returns what moves particles in the drift that ends at the present step, or so many steps later.

    Attributes
    ----------
    table : Clusters
        The clusters.
    tensors : flat array
        Inverse mass tensors of all particles by row, see `pdem.motion.inverse_masses`.
    """

    def __init__(
        self, table: Clusters, density: Callable[[], NDArray[np.float64]], motion: Callable[[int], Motion]
    ) -> None:
        self.table, self._density, self._motion = table, density, motion
        self.tensors = np.zeros(0)
        self._first, self._member = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self._ghost_row, self._ghost_sphere = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def rows(self, particles: Particles) -> NDArray[np.int32]:
        """Return the rows of the members of owned clusters, and note where all members stand."""
        rows = particles.count + particles.ghosts
        if len(self.tensors) < TENSOR * rows:
            self.tensors = line_zeros(TENSOR * room_for(rows, len(self.tensors) // TENSOR))
        self._first, self._member = members_in_order(self.table, particles)
        cluster, ids = particles.column("cluster")[:rows], particles.column("id")[:rows]
        of_cluster = np.full(rows, -1)
        members = np.flatnonzero(cluster)
        of_cluster[members] = self.table.rows_of(cluster[members])
        sphere = ids + 1 - cluster
        self._ghost_row, self._ghost_sphere = of_cluster[particles.count :], sphere[particles.count :]
        write_tensors(
            *plain(
                rows, of_cluster, sphere, particles.column("radius"), particles.column("material"),
                self._density(), self.table.shapes, self._arrays,
            )
        )  # fmt: skip
        return self._member

    @property
    def _arrays(self) -> ClusterArrays:
        return ClusterArrays(self.table.states, self.table.image, self._first, self._member, self.tensors)

    def _arguments(self, particles: Particles) -> tuple[Any, ...]:
        columns = StepColumns(*(particles.column(name) for name in StepColumns._fields))
        return self._density(), self.table.shapes, self._arrays, columns

    def begin(self, particles: Particles, rows: NDArray[np.int32], dt: float) -> int:
        """Begin a step of `dt` [s]: half a kick, the drift, and where the members are then."""
        return self._begin(particles, dt, 1, self._motion(0))

    def advance(self, particles: Particles, rows: NDArray[np.int32], half: float) -> int:
        """End a step and begin the next, each half of it `half` [s] long: the loads on clusters are added up once."""
        return self._begin(particles, 2.0 * half, 2, self._motion(1))

    def _begin(self, particles: Particles, dt: float, kicks: int, motion: Motion) -> int:
        arguments = self._arguments(particles)
        return int(begin_clusters(*plain(self.table.count, dt, kicks, motion, *arguments)))

    def finish(self, particles: Particles, rows: NDArray[np.int32], half: float) -> None:
        """Let the forces on the members act for the other half of the step [s]."""
        arguments = self._arguments(particles)
        finish_clusters(*plain(self.table.count, half, self._motion(0), *arguments))

    def as_spheres(self) -> ForcedColumns:
        """Return the clusters as own forces see them: spheres of their volume and mass; copies."""
        table = self.table
        columns: dict[str, NDArray[Any]] = {
            "id": table.number[: table.count] - 1, "material": table.material.astype(np.int32),
            "radius": table.radius,
            "position": np.ascontiguousarray(table.position), "velocity": table.velocity.copy(),
            "force": np.zeros((table.count, 3)),
        }  # fmt: skip
        return ForcedColumns(*(columns[name] for name in ForcedColumns._fields))

    def set_velocities(self, particles: Particles, velocity: NDArray[np.float64]) -> None:
        """Give the clusters other velocities (n, 3) [m/s] between two steps, and their members those that follow."""
        self.table.velocity[:] = velocity
        self.finish(particles, self._member, 0.0)

    def place_ghosts(self, first: int, dt: float, packed: NDArray[np.float64]) -> None:
        """Write the copies of members, from the row `first` on, where the copies of their clusters are now."""
        place_ghosts(
            *plain(
                first, self._ghost_row, self._ghost_sphere, 0.5 * dt, self._motion(0), self._density(),
                self.table.shapes, self._arrays, packed,
            )
        )  # fmt: skip

    @property
    def memory(self) -> int:
        """Bytes held in arrays."""
        arrays = (
            self.tensors,
            self._member,
            self._first,
            self.table.states,
            self.table.image,
            self.table.number,
        )
        return sum(array.nbytes for array in arrays)

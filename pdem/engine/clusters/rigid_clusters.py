"""The rigid clusters of a rank as carriers of their members: see `pdem.motion.clusters.rigid_clusters`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.pairs.cluster_sums import advance_clusters
from pdem.motion.clusters.cluster_blocks import COLUMNS, ClusterArrays, Members
from pdem.motion.clusters.rigid_clusters import (
    begin_clusters,
    copied_members,
    finish_clusters,
    owned_members,
    place_ghosts,
    spheres_of,
    write_sphere_tensors,
    write_tensors,
)
from pdem.motion.integration import StepColumns
from pdem.motion.inverse_masses import TENSOR
from pdem.numerics.arrays import line_zeros, room_for
from pdem.numerics.kernels import plain
from pdem.numerics.thread_pool import threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.containers.clusters import Clusters
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s
    from pdem.motion.clusters.carriers import Loads, Placing
    from pdem.motion.integration import Motion

_NONE, _NOWHERE, _NOTHING = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0)
_NO_MEMBERS = Members(_NONE, _NOWHERE, _NOWHERE, _NONE, _NONE)


class RigidClusters:
    """Moves the members of clusters; implements `pdem.motion.clusters.carriers.Carriers`.

    Parameters
    ----------
    table : Clusters
        The clusters of this rank.
    density : callable
        Returns the density by material [kg/m^3].
    motion : callable
        Returns the constants of motion for the drift that ends at the present step.

    Attributes
    ----------
    table : Clusters
        The clusters.
    tensors : flat array
        Inverse mass tensors of all particles by row, see `pdem.motion.inverse_masses`.
    """

    def __init__(self, table: Clusters, density: Callable[[], Floats], motion: Callable[[], Motion]) -> None:
        self.table, self._density, self._motion = table, density, motion
        self.tensors, self._work, self._turned = np.zeros(0), np.zeros(0), np.zeros(0)
        self._spheres = spheres_of(table.shapes)
        self._own = self._copies = _NO_MEMBERS

    def rows(self, particles: Particles) -> Int32s:
        """Return the rows of the members of owned clusters, and record the rows of all members."""
        rows = particles.count + particles.ghosts
        if len(self.tensors) < TENSOR * rows:
            self.tensors = line_zeros(TENSOR * room_for(rows, len(self.tensors) // TENSOR))
        self._own, self._copies = (owned_members(self.table, particles), copied_members(self.table, particles))
        columns = (particles.column(name) for name in ("cluster", "radius", "material"))
        write_sphere_tensors(rows, *columns, self._density(), self.tensors)
        self.tensors[: TENSOR * rows].reshape(rows, TENSOR)[particles.column("fixed")[:rows] != 0] = 0.0
        for members in (self._own, self._copies):
            write_tensors(*plain(threads(), self.table.shapes, self._arrays(), members))
        self._turned = np.full(len(self._own.row), np.nan)
        return np.flatnonzero(particles.cluster).astype(np.int32)

    def _arrays(self, packed: Floats = _NOTHING) -> ClusterArrays:
        if len(self._work) < threads() * COLUMNS:
            self._work = line_zeros(threads() * COLUMNS)
        table, density = self.table, self._density()
        return ClusterArrays(
            table.states.reshape(-1), table.image, density, self._spheres, self._turned, self.tensors, packed,
            self._work,
        )  # fmt: skip

    def begin(self, particles: Particles, rows: Int32s, dt: float, placing: Placing) -> int:
        """Begin a step of `dt` [s]: half a kick, the drift, and the new positions of members."""
        return self._begin(particles, dt, placing, 1)

    def advance(self, particles: Particles, rows: Int32s, dt: float, placing: Placing, loads: Loads) -> int:
        """End a step and begin the next, of `dt` [s] each: the loads on clusters are added up once."""
        if placing.motion.box is not None:  # the work of the box on clusters needs the forces on members
            loads.write()
            return self._begin(particles, dt, placing, 2)
        worst = np.zeros(threads(), np.int64)
        advance_clusters(
            *plain(
                worst, self.table.shapes, self._arrays(placing.packed), self._own, particles.column("image"),
                *loads.arguments,
            )
        )  # fmt: skip
        return int(max(worst.tolist()))

    def _begin(self, particles: Particles, dt: float, placing: Placing, kicks: int) -> int:
        worst = np.zeros(threads(), np.int64)
        begin_clusters(
            *plain(
                worst, dt, kicks, self._motion(), placing.motion, self.table.shapes,
                self._arrays(placing.packed), self._own, _columns(particles), placing.fixed,
            )
        )  # fmt: skip
        return int(max(worst.tolist()))

    def finish(self, particles: Particles, rows: Int32s, dt: float) -> None:
        """Kick clusters by the forces on their members, for the second half of a step of `dt` [s]."""
        finish_clusters(
            *plain(
                threads(), dt, self._motion(), self.table.shapes, self._arrays(), self._own,
                _columns(particles),
            )
        )  # fmt: skip

    def set_velocities(self, particles: Particles, velocity: Floats) -> None:
        """Set the velocities of clusters (n, 3) [m/s] between two steps, and the velocities of their members."""
        self.table.velocity[:] = velocity
        self.finish(particles, _NONE, 0.0)

    def place_ghosts(self, dt: float, packed: Floats) -> None:
        """Write ghosts of members at the present positions of the ghosts of clusters, in a step of `dt` [s]."""
        place_ghosts(
            *plain(
                threads(), 0.5 * dt, self._motion(), self.table.shapes, self._arrays(packed), self._copies,
            )
        )  # fmt: skip

    @property
    def memory(self) -> int:
        """Bytes held in arrays."""
        table = self.table
        arrays = (
            self.tensors,
            self._work,
            self._turned,
            *self._own,
            *self._copies,
            table.states,
            table.image,
            table.number,
        )
        return sum(array.nbytes for array in arrays)


def _columns(particles: Particles) -> StepColumns:
    return StepColumns(*(particles.column(name) for name in StepColumns._fields))

"""Particles that never move: for contacts they are at rest and have an infinite mass.

They get no kick and no drift. Their inverse mass is 0, so that the mass of the other particle alone determines the
damping of a contact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.packed_row import INVERSE_MASS, MATERIAL, PACKED, PLACE, SIZE, SPEED, SPIN
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.simd.unsigned_index import ROW

if TYPE_CHECKING:
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Int32s, Integers

NO_ROWS = np.empty(0, np.int32)


@threaded_kernel
def pack_fixed(rows: Int32s, position: Floats, radius: Floats, material: Int32s, packed: Floats) -> None:
    """Write the packed rows of fixed particles from their columns."""
    for k in prange(len(rows)):
        p = rows[k]
        at = PACKED * (p & ROW)
        for axis in range(3):
            packed[at + PLACE + axis] = position[p, axis]
            packed[at + SPEED + axis] = 0.0
            packed[at + SPIN + axis] = 0.0
        packed[at + SIZE] = radius[p]
        packed[at + INVERSE_MASS] = 0.0
        packed[at + MATERIAL] = material[p]


class HeldRows(NamedTuple):
    """Rows of particles without kicks by forces, valid from one list build to the next.

    Attributes
    ----------
    carried : int32 array
        Owned particles that a carrier moves (`pdem.motion.clusters.carriers`).
    fixed : int32 array
        Owned particles that are fixed.
    copies : int32 array
        Ghosts of fixed particles of other ranks.
    """

    carried: Int32s = NO_ROWS
    fixed: Int32s = NO_ROWS
    copies: Int32s = NO_ROWS

    @classmethod
    def of(cls, particles: Particles, carried: Int32s) -> HeldRows:
        """Return the held rows of the present particles; `carried` are the rows of carried particles."""
        rows = particles.count + particles.ghosts
        fixed = np.flatnonzero(particles.column("fixed")[:rows]).astype(np.int32)
        owned = int(np.searchsorted(fixed, particles.count))
        return cls(carried, fixed[:owned], fixed[owned:])

    @property
    def owned(self) -> Int32s:
        """Rows of all held particles that this rank owns."""
        return np.concatenate((self.carried, self.fixed)) if len(self.fixed) else self.carried

    @property
    def any_owned(self) -> bool:
        """Whether this rank owns any held particle."""
        return len(self.carried) + len(self.fixed) > 0

    def bodies(self, particles: Particles, *, clusters: bool) -> Integers:
        """Return the body of each row: its cluster, or -1 for fixed particles. May be empty.

        Two particles of the same body are never a pair.
        """
        cluster = particles.column("cluster")[: None if clusters else 0]
        if not len(self.fixed) + len(self.copies):
            return cluster
        rows = particles.count + particles.ghosts
        body = cluster[:rows].copy() if clusters else np.zeros(rows, np.int64)
        body[self.fixed], body[self.copies] = -1, -1
        return body

    def pack(self, particles: Particles, packed: Floats, *, copies: bool) -> None:
        """Write the packed rows of fixed particles, and with `copies` also the rows of their ghosts."""
        for rows in (self.fixed, self.copies) if copies else (self.fixed,):
            if len(rows):
                pack_fixed(rows, *map(particles.column, ("position", "radius", "material")), packed)

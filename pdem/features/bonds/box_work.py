"""Bonds in a box that deforms: their forces and branches, the work of the box on them, and their part of its stress.

The box has the gradient of velocity L, and a bond with the force f and the branch b gets the power -f L b from it, as a
contact does. The work of a step is half a step of this power at its begin, with the rates of the step and without the
bonds that have broken before, and half a step of it at its end: these are the two kicks of the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.engine.box.feature_stress import BoxForces
from pdem.foundation.fields import Field
from pdem.foundation.packed_row import PLACE
from pdem.numerics.box_images import images_in, in_frame, power
from pdem.numerics.kernels import plain, prange, uncounted_kernel
from pdem.numerics.vectors import row3

if TYPE_CHECKING:
    from pdem.engine.id_pairs.pairs_by_id import PairTable
    from pdem.engine.system import System
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.motion.moving_box import MovingBox

FIELDS_IN_BOX = (
    Field("force", np.float64, (3,), "N", "force on the higher end"),
    Field("branch", np.float64, (3,), "m", "from the lower to the higher end"),
)
"""Further columns of the table of bonds in a box that deforms, of the last evaluation."""


class BondsInBox:
    """The work of a deforming box on the bonds of a rank.

    Parameters
    ----------
    box : MovingBox
        The box.
    table : PairTable
        The bonds, with the columns `FIELDS_IN_BOX`.
    """

    def __init__(self, box: MovingBox, table: PairTable) -> None:
        self._box, self._table = box, table
        self._work = np.zeros(0)

    def note(self, packed: Floats, loads: Floats) -> None:
        """Store forces and branches of all bonds after their evaluation, from packed rows and loads."""
        table = self._table
        columns = table.columns["force"], table.columns["branch"]
        write_forces(*plain(table.rows, table.shift, packed, loads, *columns))

    def work(self, step: int, owned: int, time: float) -> Floats:
        """Return the work of the box on each bond (n,) [J] in a time [s], 0 for bonds that another rank counts.

        Rates of the box are the rates after a step, and forces are present ones.
        """
        table = self._table
        if len(self._work) != len(table):
            self._work = np.zeros(len(table))
        columns = table.columns["force"], table.columns["branch"]
        write_work(*plain(table.rows, owned, time, self._box.images(step), *columns, self._work))
        return self._work

    def forces(self, counted: Booleans) -> BoxForces:
        """Return the forces of marked bonds for the stress of the box."""
        columns = {name: column[counted] for name, column in self._table.columns.items()}
        stiffness, damping = columns["stiffness"][:, :2], columns["damping"][:, :2]
        return BoxForces(columns["force"], columns["branch"], stiffness, damping)


@uncounted_kernel
def write_forces(
    rows: Integers, shift: Floats, packed: Floats, loads: Floats, force: Floats, branch: Floats
) -> None:  # fmt: skip
    """Write forces on the higher ends (n, 3) [N] and branches (n, 3) [m] of bonds.

    Parameters
    ----------
    rows, shift
        See `pdem.engine.id_pairs.pairs_by_id.PairTable`.
    packed : (N, PACKED) array
        Packed rows of particles.
    loads : (n, `.kernel.BOND_LOADS`) array
        Loads of bonds.
    force, branch : (n, 3) arrays
        Written.
    """
    for bond in prange(len(rows)):
        for axis in range(3):
            way = packed[rows[bond, 1], PLACE + axis] - packed[rows[bond, 0], PLACE + axis]
            branch[bond, axis], force[bond, axis] = way + shift[bond, axis], loads[bond, axis]


@uncounted_kernel
def write_work(
    rows: Integers, owned: int, time: float, images: Floats, force: Floats, branch: Floats, work: Floats
) -> None:  # fmt: skip
    """Write the work of the box on bonds in a time [s] to `work` (n,) [J].

    Parameters
    ----------
    rows : (n, 2) array
        Rows of the ends.
    owned : int
        Number of owned particles. The work is 0 for bonds with a lower end that is a ghost.
    time : float
        Time [s].
    images : (`pdem.numerics.box_images.ROWS`, 3) array
        The box.
    force, branch : (n, 3) arrays
        Force on the higher end [N], and branch from the lower to the higher end [m].
    work : (n,) array
        Written.
    """
    for bond in prange(len(rows)):
        frame = images_in(images).frame
        delivered = power(in_frame(row3(force, bond), frame), in_frame(row3(branch, bond), frame), frame)
        work[bond] = time * delivered if rows[bond, 0] < owned else 0.0


def count_box_work(system: System, bonds: BondsInBox, step: int) -> None:
    """Add the work of the box on bonds in half a step at the rates after a step to the energy balance."""
    if system.constants.law.has_ledger:
        half = system.constants.time_step.half
        system.contacts.ended_energies.add("box_work", bonds.work(step, system.particles.count, half))

"""Where the numbers of a block of contacts stand between two stages of the contact law.

Each name is the place of a column of `BLOCK` numbers in the work array of a worker. A column whose content nobody needs
any more is used again under another name: names on one line of the second part share their places with those of the
first. Walls use the same columns (`pdem.contact.walls.stages`), the wall in place of the lower particle.

==============================  ============  ================================================================
columns                         written by    meaning
==============================  ============  ================================================================
`X_I` .. `MATERIAL_J`           gather        packed rows of both particles
`NORMAL_X` ..                   geometry      unit normal at the end of the step, from the lower to the higher
`MIDDLE_X` ..                   geometry      the same in the middle of the step
`WAIT`                          candidates    how far both may move before they touch (`due_candidates`) [m]
`VELOCITY_X` ..                 geometry      velocity of the higher centre relative to the lower one [m/s]
`OVERLAP_END`, `_MIDDLE`        geometry      overlap at the end and in the middle of the step [m]
`STATE`                         geometry      0, or what is the matter (`pdem.contact.pairs.stages`)
`OVERLAP_BEGIN`                 kinematics    overlap at the begin of the step [m]
`CONTACT_X` ..                  kinematics    relative velocity at the contact in the middle of the step [m/s]
`SLIP_X` ..                     kinematics    its tangential part [m/s]
`ROLLING_X` ..                  kinematics    relative angular velocity [rad/s]
`SPIN`                          kinematics    mean angular velocity of both about the normal [rad/s]
`RADIUS`, `MASS`, `INERTIA`     kinematics    effective ones of the pair [m, kg, kg m^2]
`INVERSE_MASS`                  kinematics    one over the effective mass [1/kg]
`ARM_I`, `ARM_J`                kinematics    distances of both centres from the contact [m]
`PAIR`                          kinematics    number of the pair of materials
`COEFFICIENTS`                  coefficients  row of the pair table
`TANGENTIAL_X` ..               normal force  tangential velocity at the end of the step [m/s]
`STIFFNESS`, `DAMPING`          normal force  tangential ones [N/m, N s/m]
`SHRINK`, `SLIP_TIME`           normal force  what unloading leaves of the tangential force; time of slip [s]
`NORMAL_STIFFNESS`, `LOAD`      normal force  [N/m]; force to which frictions are proportional [N]
`RESISTANCE_X` ..               resistances   torque on the higher particle that follows from no force [N m]
`FORCE_X` .., `FORCE_LIMIT`     tangential    tangential force [N]; square of the largest [N^2]
`FORCE_J_X` ..                  resultant     force on the higher particle [N]
`TORQUE_PER_ARM_X` ..           resultant     its torque on either particle, over the arm of that [N]
==============================  ============  ================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import BLOCK as BLOCK
from pdem.contact.law.contact_law import MOST_COEFFICIENTS
from pdem.foundation.packed_row import NUMBERS, PACKED
from pdem.motion.moving_blocks import COLUMNS
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.places import ROW, offset

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw

STRIDE = np.uint64(BLOCK)
"""From one column to the next."""


def columns(first: int, count: int) -> list[np.uint64]:
    """Return the places of so many columns, from the column `first` on, behind that of `moving_blocks.LONGEST`."""
    return [np.uint64(BLOCK * (1 + column)) for column in range(first, first + count)]


_ROWS = columns(0, 2 * PACKED)
X_I, Y_I, Z_I, RADIUS_I, VX_I, VY_I, VZ_I, INVERSE_MASS_I, WX_I, WY_I, WZ_I, MATERIAL_I = (
    _ROWS[number] for number in NUMBERS
)
X_J, Y_J, Z_J, RADIUS_J, VX_J, VY_J, VZ_J, INVERSE_MASS_J, WX_J, WY_J, WZ_J, MATERIAL_J = (
    _ROWS[PACKED + number] for number in NUMBERS
)

NORMAL_X, NORMAL_Y, NORMAL_Z = X_I, Y_I, Z_I
MIDDLE_X, MIDDLE_Y, MIDDLE_Z = X_J, Y_J, Z_J
VELOCITY_X, VELOCITY_Y, VELOCITY_Z = VX_I, VY_I, VZ_I
OVERLAP_END, OVERLAP_MIDDLE, STATE = VX_J, VY_J, VZ_J
WAIT = VX_I
(
    CONTACT_X, CONTACT_Y, CONTACT_Z, SLIP_X, SLIP_Y, SLIP_Z, ROLLING_X, ROLLING_Y, ROLLING_Z, OVERLAP_BEGIN, SPIN,
    RADIUS, MASS, _KEPT, INVERSE_MASS, INERTIA, PAIR, FORCE_LIMIT, STIFFNESS,
) = columns(3, 19)  # fmt: skip
assert [*columns(0, 3), _KEPT] == [NORMAL_X, NORMAL_Y, NORMAL_Z, OVERLAP_END]  # these are still needed
TANGENTIAL_X, TANGENTIAL_Y, TANGENTIAL_Z = CONTACT_X, CONTACT_Y, CONTACT_Z
FORCE_X, FORCE_Y, FORCE_Z = SLIP_X, SLIP_Y, SLIP_Z

DAMPING, SHRINK, SLIP_TIME, NORMAL_STIFFNESS, LOAD = columns(2 * PACKED, 5)
(
    FORCE_J_X, FORCE_J_Y, FORCE_J_Z, TORQUE_PER_ARM_X, TORQUE_PER_ARM_Y, TORQUE_PER_ARM_Z, ARM_I, ARM_J,
    RESISTANCE_X, RESISTANCE_Y, RESISTANCE_Z, _,
) = columns(2 * PACKED + 5, 12)  # fmt: skip

FORCE_ROW, FORCE_AND_RESISTANCE_ROW = 8, 12
"""Numbers of what a contact does to its particles, which are summed later: the columns from `FORCE_J_X` on, up to the
arms, or with the resistance and one that means nothing. The first are one line of the cache."""


def force_row_of(law: ContactLaw) -> int:
    """Return how many numbers say what a contact of this law does to its particles."""
    return FORCE_AND_RESISTANCE_ROW if law.has_resistance else FORCE_ROW


COEFFICIENTS = tuple(columns(2 * PACKED + 5 + FORCE_AND_RESISTANCE_ROW, MOST_COEFFICIENTS))
"""Row of the pair table, as many columns as the law has coefficients."""

STAGED = 2 * PACKED + 5 + FORCE_AND_RESISTANCE_ROW + MOST_COEFFICIENTS
"""Columns of all stages, behind the first of all, which is that of `pdem.motion.moving_blocks.LONGEST`."""

WORK = max(BLOCK * (1 + STAGED), COLUMNS) + 64
"""Numbers of the columns of one worker, for contacts or for particles that are advanced, and some to keep those of the
next worker away: a cache line that two workers write to goes to and fro between them."""


@inlined
def history_column(first: int, c: int, width: int) -> Any:
    """Return the place of the number of contact `c` in the first column of the block of histories from `first` on.

    `width` is the number of columns of a history.
    """
    return offset(width * first, c)


def history_place(column: int) -> Any:
    """Return where a column of a block of histories begins."""
    return np.uint64(BLOCK * column)


@inlined
def row_of(particle: int) -> int:
    """Return where the packed row of a particle begins; masked, it is known not to be negative."""
    return PACKED * (particle & ROW)

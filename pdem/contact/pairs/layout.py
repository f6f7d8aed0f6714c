"""Layout of the numbers of a block of contacts between two stages of the contact law.

Each name is the index of a column of `BLOCK` numbers in the work array of a worker. A column that is not needed any
more is used again under a second name: names on one line of the second part share columns with names of the first part.
Walls use the same columns (`pdem.contact.walls.stages`), with the wall as the lower particle.

==============================  ============  ================================================================
columns                         written by    meaning
==============================  ============  ================================================================
`X_I` .. `MATERIAL_J`           gather        packed rows of both particles
`NORMAL_X` ..                   geometry      unit normal at the end of the step, from the lower to the higher
`MIDDLE_X` ..                   geometry      the same in the middle of the step
`WAIT`                          candidates    displacement of both before they can touch (`due_candidates`) [m]
`VELOCITY_X` ..                 geometry      velocity of the higher centre relative to the lower one [m/s]
`OVERLAP_END`, `_MIDDLE`        geometry      overlap at the end and in the middle of the step [m]
`STATE`                         geometry      0, `APART` or `TOO_DEEP` (`pdem.contact.pairs.stages`)
`OVERLAP_BEGIN`                 kinematics    overlap at the begin of the step [m]
`CONTACT_X` ..                  kinematics    relative velocity at the contact in the middle of the step [m/s]
`SLIP_X` ..                     kinematics    its tangential part [m/s]
`ROLLING_X` ..                  kinematics    relative angular velocity [rad/s]
`SPIN`                          kinematics    mean angular velocity of both about the normal [rad/s]
`RADIUS`, `MASS`, `INERTIA`     kinematics    effective values of the pair [m, kg, kg m^2]
`INVERSE_MASS`                  kinematics    one over the effective mass [1/kg]
`ARM_I`, `ARM_J`                kinematics    distances of both centres from the contact [m]
`PAIR`                          kinematics    number of the pair of materials
`COEFFICIENTS`                  coefficients  row of the pair table
`TANGENTIAL_X` ..               normal force  tangential velocity at the end of the step [m/s]
`STIFFNESS`, `DAMPING`          normal force  tangential stiffness and damping [N/m, N s/m]
`SHRINK`, `SLIP_TIME`           normal force  factor of the tangential force by unloading; time of slip [s]
`NORMAL_STIFFNESS`, `LOAD`      normal force  [N/m]; force to which frictions are proportional [N]
`RESISTANCE_X` ..               resistances   torque on the higher particle by rolling and twisting resistance [N m]
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
from pdem.numerics.simd.unsigned_index import ROW, offset

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw

STRIDE = np.uint64(BLOCK)
"""Distance from one column to the next."""


def columns(first: int, count: int) -> list[np.uint64]:
    """Return the indices of `count` columns from the column `first` on, after the column `moving_blocks.LONGEST`."""
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
"""Numbers of a row of forces, which are summed later: the columns from `FORCE_J_X` to the arms, or also the resistance
and one unused number. The shorter row is one cache line."""


def force_row_of(law: ContactLaw) -> int:
    """Return the length of a row of forces and torques of a contact of this law."""
    return FORCE_AND_RESISTANCE_ROW if law.has_resistance else FORCE_ROW


COEFFICIENTS = tuple(columns(2 * PACKED + 5 + FORCE_AND_RESISTANCE_ROW, MOST_COEFFICIENTS))
"""Row of the pair table, as many columns as the law has coefficients."""

STAGED = 2 * PACKED + 5 + FORCE_AND_RESISTANCE_ROW + MOST_COEFFICIENTS
"""Number of columns of all stages; they follow the first column, `pdem.motion.moving_blocks.LONGEST`."""

WORK = max(BLOCK * (1 + STAGED), COLUMNS) + 64
"""Length of the work array of one worker, for the columns of contacts or of integrated particles. The last 64 numbers
separate two workers: a cache line that two workers write to would be sent between them again and again."""


@inlined
def history_column(first: int, c: int, width: int) -> Any:
    """Return the index of the number of contact `c` in the first column of the block of histories from `first` on.

    `width` is the number of columns of a history.
    """
    return offset(width * first, c)


def history_place(column: int) -> Any:
    """Return the offset of a column in a block of histories."""
    return np.uint64(BLOCK * column)


@inlined
def row_of(particle: int) -> int:
    """Return the index of the packed row of a particle, masked so that the compiler can rule out negative values."""
    return PACKED * (particle & ROW)

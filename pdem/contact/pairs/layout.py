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
`VELOCITY_X` ..                 geometry      velocity of the higher centre relative to the lower one [m/s]
`OVERLAP_END`, `_MIDDLE`        geometry      overlap at the end and in the middle of the step [m]
`OVERLAP_BEGIN`                 kinematics    overlap at the begin of the step [m]
`CONTACT_X` ..                  kinematics    relative velocity at the contact in the middle of the step [m/s]
`SLIP_X` ..                     kinematics    its tangential part [m/s]
`ROLLING_X` ..                  kinematics    relative angular velocity [rad/s]
`SPIN`                          kinematics    mean angular velocity of both about the normal [rad/s]
`RADIUS`, `MASS`, `INERTIA`     kinematics    effective ones of the pair [m, kg, kg m^2]
`INVERSE_MASS`                  kinematics    one over the effective mass [1/kg]
`ARM_I`, `ARM_J`                kinematics    distances of both centres from the contact [m]
`PAIR`                          kinematics    number of the pair of materials
`HERTZIAN` .. `TANGENTIAL_ROOT` coefficients  row of the pair table
`TANGENTIAL_X` ..               normal force  tangential velocity at the end of the step [m/s]
`STIFFNESS`, `DAMPING`          normal force  tangential ones [N/m, N s/m]
`SHRINK`, `SLIP_TIME`           normal force  what unloading leaves of the tangential force; time of slip [s]
`FORCE_X` .., `FORCE_LIMIT`     tangential    tangential force [N]; square of the largest [N^2]
`TORQUE_I_X` ..                 resultant     torque on the lower particle [N m]
`FORCE_J_X` ..                  resultant     force on the higher particle [N]
`TORQUE_J_X` ..                 resultant     torque on the higher particle [N m]
==============================  ============  ================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pdem.contact.law.forces import HISTORY
from pdem.contact.law.pair_table import COEFFICIENTS
from pdem.foundation.kernels import ROW, inlined
from pdem.motion.integration import PACKED
from pdem.motion.moving_blocks import COLUMNS

BLOCK = 32
"""Contacts, or candidates, that go through all stages at a time; a multiple of the lanes of a vector."""


STRIDE = np.uint64(BLOCK)
"""From one column to the next."""


def columns(first: int, count: int) -> list[np.uint64]:
    """Return the places of so many columns, from the column `first` on."""
    return [np.uint64(BLOCK * column) for column in range(first, first + count)]


(
    X_I, Y_I, Z_I, RADIUS_I, VX_I, VY_I, VZ_I, INVERSE_MASS_I, WX_I, WY_I, WZ_I, MATERIAL_I,
    X_J, Y_J, Z_J, RADIUS_J, VX_J, VY_J, VZ_J, INVERSE_MASS_J, WX_J, WY_J, WZ_J, MATERIAL_J,
) = columns(0, 2 * PACKED)  # fmt: skip

NORMAL_X, NORMAL_Y, NORMAL_Z = X_I, Y_I, Z_I
MIDDLE_X, MIDDLE_Y, MIDDLE_Z = X_J, Y_J, Z_J
VELOCITY_X, VELOCITY_Y, VELOCITY_Z = VX_I, VY_I, VZ_I
OVERLAP_END, OVERLAP_MIDDLE = VX_J, VY_J
(
    CONTACT_X, CONTACT_Y, CONTACT_Z, SLIP_X, SLIP_Y, SLIP_Z, ROLLING_X, ROLLING_Y, ROLLING_Z, OVERLAP_BEGIN, SPIN,
    RADIUS, MASS, _, INVERSE_MASS, INERTIA, ARM_I, ARM_J, PAIR, FORCE_LIMIT, STIFFNESS,
) = columns(3, 21)  # fmt: skip
TANGENTIAL_X, TANGENTIAL_Y, TANGENTIAL_Z = CONTACT_X, CONTACT_Y, CONTACT_Z
FORCE_X, FORCE_Y, FORCE_Z = SLIP_X, SLIP_Y, SLIP_Z

DAMPING, SHRINK, SLIP_TIME = columns(2 * PACKED, 3)
HERTZIAN, MODULUS, RATIO, GAMMA, FRICTION, ROLLING, TANGENTIAL_ROOT = columns(2 * PACKED + 3, COEFFICIENTS)
(
    TORQUE_I_X, TORQUE_I_Y, TORQUE_I_Z, FORCE_J_X, FORCE_J_Y, FORCE_J_Z, TORQUE_J_X, TORQUE_J_Y, TORQUE_J_Z,
) = columns(2 * PACKED + 3 + COEFFICIENTS, 9)  # fmt: skip

FORCE_ROW = 9
"""Numbers of what a contact does to its particles, which are summed later: torque on the lower one, force on the higher
one, torque on the higher one, three each."""

STAGED = 2 * PACKED + 3 + COEFFICIENTS + FORCE_ROW
"""Columns of all stages."""

WORK = max(BLOCK * STAGED, COLUMNS) + 64
"""Numbers of the columns of one worker, for contacts or for particles that are advanced, and some to keep those of the
next worker away: a cache line that two workers write to goes to and fro between them."""

(
    H_FORCE_X, H_FORCE_Y, H_FORCE_Z, H_NORMAL, H_VELOCITY_X, H_VELOCITY_Y, H_VELOCITY_Z, H_STORED, H_DAMPED, H_SLID,
    H_ROLLED, H_OVERLAP,
) = columns(0, HISTORY)  # fmt: skip
"""Where the columns of a block of histories begin, see `pdem.contact.law.forces.HISTORY`."""


@inlined
def column_of(at: int, c: int) -> Any:
    """Return the place of the number of contact `c` in the first column of a worker."""
    return np.uint64(at) + np.uint64(c)


@inlined
def history_column(first: int, c: int) -> Any:
    """Return the place of the number of contact `c` in the first column of the block of histories from `first` on."""
    return np.uint64(HISTORY * first) + np.uint64(c)


@inlined
def row_of(particle: int) -> int:
    """Return where the packed row of a particle begins; masked, it is known not to be negative."""
    return PACKED * (particle & ROW)

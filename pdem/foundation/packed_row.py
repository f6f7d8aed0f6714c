"""The packed row of a particle: all values that contacts read, in contiguous memory.

During a step, the packed rows hold the state of the particles (`pdem.motion.integration`), and ghosts receive them
unchanged in every step. This module defines the parts of a row and derives their offsets, which are compile-time
constants in kernels. Further values that ghosts need in every step are sent as separate columns, see
`columns_beside_rows` of `pdem.containers.particles`; so rows stay short for contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.fields import FIELDS, Ghosted

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE = 4
"""Row lengths are multiples of this count of numbers, so that each row begins at a multiple of 32 bytes."""

PARTS = ("position", "radius", "velocity", "inverse_mass", "angular_velocity", "material")
"""Fields and derived numbers in the order of the row. Position and radius come first: for a candidate pair that is
apart, contacts read only these two."""


def layout_of(parts: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return the offset of each part of a row, and the length of the row.

    Parameters
    ----------
    parts : sequence of str
        Names of fields or of derived numbers, in the order of the row.

    Returns
    -------
    places : dict of str to int
        Offset of each part in the row.
    length : int
        Count of numbers per row, a multiple of `WHOLE`.
    """
    places, length = {}, 0
    for name in parts:
        places[name] = length
        length += FIELDS[name].width if name in FIELDS else 1
    return places, -(-length // WHOLE) * WHOLE


PLACES, PACKED = layout_of(PARTS)
"""Offset of each part in a row, and the count of numbers per row."""

PLACE, SIZE, SPEED = PLACES["position"], PLACES["radius"], PLACES["velocity"]
INVERSE_MASS, SPIN, MATERIAL = PLACES["inverse_mass"], PLACES["angular_velocity"], PLACES["material"]
"""Offsets of the parts: position (3) [m], radius [m], velocity (3) [m/s], one over the mass [1/kg], angular velocity
(3) [rad/s], index of the material."""

NUMBERS = (
    *range(PLACE, PLACE + 3), SIZE, *range(SPEED, SPEED + 3), INVERSE_MASS, *range(SPIN, SPIN + 3), MATERIAL,
)  # fmt: skip
"""Offsets of x, y, z, the radius, the three components of the velocity, and so on, for code that names each number."""

PACKED_FIELDS = tuple(name for name in PARTS if name in FIELDS and FIELDS[name].ghosted is Ghosted.EVERY_STEP)
"""Fields that change in every step: their columns are written from the rows only before something reads them."""

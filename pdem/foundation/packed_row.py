"""The packed row of a particle: what contacts read of it, at one address.

Rows are how particles live while steps are taken (`pdem.motion.integration`), and how ghosts get them, as they are, in
every step. Which fields and derived numbers a row has is said here, and where they stand follows: kernels take these
names, which are constants to the compiler. What ghosts need besides in every step goes from rank to rank as the column
that it is, see `columns_beside_rows` of `pdem.containers.particles`: rows stay as short as contacts need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.fields import FIELDS, Ghosted

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE = 4
"""Of how many numbers the length of a row is a multiple, so that each begins at a multiple of 32 bytes."""

PARTS = ("position", "radius", "velocity", "inverse_mass", "angular_velocity", "material")
"""Fields, and numbers derived from them, in the order of the row. Position and radius come first: of the particles of a
candidate that is apart nothing else is read."""


def layout_of(parts: Sequence[str]) -> tuple[dict[str, int], int]:
    """Return where the parts of a row begin, and how long it is.

    Parameters
    ----------
    parts : sequence of str
        Names of fields, or of derived numbers, in the order of the row.

    Returns
    -------
    places : dict of str to int
        Where each part begins.
    length : int
        Numbers of a row, a multiple of `WHOLE`.
    """
    places, length = {}, 0
    for name in parts:
        places[name] = length
        length += FIELDS[name].width if name in FIELDS else 1
    return places, -(-length // WHOLE) * WHOLE


PLACES, PACKED = layout_of(PARTS)
"""Where each part of a row begins, and how many numbers a row has."""

PLACE, SIZE, SPEED = PLACES["position"], PLACES["radius"], PLACES["velocity"]
INVERSE_MASS, SPIN, MATERIAL = PLACES["inverse_mass"], PLACES["angular_velocity"], PLACES["material"]
"""Where these begin: position (3) [m], radius [m], velocity (3) [m/s], one over the mass [1/kg], angular velocity (3)
[rad/s], index of the material."""

NUMBERS = (
    *range(PLACE, PLACE + 3), SIZE, *range(SPEED, SPEED + 3), INVERSE_MASS, *range(SPIN, SPIN + 3), MATERIAL,
)  # fmt: skip
"""Where x, y, z, the radius, the three components of the velocity, and so on stand, for those who name each of them."""

PACKED_FIELDS = tuple(name for name in PARTS if name in FIELDS and FIELDS[name].ghosted is Ghosted.EVERY_STEP)
"""Fields that change in every step: their columns are written from rows where somebody looks at them."""

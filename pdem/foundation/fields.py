"""The one table of particle fields.

Migration, ghosts at detection, checkpoints and snapshots are derived from it: a new field is one new row. Fields that
contacts read in every step are those of `PACKED_FIELDS`; `pdem.motion.integration` lays out their packed row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike, NDArray


PACKED_FIELDS = ("position", "velocity", "angular_velocity")
"""Fields whose ghost copies are refreshed in every step, as parts of the packed row. No other field can be."""


class Ghosted(Enum):
    """When the ghost copies of a field are refreshed; in every step only those of `PACKED_FIELDS`."""

    NEVER = "never"
    AT_DETECTION = "at detection"
    EVERY_STEP = "every step"


@dataclass(frozen=True)
class Field:
    """One column of the particle table.

    Attributes
    ----------
    name : str
        The name users see.
    dtype : numpy dtype
        Type of one component.
    shape : tuple of int
        Shape per particle: ``()`` for scalars, ``(3,)`` for vectors.
    unit : str
        SI unit, ``"1"`` without dimension.
    meaning : str
        One line for readers of an output file.
    ghosted : Ghosted
        When ghost copies are refreshed.
    state : bool
        Belongs to the state: moves with its particle between ranks and is in every checkpoint.
    written : bool
        Goes into snapshots.
    """

    name: str
    dtype: DTypeLike
    shape: tuple[int, ...]
    unit: str
    meaning: str
    ghosted: Ghosted = Ghosted.NEVER
    state: bool = True
    written: bool = True

    def __post_init__(self) -> None:
        """Refuse a field that ghosts would need in every step and that the packed row does not have."""
        if self.ghosted is Ghosted.EVERY_STEP and self.name not in PACKED_FIELDS:
            raise ValueError(
                f"{self.name}: ghosts get {', '.join(PACKED_FIELDS)} in every step and nothing else, since the packed "
                "row has no room; refresh it at detection, or send it in a pass of its own, as carried liquid is"
            )

    def allocate(self, count: int) -> NDArray:
        """Return zeros for `count` particles, shape ``(count, *shape)``."""
        return np.zeros((count, *self.shape), dtype=self.dtype)


_ROWS = (
    Field("id", np.int64, (), "1", "identity, never changes", Ghosted.AT_DETECTION),
    Field("material", np.int32, (), "1", "index of the material in the case", Ghosted.AT_DETECTION),
    Field("radius", np.float64, (), "m", "radius", Ghosted.AT_DETECTION),
    Field("cluster", np.int64, (), "1", "number of its cluster, 0 for a single sphere", Ghosted.AT_DETECTION),
    Field(
        "fixed",
        np.int16,
        (),
        "1",
        "number of its group of fixed particles, 0 if it moves",
        Ghosted.AT_DETECTION,
    ),
    Field("position", np.float64, (3,), "m", "centre", Ghosted.EVERY_STEP),
    Field("velocity", np.float64, (3,), "m/s", "velocity of the centre", Ghosted.EVERY_STEP),
    Field("angular_velocity", np.float64, (3,), "rad/s", "angular velocity", Ghosted.EVERY_STEP),
    Field("image", np.int32, (3,), "1", "lengths of the periodic box travelled along each axis"),
    Field("liquid", np.float64, (), "m^3", "liquid that it owns: its film and its parts of bridges"),
    Field("force", np.float64, (3,), "N", "sum of the contact forces (without gravity)"),
    Field("torque", np.float64, (3,), "N m", "sum of the contact torques about the centre"),
    Field("box_work", np.float64, (), "J", "what a box that deforms has done on its motion", written=False),
)

FIELDS: Mapping[str, Field] = MappingProxyType({row.name: row for row in _ROWS})
"""All particle fields by name, in the order of exchange, checkpoint and output."""


PACKED = 12
"""Numbers of a packed row, which has all fields that change every step, and goes from rank to rank as it is: see
`pdem.motion.integration`."""


def state_fields() -> tuple[Field, ...]:
    """Return the fields that migrate with their particle and are checkpointed."""
    return tuple(field for field in FIELDS.values() if field.state)


def written_fields() -> tuple[Field, ...]:
    """Return the fields that go into snapshots."""
    return tuple(field for field in FIELDS.values() if field.written)


def ghosted_fields(when: Ghosted) -> tuple[Field, ...]:
    """Return the fields whose ghost copies are refreshed `when`."""
    return tuple(field for field in FIELDS.values() if field.ghosted is when)

"""The table of particle fields.

Columns, migration, ghosts, checkpoints and snapshots are derived from this table: a new field is one new row. A case
that uses a feature (`pdem.engine.feature`) also has the fields of that feature. The values that contacts read in every
step are in one packed row per particle, see `pdem.foundation.packed_row`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import DTypeLike, NDArray

_WORD = 8
"""Bytes of each number of a field that ghosts receive in every step: MPI sends such columns without conversion."""


class Ghosted(Enum):
    """When the ghost copies of a field are refreshed.

    ``EVERY_STEP`` fields travel in the packed row, or as a column if the packed row does not contain the field: ghosts
    then have the value at the begin of the step. At detection, ghosts receive every field that is not ``NEVER``.
    """

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
        Whether the field belongs to the state: it migrates with its particle, and is in every checkpoint.
    written : bool
        Whether snapshots contain the field.
    default : float
        Value of each component for new particles, and for a checkpoint that lacks the field.

    Raises
    ------
    ValueError
        If the field is sent in every step and its numbers do not have 8 bytes.
    """

    name: str
    dtype: DTypeLike
    shape: tuple[int, ...]
    unit: str
    meaning: str
    ghosted: Ghosted = Ghosted.NEVER
    state: bool = True
    written: bool = True
    default: float = 0.0

    def __post_init__(self) -> None:
        """Check that the numbers of a field that ghosts receive in every step have 8 bytes."""
        kind = np.dtype(self.dtype)
        if self.ghosted is Ghosted.EVERY_STEP and kind.itemsize != _WORD:
            raise ValueError(
                f"{self.name}: ghosts get numbers of {_WORD} bytes in every step, and {kind} has {kind.itemsize}; make "
                "it float64 or int64, or refresh it at detection"
            )

    @property
    def width(self) -> int:
        """Count of numbers per particle."""
        return math.prod(self.shape)

    def allocate(self, count: int) -> NDArray:
        """Return a new column filled with the default for `count` particles, shape ``(count, *shape)``."""
        column = np.zeros((count, *self.shape), dtype=self.dtype)
        if self.default:
            column[:] = self.default
        return column


_ROWS = (
    Field("id", np.int64, (), "1", "identity, never changes", Ghosted.AT_DETECTION),
    Field("material", np.int32, (), "1", "index of the material in the case", Ghosted.AT_DETECTION),
    Field("radius", np.float64, (), "m", "radius", Ghosted.AT_DETECTION),
    Field("cluster", np.int64, (), "1", "number of its cluster, 0 for a single sphere", Ghosted.AT_DETECTION),
    Field("fixed", np.int16, (), "1", "number of its group of fixed particles, 0 if it moves", Ghosted.AT_DETECTION),
    Field("position", np.float64, (3,), "m", "centre", Ghosted.EVERY_STEP),
    Field("velocity", np.float64, (3,), "m/s", "velocity of the centre", Ghosted.EVERY_STEP),
    Field("angular_velocity", np.float64, (3,), "rad/s", "angular velocity", Ghosted.EVERY_STEP),
    Field("image", np.int32, (3,), "1", "lengths of the periodic box travelled along each axis"),
    Field("liquid", np.float64, (), "m^3", "liquid that it owns: its film and its parts of bridges"),
    Field("force", np.float64, (3,), "N", "sum of the contact forces (without gravity)"),
    Field("torque", np.float64, (3,), "N m", "sum of the contact torques about the centre"),
    Field("box_work", np.float64, (), "J", "what a box that deforms has done on its motion", written=False),
)

_BY_NAME = {row.name: row for row in _ROWS}

FIELDS: Mapping[str, Field] = MappingProxyType(_BY_NAME)
"""All particle fields by name, in the order of exchange, checkpoint and output."""


def state_fields(fields: Iterable[Field] = tuple(FIELDS.values())) -> tuple[Field, ...]:
    """Return the fields that migrate with their particle and are checkpointed, from all fields or from `fields`."""
    return tuple(field for field in fields if field.state)


def written_fields(fields: Iterable[Field] = tuple(FIELDS.values())) -> tuple[Field, ...]:
    """Return the fields that are written into snapshots, from all fields or from `fields`."""
    return tuple(field for field in fields if field.written)


def with_further(further: Iterable[Field]) -> Mapping[str, Field]:
    """Return a mapping from names to fields with all particle fields and the fields of features.

    Raises
    ------
    ValueError
        If two fields have the same name.
    """
    fields = dict(FIELDS)
    for field in further:
        if field.name in fields:
            raise ValueError(
                f"two fields of particles have the name {field.name!r}; names are distinct: give the field of the "
                "feature another one"
            )
        fields[field.name] = field
    return MappingProxyType(fields)

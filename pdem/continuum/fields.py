"""Continuum fields on a grid, from sums over particles and contacts (Goldhirsch, Granular Matter 12 (2010) 239).

With a function phi of the distance and the integral 1, the density is the sum of m phi, the momentum the sum of m v
phi. The stress of contacts is the sum of f b^T times the mean of phi along the branch b, with pressure positive.
Contacts with walls count with the branch to the point on the wall, and give a force per volume (Weinhart, Thornton,
Luding, Bokhove, Granular Matter 14 (2012) 289). The kinetic stress is computed from velocities relative to the mean of
the cell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.continuum.layout import SUMS
from pdem.continuum.sums import CONTACT, COUNT, MASS, MOMENTUM, MOVING, PAIRS, SIZE, WALL
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError, name_hint
from pdem.foundation.fields import Field
from pdem.foundation.named import Named
from pdem.output.snapshots.images import write_image

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pdem.continuum.grid import Grid
    from pdem.foundation.array_types import Floats

_STORED = (
    Field("number_density", np.float64, (), "1/m^3", "number of particles over volume; clusters count as one"),
    Field("density", np.float64, (), "kg/m^3", "mass over volume"),
    Field("solid_fraction", np.float64, (), "1", "volume of particles over volume"),
    Field("momentum", np.float64, (3,), "kg/(m^2 s)", "momentum over volume"),
    Field("contact_stress", np.float64, (3, 3), "Pa", "stress of contacts: rows are those of the force"),
    Field("kinetic_stress", np.float64, (3, 3), "Pa", "stress of velocities less the mean one of the cell"),
    Field("wall_force", np.float64, (3,), "N/m^3", "force of walls on particles over volume"),
)
_DERIVED = (
    Field("velocity", np.float64, (3,), "m/s", "momentum over density; not a number where there is no mass"),
    Field("stress", np.float64, (3, 3), "Pa", "contact and kinetic stress; pressure is positive"),
    Field("pressure", np.float64, (), "Pa", "mean of the diagonal of the stress"),
    Field(
        "granular_temperature", np.float64, (), "m^2/s^2", "mean square of a component of the velocity less the mean"
    ),
)  # fmt: skip

_STORED_HEAT = (
    Field("heat_density", np.float64, (), "J/m^3", "heat of particles above 0 K over volume"),
    Field("heat_capacity_density", np.float64, (), "J/(m^3 K)", "heat capacity of particles over volume"),
)
HEAT_FIELDS = (
    *_STORED_HEAT,
    Field("temperature", np.float64, (), "K", "heat over heat capacity; not a number where there are no particles"),
)
"""Further fields of cells in cases with heat."""

CELL_FIELDS = (*_STORED, *_DERIVED)
"""Names of the fields of cells in files; in 2D fields are per area."""


NOTHING = np.zeros(0)


class CellColumns(NamedTuple):
    """The stored fields of the cells of a grid, arrays (nx, ny, nz, ...); all other fields follow from them.

    Attributes
    ----------
    number_density, density, solid_fraction : (nx, ny, nz) arrays
        Number, mass and volume of particles per volume [1/m^3, kg/m^3, 1]; in 2D per area.
    momentum : (nx, ny, nz, 3) array
        Momentum per volume [kg/(m^2 s)].
    contact_stress, kinetic_stress : (nx, ny, nz, 3, 3) arrays
        Pressure is positive; the first index is for the force, the second for the branch [Pa].
    wall_force : (nx, ny, nz, 3) array
        Force of walls on particles per volume [N/m^3].
    heat_density, heat_capacity_density : (nx, ny, nz) arrays
        Heat above 0 K and heat capacity per volume [J/m^3, J/(m^3 K)]; empty without heat.
    """

    number_density: Floats
    density: Floats
    solid_fraction: Floats
    momentum: Floats
    contact_stress: Floats
    kinetic_stress: Floats
    wall_force: Floats
    heat_density: Floats = NOTHING
    heat_capacity_density: Floats = NOTHING


class ContinuumFields:
    """Fields on a grid of cells, as means over several states of the system.

    The object has the arrays of `CellColumns` as attributes, and the fields that follow from them.

    Parameters
    ----------
    grid : Grid
        The cells.
    columns : CellColumns
        Their fields.
    parts : mapping of str to CellColumns, optional
        Fields of each material, which add up to the fields of all.
    lacking : str, optional
        Reason why contacts are missing, if they are; the error for a field that needs contacts quotes it.

    Attributes
    ----------
    grid : Grid
        The cells: ``lower``, ``size``, ``cells``, ``width``, ``kernel``.
    columns : CellColumns
        Their fields.
    materials : dict of str to ContinuumFields
        Fields of each material, empty unless fields were made by material. The kinetic stress of a material is computed
        from velocities relative to the mean of this material.
    """

    def __init__(
        self, grid: Grid, columns: CellColumns, parts: Mapping[str, CellColumns] | None = None, lacking: str = ""
    ) -> None:
        self.grid, self.columns, self._lacking = grid, columns, lacking
        made = {name: ContinuumFields(grid, part, lacking=lacking) for name, part in (parts or {}).items()}
        self.materials = Named(made, "material", 'there are no parts of materials; make fields with by="material"')

    @classmethod
    def of_sums(cls, grid: Grid, sums: Floats, materials: Sequence[str] = (), lacking: str = "") -> ContinuumFields:
        """Return the fields from sums (classes, cells, SUMS), means over states; classes are materials, if any."""
        parts = {name: _columns_of(grid, one) for name, one in zip(materials, sums, strict=False)}
        return cls(grid, _columns_of(grid, exact_math.added_up(sums)), parts, lacking)

    def on(self, grid: Grid) -> ContinuumFields:
        """Return the same fields on a grid with as many cells, which has moved since."""
        if grid is self.grid:
            return self
        parts = {name: one.columns for name, one in self.materials.items()}
        return ContinuumFields(grid, self.columns, parts, self._lacking)

    @classmethod
    def mean(cls, fields: Sequence[ContinuumFields], weights: Sequence[float]) -> ContinuumFields:
        """Return the weighted mean of fields, with weights that add up to 1, on the grid of the last."""
        names = fields[0].materials
        parts = {name: _mean([one.materials[name].columns for one in fields], weights) for name in names}
        lacking = next((one._lacking for one in fields if one._lacking), "")
        return cls(fields[-1].grid, _mean([one.columns for one in fields], weights), parts, lacking)

    def __repr__(self) -> str:
        """Return the number of cells."""
        return f"ContinuumFields({' x '.join(map(str, self.density.shape))} cells)"

    def __getattr__(self, name: str) -> Floats:
        if name not in CellColumns._fields:
            raise AttributeError(f"there is no field {name!r}; there are {', '.join(NAMES)}")
        if name in _OF_CONTACTS and self._lacking:
            raise InputError(self._lacking)
        found: Floats = getattr(self.columns, name)
        return found

    def __getitem__(self, name: str) -> Floats:
        """Return a field by name; fields of a material have the material's name and an underscore before theirs."""
        for material, part in self.materials.items():
            if name.startswith(f"{material}_") and name.removeprefix(f"{material}_") in ALL_NAMES:
                return part[name.removeprefix(f"{material}_")]
        if name not in ALL_NAMES:
            raise InputError(f"there is no field {name!r}; {name_hint(name, list(NAMES))}")
        found: Floats = getattr(self, name)
        return found

    @property
    def centres(self) -> Floats:
        """Centres of the cells (nx, ny, nz, 3) [m]."""
        return self.grid.centres

    @property
    def cell_volume(self) -> float:
        """Volume of a cell [m^3]; in 2D its area [m^2]."""
        return self.grid.volume

    @property
    def velocity(self) -> Floats:
        """Momentum over density (nx, ny, nz, 3) [m/s]; not a number where there is no mass."""
        return _velocity(self.density, self.momentum)

    @property
    def stress(self) -> Floats:
        """Sum of contact stress and kinetic stress (nx, ny, nz, 3, 3) [Pa]."""
        return self.contact_stress + self.kinetic_stress

    @property
    def pressure(self) -> Floats:
        """Mean of the diagonal of the stress (nx, ny, nz) [Pa]."""
        return _trace(self.stress, self.grid.dimension) / self.grid.dimension

    @property
    def granular_temperature(self) -> Floats:
        """Mean square of a component of the velocity relative to the mean velocity (nx, ny, nz) [m^2/s^2]."""
        axes = self.grid.dimension
        return _quotient(_trace(self.kinetic_stress, axes) / axes, self.density)

    @property
    def temperature(self) -> Floats:
        """Heat over heat capacity (nx, ny, nz) [K]; not a number where there are no particles.

        Raises
        ------
        InputError
            If the case has no heat.
        """
        if not self.heat_capacity_density.size:
            raise InputError("there are no temperatures: the case has no [heat], or fields come from snapshots")
        return _quotient(self.heat_density, self.heat_capacity_density)

    @property
    def named(self) -> dict[str, Floats]:
        """All fields by their names in files; names of a material's fields begin with its name and an underscore.

        Without contacts, the fields that need contacts are omitted.
        """
        present = ALL_NAMES if self.heat_capacity_density.size else NAMES
        names = [name for name in present if not self._lacking or name not in NEED_CONTACTS]
        found = {name: self[name] for name in names}
        for material, part in self.materials.items():
            found |= {f"{material}_{name}": part[name] for name in names}
        return found

    def write(self, path: str | Path) -> None:
        """Write all fields into an image file (VTI) for ParaView and VTK, as data of its cells.

        Raises
        ------
        InputError
            If the name does not end in .vti, or the file cannot be written.
        """
        write_image(path, self.grid.lower, self.grid.size, self.named)


NAMES = tuple(field.name for field in CELL_FIELDS)
"""Names of all fields in cases without heat."""

ALL_NAMES = (*NAMES, *(field.name for field in HEAT_FIELDS))
"""Names of all fields in cases with heat."""

_OF_CONTACTS = "contact_stress", "wall_force"
NEED_CONTACTS = (*_OF_CONTACTS, "stress", "pressure")
"""Names of the fields that depend on contacts."""


def fields_with_parts(materials: Sequence[str], *, heat: bool = False) -> tuple[Field, ...]:
    """Return the fields of a file, with the fields of all materials, in a case with or without heat."""
    fields = (*CELL_FIELDS, *(HEAT_FIELDS if heat else ()))
    parts = [
        replace(one, name=f"{material}_{one.name}", meaning=f"{one.meaning}, of {material}")
        for material in materials
        for one in fields
    ]
    return (*fields, *parts)


def fields_of_columns(grid: Grid, columns: Mapping[str, Floats], materials: Sequence[str]) -> ContinuumFields:
    """Return the fields from the columns of a file by name, see `fields_with_parts`."""

    def taken(prefix: str) -> CellColumns:
        heat = (columns[f"{prefix}{one.name}"] for one in _STORED_HEAT if f"{prefix}{one.name}" in columns)
        return CellColumns(*(columns[f"{prefix}{one.name}"] for one in _STORED), *heat)

    return ContinuumFields(grid, taken(""), {name: taken(f"{name}_") for name in materials})


def _columns_of(grid: Grid, sums: Floats) -> CellColumns:
    """Return the fields from sums (cells, SUMS), or with `HEAT_SUMS` more in a case with heat."""
    shape, fields = tuple(grid.cells.tolist()), sums / grid.volume

    def shaped(part: slice, *more: int) -> Floats:
        return fields[:, part].reshape(*shape, *more)

    number, mass, size = (np.ascontiguousarray(fields[:, one]).reshape(shape) for one in (COUNT, MASS, SIZE))
    momentum, moving = shaped(MOMENTUM, 3), shaped(MOVING, len(PAIRS))
    velocity = np.nan_to_num(_velocity(mass, momentum))
    kinetic = np.empty((*shape, 3, 3))
    for column, (i, j) in enumerate(PAIRS):
        kinetic[..., i, j] = kinetic[..., j, i] = moving[..., column] - momentum[..., i] * velocity[..., j]
    heat = (np.ascontiguousarray(column).reshape(shape) for column in fields[:, SUMS:].T)
    return CellColumns(number, mass, size, momentum, shaped(CONTACT, 3, 3), kinetic, shaped(WALL, 3), *heat)


def _mean(columns: Sequence[CellColumns], weights: Sequence[float]) -> CellColumns:
    """Return the weighted mean of columns; the kinetic stress is relative to the mean velocity over all of them."""
    whole = [one._replace(kinetic_stress=one.kinetic_stress + _carried(one)) for one in columns]
    each = (zip(weights, parts, strict=True) for parts in zip(*whole, strict=True))
    mean = CellColumns._make(exact_math.added_up(w * part for w, part in pairs) for pairs in each)
    return mean._replace(kinetic_stress=mean.kinetic_stress - _carried(mean))


def _carried(columns: CellColumns) -> Floats:
    """Return the density times the outer product of the mean velocity with itself (nx, ny, nz, 3, 3)."""
    velocity = np.nan_to_num(_velocity(columns.density, columns.momentum))
    found: Floats = columns.momentum[..., :, None] * velocity[..., None, :]
    return found


def _velocity(density: Floats, momentum: Floats) -> Floats:
    return _quotient(momentum, density[..., None])


def _quotient(above: Floats, below: Floats) -> Floats:
    """Return the quotient, not a number where the divisor is not positive."""
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0.0)


def _trace(tensor: Floats, axes: int) -> Floats:
    return exact_math.added_up(tensor[..., axis, axis] for axis in range(axes))

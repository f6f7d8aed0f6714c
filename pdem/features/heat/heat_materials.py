"""Numbers of the materials, pairs and walls of a case for the kernels of heat."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.case.groups.particle_sources import smallest_radii
from pdem.case.sections.thermal import ConductivityTable
from pdem.case.time_tables import table_of_values
from pdem.features.heat.conductance import PairRow, pair_row
from pdem.foundation.interpolation import interpolated

if TYPE_CHECKING:
    from pdem.case.sections.materials import Material
    from pdem.case.sections.schema import CaseData
    from pdem.case.sections.walls import Wall
    from pdem.foundation.array_types import Booleans, Floats, Int32s

RIGID = math.inf
"""Modulus of a material without one [Pa]."""


class HeatMaterials(NamedTuple):
    """Numbers by material.

    Attributes
    ----------
    capacity : (M,) array
        Heat capacity of a volume [J/(m^3 K)]; 0 for materials of walls alone.
    conductivity : tuple of (array, array)
        Temperatures [K] and conductivities [W/(m K)] of each material; one row for a constant.
    emissivity : (M,) array
        Emissivities, 0 without one.
    rows : array
        Flat rows `pdem.features.heat.conductance.PairRow` of the pairs of materials.
    share : (M, M) array
        Share of a body with the first material in the loss of a contact with the second one, by effusivity.
    """

    capacity: Floats
    conductivity: tuple[tuple[Floats, Floats], ...]
    emissivity: Floats
    rows: Floats
    share: Floats

    def conductivities(self, material: Int32s, temperature: Floats) -> Floats:
        """Return the conductivities of bodies with some materials at some temperatures (n,) [W/(m K)]."""
        values = np.array([row[1][0] for row in self.conductivity])[material]
        for number, (places, table) in enumerate(self.conductivity):
            if len(places) > 1:
                bodies = np.flatnonzero(material == number)
                values[bodies] = interpolated(temperature[bodies], places, table)
        return np.asarray(values)


def heat_materials(case: CaseData) -> HeatMaterials:
    """Return the numbers of the materials of a case with heat.

    Raises
    ------
    InputError
        If a material has no property of its surface that conduction through gas in gaps needs.
    """
    materials = list(case.materials.values())
    gas = None if case.heat is None or case.heat.contact != "solid-gas" else case.heat.gas
    tables = tuple(conductivity_table(one) for one in materials)
    surfaces = [thermal_surface(one, table) for one, table in zip(materials, tables, strict=True)]
    rows = [
        pair_row(one, other, gas) if one.conductivity > 0.0 and other.conductivity > 0.0 else _INSULATED
        for one in surfaces
        for other in surfaces
    ]
    return HeatMaterials(
        np.array([(one.density or 0.0) * (one.heat_capacity or 0.0) for one in materials]),
        tables,
        np.array([one.emissivity or 0.0 for one in materials]),
        np.array(rows, np.float64).reshape(-1),
        np.array([[share_of_loss(one, other) for other in materials] for one in materials]).reshape(len(materials), -1),
    )


_INSULATED = (0.0,) * len(PairRow._fields)


def thermal_surface(material: Material, table: tuple[Floats, Floats]) -> Any:
    """Return the properties of a material that `pdem.features.heat.conductance.pair_row` reads."""
    return SimpleNamespace(
        conductivity=float(table[1][0]), contact_modulus=material.contact_modulus or material.youngs_modulus or RIGID,
        poisson_ratio=material.poisson_ratio or 0.0, roughness=material.roughness, slope=material.roughness_slope,
        microhardness=material.microhardness, accommodation=material.accommodation,
    )  # fmt: skip


def conductivity_table(material: Material) -> tuple[Floats, Floats]:
    """Return temperatures [K] and conductivities [W/(m K)] of a material; 0 without a conductivity."""
    given = material.conductivity
    if isinstance(given, ConductivityTable):
        return np.array(given.temperatures), np.array(given.values)
    return np.zeros(1), np.array([given or 0.0])


def smallest_capacity(case: CaseData, materials: HeatMaterials) -> float:
    """Return the smallest heat capacity of particles that a case may insert [J/K], of 1 J/K without any."""
    radii = {name: radius for name, radius in smallest_radii(case).items() if math.isfinite(radius)}
    capacity = dict(zip(case.materials, materials.capacity.tolist(), strict=True))
    found = [4.0 / 3.0 * math.pi * r * r * r * capacity[name] for name, r in radii.items() if capacity[name] > 0.0]
    return min(found, default=1.0)


def share_of_loss(material: Material, other: Material) -> float:
    """Return the share of a body in the loss of a contact with another material.

    The flow of heat from a surface that both bodies touch is proportional to their effusivities
    ``sqrt(conductivity density heat_capacity)``. It is one half for a material without one of these.
    """
    first, second = effusivity(material), effusivity(other)
    return 0.5 if first == 0.0 or second == 0.0 else first / (first + second)


def effusivity(material: Material) -> float:
    """Return the effusivity of a material [J/(m^2 K s^(1/2))], 0 if it is not known."""
    conductivity = float(conductivity_table(material)[1][0])
    return math.sqrt(conductivity * (material.density or 0.0) * (material.heat_capacity or 0.0))


class WallTemperatures:
    """Temperatures of the walls of a case, as far as they do not depend on particles.

    Parameters
    ----------
    case : Case
        The case.

    Attributes
    ----------
    conducts : (W,) bool array
        Walls that are not insulated.
    rate : (W,) array
        Heat rates of walls [W], NaN for walls with a temperature.

    Raises
    ------
    CaseError
        If the file of a table cannot be used.
    """

    def __init__(self, case: CaseData) -> None:
        self._tables = [_table_of(case, wall) for wall in case.walls]
        self.rate = np.array([math.nan if wall.heat_rate is None else wall.heat_rate for wall in case.walls])
        self.conducts: Booleans = np.array([table is not None for table in self._tables], np.bool_)
        self.conducts |= ~np.isnan(self.rate)

    def at(self, time: float) -> Floats:
        """Return the temperatures of all walls at a time [s], 0 for walls without a given one (W,) [K]."""
        return np.array([0.0 if table is None else float(interpolated(time, *table)) for table in self._tables])

    @property
    def highest(self) -> float:
        """Highest temperature of any wall at any time [K]."""
        return max((float(table[1].max()) for table in self._tables if table is not None), default=0.0)


def _table_of(case: CaseData, wall: Wall) -> tuple[Floats, Floats] | None:
    """Return times [s] and temperatures [K] of a wall; None for a wall without a given temperature."""
    if wall.temperature is not None:
        return np.zeros(1), np.array([wall.temperature])
    table = wall.temperature_table
    return None if table is None else table_of_values(case.directory, table, "temperature")

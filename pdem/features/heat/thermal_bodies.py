"""The heat of bodies in whole quanta: single spheres, and clusters with one temperature.

The state of a body is its temperature. The heat above 0 K is its product with the heat capacity, rounded to whole units
of the body: as long as there are fewer than 2^50 of them, this returns exactly the number from which the temperature
was computed. Temperatures can therefore be read and written by users, while all heat is counted in integers. The unit
of a body is the quantum of the run, or a multiple of it for bodies that are much larger than the smallest one; heat
that is less than a unit waits in the field ``received_heat``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.engine.clusters.energy import cluster_masses
from pdem.engine.views.bodies import sphere_masses
from pdem.features.heat.surroundings import STEFAN_BOLTZMANN, FluidRow, convection, convection_in_bed, radiated
from pdem.numerics.kernels import inlined, kernel
from pdem.numerics.quanta import DIGITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.engine.system import System
    from pdem.features.heat.heat_materials import HeatMaterials
    from pdem.foundation.array_types import Floats, Integers

MOST_QUANTA = 2.0**50
"""Largest number of quanta of a body."""


class ThermalBodies(NamedTuple):
    """Rows of the particles of each body.

    Attributes
    ----------
    row : (n,) int64 array
        Rows of particles, body by body; members of a cluster in the order of their ids.
    begin : (b + 1,) int64 array
        ``row[begin[k]:begin[k + 1]]`` are the particles of body k.
    """

    row: Integers
    begin: Integers


def bodies_among(columns: Mapping[str, NDArray[Any]] | Any, *, whole_clusters: bool) -> ThermalBodies:
    """Return the bodies of particles with columns ``id`` and ``cluster``.

    With `whole_clusters` a cluster is one body; else each of its members is one.
    """
    count = len(columns["id"])
    if not whole_clusters or not np.any(columns["cluster"]):
        return ThermalBodies(np.arange(count), np.arange(count + 1))
    body = np.where(columns["cluster"] != 0, columns["cluster"] - 1, columns["id"])
    row = np.lexsort((columns["id"], body))
    first = np.flatnonzero(np.diff(body[row], prepend=-1))
    return ThermalBodies(row, np.append(first, count))


class HeatScale(NamedTuple):
    """Units of heat of a run.

    Attributes
    ----------
    quantum : float
        The quantum, a power of two [J]; 0 before the particles are there.
    temperature : float
        Temperature [K] at which a body has about 2^48 units.
    """

    quantum: float = 0.0
    temperature: float = 1.0


@inlined
def capacity_of(k: int, capacity: Floats, bodies: ThermalBodies) -> float:
    """Return the heat capacity of a body [J/K]."""
    total = 0.0
    for place in range(bodies.begin[k], bodies.begin[k + 1]):
        total += capacity[bodies.row[place]]
    return total


@inlined
def unit_of_body(whole: float, scale: HeatScale) -> float:
    """Return the unit of heat of a body with a heat capacity [J/K]: a power of two, at least the quantum [J]."""
    return max(scale.quantum, math.ldexp(1.0, math.frexp(whole * scale.temperature)[1] - DIGITS))


@kernel
def add_heat(
    bodies: tuple[Any, ...], columns: tuple[Floats, Floats, Floats], quanta: Integers, scale: tuple[float, float],
    warmed: Floats, commits: bool,
) -> int:  # fmt: skip
    """Write the temperatures of particles after they have received heat; return a row out of range, or -1.

    Parameters
    ----------
    bodies : tuple
        Fields of `ThermalBodies`.
    columns : tuple of 3 (n,) arrays
        Heat capacities [J/K], temperatures before [K], and heat that is not in the temperatures [J]. If the step
        `commits`, the latter is added as well, and the rest below a unit is written.
    quanta : (n,) int64 array
        Heat that each particle has received, in quanta.
    scale : tuple
        Fields of `HeatScale`.
    warmed : (n,) array
        Written: temperatures [K]; it may be the column of temperatures.
    commits : bool
        Whether temperatures are of whole units; else the step is a trial.
    """
    b, s, bad = ThermalBodies(*bodies), HeatScale(*scale), -1
    capacity, temperature, received = columns
    for k in range(len(b.begin) - 1):
        first, whole, change = b.row[b.begin[k]], capacity_of(k, capacity, b), np.int64(0)
        unit = unit_of_body(whole, s)
        many = unit / s.quantum
        number = np.rint(whole * temperature[first] / unit)
        for place in range(b.begin[k], b.begin[k + 1]):
            change += quanta[b.row[place]]
            if commits:
                change += np.int64(np.rint(received[b.row[place]] / s.quantum))
        units = np.floor(change / many)
        if not 0.0 <= number + units <= MOST_QUANTA or many > MOST_QUANTA:
            bad = first
            continue
        rest = change - np.int64(units) * np.int64(many)
        heat = (number + units) * unit if commits else number * unit + change * s.quantum
        after = heat / whole if units != 0.0 or not commits else temperature[first]
        for place in range(b.begin[k], b.begin[k + 1]):
            warmed[b.row[place]] = after
            if commits:
                received[b.row[place]] = 0.0
        if commits:
            received[first] = rest * s.quantum
    return bad


@kernel
def heat_of_bodies(
    bodies: tuple[Any, ...], capacity: Floats, temperature: Floats, scale: tuple[float, float], heat: Floats
) -> None:
    """Write the heat of each body [J] to the row of its first particle, and 0 to the rows of others."""
    b, s = ThermalBodies(*bodies), HeatScale(*scale)
    for k in range(len(b.begin) - 1):
        for place in range(b.begin[k], b.begin[k + 1]):
            heat[b.row[place]] = 0.0
        first, whole = b.row[b.begin[k]], capacity_of(k, capacity, b)
        unit = unit_of_body(whole, s)
        heat[first] = np.rint(whole * temperature[first] / unit) * unit


def capacities_of_bodies(bodies: ThermalBodies, capacity: Floats) -> Floats:
    """Return the heat capacity of each body (b,) [J/K]."""
    if not len(bodies.row):
        return np.zeros(0)
    body = np.repeat(np.arange(len(bodies.begin) - 1), np.diff(bodies.begin))
    return np.asarray(np.bincount(body, capacity[bodies.row]), np.float64)


def capacities(system: System, columns: Mapping[str, NDArray[Any]] | Any, materials: HeatMaterials) -> Floats:
    """Return the heat capacities of particles (n,) [J/K]; members share that of their cluster by their volumes."""
    radius, material, cluster = (np.asarray(columns[name]) for name in ("radius", "material", "cluster"))
    capacity = sphere_masses(radius, materials.capacity[material])
    members = np.flatnonzero(cluster)
    if system.clusters is None or not len(members):
        return np.asarray(capacity)
    table, density = system.clusters.table, system.constants.density
    whole = cluster_masses(table, system.constants)
    owner = table.rows_of(cluster[members])
    order = np.lexsort((np.asarray(columns["id"])[members], owner))
    spheres = np.bincount(owner[order], capacity[members][order], len(whole))  # adds in this order
    specific = materials.capacity / np.where(density > 0.0, density, 1.0)
    factor = whole * specific[table.material.astype(np.int64)] / np.where(spheres > 0.0, spheres, 1.0)
    capacity[members] *= factor[owner]
    return np.asarray(capacity)


class HeatSurroundings(NamedTuple):
    """Fluid and surroundings of particles.

    Attributes
    ----------
    fluid : tuple
        Fields of `FluidRow`.
    fluid_temperature : float
        Temperature of the fluid [K]; 0 without a fluid.
    velocity : (3,) array
        Its velocity [m/s].
    porosity : float
        Porosity of a bed for the law of Gunn; 0 for the law of Ranz and Marshall.
    temperature : float
        Temperature of surroundings to which particles radiate [K]; 0 without radiation.
    """

    fluid: tuple[float, ...]
    fluid_temperature: float
    velocity: Floats
    porosity: float
    temperature: float


@kernel
def exchange_with_surroundings(
    surroundings: tuple[Any, ...], radius: Floats, velocity: Floats, emissivity: Floats, temperature: Floats,
    step: tuple[float, float], lost: tuple[Integers, Integers], conductance: Floats,
) -> None:  # fmt: skip
    """Write the heat that particles lose to a fluid and to surroundings.

    Parameters
    ----------
    surroundings : tuple
        Fields of `HeatSurroundings`.
    radius, velocity, emissivity, temperature : arrays
        Of the particles (n,), (n, 3).
    step : (float, float)
        Length of the step [s] and the quantum [J].
    lost : (int64 array, int64 array)
        Written: heat lost to the fluid and by radiation, in quanta (n,).
    conductance : (n,) array
        Written: sum of the derivatives of both flows by the temperature [W/K].
    """
    s = HeatSurroundings(*surroundings)
    fluid, (dt, quantum) = FluidRow(*s.fluid), step
    for n in range(len(radius)):
        total = 0.0
        if s.fluid_temperature > 0.0:
            across = 0.0
            for axis in range(3):
                apart = s.velocity[axis] - velocity[n, axis]
                across += apart * apart
            speed = np.sqrt(across)
            if s.porosity > 0.0:
                total = convection_in_bed(radius[n], speed, s.porosity, fluid)
            else:
                total = convection(radius[n], speed, fluid)
            lost[0][n] = np.int64(np.rint(total * (temperature[n] - s.fluid_temperature) * dt / quantum))
        if s.temperature > 0.0:
            factor = STEFAN_BOLTZMANN * emissivity[n] * 4.0 * np.pi * radius[n] * radius[n]
            power = radiated(temperature[n], s.temperature, factor)
            lost[1][n] = np.int64(np.rint(power * dt / quantum))
            total += factor * 4.0 * temperature[n] * temperature[n] * temperature[n]
        conductance[n] = total

"""Reports of sensors: columns of the series, and values for scripts. Sums are exact, over all ranks."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.group import on_first_rank
from pdem.engine.views.bodies import bodies_of
from pdem.engine.views.series_line import SeriesLine
from pdem.engine.views.stress import stress_of
from pdem.features.sensors.columns import AXES
from pdem.features.sensors.events import add_by_class
from pdem.foundation import exact_math
from pdem.numerics.sums import ExactSums
from pdem.output.saving import save_file
from pdem.output.summary import counted
from pdem.particles import regions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pdem.engine.system import System
    from pdem.engine.views.acting_contacts import ActingContacts
    from pdem.features.sensors.place import SensorPlace
    from pdem.foundation.array_types import Floats, Integers


def sensor_values(
    system: System, place: SensorPlace, *, line: bool = False, contacts: ActingContacts | None = None
) -> dict[str, float]:
    """Return the values of the columns of a sensor at the present time, the same on every rank. Collective.

    With `line` the values go into a line of the series, and the next flow is the mean since then. `contacts` are the
    contacts of this rank, if they have been computed before.
    """
    sensor = place.section
    values: list[float] = [] if sensor.region is None else _of_region(system, place)
    if sensor.region is not None and sensor.passing is not None:
        values += _sizes_inside(system, place)
    if place.counts_passage:
        values += _passage(system, place, line)
        values += [] if place.state.sizes is None else place.passing_sizes(place.state.sizes)
    if sensor.residence:
        events = place.state.stays
        number = int(events.sum())
        mean = int(np.arange(len(events)) @ events) / max(number, 1)
        values += [number, mean * place.interval * place.step]
    if sensor.mixing is not None:
        values += [_lacey(system, place), _unlike_contacts(system, place)]
    if sensor.stress:
        values += stress_of(system, sensor.region, contacts).columns
    if sensor.region is not None and "temperature" in system.particles.fields:
        values.append(_temperature(system, place))
    return dict(zip((name for name, *_ in place.columns), values, strict=True))


def reported(system: System, places: Sequence[SensorPlace]) -> dict[str, dict[str, float]]:
    """Return the values of all sensors, by name and by column without the name. Collective."""
    line = SeriesLine(system)
    values = {place.name: sensor_values(system, place, contacts=_contacts_if_asked(place, line)) for place in places}
    return {
        name: {column.removeprefix(f"{name}_"): value for column, value in columns.items()}
        for name, columns in values.items()
    }


def line_values(system: System, places: Sequence[SensorPlace], line: SeriesLine) -> dict[str, float]:
    """Return the values of all columns of sensors for a line of the series. Collective."""
    return {
        name: value
        for place in places
        for name, value in sensor_values(system, place, line=True, contacts=_contacts_if_asked(place, line)).items()
    }


def _contacts_if_asked(place: SensorPlace, line: SeriesLine) -> ActingContacts | None:
    """Return the contacts of this rank, if a sensor asks for stress. Collective."""
    return line.contacts if place.section.stress else None


def stays_of(place: SensorPlace) -> tuple[Floats, Integers]:
    """Return the durations [s] of stays in a region, and the number of particles for each."""
    stays = place.state.stays
    times = np.arange(len(stays)) * (place.interval * place.step)
    return times.astype(np.float64), stays


def finish_sensors(system: System, places: Sequence[SensorPlace], folder: Path) -> list[str]:
    """Write the stays in each region into a folder, on the first rank; return lines for the report. Collective."""
    lines = []
    for place in places:
        if place.counts_passage:
            count, mass = int(place.state.count[0]), place.state.mass.values()["0"]
            word = "passed" if place.section.region is None else "taken out"
            lines.append(f"sensor {place.name}: {counted(count, 'particle')} {word}, {mass:.6g} kg")
        if place.section.residence:
            times, stays = stays_of(place)
            path = folder / f"{place.name}_residence.csv"
            lines.append(f"sensor {place.name}: {counted(int(stays.sum()), 'stay')} in {path}")
            on_first_rank(system.exchange, partial(_write_stays, path, times, stays))
    return lines


def _write_stays(path: Path, times: Floats, stays: Integers) -> None:
    rows = [f"{time!r},{count}\n" for time, count in zip(times.tolist(), stays.tolist(), strict=True)]
    save_file(path, "stay [s],particles [1]\n" + "".join(rows), "make room, then restart")


def _passage(system: System, place: SensorPlace, line: bool) -> list[float]:
    """Return counts and masses by class of passed or removed particles, and the flow since the last line."""
    state, values = place.state, list[float]()
    masses = list(state.mass.values().values())
    for count, mass in zip(state.count.tolist(), masses, strict=True):
        values += [count, mass]
    until = max(state.last, 0) * place.step  # time of its last event, which may be before the last line
    since = until - state.line_time
    flow = (masses[0] - state.line_mass) / since if since > 0.0 else state.flow if place.acts else 0.0
    if line:
        state.line_time, state.line_mass, state.flow = max(until, state.line_time), masses[0], flow
    return [*values, flow]


def _of_region(system: System, place: SensorPlace) -> list[float]:
    """Return counts and masses by class, solid fraction and mean velocity of the particles in a region."""
    own = bodies_of(system)
    rows = np.flatnonzero(place.inside(own.position))
    mass, radius = own.mass[rows], own.radius[rows]
    kind = place.class_of({"material": own.material[rows], "radius": radius})
    classes = 1 + len(place.classes)
    sums = ExactSums([*(str(number) for number in range(classes)), *AXES, "solid"])
    counts = np.zeros(len(sums.names), np.int64)
    counts[:classes] = add_by_class(sums, kind, mass, classes)
    solid = math.pi * (radius * radius) * (4.0 / 3.0 * radius if system.constants.dimension == 3 else 1.0)
    sums.add_rows([*AXES, "solid"], np.array([*(mass * own.velocity[rows].T), solid]))
    sums.normalise()
    total = system.exchange.add(np.concatenate((counts[:, None], sums.limbs), axis=1))
    found = list(ExactSums(sums.names, total[:, 1:]).values().values())
    pairs = zip(total[:classes, 0].tolist(), found[:classes], strict=True)
    whole = found[0] or 1.0
    return [
        *(value for pair in pairs for value in pair),
        found[-1] / place.size,
        *(momentum / whole for momentum in found[classes:-1]),
    ]


def _sizes_inside(system: System, place: SensorPlace) -> list[float]:
    """Return the passing sizes of the particles in a region [m], of all and of each class. Collective."""
    own, sums = bodies_of(system), place.no_sizes()
    rows = np.flatnonzero(place.inside(own.position))
    kind = place.class_of({"material": own.material[rows], "radius": own.radius[rows]})
    place.add_sizes(sums, kind, own.radius[rows], own.mass[rows])
    return place.passing_sizes(sums.joined(system.exchange))


def _temperature(system: System, place: SensorPlace) -> float:
    """Return the mean temperature of the spheres in a region by heat capacity [K]; NaN without spheres. Collective."""
    own, sums = system.particles, ExactSums(("heat", "capacity"))
    rows = np.flatnonzero(place.inside(own.position))
    capacity = own["heat_capacity"][rows]
    sums.add_rows(sums.names, np.stack((capacity * own["temperature"][rows], capacity)))
    sums.normalise()
    heat, whole = ExactSums(sums.names, system.exchange.add(sums.limbs)).values().values()
    return heat / whole if whole > 0.0 else math.nan


def _lacey(system: System, place: SensorPlace) -> float:
    """Return Lacey's index of the particles in a region, see `lacey_index`. Collective."""
    mixing, region = place.section.mixing, place.section.region
    assert mixing is not None
    assert region is not None
    own, (lower, upper) = bodies_of(system), regions.bounds(region)
    cells, inside = np.array(mixing.cells), place.inside(own.position)
    counts = np.zeros((2, int(cells.prod())), np.int64)
    for number, name in enumerate(mixing.materials):
        position = own.position[inside & (own.material == system.case.material_index(name))]
        cell = np.clip(((position - lower) / (upper - lower) * cells).astype(np.int64), 0, cells - 1)
        index = np.ravel_multi_index(tuple(cell.T), mixing.cells)
        counts[number] = np.bincount(index, minlength=counts.shape[1])
    return lacey_index(system.exchange.add(counts), mixing.least)


def lacey_index(counts: Integers, least: int) -> float:
    """Return Lacey's index of mixing: 0 if two materials are separated, 1 if they are mixed at random.

    (s0^2 - s^2) / (s0^2 - sr^2) with the variance s^2 of the share of the first material, by number, over cells,
    s0^2 = p (1 - p) and sr^2 = s0^2 / n of the mean number n in a cell (Lacey, J. Appl. Chem. 4 (1954) 257).
    Cells are weighted by their numbers of particles: otherwise cells with a few large ones would give a negative index.

    Parameters
    ----------
    counts : (2, n) int64 array
        Particles of both materials in each cell.
    least : int
        Particles that a cell must have to count.

    Returns
    -------
    float
        NaN if fewer than two cells count, or one of the materials is missing.
    """
    counts = counts[:, counts.sum(axis=0) >= least]
    total = counts.sum(axis=0)
    if len(total) < 2 or not counts.sum(axis=1).all():
        return math.nan
    mean = float(counts[0].sum() / total.sum())
    apart = mean * (1.0 - mean)
    size = float(total.sum() / len(total))
    away = counts[0] / total - mean
    found = exact_math.total(total * (away * away)) / (size * (len(total) - 1))
    return (apart - found) / (apart - apart / size)


def _unlike_contacts(system: System, place: SensorPlace) -> float:
    """Return the contacts between two materials over their number for random mixing. Collective.

    If random mixing joins a and b ends of contacts, a b / (a + b) contacts are between both materials. A contact counts
    if its particle with the lower id is in the region.
    """
    mixing = place.section.mixing
    assert mixing is not None
    own, pairs = system.particles, system.contacts.pairs
    lower, higher = pairs.lower[pairs.touching], pairs.higher[pairs.touching]
    mine = lower < own.count
    mine[mine] = place.inside(own.position)[lower[mine]]
    if system.constants.has_fixed:
        fixed = own.column("fixed")
        mine &= (fixed[lower] == 0) & (fixed[higher] == 0)
    kinds = [system.case.material_index(name) for name in mixing.materials]
    material = own.column("material")
    one, other = material[lower[mine]], material[higher[mine]]
    both = np.isin(one, kinds) & np.isin(other, kinds)
    one, other = one[both], other[both]
    ends = [np.count_nonzero(one == kind) + np.count_nonzero(other == kind) for kind in kinds]
    found = np.array([[np.count_nonzero(one != other), *ends]], np.int64)
    unlike, a, b = system.exchange.add(found)[0].tolist()
    return unlike * (a + b) / (a * b) if a and b else math.nan

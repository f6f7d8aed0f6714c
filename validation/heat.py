"""Study of heat: conduction, walls, radiation, convection and heat from motion beside exact solutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erfc

from pdem.features.heat.surroundings import STEFAN_BOLTZMANN
from pdem.verification.study import FindingTable, StudyFinding
from validation.gallery.lattices import LATTICES
from validation.heat_moving import from_motion
from validation.heat_runs import (
    APART,
    CAPACITY,
    COLD,
    CONDUCTANCE,
    CONDUCTIVITY,
    DENSITY,
    DIAMETER,
    FORCE,
    HEAT_CAPACITY,
    HELD,
    HOT,
    RADIUS,
    STIFFNESS,
    area_radius,
    resting,
    temperatures,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats, Integers
    from pdem.verification.study import Notebook

RATE = CONDUCTANCE / HEAT_CAPACITY
"""Conductance of a contact over the heat capacity of a sphere [1/s]."""

CHAIN = 10
"""Spheres of the chain, without the one that keeps its temperature."""

BAR = 120
"""Layers of the bar that is heated at one end."""

_LAYERS = 7
"""Layers of a lattice between those that keep their temperatures, and these."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield tables of conduction, surroundings and heat from motion."""
    with notebook.plot("conduction", 2) as axes:
        yield FindingTable("Two spheres", "exact", _two(axes[0]), _TWO, 8)
        yield FindingTable("Chain of spheres, one end held", "exact", _chain(), _CHAIN, 8)
        yield FindingTable("Conductivity of lattices", "exact", _lattices(), _LATTICE, 8)
        yield FindingTable("Long bar, heated at one end", "continuum", _bar(axes[1]), _BAR)
    yield FindingTable("A sphere on a hot plate", "exact", _plate(), _PLATE, 7)
    with notebook.plot("surroundings", 2) as axes:
        yield FindingTable("Radiation", "differential equation", _radiation(axes[0]), _RADIATION, 7)
        yield FindingTable("A sphere in a fluid", "exact", _convection(axes[1]), _CONVECTION, 7)
    yield from from_motion()


_TWO = "Temperatures are those after one time constant, 132.09 s, in steps of 0.5 s."
_CHAIN = "Rates of the three slowest modes times capacity over conductance: 4 sin^2((2 j - 1) pi / (2 (2 N + 1)))."
_LATTICE = (
    "Steady flow between two layers of spheres with a million times the heat capacity; the conductivity is h / d, "
    "sqrt(3) h / d and sqrt(8) h / d of spheres at the distance d."
)
_BAR = "Spheres are finite: differences from the continuum fall with the square of the depth of heating."
_PLATE = "The heat that the plate gives and the sphere receives is compared in whole quanta."
_RADIATION = "Adaptive integration of order 8 with a tolerance of 1e-12."
_CONVECTION = "Nusselt number 2 in a fluid at rest, and by Ranz and Marshall at 1 m/s."


def _two(axes: Any) -> list[StudyFinding]:
    """Return the relaxation of two spheres that touch."""
    simulation = resting(np.array([[0.0] * 3, [APART, 0.0, 0.0]]), [HOT, COLD], step=0.5)
    before, rows = simulation.energies()["heat"], [(0.0, HOT, COLD)]
    for _ in range(24):
        simulation.advance(11)
        rows.append((simulation.time, *temperatures(simulation)))
    time, one, other = np.array(rows).T
    exact = 0.5 * (HOT - COLD) * np.exp(-2.0 * RATE * time)
    for found, line in ((one, 0.5 * (HOT + COLD) + exact), (other, 0.5 * (HOT + COLD) - exact)):
        axes.plot(time, found, "o", time, line, "-")
    axes.set(xlabel="time [s]", ylabel="temperature [K]", title="two spheres, lines: exact")
    rate = -math.log((one[-1] - other[-1]) / (HOT - COLD)) / time[-1]
    changed = simulation.energies()["heat"] - before
    return [
        StudyFinding("conductance [W/K]", 0.5 * rate * HEAT_CAPACITY, 1.867622e-3, 1e-5),
        StudyFinding("time constant [s]", 1.0 / rate, 0.5 / RATE, 1e-5),
        StudyFinding("change of all heat [J]", changed, 0.0, 0.0),
    ]  # fmt: skip


def _chain() -> list[StudyFinding]:
    """Return the decay rates of a chain with one end held."""
    places = np.column_stack([np.arange(CHAIN + 1) * APART, *np.zeros((2, CHAIN + 1))])
    number, findings = np.arange(1, CHAIN + 1), []
    for j in (1, 2, 3):
        angle = (2 * j - 1) * math.pi / (2 * CHAIN + 1)
        shape, exact = np.sin(angle * number), 4.0 * math.sin(0.5 * angle) ** 2
        start = np.concatenate([[COLD], COLD + 100.0 * shape])
        duration = 1.0 / (exact * RATE)
        simulation = resting(places, start, held=[0], step=duration / 1000.0)
        simulation.advance(1000)
        left = (temperatures(simulation)[1:] - COLD) @ shape / (100.0 * shape @ shape)
        findings.append(StudyFinding(f"mode {j}", -math.log(left) * exact, exact, 2e-5))
    return findings


def _lattices() -> list[StudyFinding]:
    """Return the conductivities of three lattices, from steady flow between two layers that keep their temperature."""
    factors = {"simple cubic": 1.0, "body-centred cubic": math.sqrt(3.0), "face-centred cubic": math.sqrt(8.0)}
    return [
        StudyFinding(f"{name} [W/(m K)]", _conductivity(name), factor * CONDUCTANCE / APART, 1e-5)
        for name, factor in factors.items()
    ]  # fmt: skip


def _conductivity(name: str) -> float:
    """Return the conductivity of a lattice [W/(m K)]."""
    lattice = LATTICES[name]
    edge, cells = lattice.edge * APART, 3
    corners = np.stack(np.meshgrid(np.arange(_LAYERS), *[np.arange(cells)] * 2), -1).reshape(-1, 1, 3)
    places = (corners + lattice.sites).reshape(-1, 3) * edge
    layer = np.rint(places[:, 0] / edge * (1 if name == "simple cubic" else 2)).astype(int)
    places, layer = places[layer < _LAYERS], layer[layer < _LAYERS]
    ends = np.flatnonzero((layer == 0) | (layer == _LAYERS - 1))
    share = layer / (_LAYERS - 1)
    side = cells * edge
    sides: dict[str, Any] = {
        "lower": [-1.0, -0.25 * edge, -0.25 * edge],
        "upper": [1.0, side - 0.25 * edge, side - 0.25 * edge],
    }
    start = np.where(share > 0.5, HOT, COLD)
    simulation = resting(places, start, held=ends.tolist(), step=5.0, periodic=[False, True, True], **sides)
    simulation.advance(3000)
    order = np.concatenate([ends, np.setdiff1d(np.arange(len(places)), ends)])
    flow, difference = _steady_flow(simulation, layer[order])
    return flow * float(places[:, 0].max()) / (difference * side * side)


def _steady_flow(simulation: Any, layer: Integers) -> tuple[float, float]:
    """Return the heat that flows into the cold layer [W], and the mean difference of both ends meanwhile [K]."""
    before, begin = temperatures(simulation), simulation.time
    simulation.advance(2000)
    after = temperatures(simulation)
    mean, cold, hot = 0.5 * (before + after), layer == 0, layer == layer.max()
    flow = float((after - before)[cold].sum()) * HELD * HEAT_CAPACITY / (simulation.time - begin)
    return flow, float(mean[hot].mean() - mean[cold].mean())


def _bar(axes: Any) -> list[StudyFinding]:
    """Return the temperatures of a long bar that is heated at one end, beside those of a half space."""
    corners = np.stack(np.meshgrid(np.arange(BAR), *[np.arange(3)] * 2), -1).reshape(-1, 3)
    places = (corners + np.array([0.0, 0.5, 0.5])) * APART
    ends = np.flatnonzero(corners[:, 0] == 0)
    start = np.where(corners[:, 0] == 0, HOT, COLD)
    sides: dict[str, Any] = {"lower": [-1.0, 0.0, 0.0], "upper": [1.0, 3.0 * APART, 3.0 * APART]}
    simulation = resting(places, start, held=ends.tolist(), step=20.0, periodic=[False, True, True], **sides)
    order = np.concatenate([ends, np.setdiff1d(np.arange(len(places)), ends)])
    findings, depth = [], corners[order, 0]
    for steps in (500, 1500, 3000):
        simulation.advance(steps - simulation.step)
        share = (temperatures(simulation) - COLD) / (HOT - COLD)
        exact = erfc(depth / (2.0 * math.sqrt(RATE * simulation.time)))
        (line,) = axes.plot(depth, share, ".", label=f"{simulation.time:g} s")
        axes.plot(np.unique(depth), np.interp(np.unique(depth), *_sorted(depth, exact)), "-", color=line.get_color())
        name = f"largest difference after {simulation.time:g} s, over the step of temperature"
        findings.append(StudyFinding(name, float(np.abs(share - exact).max()), 1e-3, 0.0, at_most=True))
    axes.set(xlabel="depth in diameters", ylabel="share of the step", title="bar, lines: half space", xlim=(0, 80))
    axes.legend()
    return findings


def _sorted(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(x)
    return x[order], y[order]


def _plate() -> list[StudyFinding]:
    """Return the heating of a sphere on a hot plate, and the balance of both."""
    plate = {"name": "plate", "shape": "plane", "point": [0.0] * 3, "normal": [0.0, 0.0, 1.0], "material": "steel"}
    places = np.array([[0.0, 0.0, RADIUS - FORCE / STIFFNESS]])
    simulation = resting(places, [COLD], step=0.25, walls=[{**plate, "temperature": HOT}])
    before = simulation.energies()
    simulation.advance(400)
    after, share = simulation.energies(), (HOT - temperatures(simulation)[0]) / (HOT - COLD)
    rate = 2.0 * CONDUCTIVITY * area_radius(FORCE, wall=True) / HEAT_CAPACITY
    got, given = after["heat"] - before["heat"], before["heat_walls"] - after["heat_walls"]
    return [
        StudyFinding("rate of the sphere [1/s]", -math.log(share) / simulation.time, rate, 1e-5),
        StudyFinding("heat of the sphere less that of the plate [J]", got - given, 0.0, 0.0),
    ]


def _radiation(axes: Any) -> list[StudyFinding]:
    """Return the cooling of a sphere in cold surroundings, and of a hot sphere beside a cold one."""
    heat = {"contact": "none", "radiation": {"to": "surroundings", "temperature": COLD}}
    simulation, hot = resting(np.zeros((1, 3)), [1200.0], heat, step=0.1), 1200.0
    factor = 0.8 * STEFAN_BOLTZMANN * math.pi * DIAMETER**2 / HEAT_CAPACITY
    rows = [(0.0, hot)]
    for _ in range(20):
        simulation.advance(60)
        rows.append((simulation.time, temperatures(simulation)[0]))
    time, found = np.array(rows).T
    one = solve_ivp(lambda t, y: factor * (COLD**4 - y**4), (0.0, time[-1]), [hot], "DOP853", time, rtol=1e-12)
    axes.plot(time, found, "o", one.t, one.y[0], "-")
    axes.set(xlabel="time [s]", ylabel="temperature [K]", title="radiation, line: equation")
    heat = {"contact": "none", "radiation": {"to": "neighbours"}}
    pair = resting(np.array([[0.0] * 3, [APART, 0.0, 0.0]]), [hot, COLD], heat, step=0.1)
    before = pair.energies()["heat"]
    pair.advance(600)
    both = solve_ivp(
        lambda t, y: factor * np.array([1.0, -1.0]) * (y[1] ** 4 - y[0] ** 4), (0.0, pair.time), [hot, COLD], "DOP853",
        rtol=1e-12,
    )  # fmt: skip
    return [
        StudyFinding("sphere in surroundings after 120 s [K]", found[-1], float(one.y[0, -1]), 1e-6),
        StudyFinding("hot one of two spheres after 60 s [K]", temperatures(pair)[0], float(both.y[0, -1]), 1e-6),
        StudyFinding("cold one [K]", temperatures(pair)[1], float(both.y[1, -1]), 1e-6),
        StudyFinding("change of the heat of both [J]", pair.energies()["heat"] - before, 0.0, 0.0),
    ]


def _convection(axes: Any) -> list[StudyFinding]:
    """Return the time constants of a sphere in a fluid at rest and in a stream."""
    findings = []
    for speed in (0.0, 1.0):
        fluid = {"temperature": HOT, "conductivity": 0.026, "velocity": [speed, 0.0, 0.0]}
        prandtl, reynolds = 1006.0 * 1.8e-5 / 0.026, 1.2 * speed * DIAMETER / 1.8e-5
        number = 2.0 + 0.6 * math.sqrt(reynolds) * prandtl ** (1.0 / 3.0)
        constant = HEAT_CAPACITY / (math.pi * DIAMETER * 0.026 * number)
        heat, rows = {"contact": "none", "convection": fluid}, [(0.0, 1.0)]
        simulation = resting(np.zeros((1, 3)), [COLD], heat, step=constant / 1000.0)
        for _ in range(20):
            simulation.advance(100)
            rows.append((simulation.time, (HOT - temperatures(simulation)[0]) / (HOT - COLD)))
        time, share = np.array(rows).T
        axes.semilogy(time, share, "o", time, np.exp(-time / constant), "-", label=f"{speed:g} m/s")
        found = -time[-1] / math.log(share[-1])
        findings.append(StudyFinding(f"time constant at {speed:g} m/s [s]", found, constant, 1e-5))
    axes.set(xlabel="time [s]", ylabel="share of the difference", title="convection, lines: exact")
    return findings


PARAMETERS = {
    "spheres": f"steel, radius 3.2 mm, {DENSITY:g} kg/m3, {CAPACITY:g} J/(kg K), {CONDUCTIVITY:g} W/(m K)",
    "contacts": "1 N, real modulus 200 GPa, Poisson's ratio 0.29",
    "time": "frozen stages, except for heat from motion",
}
"""Parameters for the page of the study."""

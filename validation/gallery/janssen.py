"""Pressure in a tall silo, beside Janssen's law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.model import Case
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.bulk_runs import case_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

RADIUS, LAYER, LAYERS = 0.025, 0.02, 11
"""Radius of the silo; height and number of the layers for mean stresses [m]."""

COUNT, GRAIN, DENSITY, GRAVITY = 4000, 0.0025, 2500.0, 9.81
WALL_FRICTION = 0.4

_CASE = """
time = {end = 0.9, step_fraction = 0.2}
[domain]
lower = [-0.03, -0.03, -0.01]
upper = [0.03, 0.03, 0.45]
gravity = [0.0, 0.0, -9.81]
[materials]
grain = {density = 2500.0, youngs_modulus = 2e7, poisson_ratio = 0.25}
steel = {}
[interactions]
grain-grain = {friction = 0.5, restitution = 0.5}
grain-steel = {friction = 0.4, restitution = 0.5}
[[particles]]
material = "grain"
radius = {distribution = "uniform", min = 0.0023, max = 0.0027}
velocity = {random = 0.05, seed = 1}
fill.count = 4000
fill.arrangement = "hexagonal"
fill.gap = 0.05
fill.jitter = 1.0
fill.shape = "cylinder"
fill.centre = [0.0, 0.0, 0.222]
fill.axis = [0.0, 0.0, 1.0]
fill.radius = 0.0249
fill.length = 0.44
[[walls]]
name = "silo"
shape = "cylinder"
centre = [0.0, 0.0, 0.22]
axis = [0.0, 0.0, 1.0]
radius = 0.025
length = 0.48
caps = "none"
material = "steel"
[[walls]]
name = "bottom"
shape = "plane"
normal = [0.0, 0.0, 1.0]
size = 0.06
material = "steel"
stage = "lowering"
translation_table = {times = [0.0, 0.1], displacements = [[0.0, 0.0, 0.0], [0.0, 0.0, -0.001]]}
[[stages]]
name = "filling"
until = {quantity = "kinetic_energy_per_particle", below = 2e-9, for = 0.05, latest = 0.6}
[[stages]]
name = "lowering"
end = 0.2
[output]
series_every = 1e-3
snapshots_every = 1.0
"""
_SENSOR = """
[[sensors]]
name = "layer{k}"
stress = true
region = {{lower = [-0.03, -0.03, {low}], upper = [0.03, 0.03, {high}]}}
"""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the growth of the vertical stress with depth, and the shares of the weight on bottom and wall."""
    sensors = "".join(_SENSOR.format(k=k, low=k * LAYER, high=(k + 1) * LAYER) for k in range(LAYERS))
    results = case_run(notebook, "silo", Case.from_text(_CASE + sensors))
    series, last = results.series, slice(-20, None)
    radii = results[-1].radius
    weight = GRAVITY * DENSITY * 4.0 / 3.0 * math.pi * float((radii**3).sum())
    bottom, side = (-float(series[f"{wall}_force_z"][last].mean()) for wall in ("bottom", "silo"))
    stress = np.array([abs(float(series[f"layer{k}_stress_zz"][last].mean())) for k in range(LAYERS)])
    stress *= 4.0 * 0.03**2 / (math.pi * RADIUS**2)
    heights = LAYER * (np.arange(LAYERS) + 0.5)
    top = float(results[-1].position[:, 2].max()) + GRAIN
    depths = top - heights
    density = weight / GRAVITY / (math.pi * RADIUS**2 * top)
    depth = decay(depths, stress, density)
    wanted = law(depths, depth, density)
    with notebook.plot("stress") as axes:
        axes.plot(1e3 * depths, stress, "o", label="pdem")
        x = np.linspace(0.0, top, 100)
        axes.plot(1e3 * x, law(x, depth, density), "k", label="Janssen's law, fitted")
        axes.plot(1e3 * x, density * GRAVITY * x, "k:", label="weight above")
        axes.set(xlabel="depth [mm]", ylabel="vertical stress [Pa]")
        axes.legend()
    ratio = RADIUS / (2.0 * WALL_FRICTION * depth)
    off = float(np.abs(stress - wanted).mean() / stress.max())
    carried = law(np.array([top]), depth, density)[0] * math.pi * RADIUS**2
    findings = [
        StudyFinding("bottom and wall carry, over the weight", (bottom + side) / weight, 1.0, 2e-3),
        at_most("bottom carries, over the weight", bottom / weight, 0.6),
        StudyFinding("horizontal over vertical stress K", ratio, 0.6, 0.0, margin=0.3),
        at_most("mean distance from Janssen's law, over the largest", off, 0.08),
        StudyFinding("force on the bottom [N]", bottom, float(carried), 0.15),
    ]  # fmt: skip
    yield FindingTable("Vertical stress in a silo", "Janssen", findings, _REMARK)


_REMARK = (
    "The bottom is lowered by 1 mm, so that the friction of the wall acts upwards everywhere. The law is rho g l (1 - "
    "exp(-z / l)) with l = R / (2 K mu), fitted."
)


def law(depth: np.ndarray, decay_depth: float, density: float) -> np.ndarray:
    """Return the vertical stress of Janssen's law at some depths [Pa]."""
    found: np.ndarray = density * GRAVITY * decay_depth * (1.0 - np.exp(-depth / decay_depth))
    return found


def decay(depth: np.ndarray, stress: np.ndarray, density: float) -> float:
    """Return the depth l of Janssen's law with the best fit to stresses at some depths [m]."""
    from scipy.optimize import minimize_scalar

    def misfit(one: float) -> float:
        return float(((law(depth, one, density) - stress) ** 2).sum())

    return float(minimize_scalar(misfit, bounds=(0.2 * RADIUS, 40.0 * RADIUS), method="bounded").x)


STUDY = Study(
    "janssen", "Pressure in a tall silo, Janssen's law", run, "bulk", "Janssen, Z. VDI 39 (1895) 1045-1049",
    {
        "grains": "4,000 of 4.6 to 5.4 mm, 2500 kg/m3, 20 MPa, friction 0.5", "silo": "radius 25 mm, wall friction 0.4",
    },
)  # fmt: skip

"""A column of grains collapses when its gate is lifted: a case of Lethe, after Evangelista."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.model import Case
from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.bulk_runs import case_run, surface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

RADIUS = 0.005
PLACES = (0.4, 0.8)
"""Positions of the published heights [m]."""

HEIGHTS = (0.2, 0.025)
"""Final heights of the bed in Lethe's results [m]."""

NARROW, WIDE = 0.05, 0.4
"""Depths of the channel: periodic in the quick run, between walls in the long run [m]."""

_CASE = """
time = {{step = 5e-5, end = 2.0}}
[domain]
lower = [-0.05, 0.0, -0.05]
upper = [2.05, {depth}, 0.45]
periodic = [false, {periodic}, false]
outside = "keep"
gravity = [0.0, 0.0, -9.81]
[materials]
grain = {{density = 2560.0, youngs_modulus = 1e6, poisson_ratio = 0.2}}
wall = {{youngs_modulus = 1e6, poisson_ratio = 0.2}}
[interactions.default]
friction = 0.5
restitution = 0.9
rolling = {{model = "constant-torque", friction = 0.3}}
[[particles]]
material = "grain"
radius = 0.005
velocity = {{random = 0.02, seed = 1}}
fill.count = {count}
fill.arrangement = "cubic"
fill.gap = 0.075
fill.jitter = 1.0
fill.lower = [0.0005, 0.0, 0.0005]
fill.upper = [0.597, {depth}, 0.40]
[[walls]]
name = "channel"
shape = "box"
lower = [0.0, {near}, 0.0]
upper = [2.0, {far}, 0.4]
open = ["+z"]
material = "wall"
[[walls]]
name = "gate"
shape = "box"
lower = [0.6, {near}, 0.0]
upper = [0.604, {far}, 0.4]
material = "wall"
translation_table = {{times = [0.5, 0.7], displacements = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]]}}
[output]
series_every = 0.01
snapshots_every = 0.25
"""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the final height of the bed, beside that of Lethe."""
    case = case_of(full=notebook.full)
    results = case_run(notebook, "wide" if notebook.full else "narrow", case)
    x = np.arange(0.05, 1.5, 0.05)
    with notebook.plot("surface") as axes:
        for time in (0.5, 0.75, 1.0, 2.0):
            places = results.at(time).position[:, [0, 2]]
            axes.plot(x, surface(places, RADIUS, x, 0.025), label=f"{time:g} s")
        axes.plot(PLACES, HEIGHTS, "k+", markersize=12, label="Lethe, 2 s")
        axes.set(xlabel="x [m]", ylabel="height [m]")
        axes.legend()
    end = results.at(2.0).position[:, [0, 2]]
    findings = [
        StudyFinding(f"height at {at:g} m [m]", float(found), wanted, 0.0, margin=0.02)
        for at, found, wanted in zip(PLACES, surface(end, RADIUS, np.array(PLACES), 0.03), HEIGHTS, strict=True)
    ]
    findings.append(StudyFinding("grains that have run out of the reservoir", float((end[:, 0] > 0.6).mean())))
    yield FindingTable("Bed at the end, after 2 s", "Lethe", findings)


def case_of(*, full: bool) -> Case:
    """Return the channel as published, or a slice of it that is periodic."""
    depth = WIDE if full else NARROW
    near, far = (0.0, depth) if full else (-0.02, depth + 0.02)
    count = round(60_000 * depth / WIDE)
    values = {"near": near, "far": far, "periodic": str(not full).lower()}
    return Case.from_text(_CASE.format(depth=depth, count=count, **values))


STUDY = Study(
    "dam-break", "Granular dam break", run, "bulk", "Evangelista 2014, as in the documentation of Lethe",
    {
        "grains": "10 mm, 2560 kg/m3, 1 MPa, 0.2, friction 0.5, rolling 0.3 (constant torque), restitution 0.9",
        "channel": "0.6 of 2 m filled to 0.2 m; 0.4 m deep, 60,000 grains (--full), or a periodic slice of 50 mm",
        "gate": "lifted by 1 m/s from 0.5 to 0.7 s", "time step": "50 us",
    },
)  # fmt: skip

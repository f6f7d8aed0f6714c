"""Heaps of tetrapods and of spheres of the same volume and friction: interlocking makes them steeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.case.sections.round_walls import CylinderWall
from pdem.particles.heaps import flank_of
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, StudyFinding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.verification.study import Notebook

    Floats = NDArray[np.float64]


def heap(notebook: Notebook) -> FindingTable:
    """Return the slopes of the heaps of the example ``clusters``, and draw the final positions of its grains."""
    folder = notebook.folder.resolve() / "heap"
    case = Case.read(next(iter(write_example("clusters", folder))))
    simulation = Simulation(case, threads=notebook.threads)
    simulation.advance(round(case.time.end / case.resolved_step()))
    own = simulation.particles
    rims = {wall.name: wall for wall in case.walls if isinstance(wall, CylinderWall)}
    left, right = (rims[name] for name in ("left_rim", "right_rim"))
    rows = {"tetrapods": own.cluster != 0, "spheres": own.cluster == 0}
    axes_of = {"tetrapods": left.centre[:2], "spheres": right.centre[:2]}
    places = {name: own.position[some] - (*axes_of[name], 0.0) for name, some in rows.items()}
    with notebook.plot("heap") as axes:
        for name, centres in places.items():
            axes.plot(np.hypot(centres[:, 0], centres[:, 1]), centres[:, 2], ".", label=name)
        axes.set(xlabel="distance from the axis [m]", ylabel="height [m]", title="grains of both heaps")
        axes.legend()
    slopes = {name: flank_of(places[name], own.radius[some]).angle for name, some in rows.items()}
    ratio = slopes["spheres"] / slopes["tetrapods"]
    return FindingTable(
        "heaps of tetrapods and of spheres, pdem new clusters", "expected",
        [
            *(StudyFinding(f"slope of the heap of {name} [deg]", slope) for name, slope in slopes.items()),
            StudyFinding("that of spheres over that of tetrapods", ratio, 0.8, 0.0, at_most=True),
        ],
        "The slope is that of a cone fitted to the surface between 20 and 80 % of its height.",
    )  # fmt: skip

"""Heaps of tetrapods and of spheres of the same volume and friction: interlocking makes them steeper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.example_cases import write_example
from pdem.case.model import Case
from pdem.simulation.simulation import Simulation
from pdem.verification.study import Finding, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.verification.study import Notebook

    Floats = NDArray[np.float64]


def slope_of(places: Floats) -> float:
    """Return the angle [degrees] of the cone with the same height of its centre and mean square distance from its axis.

    The centre of a cone is at a fourth of its height, and the mean square distance 0.3 of that of its rim.

    Parameters
    ----------
    places : (n, 3) array
        Centres of grains of one volume over a floor at height 0 [m].
    """
    aside = places[:, :2] - places[:, :2].mean(axis=0)
    rim = math.sqrt((aside**2).sum(axis=1).mean() / 0.3)
    return math.degrees(math.atan(4.0 * places[:, 2].mean() / rim))


def heap(notebook: Notebook) -> Table:
    """Return slopes of the heaps of the example ``clusters``, and draw how its grains lie at the end."""
    folder = notebook.folder.resolve() / "heap"
    case = Case.read(next(iter(write_example("clusters", folder))))
    simulation = Simulation(case, threads=notebook.threads)
    simulation.advance(round(case.time.end / case.resolved_step()))
    own = simulation.particles
    places = {"tetrapods": simulation.clusters.position, "spheres": own.position[own.cluster == 0]}
    with notebook.plot("heap") as axes:
        for name, centres in places.items():
            aside = np.hypot(*(centres[:, :2] - centres[:, :2].mean(axis=0)).T)
            axes.plot(aside, centres[:, 2], ".", label=name)
        axes.set(xlabel="distance from the axis [m]", ylabel="height [m]", title="grains of both heaps")
        axes.legend()
    slopes = {name: slope_of(centres) for name, centres in places.items()}
    ratio = slopes["spheres"] / slopes["tetrapods"]
    return Table(
        "heaps of tetrapods and of spheres, pdem new clusters", "expected",
        [
            *(Finding(f"slope of the heap of {name} [deg]", slope) for name, slope in slopes.items()),
            Finding("that of spheres over that of tetrapods", ratio, 0.8, 0.0, at_most=True),
        ],
        "The slope is that of the cone with the same height of its centre and the same moment about its axis.",
    )  # fmt: skip

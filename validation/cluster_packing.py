"""Beds of smooth rods of several lengths: rods slightly longer than wide pack denser than spheres.

Jammed random beds of hard rods with round ends are densest if the rods are 1.45 times as long as wide: they fill 0.721
of the space (PubMed Central, PMC10405222), spheres 0.64. Here rods fall on a floor, and the bed is slightly looser.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from pdem.verification.study import FindingTable, StudyFinding
from validation.cluster_runs import GRAVITY, simulate

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

ASPECTS = (1.0, 1.2, 1.4, 1.7, 2.5)
"""Length of rods over their width."""

_RADIUS = 1e-3
"""Radius of spheres with the volume of a rod [m]."""

_COUNT, _SIDE = 300, 10.0 * _RADIUS
_STEP, _END = 1.2e-5, 0.5
_LAW = {"normal_stiffness": 200.0, "restitution": 0.3}
_LOOSE = 0.25
"""Initial volume fraction of the bounding spheres of the rods."""

_WINDOW = (4.0 * _RADIUS, 12.0 * _RADIUS)
"""Heights between which the filled share is measured, away from floor and surface [m]."""


def rod(aspect: float) -> dict[str, Any]:
    """Return the shape of a rod with round ends of radius 1, as spheres half a radius apart."""
    half = aspect - 1.0
    return {"spheres": [[x, 0.0, 0.0, 1.0] for x in np.linspace(-half, half, 1 + math.ceil(4.0 * half)).tolist()]}


def poured(aspect: float) -> tuple[Floats, float]:
    """Return centres (n, 3) and radius of the spheres of smooth rods that have fallen on a floor [m].

    All rods have the same volume; the box is periodic in x and y.
    """
    width = (1.0 + 1.5 * (aspect - 1.0)) ** (-1.0 / 3.0)
    balls = _COUNT * 4.0 / 3.0 * math.pi * (aspect * width * _RADIUS) ** 3
    low = 3.0 * _RADIUS
    top = low + balls / (_LOOSE * _SIDE**2)
    fill = {"count": _COUNT, "lower": [0.0, 0.0, low], "upper": [_SIDE, _SIDE, top]}
    group = {"material": "grain", "shape": "rod", "radius": _RADIUS, "fill": fill}
    simulation = simulate(
        [group], {"rod": rod(aspect)}, _STEP, _LAW, gravity=[0.0, 0.0, -GRAVITY], lower=[0.0, 0.0, -low],
        upper=[_SIDE, _SIDE, top + low], periodic=[True, True, False],
    )  # fmt: skip
    simulation.advance(round(_END / _STEP))
    return simulation.particles.position, float(simulation.particles.radius[0])


def filled_share(places: Floats, radius: float) -> float:
    """Return the share of points between two heights inside spheres of one radius [m] at positions (n, 3) [m]."""
    rng = np.random.default_rng(1)
    points = rng.uniform((0.0, 0.0, _WINDOW[0]), (_SIDE, _SIDE, _WINDOW[1]), (200_000, 3))
    wrapped = np.column_stack((places[:, :2] % _SIDE, places[:, 2]))
    # The tree interprets a length of 0 as an axis without a period.
    away, _ = cKDTree(wrapped, boxsize=(_SIDE, _SIDE, 0.0)).query(points)
    return float((away < radius).mean())


def packing(notebook: Notebook) -> FindingTable:
    """Return the filled share of the space of beds of rods, and draw it over the length of the rods."""
    shares = [filled_share(*poured(aspect)) for aspect in ASPECTS]
    with notebook.plot("packing") as axes:
        axes.plot(ASPECTS, shares, "o-")
        axes.set(xlabel="length over width", ylabel="share of the space", title="beds of smooth rods")
    densest = ASPECTS[int(np.argmax(shares))]
    return FindingTable(
        "beds of smooth rods with round ends", "expected",
        [
            *(
                StudyFinding(f"share of the space, {aspect:g} times as long as wide", share)
                for aspect, share in zip(ASPECTS, shares, strict=True)
            ),
            StudyFinding("length over width in the densest bed", densest, 1.45, 0.2),
            StudyFinding("its share", max(shares), 0.721, 0.05),
            StudyFinding("share of spheres over it", shares[0] / max(shares), 0.64 / 0.721, 0.03),
            StudyFinding("share of the longest rods over it", shares[-1] / max(shares), 0.98, 0.0, at_most=True),
        ],
        "Expected: jammed beds without order, PubMed Central PMC10405222. Here one bed of 300 rods each.",
    )  # fmt: skip

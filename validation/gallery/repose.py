"""Slopes of heaps after lifting a cylinder: they grow with rolling friction, and the heaps are stable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.particles.heaps import flank_of
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.bulk_runs import example_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.run.reading.snapshot import Snapshot
    from pdem.verification.study import Notebook

ROLLING_FRICTIONS = (0.0, 0.1, 0.3)
MORE_ROLLING_FRICTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield slopes of heaps by rolling friction, and their changes in the last tenth of a second."""
    slopes, changes = [], []
    frictions = MORE_ROLLING_FRICTIONS if notebook.full else ROLLING_FRICTIONS
    with notebook.plot("heaps", 2) as (left, right):
        for friction in frictions:
            results = example_run(
                notebook, f"rolling{friction:g}", "repose",
                [f"interactions.default.rolling.friction={friction}", "output.snapshots_every=0.1"],
            )  # fmt: skip
            last, before = (_slope(results.at(one)) for one in results.times[[-1, -2]])
            slopes.append(last)
            changes.append(abs(last - before))
            places = results[-1].position
            places = places[places[:, 2] > 0.0]  # further grains have rolled off the floor
            left.plot(np.hypot(places[:, 0], places[:, 1]), places[:, 2], ".", markersize=2, label=f"{friction:g}")
        right.plot(frictions, slopes, "o-")
        left.set(xlabel="distance from the axis [m]", ylabel="height [m]")
        right.set(xlabel="rolling friction", ylabel="slope [deg]")
        left.legend(title="rolling friction", markerscale=5.0)
    found = [
        StudyFinding(f"slope, rolling friction {k:g} [deg]", one) for k, one in zip(frictions, slopes, strict=True)
    ]
    found += [
        at_most("rises of rolling friction without one of the slope", float((np.diff(slopes) < -0.5).sum()), 0.0),
        StudyFinding("slope at the largest rolling friction [deg]", slopes[-1], 25.0, 0.0, margin=10.0),
        at_most("largest change in the last 0.1 s [deg]", max(changes), 1.0),
    ]
    yield FindingTable("Heaps of 1,600 grains, sliding friction 0.5", "range", found, _REMARK)
    if notebook.full:
        yield _long_rest(notebook)


def _slope(snapshot: Snapshot) -> float:
    """Return the slope of the flank of the grains on the floor [degrees]; 0 for a level layer, which is not a heap."""
    lies = snapshot.position[:, 2] > 0.0
    angle = flank_of(snapshot.position[lies], snapshot.radius[lies]).angle
    return 0.0 if math.isnan(angle) else angle


def _long_rest(notebook: Notebook) -> FindingTable:
    """Return the motion of a heap of many small grains during two seconds at rest."""
    results = example_run(
        notebook, "many", "repose",
        [
            "particles.0.fill.count=5000", "particles.0.radius.min=0.00205", "particles.0.radius.max=0.0024",
            "time.end=4.0", "output.snapshots_every=0.1",
        ],
    )  # fmt: skip
    begin, end = (results.at(one) for one in (2.0, 4.0))
    _, first, second = np.intersect1d(begin.id, end.id, return_indices=True)
    lies = begin.position[first, 2] > 0.0
    moved = np.linalg.norm(end.position[second] - begin.position[first], axis=1)[lies]
    with notebook.plot("many") as axes:
        places = end.position[end.position[:, 2] > 0.0]
        axes.plot(np.hypot(places[:, 0], places[:, 1]), places[:, 2], ".", markersize=2)
        axes.set(xlabel="distance from the axis [m]", ylabel="height [m]")
    found = [
        StudyFinding("grains on the floor", float(len(moved))),
        StudyFinding("slope after 4 s [deg]", _slope(end), 25.0, 0.0, margin=10.0),
        at_most("largest change of the slope from 2 to 4 s [deg]", abs(_slope(end) - _slope(begin)), 0.05),
        at_most("grains displaced by more than a hundredth of the radius from 2 to 4 s", float(
            (moved > 0.01 * 0.00205).sum()
        ), 5.0),
        at_most("median displacement from 2 to 4 s, over the radius", float(np.median(moved) / 0.00205), 1e-4),
    ]  # fmt: skip
    return FindingTable("A heap of 5,000 grains at rest, rolling friction 0.3", "range", found)


_REMARK = (
    "Heaps of real grains have slopes of 25 to 35 degrees, and a lifted cylinder leaves flatter ones: there is no "
    "exact number. The slope is that of a cone fitted to the surface between 20 and 80 % of its height, 0 for a level "
    "layer."
)

STUDY = Study(
    "repose", "Angle of repose by rolling friction", run, "bulk",
    "range of measured heaps; pdem new repose",
    {
        "grains": "1,600 of 6 to 7 mm, 2500 kg/m3, 3 MPa, friction 0.5, rolling springs",
        "cylinder": "radius 41 mm, lifted by 90 mm in 1 s",
    },
)  # fmt: skip

"""The studies of the paper on the hierarchical grid.

Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372, doi 10.1007/s40571-014-0020-9. Lengths are in
units of the smallest radius, costs in units of one distance test. The published overhead of an access, K, is
0.2; that of pdem's arrays is measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.sizes import PowerLaw
from pdem.detection.cell_sizes import cell_sizes
from pdem.detection.overhead import search_times
from pdem.numerics.random import keyed_uniform, keyed_vectors
from pdem.verification.study import FindingTable, StudyFinding, plain_numbers
from validation.cooling import cooling, packing
from validation.parts import in_parts
from validation.search_work import CODE, PUBLISHED_OVERHEAD, work_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

PUBLISHED_SIZES = (4.0, 7.9, 15.1, 27.2, 40.0)
PUBLISHED_GAIN = 35.0
_EXAMPLE: dict[str, Any] = {"volume_fraction": 0.4, "dimension": 2}
_DENSE: dict[str, Any] = {"volume_fraction": 0.55, "dimension": 3}
_RULES = ("linear", "exponential", "constant", "optimal")
_SYSTEMS = (
    # dimension, ratio, exponent, fraction, direction
    (2, 20.0, -3.0, 0.4, "top-down"),
    (2, 20.0, -2.0, 0.4, "top-down"),
    (2, 10.0, 0.0, 0.8, "top-down"),
    (2, 20.0, -3.0, 0.4, "bottom-up"),
    (3, 10.0, -3.0, 0.55, "top-down"),
    (3, 10.0, -2.0, 0.55, "top-down"),
    (3, 10.0, 0.0, 0.55, "top-down"),
    (3, 10.0, -3.0, 0.3, "top-down"),
    (3, 10.0, -3.0, 0.55, "bottom-up"),
    (3, 50.0, -3.0, 0.55, "top-down"),
)


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the tables of the study, each when it is complete."""
    yield levels_of_the_example()
    yield levels_of_this_machine()
    yield limit_of_thirty()
    yield from in_parts(notebook, (counted_work, level_counts, packing, cooling))


def levels_of_the_example() -> FindingTable:
    """Return the optimal levels of the paper's example beside the published ones."""
    radii = PowerLaw(-3.0, 1.0, 20.0)
    chosen = cell_sizes(radii, overhead=PUBLISHED_OVERHEAD, **_EXAMPLE)
    single = cell_sizes(radii, overhead=PUBLISHED_OVERHEAD, method="single", **_EXAMPLE)
    findings = [StudyFinding("number of levels", chosen.levels, len(PUBLISHED_SIZES), 0.0)]
    findings += [
        StudyFinding(f"size of level {level} [smallest radius]", size, published, 0.05 / published)
        for level, (size, published) in enumerate(zip(chosen.sizes, PUBLISHED_SIZES, strict=False), start=1)
    ]
    findings.append(StudyFinding("gain over one level", single.cost / chosen.cost, PUBLISHED_GAIN, 0.5 / 35.0))
    return FindingTable("Optimal levels: 2D, size ratio 20, exponent -3, fraction 0.4, K = 0.2", "published", findings)


def levels_of_this_machine() -> FindingTable:
    """Return the optimal levels of the same example for the overhead measured here."""
    times = search_times()
    radii, options = PowerLaw(-3.0, 1.0, 20.0), {**_EXAMPLE, **CODE, "overhead": times.overhead}
    chosen, single = cell_sizes(radii, **options), cell_sizes(radii, method="single", **options)
    findings = [
        StudyFinding("time of a distance test [ns]", 1e9 * times.check),
        StudyFinding("time of a visit of a row of cells [ns]", 1e9 * times.row),
        StudyFinding("K of this machine", times.overhead),
        StudyFinding("number of levels", chosen.levels),
        *(
            StudyFinding(f"size of level {level} [smallest radius]", float(size))
            for level, size in enumerate(chosen.sizes, start=1)
        ),
        StudyFinding("gain over one level", single.cost / chosen.cost),
    ]
    remark = "Here the cells of a row are adjacent in memory, a visit is a visit of a row, and fewer levels are best."
    return FindingTable("The same with the overhead of this machine", "", findings, remark)


def limit_of_thirty() -> FindingTable:
    """Return the largest cost over size ratios from 2 to 500, three dimensions, top-down."""
    findings = []
    for exponent in (0.0, -1.0, -2.0, -3.0):
        costs = [
            cell_sizes(PowerLaw(exponent, 1.0, float(ratio)), overhead=PUBLISHED_OVERHEAD, **_DENSE).cost
            for ratio in np.geomspace(2.0, 500.0, 10)
        ]
        findings.append(
            StudyFinding(f"exponent {exponent:g}: distance tests per particle", max(costs), 30.0, 0.0, True)
        )
    remark = "With optimal levels, top-down; K = 0.2. The limit holds up to a volume fraction of about 0.72."
    return FindingTable("Largest cost over size ratios 2 to 500, 3D, fraction 0.55", "published", findings, remark)


def counted_work(notebook: Notebook) -> FindingTable:
    """Return counted distance tests and visits beside the model, for uncorrelated positions."""
    count = 200_000 if notebook.full else 40_000
    findings = []
    for system in _SYSTEMS:
        findings += count_system(count, *system)
    _plot_counts(notebook, findings)
    remark = f"About {count} uncorrelated positions in a periodic box; optimal levels, of whole cells in the box."
    return FindingTable("Work of one search, counted and predicted", "predicted", findings, remark)


def count_system(
    count: int, dimension: int, ratio: float, exponent: float, fraction: float, direction: str
) -> list[StudyFinding]:
    """Return tests and visits per particle, counted and predicted, for one system of `count` particles."""
    position, radii, edge = _points(count, dimension, ratio, exponent, fraction)
    best = cell_sizes(
        radii, volume_fraction=fraction, dimension=dimension, direction=direction, overhead=PUBLISHED_OVERHEAD
    )
    sizes = _whole_cells(best.sizes, edge)
    name = f"{dimension}D, ratio {ratio:g}, exponent {exponent:g}, fraction {fraction:g}, "
    name += f"{len(sizes)} levels {direction}"
    return work_findings(
        name, position, radii, sizes, len(radii) / edge**dimension, 0.03, direction=direction,
        lower=[0.0] * dimension, upper=[edge * (1.0 + 1e-9)] * dimension, periodic=[True] * dimension,
    )  # fmt: skip


def _points(count: int, dimension: int, ratio: float, exponent: float, fraction: float) -> tuple[Floats, Floats, float]:
    """Return positions, radii and the edge of a box that contains a whole number of the largest; about `count`."""
    radii = PowerLaw(exponent, 1.0, ratio).radii(keyed_uniform(1, 0, np.arange(2 * count)))
    radii[0] = ratio
    ball = np.pi if dimension == 2 else 4.0 / 3.0 * np.pi
    filled = np.cumsum(ball * radii**dimension) / fraction
    edge = 2.0 * ratio * max(1.0, np.round(filled[count - 1] ** (1.0 / dimension) / (2.0 * ratio)))
    number = int(np.searchsorted(filled, edge**dimension)) + 1
    return edge * keyed_vectors(1, 1, np.arange(number), dimension), radii[:number], edge


def _whole_cells(sizes: Floats, edge: float) -> Floats:
    """Return the sizes enlarged so that whole numbers of cells fill the box, as the model assumes."""
    return np.unique(edge / np.floor(edge / sizes))


def _plot_counts(notebook: Notebook, findings: list[StudyFinding]) -> None:
    with notebook.plot("counted_work") as axes:
        for kind, marker in (("tests", "o"), ("visits", "s")):
            of_kind = [one for one in findings if one.name.endswith(f"{kind} per particle")]
            predicted = [one.expected for one in of_kind]
            axes.plot(predicted, [one.computed for one in of_kind], marker, label=f"{kind} per particle")
        axes.axline((10.0, 10.0), slope=1.0, color="0.6", linewidth=1.0, label="equal")
        axes.set(xscale="log", yscale="log", xlabel="predicted", ylabel="counted")
        plain_numbers(axes.xaxis, axes.yaxis)
        axes.legend()


def level_counts(notebook: Notebook) -> FindingTable:
    """Return the cost against the number of levels, for each rule of cell sizes."""
    radii, levels = PowerLaw(-2.0, 1.0, 50.0), np.arange(1, 13)
    measured = search_times().overhead
    settings = {
        "cells, K = 0.2": {"overhead": PUBLISHED_OVERHEAD},
        f"rows, K = {measured:.1f}": {"overhead": measured, **CODE},
    }
    findings = []
    with notebook.plot("level_counts", 2) as panels:
        for axes, (title, options) in zip(panels, settings.items(), strict=True):
            for rule in _RULES:
                costs = [cell_sizes(radii, method=rule, levels=int(one), **_DENSE, **options).cost for one in levels]
                axes.plot(levels, costs, "o-", markersize=4, label=rule)
                best = int(np.argmin(costs))
                findings.append(StudyFinding(f"{title}, {rule}: best cost, at {levels[best]} levels", costs[best]))
                findings.append(StudyFinding(f"{title}, {rule}: twelve levels over best", costs[-1] / costs[best]))
            axes.set(xlabel="levels", ylabel="cost per particle [distance tests]", yscale="log", title=title)
            plain_numbers(axes.yaxis)
            axes.legend()
    remark = "3D, size ratio 50, exponent -2, fraction 0.55, top-down: the exponential rule punishes extra levels."
    return FindingTable("Sensitivity to the number of levels", "", findings, remark)

"""The examples of the paper on NBS: packings of equal discs, counted and timed, and a jet of half a million discs.

Munjiza, Andrews, Int. J. Numer. Meth. Engng 43 (1998) 131-149. Lengths of the packings are in units of the diameter D
of the discs. The paper shows total times of ten detections. Here the time is the shortest of ten, because other
programs on the machine can only make a detection longer.

The numbers of touching pairs, of lists and of distance tests follow from the geometry if no distance coincides with the
edge of a cell. Distances of two diameters or more are therefore enlarged by a billionth, by a power of two, so that all
coordinates are exact.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.explain.example_cases import write_example
from pdem.case.model import Case
from pdem.detection.find_pairs import find_pairs
from pdem.detection.rivals import nbs
from pdem.output.pictures.render import render
from pdem.verification.study import FindingTable, StudyFinding
from validation.gallery.bulk_runs import case_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.detection.rivals.cell_grid import Search
    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

SIDES = (10, 20, 32, 50, 100, 150, 200, 250, 300)
"""Discs along each side of packing A: 100 to 90,000 of them."""

FULL_SIDES = (*SIDES, 500, 1000)
"""Discs along each side of packing A in the long runs: up to a million discs."""

SPACINGS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Spacings S of packings B, C and D over the diameter; 200 in both directions is a density of 1/40,000."""

SIDE = 100
"""Discs along each side of packings B, C and D."""

METHODS = ("sorting", "linked-cell", "screening", "hgrid")
"""Methods compared with NBS; brute force would take a thousand times as long."""

REPETITIONS = 10
"""Number of detections; the fastest counts."""

DEEPEST = 0.05
"""Overlap over radius up to which discs of the jet count as rigid.

The paper has no stiffness, and the number of steps is inversely proportional to the overlap. The pressure in the jet,
density times speed squared, is 1/20,000 of the modulus, so that the motion is not affected.
"""

_RADIUS = 0.5
_WIDENING = 1.0 + 2.0**-30
_LINEAR_FROM = 10_000
_REDUCTION = 10.0
_LOADS = 8000
_PACKINGS = {"II": "B", "III": "C", "IV": "D"}


@dataclass(frozen=True)
class Detection:
    """Work of a detection, measured or from the geometry.

    Attributes
    ----------
    discs : int
        Number of discs.
    pairs : int
        Touching pairs.
    tests : int
        Distance tests.
    lists : int
        Lists of cells consulted.
    seconds : float
        Shortest time [s]; 0 if not measured.
    """

    discs: int
    pairs: int
    tests: int
    lists: int
    seconds: float = 0.0


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the tables of the study, each when it is complete."""
    detect([packing("I", 10, 1)], 1)  # compiles or loads the kernels
    sizes = detect([packing("I", side, 1) for side in (FULL_SIDES if notebook.full else SIDES)])
    yield example_one(sizes)
    yield time_against_number(notebook, sizes)
    spaced: dict[str, list[Detection]] = {}
    for example in _PACKINGS:
        spaced[example] = detect([packing(example, SIDE, spacing) for spacing in SPACINGS])
        yield spaced_example(example, spaced[example])
    yield time_against_spacing(notebook, spaced)
    yield other_methods()
    yield jet(notebook)


def packing(example: str, side: int, spacing: int) -> Floats:
    """Return the positions of discs of diameter 1.

    Parameters
    ----------
    example : {"I", "II", "III", "IV"}
        Example of the paper, with packing A to D.
    side : int
        Discs along x and along y; even for packing D.
    spacing : int
        S of packings B, C and D, in diameters: 1 (the discs touch), or 2 and more; packing A has none.

    Returns
    -------
    ndarray, shape (side * side, 3)
        Centres in diameters, z = 0; numbered along the rows.
    """
    distance = float(spacing) if spacing == 1 else spacing * _WIDENING
    index = np.arange(side, dtype=np.float64)
    x = {
        "I": index,
        "II": index * distance,
        "III": index * distance,
        "IV": (index // 2) * (1.0 + distance) + index % 2,
    }[example]
    y = index * (distance if example == "III" else 2.0 * _WIDENING)
    return np.stack([*np.broadcast_arrays(x, y[:, None]), np.zeros((side, side))], axis=-1).reshape(-1, 3)


def exact(example: str, side: int, spacing: int) -> Detection:
    """Return the work of a detection from the geometry; arguments as in `packing`, `side` at least 3.

    A cell is slightly larger than a disc, so that rounding does not separate touching discs. Therefore the first two of
    the touching discs in a row share a cell and all further discs have their own: one cell less than discs, and one
    test per disc. In a square of touching discs there are four tests per disc, including tests in diagonal cells.
    """
    discs, occupied = side * side, side * (side - 1)
    if spacing == 1 and example == "III":
        return Detection(discs, 2 * occupied, 4 * discs, 5 * (side - 1) ** 2)
    if spacing == 1 or example == "I":
        return Detection(discs, occupied, discs, 5 * occupied)
    if example == "IV":
        return Detection(discs, discs // 2, discs // 2, 5 * occupied)
    return Detection(discs, 0, 0, 5 * discs)


def detect(systems: Sequence[Floats], repetitions: int = REPETITIONS) -> list[Detection]:
    """Detect by NBS in each of several systems.

    Parameters
    ----------
    systems : sequence of ndarray, shape (n, 3)
        Centres of discs of diameter 1.
    repetitions : int
        Number of detections in each system; the fastest counts.
    """
    found = shortest_times([partial(_search, one) for one in systems], repetitions)
    return [
        Detection(len(one), len(pairs), tests, lists, seconds)
        for one, ((pairs, tests, lists), seconds) in zip(systems, found, strict=True)
    ]


def _search(positions: Floats) -> Search:
    radii = np.full(len(positions), _RADIUS)
    lower, upper = positions.min(axis=0), positions.max(axis=0)
    return nbs.search_pairs(
        positions, radii, lower=lower, upper=upper, periodic=(False, False, False), dimension=2, skin=0.0
    )


def shortest_times(works: Sequence[Callable[[], Any]], repetitions: int) -> list[tuple[Any, float]]:
    """Return the result and the shortest time [s] of each function.

    The functions are called in turn, so that other programs on the machine affect all of them alike.
    """
    results: list[Any] = [None] * len(works)
    seconds = [np.inf] * len(works)
    for _ in range(repetitions):
        for number, work in enumerate(works):
            start = time.perf_counter()
            results[number] = work()
            seconds[number] = min(seconds[number], time.perf_counter() - start)
    return list(zip(results, seconds, strict=True))


def example_one(measured: Sequence[Detection]) -> FindingTable:
    """Return pairs and operations of example I beside the values from the geometry."""
    findings = []
    for one in measured:
        wanted, name = exact("I", round(one.discs**0.5), 1), f"N = {one.discs}"
        findings += [
            StudyFinding(f"{name}: touching pairs", one.pairs, wanted.pairs, 0.0),
            StudyFinding(f"{name}: lists consulted per disc", one.lists / one.discs, wanted.lists / one.discs, 0.0),
            StudyFinding(f"{name}: distance tests per disc", one.tests / one.discs, wanted.tests / one.discs, 0.0),
        ]
    remark = "Five lists for each occupied cell; the first two discs of a row share one, a shade larger than a disc."
    return FindingTable("Example I: rows of touching discs, two diameters apart", "exact", findings, remark)


def time_against_number(notebook: Notebook, measured: Sequence[Detection]) -> FindingTable:
    """Return the times of example I and their exponent; plot them."""
    findings = [
        StudyFinding(f"N = {one.discs}: time of a detection per disc [ns]", 1e9 * one.seconds / one.discs)
        for one in measured
    ]
    large = [one for one in measured if one.discs >= _LINEAR_FROM]
    name = f"time ~ N^k, N = {large[0].discs} and more: k"
    findings.append(StudyFinding(name, exponent(large), 1.0, 0.15))
    with notebook.plot("time_against_number") as axes:
        number = np.array([one.discs for one in measured], dtype=np.float64)
        axes.loglog(number, [1e3 * one.seconds for one in measured], "o-", label="NBS, packing A")
        line = 1e3 * measured[-1].seconds * number / number[-1]
        axes.loglog(number, line, "--", color="0.5", label="slope 1")
        axes.set(xlabel="number of discs N", ylabel="time of a detection [ms]")
        axes.grid(visible=True, which="major", color="0.9")
        axes.legend()
    remark = "With few discs the time is the time of a call. Discs that do not fit into a cache take a little longer."
    return FindingTable("Example I: time against the number of discs", "published", findings, remark)


def exponent(measured: Sequence[Detection]) -> float:
    """Return the exponent k of time ~ N^k, fitted by least squares of logarithms."""
    number, seconds = np.log([(float(one.discs), one.seconds) for one in measured]).T
    return float(np.polyfit(number, seconds, 1)[0])


def spaced_example(example: str, measured: Sequence[Detection]) -> FindingTable:
    """Return pairs and operations of example II, III or IV, at all `SPACINGS`, beside the values from the geometry."""
    side = round(measured[0].discs ** 0.5)
    wanted = [exact(example, side, spacing) for spacing in SPACINGS]
    findings = [
        StudyFinding(f"S = {spacing} D: touching pairs", one.pairs, right.pairs, 0.0)
        for spacing, one, right in zip(SPACINGS, measured, wanted, strict=True)
    ]
    ranges = (("S = 1 D", slice(0, 1)), (f"S = {SPACINGS[1]} to {SPACINGS[-1]} D", slice(1, None)))
    for name, part in ranges:
        findings += _operations(name, measured[part], wanted[part])
    remark = "From S = 2 D on every spacing takes the same operations: least and most are equal."
    return FindingTable(f"Example {example}: packing {_PACKINGS[example]}", "exact", findings, remark)


def _operations(name: str, measured: Sequence[Detection], wanted: Sequence[Detection]) -> Iterator[StudyFinding]:
    """Yield the least and the most lists and tests per disc."""
    for kind, label in (("lists", "lists consulted"), ("tests", "distance tests")):
        counted, right = ([getattr(one, kind) / one.discs for one in side] for side in (measured, wanted))
        bounds = (("", max),) if len(measured) == 1 else ((", least", min), (", most", max))
        for which, bound in bounds:
            yield StudyFinding(f"{name}: {label} per disc{which}", bound(counted), bound(right), 0.0)


def time_against_spacing(notebook: Notebook, measured: Mapping[str, Sequence[Detection]]) -> FindingTable:
    """Return the times of examples II to IV against the spacing; plot them."""
    findings = []
    for example, found in measured.items():
        name = f"example {example}: time at S = {SPACINGS[-1]} D over that at"
        findings += [
            StudyFinding(f"{name} S = {SPACINGS[1]} D", found[-1].seconds / found[1].seconds, 1.0, 0.3),
            StudyFinding(f"{name} S = 1 D, where all touch", found[-1].seconds / found[0].seconds),
        ]
    with notebook.plot("time_against_spacing") as axes:
        for (example, found), marker in zip(measured.items(), "os^", strict=False):
            per_disc = [1e9 * one.seconds / one.discs for one in found]
            axes.semilogx(SPACINGS, per_disc, f"{marker}-", label=f"{example} (packing {_PACKINGS[example]})")
        axes.set(xlabel="spacing S / D", ylabel="time of a detection per disc [ns]")
        axes.set_ylim(0.0, 1.2 * axes.get_ylim()[1])
        axes.grid(visible=True, which="major", color="0.9")
        axes.legend(title="example", loc="lower left")
    remark = (
        "From 2 D on the operations are the same; the tolerance is for memory, where discs far apart are, and "
        "for other work of the machine. At S = D all discs touch: there is more to test and to store."
    )
    return FindingTable("Examples II to IV: time against spacing, 10,000 discs", "published", findings, remark)


def other_methods() -> FindingTable:
    """Return whether all methods give the pairs of NBS in example I, and their times."""
    places, names = packing("I", SIDE, 1)[:, :2], ("nbs", *METHODS)
    searches = [partial(find_pairs, places, _RADIUS, method=name) for name in names]
    found = shortest_times(searches, REPETITIONS)
    reference, *others = [set(map(tuple, result.pairs.tolist())) for result, _ in found]
    findings = [
        StudyFinding(f"{name}: pairs that differ from the pairs of nbs", len(pairs ^ reference), 0.0, 0.0)
        for name, pairs in zip(METHODS, others, strict=True)
    ]
    findings += [
        StudyFinding(f"{name}: time of a search [ms]", 1e3 * seconds)
        for name, (_, seconds) in zip(names, found, strict=True)
    ]
    remark = "Times of `find_pairs`, which checks its arguments and sorts the pairs."
    return FindingTable("Other methods on example I, 10,000 discs", "exact", findings, remark)


def jet(notebook: Notebook) -> FindingTable:
    """Run the jet of discs of the appendix and return the balances of momentum and energy; draw it."""
    name = "jet" if notebook.full else "small_jet"
    case = jet_case(notebook.folder / name, full=notebook.full)
    results = case_run(notebook, name, case)
    if find_spec("pyvista") is not None:
        picture = notebook.folder / "disc_jet.png"
        notebook.plots += render(results.folder, picture, view="top", size=(1200, 1100), wall_opacity=0.5)
    before, after = (momentum(case, results[place]) for place in (0, -1))
    rows = results.series.rows
    remark = (
        "Frictionless, so that the boundary gives no momentum along itself; impacts of restitution "
        f"{case.interactions['disc-disc'].restitution:g}. Loads are sampled, not summed in every step."
    )
    title = f"Appendix: a jet of {rows['particles'][0]} discs meets a rigid boundary"
    return FindingTable(title, "predicted", jet_findings(before, after, rows), remark)


def jet_case(folder: Path, *, full: bool = False) -> Case:
    """Write the example ``disc_jet`` into a folder, replacing an older one, and return the case.

    Parameters
    ----------
    folder : path
        Folder for the case, its mesh and its results.
    full : bool
        Whether to use half a million discs; otherwise 5000 discs, ten times as large, in the same jet.
    """
    for name in ("disc_jet.toml", "boundary.vtk"):
        (folder / name).unlink(missing_ok=True)
    case = Case.read(next(iter(write_example("disc_jet", folder))))
    case.override(f"output.folder={json.dumps(str(folder / 'run'))}")
    case.override(f"output.series_every={case.time.end / _LOADS!r}")
    if not full:
        radius = case.particles[0].radius
        assert isinstance(radius, float)
        case.override(f"particles[0].radius={_REDUCTION * radius!r}")
    return case


def momentum(case: Case, particles: Any) -> Floats:
    """Return the momentum of all discs of a jet, shape (3,) [kg m/s].

    Parameters
    ----------
    case : Case
        The jet.
    particles : object with columns ``radius`` and ``velocity``
        All discs of the jet: a snapshot, or `Simulation.particles` on one rank.
    """
    mass = (case.materials["disc"].density or 0.0) * 4.0 / 3.0 * np.pi * particles.radius**3
    return np.asarray(mass @ particles.velocity)


def jet_findings(before: Floats, after: Floats, rows: NDArray[Any]) -> list[StudyFinding]:
    """Return the balances of momentum and energy of a run of the jet.

    Parameters
    ----------
    before, after : ndarray, shape (3,)
        Momentum of all discs at the beginning and at the end [kg m/s].
    rows : structured ndarray
        The series of the run.
    """
    energy, towards = rows["translation"][0], abs(before[1])
    impulse = -np.trapezoid(rows["boundary_force_y"], rows["time"])
    return [
        StudyFinding("discs at the end", int(rows["particles"][-1]), int(rows["particles"][0]), 0.0),
        StudyFinding(
            "largest residual of the energy balance over the initial energy",
            float(np.abs(rows["residual"]).max() / energy), 1e-3, 0.0, True,
        ),
        StudyFinding(
            "impulse on the boundary over change of momentum", float(impulse / (after[1] - before[1])), 1.0, 0.01
        ),
        StudyFinding("momentum along the boundary over the initial", abs(after[0]) / towards, 1e-9, 0.0, True),
        StudyFinding("largest overlap over radius", float(rows["largest_overlap"].max()), DEEPEST, 0.0, True),
        StudyFinding("momentum towards the boundary at the end over the initial", -after[1] / towards),
        StudyFinding("energy lost in impacts over the initial", float(rows["normal_damping"][-1] / energy)),
    ]  # fmt: skip

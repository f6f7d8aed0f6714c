"""A cantilever under a large transverse force at its tip, beside the elastica."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.bonds.rods import BENDING, LENGTH, MASS, PARAMETERS, Rod, beside, by_rod, load, lowest, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

LOADS = (1.0, 2.0, 3.0, 5.0, 10.0)
"""Force times squared length over bending stiffness."""

_STEP = 1e-6
_RESTING = 14.0
"""Duration of a run in reciprocals of the lowest frequency, with critical damping."""


def elastica(load: float) -> Floats:
    """Return deflection, shortening of the projection (both over the length) and angle [rad] at the tip.

    The angle t of an inextensible beam has t'' = -a cos t along its length, t = 0 at the fixed end and t' = 0 at the
    tip, where a is the `load`. It is integrated from the tip, whose angle is the root of t = 0 at the fixed end.
    """
    from scipy.integrate import solve_ivp  # late, as every pdem verify imports all studies
    from scipy.optimize import brentq

    def slope(_: float, state: Floats) -> Floats:
        angle, rate, _, _ = state
        return np.array([rate, -load * math.cos(angle), math.cos(angle), math.sin(angle)])

    def end(tip: float) -> Floats:
        return solve_ivp(slope, (0.0, 1.0), [tip, 0.0, 0.0, 0.0], "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]

    tip = brentq(lambda angle: float(end(angle)[0]), 1e-6, 0.5 * math.pi - 1e-9, xtol=1e-13)
    _, _, along, across = end(tip)
    return np.array([across, 1.0 - along, tip])


def bent(counts: Sequence[int], loads: Sequence[float] = LOADS) -> Floats:
    """Return deflection and shortening over the length (numbers of bonds, loads, 2), at rest under the loads."""
    rods = beside([Rod(count) for count in counts for _ in loads])
    lengths = np.array([rod.bonds * LENGTH for rod in rods])
    forces = np.zeros((len(rods), 3))
    forces[:, 2] = np.tile(loads, len(counts)) * BENDING / lengths**2
    simulation = simulate(rods, _STEP)
    load(simulation, rods, forces, [2.0 * MASS * lowest(rod.bonds) for rod in rods])
    simulation.advance(math.ceil(_RESTING / lowest(max(counts)) / _STEP))
    tips = np.array([place[-1] for place in by_rod(simulation, rods)]) / lengths[:, None]
    return np.stack([tips[:, 2], 1.0 - tips[:, 0]], axis=1).reshape(len(counts), len(loads), 2)


def limit(counts: Sequence[int], found: Floats) -> Floats:
    """Return the values for many bonds, from those of two numbers of bonds: errors fall with the number squared."""
    one, other = (float(count) ** 2 for count in counts)
    return (other * found[1] - one * found[0]) / (other - one)


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield deflections and shortenings of rods with 10 and 20 bonds, and in full studies with 40."""
    exact = np.array([elastica(a)[:2] for a in LOADS])
    counts = (10, 20, 40) if notebook.full else (10, 20)
    found = bent(counts)
    last = limit(counts[-2:], found[-2:])
    yield FindingTable(f"{counts[-1]} bonds", "elastica", _findings(found[-1], exact, 1.2 / counts[-1] ** 2), _REMARK)
    yield FindingTable(
        f"Limit of many bonds, from {counts[-2]} and {counts[-1]}", "elastica", _findings(last, exact, 1e-4)
    )
    with notebook.plot("tip") as axes:
        loads = np.linspace(0.05, LOADS[-1], 60)
        curves = np.array([elastica(a)[:2] for a in loads])
        for part, (name, colour) in enumerate((("deflection", "C0"), ("shortening", "C1"))):
            axes.plot(loads, curves[:, part], colour, label=f"{name}, elastica")
            axes.plot(LOADS, found[-1, :, part], f"{colour}o", label=f"{name}, {counts[-1]} bonds")
        axes.set(xlabel="force times squared length over bending stiffness", ylabel="over the length")
        axes.legend()


def _findings(found: Floats, exact: Floats, tolerance: float) -> list[StudyFinding]:
    names = "deflection", "shortening"
    return [
        StudyFinding(f"load {a:g}: {name} over the length", float(found[row, part]), float(exact[row, part]), tolerance)
        for row, a in enumerate(LOADS)
        for part, name in enumerate(names)
    ]


_REMARK = (
    "The load is the force at the tip times the squared length over the bending stiffness. Shear, elongation and the "
    "angles between spheres change the deflection by shares that fall with the square of the number of bonds."
)

STUDY = Study(
    "elastica", "A cantilever of bonds under a large force at its tip", run, "bonds",
    "Euler's elastica, integrated to ten digits",
    {**PARAMETERS, "loads": "1, 2, 3, 5, 10", "damping": "critical, by a drag"},
)  # fmt: skip

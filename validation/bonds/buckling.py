"""A column of bonds under an axial force, beside its buckling load."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.bonds.rods import (
    AXIAL,
    BENDING,
    LENGTH,
    MASS,
    PARAMETERS,
    SHEAR,
    Rod,
    beside,
    by_rod,
    load,
    lowest,
    simulate,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

_STEP = 1e-6
_SHARES = (0.2, 0.5, 0.7, 0.85)
_SIDE = 1e-4
"""Transverse force at the tip, over the bending stiffness and the square of the length."""


def rigid(bonds: int) -> float:
    """Return the buckling load of a clamped column of bonds that only bend, over E I / L^2; pi^2 / 4 for many."""
    return 4.0 * bonds**2 * math.tan(0.25 * math.pi / bonds) ** 2


def critical(bonds: int) -> float:
    """Return the buckling load over E I / L^2 with shear and compression to first order: P (1 + P/GA - P/EA) = P_b."""
    unit = BENDING / (bonds * LENGTH) ** 2
    soft = unit * (1.0 / SHEAR - 1.0 / AXIAL)
    return (math.sqrt(1.0 + 4.0 * soft * rigid(bonds)) - 1.0) / (2.0 * soft)


def loaded(bonds: int, shares: tuple[float, ...], damping: float, duration: float) -> Floats:
    """Return deflections over the length (shares,) under axial forces in shares of the buckling load."""
    rods = beside([Rod(bonds)] * len(shares))
    unit, rate = BENDING / (bonds * LENGTH) ** 2, lowest(bonds)
    simulation = simulate(rods, _STEP)
    forces = [[-share * critical(bonds) * unit, 0.0, _SIDE * unit] for share in shares]
    load(simulation, rods, forces, [2.0 * damping * MASS * rate] * len(rods))
    simulation.advance(math.ceil(duration / rate / _STEP))
    return np.array([place[-1, 2] for place in by_rod(simulation, rods)]) / (bonds * LENGTH)


def softened(share: float) -> float:
    """Return the factor by which an axial force, over the buckling load, raises the deflection by a side force."""
    u = 0.5 * math.pi * math.sqrt(share)
    return 3.0 * (math.tan(u) - u) / u**3


def extrapolated(found: Floats) -> float:
    """Return the buckling load over `critical` at which the last two of the deflections would grow without limit."""
    from scipy.optimize import brentq  # late, as every pdem verify imports all studies

    ratio = float(found[-1] / found[-2])
    return float(brentq(lambda p: softened(_SHARES[-1] / p) / softened(_SHARES[-2] / p) - ratio, 0.9, 1.2, xtol=1e-12))


def resting(bonds: int) -> Floats:
    """Return deflections over the length at rest under axial forces below the buckling load (shares,)."""
    rate = math.sqrt(1.0 - _SHARES[-1])
    return loaded(bonds, _SHARES, rate, 14.0 / rate)


def around(bonds: int) -> Floats:
    """Return deflections over the length some time after forces 2 % below and above the buckling load."""
    return loaded(bonds, (0.98, 1.02), 0.05, 60.0)


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield buckling loads of columns with 4 and 10 bonds, and in full studies with 20."""
    counts = (4, 10, 20) if notebook.full else (4, 10)
    found = {count: resting(count) for count in counts}
    findings = [one for count in counts for one in findings_of(count, found[count], around(count))]
    yield FindingTable("Clamped columns with a free end", "closed form", findings, _REMARK)
    with notebook.plot("deflection") as axes:
        shares = np.linspace(0.01, 0.95, 80)
        axes.plot(shares, [softened(one) for one in shares], "k", label="slender column")
        for count, size in zip(counts, (11, 7, 3), strict=False):
            axes.plot(_SHARES, 3.0 / _SIDE * found[count], "o", ms=size, label=f"{count} bonds")
        axes.set(xlabel="axial force over the buckling load", ylabel="deflection over that without it", yscale="log")
        axes.legend()


def findings_of(bonds: int, resting: Floats, around: Floats) -> list[StudyFinding]:
    """Return the findings of a column from its deflections at rest and around its buckling load."""
    value = extrapolated(resting) * critical(bonds)
    return [
        StudyFinding(f"{bonds} bonds: buckling load over E I / L^2", value, critical(bonds), 0.04 / bonds**2 + 2e-4),
        at_most(f"{bonds} bonds, 2 % below: deflection over the length", around[0], 0.005),
        StudyFinding(f"{bonds} bonds, 2 % above: falls (1) or stays (0)", float(around[1] > 0.05), 1.0, 0.0),
    ]


_REMARK = (
    "Bonds that only bend have 4 N^2 tan^2(pi / 4N): 2.5322 for 4 bonds, 2.4776 for 10, 2.4699 for 20, pi^2 / 4 for "
    "many. Shear and compression lower it: P (1 + P / GA - P / EA) is the load without both. The computed load follows "
    "from the growth of the deflection by a small side force between 0.7 and 0.85 of it."
)

STUDY = Study(
    "buckling", "Buckling of columns of bonds", run, "bonds",
    "closed form of a chain of bonds; shear to first order by Engesser",
    {**PARAMETERS, "side force": "1e-4 of E I / L^2", "damping": "by a drag"},
)  # fmt: skip

"""A sphere that bounces on a plane, and two spheres squeezed between floor and ceiling: cases of MFiX."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.restitution import damping_factor
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.few import GRAVITY, Ball, Material, mass_of, record, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

_DOWN = (0.0, 0.0, -GRAVITY)

RADIUS, HEIGHT, DENSITY = 0.1, 0.5, 2600.0
"""Radius of the bouncing sphere and initial height of its centre [m]; density [kg/m^3]."""

STIFFNESSES = (5e4, 5e5, 5e6)
"""Stiffnesses [N/m]."""

RESTITUTIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

SMALL, LOWER, UPPER, CEILING, SPRING = 0.0005, 2e4, 1e4, 0.0018, 1e3
"""Radius of two spheres [m], their densities [kg/m^3], height of the ceiling [m], stiffness [N/m]."""

_STEPS = 100


def bounces(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the heights of two bounces for all restitutions and stiffnesses, beside those of a hard sphere."""
    findings = []
    with notebook.plot("heights", len(STIFFNESSES)) as panels:
        for axes, stiffness in zip(panels, STIFFNESSES, strict=True):
            time, height = heights(stiffness)
            for e, one in zip(RESTITUTIONS, height.T, strict=True):
                axes.plot(time, one, label=f"restitution {e:g}")
                found = tops(one)[:2]
                hard = [(HEIGHT - RADIUS) * e ** (2 * k) + RADIUS for k in (1, 2)]
                axes.plot([time[np.flatnonzero(one == top)[0]] for top in found], hard, "k_", markersize=12)
                tolerance = 0.01 if stiffness == STIFFNESSES[-1] else None
                findings += [
                    StudyFinding(f"{stiffness:g} N/m, restitution {e:g}, bounce {k} [m]", float(top), wanted, tolerance)
                    for k, (top, wanted) in enumerate(zip(found, hard, strict=True), start=1)
                ]
            axes.set(xlabel="time [s]", ylabel="height [m]", title=f"normal stiffness {stiffness:g} N/m")
            axes.set_ylim(0.0, 0.72)
        panels[0].plot([], [], "k_", markersize=12, label="hard sphere")
        panels[0].legend(ncols=3, fontsize="small", loc="upper center")
    remark = "Soft spheres are in contact for a part of the time, where gravity acts too: stiff ones differ less."
    yield FindingTable("Heights of bounces", "hard sphere", findings, remark)


def heights(stiffness: float) -> tuple[Floats, Floats]:
    """Return times [s] and heights [m] of bouncing spheres with each restitution."""
    step = math.pi * math.sqrt(mass_of(DENSITY, RADIUS) / stiffness) / _STEPS
    laws = {
        f"{k}-plane": {"law": "linear", "normal_stiffness": stiffness, "friction": 0.3, "restitution": e}
        for k, e in enumerate(RESTITUTIONS)
    }
    balls = [Ball(str(k), RADIUS, (0.0, 4.0 * RADIUS * k, HEIGHT)) for k in range(len(RESTITUTIONS))]
    material = Material(1e9, 0.3, DENSITY)
    default = {"law": "linear", "normal_stiffness": stiffness, "friction": 0.3, "restitution": 0.5}
    simulation = simulate(
        {ball.material: material for ball in balls}, {**laws, "default": default}, balls, step, gravity=_DOWN
    )
    time, motions = record(simulation, 1.5, 4)
    return time, np.array([one.place[:, 2] for one in motions])


def tops(height: Floats) -> Floats:
    """Return the largest heights between bounces, without the initial height."""
    rising = np.diff(height) > 0.0
    return height[1:-1][rising[:-1] & ~rising[1:]]


def stacked(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the motion of two squeezed spheres, beside the solution of their equations."""
    findings = []
    with notebook.plot("heights", 2) as panels:
        for axes, e in zip(panels, (1.0, 0.8), strict=True):
            time, height = squeezed(e)
            exact = squeezed_exactly(e, time)
            axes.plot(1e3 * time, 1e3 * height, label=["pdem, lower sphere", "pdem, upper sphere"])
            axes.plot(1e3 * time[::40], 1e3 * exact[::40], "k.", label=["solution of the equations", "_upper"])
            axes.set(xlabel="time [ms]", ylabel="height [mm]", title=f"restitution {e:g}")
            off = np.abs(height - exact).max() / (2.0 * SMALL - CEILING / 2.0)
            findings.append(at_most(f"restitution {e:g}: largest distance, over the squeeze", float(off), 2e-3))
            apart = height[:, 1] - height[:, 0]
            for k, name in enumerate(("lower", "upper")):
                findings.append(
                    StudyFinding(
                        f"restitution {e:g}: {name} at most at [m]", height[:, k].max(), exact[:, k].max(), 1e-4
                    )
                )
            findings.append(
                StudyFinding(
                    f"restitution {e:g}: largest distance of centres [m]", apart.max(), np.diff(exact).max(), 1e-4
                )
            )
        panels[0].legend()
    yield FindingTable("Two spheres between floor and ceiling", "equations", findings)


def _law(restitution: float) -> dict[str, float | str]:
    return {"law": "linear", "normal_stiffness": SPRING, "friction": 0.3, "restitution": restitution}


def squeezed(restitution: float) -> tuple[Floats, Floats]:
    """Return times [s] and heights (n, 2) [m] of both spheres."""
    materials = {"lower": Material(1e9, 0.3, LOWER), "upper": Material(1e9, 0.3, UPPER)}
    balls = [Ball("lower", SMALL, (0.0, 0.0, SMALL)), Ball("upper", SMALL, (0.0, 0.0, CEILING - SMALL))]
    walls = [
        {"name": name, "shape": "plane", "normal": [0.0, 0.0, 1.0], "point": [0.0, 0.0, z], "size": 0.1}
        for name, z in (("floor", 0.0), ("ceiling", CEILING))
    ]
    laws = {"default": _law(restitution)}
    simulation = simulate(materials, laws, balls, 2e-7, gravity=_DOWN, walls=walls)
    time, motions = record(simulation, 2e-3, 4)
    return time, np.array([one.place[:, 2] for one in motions])


def squeezed_exactly(restitution: float, time: Floats) -> Floats:
    """Return the heights from the equations of springs and dashpots that never pull, solved to 1e-10."""
    from scipy.integrate import solve_ivp

    mass = np.array([mass_of(LOWER, SMALL), mass_of(UPPER, SMALL)])
    factor = 2.0 * damping_factor(restitution, hertzian=False) if restitution < 1.0 else 0.0
    reduced = mass.prod() / mass.sum()
    below, between, above = (factor * math.sqrt(one * SPRING) for one in (mass[0], reduced, mass[1]))

    def rates(_: float, state: Floats) -> list[float]:
        low, high, slow, fast = state
        floor = _push(SMALL - low, -slow, below)
        middle = _push(2.0 * SMALL - (high - low), slow - fast, between)
        roof = _push(high + SMALL - CEILING, fast, above)
        return [slow, fast, (floor - middle) / mass[0] - GRAVITY, (middle - roof) / mass[1] - GRAVITY]

    begin = [SMALL, CEILING - SMALL, 0.0, 0.0]
    found = solve_ivp(rates, (0.0, time[-1]), begin, t_eval=time, rtol=1e-10, atol=1e-14, max_step=1e-6)
    return np.asarray(found.y[:2].T)


def _push(overlap: float, rate: float, damping: float) -> float:
    return max(SPRING * overlap + damping * rate, 0.0) if overlap > 0.0 else 0.0


STUDIES = (
    Study(
        "bouncing", "A sphere bounces on a plane", bounces, "rolling", "hard sphere; case DEM02 of MFiX",
        {
            "sphere": "radius 0.1 m, 2600 kg/m3, dropped from 0.5 m", "stiffness": "50, 500 and 5000 kN/m, linear",
            "restitution": "0.5 to 1", "time step": f"1/{_STEPS} of an elastic impact",
        },
    ),
    Study(
        "stacked", "Two spheres are squeezed between floor and ceiling", stacked, "rolling",
        "equations of springs and dashpots; case DEM03 of MFiX",
        {
            "spheres": "radius 0.5 mm, 20,000 kg/m3 below, 10,000 above", "ceiling": "at 1.8 mm",
            "stiffness": "1 kN/m, linear", "restitution": "1 and 0.8", "time step": "0.2 us",
        },
    ),
)  # fmt: skip

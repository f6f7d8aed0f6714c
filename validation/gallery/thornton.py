"""Thornton and Maw: oblique impacts with losses by both laws, and the onset of complete sliding of elastic spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation.gallery.few import Ball, Material, after, curve_distance, hertz, mass_of, simulate
from validation.gallery.points import points

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

RADIUS, SPEED, FRICTION = 0.025, 5.0, 0.1
"""Radius of the sphere [m]; normal speed [m/s]; friction."""

MATERIAL = Material(7.0e10, 0.30, 2650.0)
RESTITUTIONS = (0.25, 0.5, 0.75, 0.9)
IMPACT = np.concatenate([np.linspace(0.2, 6.8, 34), np.linspace(7.0, 12.0, 11)])
"""Tangential velocity before impact, in units of ``mu (1 + e) / 2`` times the normal velocity."""

STIFFNESS = 2.0 * (1.0 - MATERIAL.poisson) / (2.0 - MATERIAL.poisson)
"""Mindlin's ratio of tangential to normal stiffness for a rigid plane."""

_UNIT = r"$\frac{1}{2}\mu (1 + e) v_n$"
_STEPS = 400


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield velocities of the contact point after impacts with losses, beside gross sliding and other codes."""
    spring = _linear_stiffness()
    linear = {"law": "linear", "normal_stiffness": spring, "tangential_ratio": STIFFNESS}
    exact, distances = [], []
    with notebook.plot("rebound", 2) as panels:
        for axes, (name, law) in zip(panels, {"hertz": {}, "linear": linear}.items(), strict=True):
            for e in RESTITUTIONS:
                slip = rebounds(MATERIAL, e, law)
                axes.plot(IMPACT, slip, label=f"restitution {e:g}")
                sliding = IMPACT >= 7.0
                off = float(np.abs(slip - (IMPACT - 7.0))[sliding].max())
                exact.append(at_most(f"{name}, restitution {e:g}: largest distance from sliding", off, 0.01))
                if e == 0.5:
                    given = points(f"thornton_{name}")
                    distances.append(
                        at_most(f"{name}: from other codes", curve_distance(given, IMPACT, slip, 1.0), 0.1)
                    )  # fmt: skip
            axes.plot(*points(f"thornton_{name}"), "k+", label="other codes, restitution 0.5")
            axes.set(xlabel=f"tangential velocity before / {_UNIT}", title=name)
            axes.set(ylabel=f"velocity of the contact afterwards / {_UNIT}")
            axes.legend()
    remark = "Velocities over mu (1 + e) / 2 times the normal one; sliding takes 7 of these away."
    yield FindingTable("Gross sliding", "at most", exact, remark)
    yield FindingTable("Mean distances from points", "at most", distances)
    yield FindingTable("Where sliding begins that lasts", "Maw", list(_onsets()), _MAW)


_MAW = (
    "An elastic sphere slides all the time if psi = 2 (1 - nu) tan(angle) / ((2 - nu) mu) is at least 4 chi - 1, chi = "
    "7 (1 - nu) / (2 (2 - nu)) (Maw, Barber, Fawcett 1976). The study gives the least psi at which it loses 4 chi "
    "to within a thousandth. It is 4 to 6 per cent larger, since the tangential spring weakens as the contact opens; "
    "without that it would be Maw's, but cycles of loading could gain energy."
)


def _onsets() -> Iterator[StudyFinding]:
    for poisson in (0.0, 0.3, 0.45):
        material = MATERIAL._replace(poisson=poisson)
        scale = 2.0 * (1.0 - poisson) / (2.0 - poisson)
        slip = rebounds(material, 1.0, {}, fine := np.linspace(4.5, 7.0, 101))
        lost = np.flatnonzero(np.abs(slip - (fine - 7.0)) < 7e-3)
        yield StudyFinding(f"Poisson's ratio {poisson:g}", float(scale * fine[lost[0]]), 7.0 * scale - 1.0, 0.07)


def rebounds(material: Material, restitution: float, law: Mapping[str, Any], impact: Floats = IMPACT) -> Floats:
    """Return the velocities of the contact point after impacts on a rigid plane, in the units of `IMPACT`."""
    unit = 0.5 * FRICTION * (1.0 + restitution) * SPEED
    balls = [
        Ball("ball", RADIUS, (0.0, 4.0 * RADIUS * k, RADIUS), (unit * one, 0.0, -SPEED)) for k, one in enumerate(impact)
    ]
    time = hertz(material, RADIUS, SPEED, pair=False).time
    laws = {"default": {"friction": FRICTION, "restitution": restitution, **law}}
    end = after(simulate({"ball": material}, laws, balls, time / _STEPS), 5.0 * time)
    found: Floats = (end.velocity[:, 0] - RADIUS * end.spin[:, 1]) / unit
    return found


def _linear_stiffness() -> float:
    """Return the stiffness of a spring for which an impact lasts as long as by Hertz [N/m]."""
    time = hertz(MATERIAL, RADIUS, SPEED, pair=False).time
    return float(mass_of(MATERIAL.density, RADIUS) * (np.pi / time) ** 2)


STUDY = Study(
    "thornton-maw", "Thornton, Maw: oblique impacts with loss, and the begin of sliding", run, "impacts",
    "points of Kratos Multiphysics; Maw, Barber, Fawcett, Wear 38 (1976) 101-114",
    {
        "radius": "25 mm", "normal velocity": "5 m/s", "friction": "0.1", "sphere": "70 GPa, 0.30, 2650 kg/m3",
        "restitution": "0.25, 0.5, 0.75, 0.9", "linear law": "as stiff as gives the duration by Hertz, Mindlin's ratio",
        "time step": f"1/{_STEPS} of an elastic impact",
    },
)  # fmt: skip

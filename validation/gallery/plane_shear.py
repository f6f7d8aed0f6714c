"""Plane shear under a constant pressure: friction and volume fraction of discs and spheres by inertial number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.bulk_runs import begin_of_stage, case_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

DIAMETER, DENSITY = 0.01, 2500.0
"""Mean diameter of grains with sizes up to a fifth larger and smaller [m]; density [kg/m^3]."""

PRESSURE = {2: 10.0, 3: 1000.0}
"""Pressures by dimension, in N/m and Pa."""

HARDNESS = 1e4
"""Stiffness of a contact over pressure (in 3D times diameter)."""

SKIPPED, _LOOKS, _STEPS = 1.0 / 3.0, 400, 20
"""Part of the flow before the means; least number of states in a mean; steps in an impact."""

_CHECKPOINTS = 40
"""Number of checkpoints, from which an interrupted run continues."""

SHORTEST = 120.0
"""Least duration of a flow over d sqrt(rho / P): twelve times the response time of the box to the mean stress."""

HELD = 0.1
"""Tolerance of the mean pressure, three standard errors: 400 discs at I = 0.2 had a deviation of 0.03."""

_FITTED = 0.3, 0.15
"""Tolerance of a line through few states of few discs, and in the runs of ``--full``: that of a single state."""

FIRST = {2: 0.75, 3: 0.5}
"""Initial volume fraction of a bed before it is pressed."""

JOP = (math.tan(math.radians(20.9)), math.tan(math.radians(32.76)), 0.279)
"""Friction of slow and of fast flows of glass beads, and the inertial number of the transition (Jop et al. 2006)."""


class Flow(NamedTuple):
    """A shear flow: dimension, number of grains, friction and restitution, inertial numbers, least strain."""

    dimension: int
    grains: int
    friction: float
    restitution: float
    inertial: Sequence[float]
    strain: float

    def strain_at(self, inertial: float) -> float:
        """Return the shear strain at an inertial number."""
        return max(self.strain, SHORTEST * inertial)


class State(NamedTuple):
    """State of a steady flow: inertial number, friction, volume fraction, pressure over the wanted pressure."""

    inertial: float
    friction: float
    fraction: float
    pressure: float


QUICK = (Flow(2, 400, 0.4, 0.1, (0.2, 0.1, 0.05), 6.0), Flow(3, 600, 0.5, 0.5, (0.3, 0.1, 0.05), 4.0))
FULL = (
    Flow(2, 1600, 0.4, 0.1, (0.2, 0.1, 0.05, 0.02, 0.01, 0.005), 12.0),
    Flow(3, 3000, 0.5, 0.5, (0.3, 0.2, 0.1, 0.05, 0.02, 0.01), 10.0),
)
"""Flows of discs and spheres."""


def linear_friction(inertial: Floats) -> Floats:
    """Return the friction of discs by da Cruz et al. for 0.001 < I < 0.2."""
    return 0.25 + 1.1 * inertial


def linear_fraction(inertial: Floats) -> Floats:
    """Return the volume fraction of discs by da Cruz et al."""
    return 0.81 - 0.3 * inertial


def jop_friction(inertial: Floats) -> Floats:
    """Return the friction of spheres by Jop, Forterre and Pouliquen."""
    slow, fast, middle = JOP
    return slow + (fast - slow) / (1.0 + middle / inertial)


def jop_fraction(inertial: Floats) -> Floats:
    """Return the volume fraction of spheres by Pouliquen et al. (2006)."""
    return 0.6 - 0.2 * inertial


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield friction and volume fraction of discs, then of spheres."""
    discs, spheres = FULL if notebook.full else QUICK
    flows = {name: sheared(notebook, name, flow) for name, flow in (("discs", discs), ("spheres", spheres))}
    laws = {"discs": (linear_friction, linear_fraction), "spheres": (jop_friction, jop_fraction)}
    with notebook.plot("friction", 2) as axes:
        for (name, states), colour in zip(flows.items(), ("tab:blue", "tab:orange"), strict=True):
            line = np.geomspace(0.8 * states[-1].inertial, 1.2 * states[0].inertial, 50)
            for side, law, k in zip(axes, laws[name], (1, 2), strict=True):
                side.semilogx(line, law(line), color=colour, label=f"{name}, literature")
                side.semilogx(
                    [one.inertial for one in states],
                    [one[k] for one in states],
                    "o",
                    color=colour,
                    label=f"{name}, pdem",
                )
        axes[0].set(xlabel="inertial number", ylabel="shear stress over pressure")
        axes[1].set(xlabel="inertial number", ylabel="volume fraction")
        axes[0].legend()
    within = _FITTED[notebook.full]
    yield FindingTable(
        f"Plane shear of {discs.grains:,} discs", "da Cruz et al.", _disc_findings(flows["discs"], within), _DISCS
    )
    yield FindingTable(
        f"Plane shear of {spheres.grains:,} spheres", "Jop et al.", _sphere_findings(flows["spheres"]), _SPHERES
    )


_DISCS = (
    "Friction 0.25 + 1.1 I, volume fraction 0.81 - 0.3 I (numbers that are commonly quoted; the paper was not at "
    "hand). I is the shear rate times sqrt(m / P), of the mean mass m and the mean pressure P that was measured, in "
    "N/m. These discs are spheres in one layer: their mass goes with the cube of the radius."
)
_SPHERES = (
    "Friction of glass beads in experiments, tan 20.9 deg to tan 32.76 deg about I = 0.279, with the volume fraction "
    "0.6 - 0.2 I (numbers that are commonly quoted). I is the shear rate times d sqrt(rho / P), of the measured P."
)


def _disc_findings(states: Sequence[State], within: float) -> list[StudyFinding]:
    """Return states of discs beside straight lines, and fitted lines with the tolerance `within`."""
    inertial, friction, fraction, _ = np.array(states).T
    slope, low = np.polyfit(inertial, friction, 1).tolist()
    thinning, dense = np.polyfit(inertial, fraction, 1).tolist()
    lines = [
        StudyFinding("friction: of slow flows, fitted", low, 0.25, within),
        StudyFinding("friction: slope, fitted", slope, 1.1, within),
        StudyFinding("volume fraction: of slow flows, fitted", dense, 0.81, 0.0, margin=0.01),
        StudyFinding("volume fraction: slope, fitted", thinning, -0.3, 0.0, margin=0.1),
    ]
    return lines + _state_findings(states, linear_friction(inertial), linear_fraction(inertial), 0.015)


def _sphere_findings(states: Sequence[State]) -> list[StudyFinding]:
    """Return states of spheres beside Jop's curve."""
    inertial = np.array([one.inertial for one in states])
    return _state_findings(states, jop_friction(inertial), jop_fraction(inertial), 0.02)


def _state_findings(states: Sequence[State], friction: Floats, fraction: Floats, margin: float) -> list[StudyFinding]:
    """Return the states of flows beside expected values: friction within 15 per cent."""
    found = []
    for one, rough, dense in zip(states, friction.tolist(), fraction.tolist(), strict=True):
        found += [
            StudyFinding(f"I = {one.inertial:.3g}: friction", one.friction, rough, 0.15),
            StudyFinding(f"I = {one.inertial:.3g}: volume fraction", one.fraction, dense, 0.0, margin=margin),
            StudyFinding(f"I = {one.inertial:.3g}: pressure over the wanted one", one.pressure, 1.0, HELD),
        ]
    return found


def sheared(notebook: Notebook, name: str, flow: Flow) -> list[State]:
    """Return the steady states of a bed that is sheared at a sequence of inertial numbers."""
    case = _case(flow)
    times = [float(stage.end or 0.0) for stage in case.stages[1:]]
    settings = [
        f"output.series_every={(1.0 - SKIPPED) * min(times) / _LOOKS!r}",
        f"output.snapshots_every={sum(times)!r}", f"output.checkpoint_every={sum(times) / _CHECKPOINTS!r}",
    ]  # fmt: skip
    results = case_run(notebook, name, case, settings)
    rows = results.series.rows
    begins = [begin_of_stage(results, number) for number in range(1, len(case.stages))]
    parts = zip(begins, times, flow.inertial, strict=True)
    return [_state(rows, begin + SKIPPED * time, begin + time, flow, one) for begin, time, one in parts]


def _state(rows: NDArray[np.void], begin: float, end: float, flow: Flow, inertial: float) -> State:
    """Return the steady state at a wanted inertial number: the mean over a part of the series."""
    steady = rows[(rows["time"] > begin) & (rows["time"] < end)]
    shear, pressure, fraction = (float(steady[name].mean()) for name in ("stress_xy", "stress_yy", "solid_fraction"))
    ratio = pressure / PRESSURE[flow.dimension]
    return State(inertial / math.sqrt(ratio), -shear / pressure, fraction, ratio)


def _mass() -> float:
    """Return the mass of a grain of mean size [kg]."""
    return DENSITY * math.pi / 6.0 * DIAMETER**3


def _time(dimension: int) -> float:
    """Return the time scale of the inertial number [s]: sqrt(m / P) in 2D, d sqrt(rho / P) in 3D."""
    pressure = PRESSURE[dimension]
    return math.sqrt(_mass() / pressure) if dimension == 2 else DIAMETER * math.sqrt(DENSITY / pressure)


def _case(flow: Flow) -> Case:
    """Return the case of a flow: a stage in which a bed is pressed, then one for each inertial number."""
    size, pressure = flow.dimension, PRESSURE[flow.dimension]
    stiffness = HARDNESS * pressure * DIAMETER ** (size - 2)
    each = math.pi / 4.0 * DIAMETER**2 if size == 2 else _mass() / DENSITY
    edge = (flow.grains * each * 1.04 / FIRST[size]) ** (1.0 / size)
    unit, box = _time(size), [edge] * size + [2.0 * DIAMETER] * (3 - size)
    across = {"stress": pressure}
    pressing = {"mean_stress": pressure, "largest_rate": 0.03 / unit}
    document = {
        "time": {"step": math.pi * math.sqrt(0.5 * _mass() / stiffness) / _STEPS, "end": 1e6},
        "domain": {"lower": [0.0] * 3, "upper": box, "periodic": [True] * size + [False] * (3 - size),
                   "dimension": size},
        "materials": {"grain": {"density": DENSITY}},
        "interactions": {"grain-grain": {
            "law": "linear", "normal_stiffness": stiffness, "tangential_ratio": 0.5,
            "friction": flow.friction, "restitution": flow.restitution,
        }},
        "particles": [{
            "material": "grain",
            "radius": {"distribution": "uniform", "min": 0.4 * DIAMETER, "max": 0.6 * DIAMETER},
            "fill": {"arrangement": "packed", "count": flow.grains, "seed": 7},
        }],
        "stages": [
            {"name": "press", "deformation": pressing, "until": {"quantity": "pressure", "above": 0.9 * pressure}},
            *({
                "name": f"shear-{number}", "end": flow.strain_at(inertial) * unit / inertial,
                "deformation": {
                    "y": across, "largest_rate": 0.3 / unit,
                    "shear": {"velocity_along": "x", "gradient_along": "y", "rate": inertial / unit},
                },
            } for number, inertial in enumerate(flow.inertial)),
        ],
    }  # fmt: skip
    return Case.from_text(tomli_w.dumps(document))


STUDY = Study(
    "plane-shear", "Plane shear: friction and volume fraction by inertial number", run, "rheology",
    "da Cruz, Emam, Prochnow, Roux, Chevoir, Phys. Rev. E 72 (2005) 021309; Jop, Forterre, Pouliquen, Nature 441 "
    "(2006) 727; Pouliquen, Cassar, Jop, Forterre, Nicolas, J. Stat. Mech. (2006) P07020",
    {
        "discs": "400 (--full: 1,600) of 8 to 12 mm, friction 0.4, restitution 0.1",
        "spheres": "600 (--full: 3,000) of 8 to 12 mm, friction 0.5, restitution 0.5",
        "contacts": "linear springs, 10,000 times as stiff as the pressure, tangential ones half of that",
        "box": "periodic, with Lees-Edwards images; the pressure across is held, the other sides stay",
    },
)  # fmt: skip

"""Sect. 6.1.3 of the double hierarchy paper: three spheres come to rest in holes, on several contacts each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.example_meshes.h2_meshes import HOLE_RADIUS, TILE
from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.h2_runs import GRAVITY, MASS, METHODS, RADIUS, example, follow, hertz_factor, largest_difference

if TYPE_CHECKING:
    from pdem.run.simulation import Simulation
    from pdem.verification.study import Notebook
    from validation.h2_runs import Track

END = 2.5
"""Time at which the spheres are at rest [s]."""

HOLE_CONTACTS = (("square", 4, 0), ("cross", 0, 4), ("heart", 2, 1))
"""Holes, and the numbers of edges and of vertices that their spheres touch at rest."""

_MODULUS, _FRICTION = 1e6, 0.3
_QUICK_STEP, _FULL_STEP = 2e-4, 1e-5
_OFF_CENTRE = 0.02
_TOP = 1.0


def holes(notebook: Notebook) -> FindingTable:
    """Return the final positions of three spheres, beside statics; plot their speeds (Fig. 23)."""
    step = _FULL_STEP if notebook.full else _QUICK_STEP
    findings, tracks = [], []
    for method in METHODS:
        simulation = example("h2_holes", f"time.step={step}", f'detection.walls="{method}"')
        tracks.append(follow(simulation, END, max(round(5e-4 / step), 1)))
        findings += resting_findings(method, tracks[-1], simulation)
        findings += frictionless_findings(method, max(step, _QUICK_STEP))
    heights = np.stack([track.position for track in tracks], axis=-1)
    findings.append(largest_difference("largest difference of positions, h2 to signed [m]", heights, 1e-9))
    _plot_speeds(notebook, tracks[0])
    remark = (
        f"Step {step:g} s. The paper shows its holes without dimensions; here all contacts of a hole are 0.25 m from "
        "its axis. Statics, without friction: n k overlap^1.5 sin(angle) = m g. With friction the fall leaves spheres "
        "wedged lower; the part of mu N that this takes follows from the height by statics. Spheres without friction "
        "are let go beside the axes."
    )
    return FindingTable("6.1.3: multiple contact, spheres in three holes", "theory", findings, remark, 7)


def resting_findings(method: str, track: Track, simulation: Simulation) -> list[StudyFinding]:
    """Return final speeds, heights and contacts of a run of `h2_holes`."""
    records = simulation.system.contacts.wall_records()
    speed = np.linalg.norm(track.velocity, axis=2)
    energies = simulation.energies()
    findings = [
        StudyFinding(f"{method}: largest speed [m/s]", float(speed.max()), _speed_at_touch(), 0.03),
        at_most(f"{method}: largest speed at {END:g} s [m/s]", speed[-1].max(), 1e-6),
        at_most(
            f"{method}: residual of the energy balance over m g h",
            abs(energies["residual"]) / (3 * MASS * GRAVITY * _TOP), 1e-3,
        ),
    ]  # fmt: skip
    for number, (hole, edges, vertices) in enumerate(HOLE_CONTACTS):
        wedged = wedging(edges + vertices, float(track.position[-1, number, 2]))
        weight = float(track.force[-1, number, 2])
        sideways = np.abs(track.position[-1, number, :2] - [TILE * (number - 1), 0.0]).max()
        findings += [
            StudyFinding(f"{method}, {hole}: force of the edges [N]", weight, MASS * GRAVITY, 1e-9),
            at_most(f"{method}, {hole}: part of mu N that holds", abs(wedged), 1.0),
            at_most(f"{method}, {hole}: distance from the axis [m]", sideways, 1e-9),
        ]
        for kind, name, wanted in ((1, "edges", edges), (2, "vertices", vertices)):
            touched = int(((records.id == number) & (records.kind == kind)).sum())
            findings.append(StudyFinding(f"{method}, {hole}: {name} in contact", touched, wanted, 0.0))
    return findings


def rest_height(contacts: int) -> float:
    """Return the height of the centre above the plate at which the weight is in balance [m].

    All contacts are `HOLE_RADIUS` from the axis of the hole, at equal angles around it.
    """
    from scipy.optimize import brentq

    def excess(height: float) -> float:
        distance = math.hypot(HOLE_RADIUS, height)
        return contacts * _normal_force(distance) * height / distance - MASS * GRAVITY

    touches = math.sqrt(RADIUS**2 - HOLE_RADIUS**2)
    return float(brentq(excess, 0.9 * touches, touches, xtol=1e-15))


def wedging(contacts: int, height: float) -> float:
    """Return the friction that balances a sphere at this height, over its Coulomb limit; 0 if no friction is needed.

    n (N sin(angle) - T cos(angle)) = m g gives T, the friction of each contact along its meridian.
    """
    distance = math.hypot(HOLE_RADIUS, height)
    normal = _normal_force(distance)
    if normal == 0.0:
        return math.inf
    friction = (normal * height / distance - MASS * GRAVITY / contacts) * distance / HOLE_RADIUS
    return friction / (_FRICTION * normal)


def _normal_force(distance: float) -> float:
    return hertz_factor(_MODULUS) * max(RADIUS - distance, 0.0) ** 1.5


def _speed_at_touch() -> float:
    """Return the speed of the spheres when they touch the holes [m/s]."""
    return math.sqrt(2.0 * GRAVITY * (_TOP - math.sqrt(RADIUS**2 - HOLE_RADIUS**2)))


def frictionless_findings(method: str, step: float) -> list[StudyFinding]:
    """Return the final positions of spheres without friction that fall beside the axes."""
    places = [[TILE * (number - 1) + _OFF_CENTRE, 0.5 * _OFF_CENTRE, 0.4] for number in range(3)]
    simulation = example(
        "h2_holes", f"time.step={step}", f'detection.walls="{method}"', "interactions.ball-boundary.friction=0.0",
        f"particles[0].positions={places}",
    )  # fmt: skip
    track = follow(simulation, END, 100)
    findings = []
    for number, (hole, edges, vertices) in enumerate(HOLE_CONTACTS):
        x, y, z = track.position[-1, number].tolist()
        text = f"{method}, {hole}, without friction"
        beside = math.hypot(x - TILE * (number - 1), y)
        findings.append(StudyFinding(f"{text}: height at rest [m]", z, rest_height(edges + vertices), 1e-7))
        findings.append(at_most(f"{text}: distance from the axis [m]", beside, 1e-7))
    return findings


def _plot_speeds(notebook: Notebook, track: Track) -> None:
    speed = np.linalg.norm(track.velocity, axis=2)
    with notebook.plot("fig23_speeds") as axes:
        for number, style in enumerate(("-", "--", ":")):
            hole, edges, vertices = HOLE_CONTACTS[number]
            label = f"{hole}: edges in contact {edges}, vertices {vertices}"
            axes.plot(track.time, speed[:, number], style, linewidth=3.0 - 0.8 * number, label=label)
        axes.set(xlabel="time [s]", ylabel="speed of the sphere [m/s]")
        axes.legend()

"""Sect. 6.1.1 and 6.1.2 of the double hierarchy paper: contact with a facet, an edge, a vertex, and transitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, StudyFinding, at_most
from validation.h2_runs import GRAVITY, MASS, METHODS, RADIUS, example, follow, hertz_factor, largest_difference

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.run.simulation import Simulation
    from pdem.verification.study import Notebook
    from validation.h2_runs import Track

HEIGHT = 1.0
"""Initial height of the centres of the spheres over the walls [m]."""

PRINTED_FORCE = 76.063
"""Force printed in sect. 6.1.2 [N]; no usual convention gives it."""

_MODULUS = 1e5
_BODIES = ("facet", "edge", "vertex")
_QUICK_STEP, _FULL_STEP = 2e-4, 1e-5
_QUICK_END, _FULL_END = 0.9, 2.0
_SAMPLE_INTERVAL = 5e-5
_OVERLAP = 0.01
_QUICK_TURN, _FULL_TURN = 8e-3, 1e-3


def impacts(notebook: Notebook) -> FindingTable:
    """Return the impacts of spheres on a facet, an edge and a vertex, beside theory; plot them (Fig. 19)."""
    step, end = (_FULL_STEP, _FULL_END) if notebook.full else (_QUICK_STEP, _QUICK_END)
    findings, tracks = [], {}
    for method in METHODS:
        simulation = example("h2_impacts", f"time.step={step}", f'detection.walls="{method}"')
        tracks[method] = follow(simulation, end, max(round(_SAMPLE_INTERVAL / step), 1))
        findings += impact_findings(method, tracks[method], simulation)
    heights = [tracks[method].position[:, :, 2] for method in METHODS]
    findings.append(
        largest_difference("largest difference of heights, h2 to signed [m]", np.stack(heights, axis=-1), 1e-12)
    )
    _plot_impacts(notebook, tracks["h2"])
    remark = f"Step {step:g} s. Published implementation: 2286.08 N, 0.096659 m, back at 1.000000 m at 0.8302 s."
    return FindingTable("6.1.1: facet, edge and vertex contact", "theory", findings, remark, 7)


def impact_findings(method: str, track: Track, simulation: Simulation) -> list[StudyFinding]:
    """Return peak force, indentation, time and height of the rebound, and energy balance of `h2_impacts`."""
    force, indentation, back = impact_theory()
    first = track.time < 1.2 * back
    height, sideways = track.position[:, :, 2], track.position[:, :, :2]
    top = _top(track.time[first], height[first, 0])
    energies = simulation.energies()
    return [
        StudyFinding(f"{method}: largest force [N]", float(track.force[:, :, 2].max()), force, 1e-5),
        StudyFinding(f"{method}: largest indentation [m]", RADIUS - float(height.min()), indentation, 1e-5),
        StudyFinding(f"{method}: back at the top at [s]", top[0], back, 1e-5),
        StudyFinding(f"{method}: height there [m]", top[1], HEIGHT, 1e-6),
        largest_difference(f"{method}: largest difference of the three heights [m]", height, 1e-12),
        largest_difference(f"{method}: largest difference of the three forces [N]", track.force[:, :, 2], 1e-9),
        at_most(f"{method}: largest way sideways [m]", np.abs(sideways - sideways[0]).max(), 1e-12),
        at_most(
            f"{method}: residual of the energy balance over m g h",
            abs(energies["residual"]) / (3 * MASS * GRAVITY * HEIGHT), 1e-6,
        ),
    ]  # fmt: skip


def impact_theory() -> tuple[float, float, float]:
    """Return largest force [N], largest indentation [m] and the time of a fall, an impact and a rise [s]."""
    from scipy.integrate import quad
    from scipy.optimize import brentq

    factor, fall = hertz_factor(_MODULUS), HEIGHT - RADIUS

    def square_of_speed(indentation: float) -> float:
        return 2.0 * GRAVITY * (fall + indentation) - 0.8 * factor / MASS * indentation**2.5

    deepest = brentq(square_of_speed, 0.01, RADIUS, xtol=1e-15)

    def share(s: float) -> float:  # integrand of the time of compression, at the indentation deepest (1 - s^2)
        return 2.0 * deepest * s / math.sqrt(square_of_speed(deepest * (1.0 - s * s)))

    contact = 2.0 * quad(share, 1e-6, 1.0)[0]  # the part below s = 1e-6 is a millionth
    return factor * deepest**1.5, deepest, 2.0 * math.sqrt(2.0 * fall / GRAVITY) + contact


def _top(time: Floats, height: Floats) -> tuple[float, float]:
    """Return time and height of the top of a flight after the lowest point, by a parabola through three points."""
    lowest = int(np.argmin(height))
    at = min(lowest + int(np.argmax(height[lowest:])), len(height) - 2)
    near = slice(at - 1, at + 2)
    a, b, c = np.polyfit(time[near] - time[at], height[near], 2)
    return float(time[at] - 0.5 * b / a), float(c - 0.25 * b * b / a)


def _plot_impacts(notebook: Notebook, track: Track) -> None:
    with notebook.plot("fig19_impacts", 2) as (left, right):
        for body, style in zip(range(3), ("-", "--", ":"), strict=True):
            style_of_line = {"linestyle": style, "linewidth": 4.0 - 1.2 * body, "label": _BODIES[body]}
            left.plot(track.time, track.force[:, body, 2], **style_of_line)
            right.plot(track.time, track.position[:, body, 2], **style_of_line)
        left.set(xlabel="time [s]", ylabel="force of the wall [N]", title="(a) force")
        right.set(xlabel="time [s]", ylabel="height of the centre [m]", title="(b) position")
        right.set_ylim(0.0, 1.3)
        left.legend()
        right.legend()


def continuity(notebook: Notebook) -> FindingTable:
    """Return the force on spheres that move round an edge and a vertex, beside Hertz; plot it (Fig. 21)."""
    findings, step = [], _FULL_TURN if notebook.full else _QUICK_TURN
    for method in METHODS:
        simulation = example("h2_continuity", f"time.step={step}", f'detection.walls="{method}"')
        track = follow(simulation, simulation.case.time.end)
        findings += continuity_findings(method, track)
    _plot_continuity(notebook, track)
    remark = (
        "The spheres rest and the blocks move below them, so that the force always has to point upwards. "
        "No usual convention gives the printed value."
    )
    return FindingTable("6.1.2: continuity of contact", "theory", findings, remark, 6)


def continuity_findings(method: str, track: Track) -> list[StudyFinding]:
    """Return least, largest and sideways force of a run of `h2_continuity`."""
    force = hertz_factor(_MODULUS) * _OVERLAP**1.5
    findings = []
    for sphere, path in enumerate(("facet, edge, facet", "facet, vertex, edge")):
        force_on_sphere = track.force[:, sphere]
        for name, value in (("least", force_on_sphere[:, 2].min()), ("largest", force_on_sphere[:, 2].max())):
            text = f"{method}, {path}: {name} force [N]"
            findings.append(StudyFinding(text, float(value), force, 1e-9, printed=PRINTED_FORCE))
        sideways = np.linalg.norm(force_on_sphere[:, :2], axis=1).max() / force
        findings.append(at_most(f"{method}, {path}: sideways over it", sideways, 1e-9))
    return findings


def _plot_continuity(notebook: Notebook, track: Track) -> None:
    turned = 0.5 * np.pi * np.clip(track.time - 1.0, 0.0, 1.0)
    directions = ([-1.0, 0.0, 0.0], [-np.sqrt(0.5), -np.sqrt(0.5), 0.0])
    labels = (("normal of facet 1", "normal of facet 2"), ("normal of the facet", "diagonal to the edge"))
    with notebook.plot("fig20_continuity", 2) as panels:
        for sphere, axes in enumerate(panels):
            force_on_sphere, away = track.force[:, sphere], -np.array(directions[sphere])
            # the block is rotated by 90 degrees: its upward axis points back, its forward axis up
            up, ahead = force_on_sphere[:, 2], force_on_sphere @ away
            axes.plot(track.time, np.linalg.norm(force_on_sphere, axis=1), "k", linewidth=2.0, label="force")
            parts = np.cos(turned) * up - np.sin(turned) * ahead, np.sin(turned) * up + np.cos(turned) * ahead
            for part, style, label in zip(parts, ("-", "--"), labels[sphere], strict=True):
                axes.plot(track.time, part, style, label=f"along the {label}")
            axes.axvspan(1.0, 2.0, color="0.93")
            axes.set(xlabel="time [s]", ylabel="force of the block, as it sees it [N]", ylim=(-5.0, 110.0))
            axes.set_title(("facet, edge, facet", "facet, vertex, edge")[sphere])
            axes.legend(loc="upper center", ncols=1)

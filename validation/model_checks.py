"""Checks of contact models against exact values of their theories: each takes a model and axes for its plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.verification.study import StudyFinding
from validation.model_runs import (
    EFFECTIVE,
    GRAVITY,
    MASS,
    RADIUS,
    SPEED,
    force_curve,
    heap,
    on_plane,
    pair_of,
    rebounds,
    spinning,
    weight_overlap,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pdem.foundation.array_types import Floats

WORK = 0.1
"""Work of adhesion [J/m^2]."""

COHESION = 1e5
"""Cohesion energy density [J/m^3]."""

ROLLING_FRICTION = 0.1
RESTITUTIONS = (0.2, 0.5, 0.8, 1.0)


@dataclass(frozen=True)
class Model:
    """A contact model of the study.

    Attributes
    ----------
    name : str
        Name in a case.
    source : str
        Source of the expected values.
    interaction : mapping
        Interaction with the model, as in a case.
    checks : sequence of callable
        Functions of the model and axes that return findings.
    """

    name: str
    source: str
    interaction: Mapping[str, Any]
    checks: Sequence[Callable[[Model, Any], list[StudyFinding]]]

    def but(self, **others: Any) -> dict[str, Any]:
        """Return the interaction with changed values."""
        return {**self.interaction, **others}


def _draw(axes: Any, exact: Sequence[Floats], found: Sequence[Floats], style: str = ":") -> None:
    """Draw the curve of a theory and pdem's results, each as abscissae and values."""
    axes.plot(*exact, "k", label="exact")
    axes.plot(*found, f"C0{style}", markersize=4, linewidth=3.0, label="pdem")
    axes.legend()


def loading(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force of two spheres that are pressed together with Hertz's force, or with that of a spring."""
    overlaps = np.geomspace(1e-9, 1e-4, 60)
    found = force_curve(pair_of(model.interaction), overlaps)
    stiffness = model.interaction.get("normal_stiffness")
    hertz = 4.0 / 3.0 * EFFECTIVE * math.sqrt(0.5 * RADIUS) * overlaps**1.5
    expected = hertz if stiffness is None else stiffness * overlaps
    axes.set(xscale="log", yscale="log")
    _draw(axes, (overlaps, expected), (overlaps, found), "o")
    axes.set(xlabel="overlap [m]", ylabel="force [N]", title="loading")
    apart = np.abs(found / expected - 1.0).max()
    return [
        StudyFinding("force at an overlap of 1e-4 m [N]", found[-1], expected[-1], 1e-9),
        StudyFinding("largest difference over five decades", float(apart), 1e-6, 0.0, at_most=True),
    ]


def restitution(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the rebound of two spheres with the restitution of the case, at three speeds."""
    speeds = np.array([0.01, 0.1, 1.0]) * SPEED
    findings: list[StudyFinding] = []
    for wanted in RESTITUTIONS:
        subject = pair_of(model.but(restitution=wanted))
        found, _ = rebounds(
            subject, speeds, 0.01 * subject.duration(SPEED), max(10.0, 6.0 / wanted) * subject.duration(speeds[0])
        )
        axes.semilogx(speeds, found, "o", label=f"pdem, {wanted:g} asked for")
        axes.axhline(wanted, color="k", linewidth=1.0, zorder=0.5, label="as asked for" if not findings else "_")
        for speed, value in zip(speeds, found, strict=True):
            findings.append(StudyFinding(f"restitution {wanted:g} at {speed:g} m/s", float(value), wanted, 0.01))
    axes.set(xlabel="impact speed [m/s]", ylabel="rebound over impact speed", title="restitution", ylim=(0.0, 1.05))
    axes.legend(fontsize="x-small", ncols=2, loc="lower right")
    return findings


def _jkr_units(radius: float) -> tuple[float, float]:
    """Return the largest pull [N] and the largest distance [m] of a pair."""
    return 1.5 * math.pi * WORK * radius, 0.75 * (math.pi**2 * WORK**2 * radius / EFFECTIVE**2) ** (1.0 / 3.0)


def pulling(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force of two spheres that are pulled apart with the curve of Johnson, Kendall and Roberts."""
    pull, distance = _jkr_units(0.5 * RADIUS)
    overlaps = distance * np.linspace(3.0, -1.1, 4101)
    found = force_curve(pair_of(model.interaction), overlaps)
    s = np.linspace(6.0 ** (-2.0 / 3.0), 1.6, 400)
    curve = 6.0 ** (1.0 / 3.0) * (2.0 * s**2 - 4.0 / 3.0 * np.sqrt(s)), 4.0 * s**3 - 4.0 * s**1.5
    _draw(axes, curve, (overlaps / distance, found / pull))
    axes.set(xlabel="overlap over largest distance", ylabel="force over pull-off", title="pulled apart")
    free = int(np.argmax(np.abs(found) > 0.0)), len(found) - 1 - int(np.argmax(np.abs(found[::-1]) > 0.0))
    return [
        StudyFinding("largest pull [N]", -found.min(), pull, 1e-6),
        StudyFinding("distance at the largest pull [m]", -overlaps[found.argmin()], 0.4807498568 * distance, 2.2e-3),
        StudyFinding("distance where it ends [m]", -overlaps[free[1]], distance, 2e-3),
        StudyFinding(
            "overlap without a force [m]", overlaps[np.abs(found[:2900]).argmin()], 1.2114137286 * distance, 1e-3
        ),
    ]


def sticking(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare rebounds without damping with e = sqrt(1 - (v_s / v)^2), and the speed below which spheres stick."""
    mass, radius = 0.5 * MASS, 0.5 * RADIUS
    critical = math.sqrt(14.184392 / mass) * (WORK**5 * radius**4 / EFFECTIVE**2) ** (1.0 / 6.0)
    factors = np.array([0.5, 0.97, 1.03, 1.1, 1.5, 2.0, 4.0])
    subject = pair_of(model.but(restitution=1.0))
    step = 0.01 * _jkr_units(radius)[1] / critical
    found, sticks = rebounds(subject, factors * critical, step, 8000 * step)
    x = np.linspace(1.0, 4.0, 200)
    _draw(axes, (x, np.sqrt(1.0 - x**-2)), (factors, found), "o")
    axes.set(xlabel="impact speed over sticking speed", ylabel="rebound over impact speed", title="rebound")
    findings = [
        StudyFinding(f"rebound at {factor:g} of the sticking speed", float(value), math.sqrt(1.0 - factor**-2), 0.02)
        for factor, value in zip(factors[3:], found[3:], strict=True)
    ]
    ends = [StudyFinding("impacts that stick, of two below that speed", float(sticks[:2].sum()), 2.0, 0.0)]
    return [*findings, *ends, StudyFinding("of five above it", float(sticks[2:].sum()), 0.0, 0.0)]


def pressed_by_dmt(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force with Hertz's force minus 2 pi w R, and the overlap at rest."""
    pull = math.pi * WORK * RADIUS
    rest = (0.75 * pull / (EFFECTIVE * math.sqrt(0.5 * RADIUS))) ** (2.0 / 3.0)
    overlaps = rest * np.linspace(2.0, -0.1, 2101)
    found = force_curve(pair_of(model.interaction), overlaps)
    hertz = 4.0 / 3.0 * EFFECTIVE * math.sqrt(0.5 * RADIUS) * np.maximum(overlaps, 0.0) ** 1.5
    theory = np.where(overlaps > 0.0, hertz - pull, 0.0)
    _draw(axes, (overlaps, theory), (overlaps, found))
    axes.set(xlabel="overlap [m]", ylabel="force [N]", title="pulled apart")
    return [
        StudyFinding("largest pull [N]", -found.min(), pull, 1e-3),
        StudyFinding("overlap at rest [m]", overlaps[np.abs(found[:1500]).argmin()], rest, 1e-3),
        StudyFinding(
            "largest difference over the pull", float(np.abs(found - theory)[:1990].max() / pull), 1e-9, 0.0, True
        ),
        StudyFinding("largest force at a gap [N]", float(np.abs(found[overlaps < -1e-3 * rest]).max()), 0.0, 0.0),
    ]


def pressed_by_area(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare largest pull, (2/3) pi^3 k^3 R^2 / E^2, its overlap, and the overlap without force with the theory."""
    radius = 0.5 * RADIUS
    pull = 2.0 / 3.0 * math.pi**3 * COHESION**3 * radius**2 / EFFECTIVE**2
    deepest = math.pi**2 * COHESION**2 * radius / EFFECTIVE**2
    overlaps = deepest * np.linspace(3.0, 0.0, 3001)
    found = force_curve(pair_of(model.interaction), overlaps)
    hertz = 4.0 / 3.0 * EFFECTIVE * math.sqrt(radius) * overlaps**1.5
    theory = hertz - 2.0 * math.pi * COHESION * radius * overlaps
    _draw(axes, (overlaps, theory), (overlaps, found))
    axes.set(xlabel="overlap [m]", ylabel="force [N]", title="pulled apart")
    return [
        StudyFinding("largest pull [N]", -found.min(), pull, 1e-5),
        StudyFinding("overlap there [m]", overlaps[found.argmin()], deepest, 2e-3),
        StudyFinding("overlap at rest [m]", overlaps[np.abs(found[:1500]).argmin()], 2.25 * deepest, 1e-3),
    ]


def drawing_out(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force of a bridge at touch, the gap at which it ruptures, and the work until rupture."""
    table = model.interaction["adhesion"]
    volume, angle = table["volume"], math.radians(table["contact_angle"])
    most = 2.0 * math.pi * RADIUS * table["surface_tension"] * math.cos(angle)
    ends = (1.0 + 0.5 * angle) * volume ** (1.0 / 3.0)
    gaps = ends * np.concatenate([[-1e-9], np.linspace(0.0, 1.02, 4081)])
    found = -force_curve(pair_of(model.interaction), -gaps)
    length, root = math.sqrt(volume / RADIUS), math.sqrt(10.0 - 1.1025)
    work = length * most * 2.0 / root * (math.atan((5.0 * ends / length + 1.05) / root) - math.atan(1.05 / root))
    s = gaps / length
    theory = np.where(gaps <= ends, most / (1.0 + 1.05 * s + 2.5 * s**2), 0.0)
    _draw(axes, (gaps, theory), (gaps, found))
    axes.set(xlabel="gap [m]", ylabel="pull [N]", title="drawn out")
    last = int(np.flatnonzero(found > 0.0)[-1])
    return [
        StudyFinding("pull at the touch [N]", float(found[1]), most, 1e-4),
        StudyFinding("gap where it ruptures [m]", float(gaps[last]), ends, 1e-3),
        StudyFinding(
            "work up to the rupture [J]", float(np.trapezoid(found[1 : last + 1], gaps[1 : last + 1])), work, 2e-3
        ),
    ]


def _compare_curves(axes: Any, overlaps: Floats, found: Floats, theory: Floats) -> list[StudyFinding]:
    _draw(axes, (overlaps, theory), (overlaps, found))
    axes.set(xlabel="overlap [m]", ylabel="force [N]", title="pressed, pulled apart, pressed again")
    apart = float(np.abs(found - theory).max() / theory.max())
    return [
        StudyFinding("largest force [N]", float(found.max()), float(theory.max()), 1e-9),
        StudyFinding("least force [N]", float(found.min()), float(theory.min()), 1e-6),
        StudyFinding("largest difference on all of the path, over that", apart, 1e-6, 0.0, at_most=True),
    ]


def plastic_springs(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force of two spheres that are pressed and pulled apart with the three lines of Luding's law."""
    first, most, adhesion, depth = (
        model.interaction[name]
        for name in ("normal_stiffness", "unloading_stiffness", "adhesion_stiffness", "plasticity_depth")
    )
    h = 2e-5
    whole = most / (most - first) * depth * RADIUS  # the plastic overlap from which on the contact is elastic
    second = first + (most - first) * h / whole
    down = h * np.linspace(1.0, 0.0, 401)
    unloading = np.maximum(second * down - (second - first) * h, -adhesion * down)
    up = h * np.linspace(0.0, 1.0, 401)[1:]
    found = force_curve(pair_of(model.interaction), np.concatenate([up, down]))
    return _compare_curves(axes, np.concatenate([up, down]), found, np.concatenate([first * up, unloading]))


def plastic_spheres(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the force of two spheres that are pressed, relieved and pressed again with the curves of their law."""
    stiffness, plasticity = 4.0 / 3.0 * EFFECTIVE * math.sqrt(0.5 * RADIUS), model.interaction["plasticity"]
    h = 2e-5
    rest = h * plasticity ** (2.0 / 3.0)
    up, down = np.linspace(0.0, h, 401)[1:], np.linspace(h, 1.01 * rest, 301)
    unloading = stiffness / (1.0 - plasticity) * (down**1.5 - plasticity * h**1.5)
    overlaps = np.concatenate([up, down, down[::-1]])
    found = force_curve(pair_of(model.interaction), overlaps)
    return _compare_curves(
        axes, overlaps, found, np.concatenate([stiffness * up**1.5, unloading, unloading[::-1]])
    )  # fmt: skip


def slope(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the acceleration on slopes around the critical one, tan = mu_r, with 5/7 g (sin - mu_r cos)."""
    shares, found, findings = np.array([0.5, 0.97, 1.03, 1.2, 1.5]), [], []
    for share in shares:
        tilt = math.atan(share * ROLLING_FRICTION)
        motion = on_plane(model.interaction, tilt, 0.0, 0.1)
        late = slice(50, None)
        found.append(np.polyfit(motion.time[late], motion.speed[late], 1)[0])
        expected = 5.0 / 7.0 * GRAVITY * (math.sin(tilt) - ROLLING_FRICTION * math.cos(tilt))
        if share > 1.0:
            name = f"acceleration at {share:g} of the critical slope [m/s2]"
            findings.append(StudyFinding(name, float(found[-1]), expected, 0.02))
        else:
            name = f"speed at {share:g} of the critical slope after 0.1 s [m/s]"
            findings.append(StudyFinding(name, abs(float(motion.speed[-1])), 1e-6, 0.0, at_most=True))
    x = np.linspace(0.4, 1.6, 200)
    tilts = np.arctan(x * ROLLING_FRICTION)
    theory = np.maximum(5.0 / 7.0 * GRAVITY * (np.sin(tilts) - ROLLING_FRICTION * np.cos(tilts)), 0.0)
    _draw(axes, (x, theory), (shares, np.array(found)), "o")
    axes.set(xlabel="tan of the slope over rolling friction", ylabel="acceleration [m/s2]", title="on a slope")
    return findings


def rolling_out(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the stopping distance of a rolling sphere with 7 v^2 / (10 mu_r g), after the torque has built up."""
    speed, slowing = 0.05, 5.0 / 7.0 * ROLLING_FRICTION * GRAVITY
    motion = on_plane(model.interaction, 0.0, speed, 0.15)
    first, later = 10, 20
    time, place, rolls = (one - one[first] for one in motion)
    begun = motion.speed[first]
    _draw(axes, (time[first:], np.maximum(begun - slowing * time[first:], 0.0)), (time, motion.speed))
    axes.set(xlabel="time [s]", ylabel="speed [m/s]", title="rolling out")
    return [
        StudyFinding("way until it stops [m]", float(place[-1]), 0.5 * begun**2 / slowing, 5e-3),
        StudyFinding("slows down by [m/s2]", float(-rolls[later] / time[later]), slowing, 1e-3),
    ]


def twisting_out(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the deceleration of a spinning sphere with sliding torque: 2/3 a mu m g by the area, or mu R m g."""
    table = model.interaction["twisting"]
    arm = 2.0 / 3.0 * math.sqrt(RADIUS * weight_overlap()) if table["model"] == "marshall" else RADIUS
    friction = table.get("friction", model.interaction["friction"])
    slowing, spin = friction * arm * GRAVITY / (0.4 * RADIUS**2), 20.0
    stop = spin / slowing
    time, rate = spinning(model.interaction, spin, 1.5 * stop)
    _draw(axes, (time, np.maximum(spin - slowing * time, 0.0)), (time, rate))
    axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]", title="twisting out")
    slides = rate > 0.1 * spin
    slope, begin = np.polyfit(time[slides], rate[slides], 1)
    return [
        StudyFinding("slows down by [rad/s2]", float(-slope), slowing, 5e-3),
        StudyFinding("time until it stops [s]", float(-begin / slope), stop, 0.01),
        StudyFinding(
            "rate after that, over the first", float(np.abs(rate[-10:]).max() / spin), 0.01, 0.0, at_most=True
        ),
    ]


def slow_impacts(model: Model, axes: Any) -> list[StudyFinding]:
    """Compare the speed loss in impacts with 1 - e = C b - 3/5 (C b)^2, C = 1.15344, b ~ v^(1/5)."""
    speeds = np.array([0.01, 0.1, 1.0]) * SPEED
    k = 4.0 / 3.0 * EFFECTIVE * math.sqrt(0.5 * RADIUS) / (0.5 * MASS)
    subject = pair_of(model.interaction)
    found, _ = rebounds(subject, speeds, 0.005 * subject.duration(SPEED), 10.0 * subject.duration(speeds[0]))
    x = 1.15344 * 1.5 * model.interaction["dissipative_time"] * k**0.4 * speeds**0.2
    wanted = x - 0.6 * x**2
    axes.set(xscale="log", yscale="log")
    _draw(axes, (speeds, wanted), (speeds, 1.0 - found), "o")
    axes.set(xlabel="impact speed [m/s]", ylabel="1 - restitution", title="impacts")
    return [
        StudyFinding(f"1 - restitution at {speed:g} m/s", 1.0 - float(value), float(theory), 0.02)
        for speed, value, theory in zip(speeds, found, wanted, strict=True)
    ]


def resting_heap(model: Model, axes: Any) -> list[StudyFinding]:
    """Show that four spheres heaped on a plane come to rest and stay at rest."""
    time, energy = heap(model.interaction, 0.5)
    axes.semilogy(time, np.maximum(energy, 1e-40))
    axes.set(xlabel="time [s]", ylabel="kinetic energy [J]", title="heap of four")
    rest = float(energy[80:].max())
    return [
        StudyFinding(
            "kinetic energy after 0.4 s, over m g r", rest / (MASS * GRAVITY * RADIUS), 1e-15, 0.0, at_most=True
        )
    ]

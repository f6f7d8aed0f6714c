"""Spheres on planes: Wensrich's decay of rolling, the transition from sliding to rolling, and slopes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pdem.verification.study import FindingTable, Study, StudyFinding
from validation.gallery.few import GRAVITY, Ball, Material, after, mass_of, record, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook

_DOWN = (0.0, 0.0, -GRAVITY)

WENSRICH = Material(2.6e7, 0.203, 1.0)
WENSRICH_RADIUS, WENSRICH_SPEED, ROLLING_FRICTION = 0.0026, 0.15, 0.2
WENSRICH_FRICTION = 0.5
WENSRICH_SPINS = {0.0074: 37.22, 0.01: 35.82, 0.02: 30.43, 0.03: 25.04, 0.04: 19.65, 0.05: 14.26}
"""Angular velocity [rad/s] by time [s] in the case of Kratos Multiphysics, which rolls from the beginning."""

RADIUS, DENSITY, STIFFNESS, FRICTION = 0.0005, 1e4, 1e4, 0.2
"""Radius [m] and density [kg/m^3] of the sliding sphere; stiffness of its linear law [N/m]."""

SPEED = 0.1
"""Initial sliding speed [m/s]."""

SLOPES = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
"""Slopes [degrees]."""


def decay(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the spin of a sphere that is slowed down by a constant torque."""
    law = {
        "friction": WENSRICH_FRICTION,
        "restitution": 0.2,
        "rolling": {"model": "constant-torque", "friction": ROLLING_FRICTION},
    }
    ball = Ball("ball", WENSRICH_RADIUS, (0.0, 0.0, WENSRICH_RADIUS), (WENSRICH_SPEED, 0.0, 0.0))
    simulation = simulate({"ball": WENSRICH}, {"default": law}, [ball], 2e-6, gravity=_DOWN)
    time, motions = record(simulation, 0.05, 50)
    spin = np.array([one.spin[0, 1] for one in motions])
    with notebook.plot("spin") as axes:
        axes.plot(time, spin, label="pdem")
        axes.plot(WENSRICH_SPINS.keys(), WENSRICH_SPINS.values(), "k+", label="Kratos Multiphysics")
        axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]")
        axes.legend()
    slides = WENSRICH_SPEED / (GRAVITY * (3.5 * WENSRICH_FRICTION - 2.5 * ROLLING_FRICTION))
    rolls = (time > 1.2 * slides) & (time < 0.05)
    slope = -float(np.polyfit(time[rolls], spin[rolls], 1)[0])
    findings = [
        StudyFinding(
            "decay of the spin [rad/s2]", slope, 5.0 / 7.0 * ROLLING_FRICTION * GRAVITY / WENSRICH_RADIUS, 1e-3
        ),
        *(
            StudyFinding(f"spin at {when:g} s [rad/s]", float(np.interp(when, time, spin)), given, 2e-3)
            for when, given in WENSRICH_SPINS.items()
            if when > slides
        ),
        StudyFinding("spin is largest after [s]", float(time[spin.argmax()]), slides, 0.02),
    ]
    yield FindingTable("Rolling decay", "theory", findings, _SLIDES)


_SLIDES = (
    "The decay is 5/7 mu_r g / R. The sphere slides at first, until v0 / (g (3.5 mu - 2.5 mu_r)); the two points of "
    "Kratos before that are on the line of rolling, which friction of 0.5 cannot reach so soon."
)


def slip(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the time at which a sliding sphere begins to roll, and its speed."""
    law = {"law": "linear", "normal_stiffness": STIFFNESS, "friction": FRICTION, "restitution": 0.5}
    sinks = mass_of(DENSITY, RADIUS) * GRAVITY / STIFFNESS
    begins = 2.0 * SPEED / (7.0 * FRICTION * GRAVITY)
    ball = Ball("ball", RADIUS, (0.0, 0.0, RADIUS - sinks), (SPEED, 0.0, 0.0))
    material = Material(1e9, 0.3, DENSITY)
    simulation = simulate({"ball": material}, {"default": law}, [ball], 2e-6, gravity=_DOWN)
    time, motions = record(simulation, 2.0 * begins, 20)
    speed = np.array([one.velocity[0, 0] for one in motions])
    turning = RADIUS * np.array([one.spin[0, 1] for one in motions])
    with notebook.plot("speed") as axes:
        axes.plot(1e3 * time, speed, label="velocity")
        axes.plot(1e3 * time, turning, label="spin times radius")
        axes.axhline(5.0 / 7.0 * SPEED, color="k", linestyle=":")
        axes.axvline(1e3 * begins, color="k", linestyle=":", label="exact")
        axes.set(xlabel="time [ms]", ylabel="velocity [m/s]")
        axes.legend()
    sliding = time < 0.8 * begins
    rates = [np.polyfit(time[sliding], one[sliding], 1)[0] for one in (speed, turning)]
    meets = SPEED / (rates[1] - rates[0])
    yield FindingTable("From sliding to rolling", "exact", [
        StudyFinding("time at which it rolls [s]", float(meets), begins, 1e-3),
        StudyFinding("velocity then [m/s]", float(speed[-1]), 5.0 / 7.0 * SPEED, 1e-3),
        StudyFinding("spin times radius [m/s]", float(turning[-1]), 5.0 / 7.0 * SPEED, 1e-3),
    ])  # fmt: skip


def slopes(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the acceleration of a sphere down slopes, rolling or sliding."""
    law = {"law": "linear", "normal_stiffness": STIFFNESS, "friction": 0.3, "restitution": 0.5}
    findings, found = [], []
    for degrees in SLOPES:
        angle, time = math.radians(degrees), 0.01
        pull = (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle))
        sinks = -mass_of(DENSITY, RADIUS) * pull[2] / STIFFNESS
        ball = Ball("ball", RADIUS, (0.0, 0.0, RADIUS - sinks))
        material = Material(1e9, 0.3, DENSITY)
        end = after(simulate({"ball": material}, {"default": law}, [ball], 2e-6, gravity=pull), time)
        rolls = 2.0 / 7.0 * math.tan(angle) <= 0.3
        exact = 5.0 / 7.0 * pull[0] if rolls else pull[0] + 0.3 * pull[2]
        found.append(float(end.velocity[0, 0]) / time)
        what = "rolls" if rolls else "slides"
        findings.append(StudyFinding(f"{degrees:g} deg, {what}: acceleration [m/s2]", found[-1], exact, 2e-3))
        if not rolls:
            turns = -2.5 * 0.3 * pull[2] / RADIUS
            findings.append(StudyFinding(f"{degrees:g} deg: spin [rad/s]", float(end.spin[0, 1]), turns * time, 2e-3))
    with notebook.plot("slopes") as axes:
        x = np.radians(np.linspace(0.0, 65.0, 200))
        rolling, sliding = 5.0 / 7.0 * np.sin(x), np.sin(x) - 0.3 * np.cos(x)
        axes.plot(np.degrees(x), GRAVITY * np.maximum(rolling, sliding), "k", label="exact")
        axes.plot(SLOPES, found, "o", label="pdem")
        axes.set(xlabel="slope [deg]", ylabel="acceleration [m/s2]")
        axes.legend()
    yield FindingTable(
        "Down slopes, friction 0.3", "exact", findings, "One that slides sticks until its spring is loaded."
    )


STUDIES = (
    Study(
        "rolling-decay", "Wensrich: a sphere rolls out against a constant torque", decay, "rolling",
        "Wensrich, Katterfeld, Powder Technology 217 (2012) 409-417, type A; values of Kratos Multiphysics",
        {
            "sphere": "radius 2.6 mm, 1 kg/m3, 26 MPa, 0.203", "begins with": "0.15 m/s without spin",
            "friction": "0.5", "rolling friction": "0.2", "restitution": "0.2", "time step": "2 us",
        },
    ),
    Study(
        "slip-to-roll", "A sphere slides, then rolls", slip, "rolling", "rigid body; case DEM04 of MFiX",
        {
            "sphere": "radius 0.5 mm, 10,000 kg/m3", "begins with": "0.1 m/s without spin", "friction": "0.2",
            "stiffness": "10 kN/m, linear", "time step": "2 us",
        },
    ),
    Study(
        "slopes", "A sphere rolls or slides down a slope", slopes, "rolling", "rigid body",
        {"sphere": "radius 0.5 mm, 10,000 kg/m3", "friction": "0.3", "stiffness": "10 kN/m, linear"},
    ),
)  # fmt: skip

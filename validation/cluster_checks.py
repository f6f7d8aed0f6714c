"""Checks of rigid clusters against closed forms. Each takes axes for its plot and whether to include long runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.restitution import damping_factor, rebound
from pdem.verification.study import StudyFinding
from validation.cluster_runs import (
    GRAVITY,
    HALF,
    ONE,
    RADIUS,
    ROD,
    TOP,
    cluster,
    lowest_speeds,
    own_spins,
    ring,
    simulate,
)

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.run.simulation import Simulation

ANGLES = (10.0, 30.0, 50.0, 70.0)
"""Inclinations of rods to the floor when they hit it [degrees]."""

RESTITUTIONS = (1.0, 0.6)
FEET = (2, 3, 4, 6)
"""Numbers of feet of bodies that land on all feet at the same time."""

_PARAMETER = 1.0 / 3.0
_QUICK_STEPS, _FULL_STEPS = 20_000, 1_000_000
_SAMPLES = 200


def _top(step: float, spin: list[float]) -> Simulation:
    return simulate([cluster("top", (0.0, 0.0, 0.5), angular_velocity=spin)], {"top": TOP}, step)


def _jacobi(time: Floats) -> Floats:
    """Return the angular velocity (n, 3) of a body with moments 1, 2, 3 and the initial spin (1, 0, 1)."""
    from scipy.special import ellipj

    sn, cn, dn, _ = ellipj(time, _PARAMETER)
    return np.stack([cn, sn, dn], axis=1)


def _turns(step: float, end: float) -> tuple[Floats, Floats]:
    """Return times and angular velocities (n, 3) of a free top, along its own axes."""
    simulation, times, spins = _top(step, [1.0, 0.0, 1.0]), [], []
    for _ in range(round(end / (10.0 * step))):
        simulation.advance(10)
        times.append(simulation.time)
        spins.append(own_spins(simulation)[1][0])
    return np.array(times), np.array(spins)


def top(axes: Any, full: bool) -> list[StudyFinding]:
    """Compare the spin of a free body with Jacobi's functions over a period, and the order of its error in the step."""
    from scipy.special import ellipk

    period = 4.0 * float(ellipk(_PARAMETER))
    errors = []
    for step in (0.04, 0.02, 0.01):
        time, spin = _turns(step, 7.2)
        errors.append(float(np.abs(spin - _jacobi(time)).max()))
    axes.plot(time, _jacobi(time), "k")
    axes.plot(time[::3], spin[::3], ".", label=["axis 1", "axis 2", "axis 3"])
    axes.legend(title="line: exact")
    axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]", title="free top, along its own axes")
    middle = np.flatnonzero(spin[:, 0] < 0.0)  # its first component vanishes after one quarter and three quarters
    first, last = middle[0], middle[-1]
    return [
        StudyFinding("period [s]", 2.0 * (_zero(time, spin, last) - _zero(time, spin, first - 1)), period, 1e-4),
        StudyFinding("largest error at a step of 0.01 s [rad/s]", errors[2], 1e-4, 0.0, at_most=True),
        StudyFinding("error at 0.04 s over that at 0.02 s", errors[0] / errors[1], 4.0, 0.05),
        StudyFinding("error at 0.02 s over that at 0.01 s", errors[1] / errors[2], 4.0, 0.05),
    ]


def _zero(time: Floats, spin: Floats, k: int) -> float:
    """Return the time at which the first component vanishes between samples k and k + 1 [s]."""
    a, b = spin[k, 0], spin[k + 1, 0]
    return float(time[k] + (time[k + 1] - time[k]) * a / (a - b))


def energy(axes: Any, full: bool) -> list[StudyFinding]:
    """Show that rotation about the middle axis conserves the momentum bit for bit, and the energy within bounds."""
    steps = _FULL_STEPS if full else _QUICK_STEPS
    simulation = _top(0.05, [0.01, 1.0, 0.01])
    before = simulation.clusters.angular_momentum.tobytes()
    taken, energies, flips, changed, sign = [0], [_rotation(simulation)], 0, 0, 1.0
    for _ in range(_SAMPLES):
        simulation.advance(steps // _SAMPLES)
        taken.append(simulation.step)
        energies.append(_rotation(simulation))
        changed += simulation.clusters.angular_momentum.tobytes() != before
        now = own_spins(simulation)[1][0, 1]
        flips, sign = flips + (now * sign < 0.0), math.copysign(1.0, now)
    off = np.abs(np.array(energies) / energies[0] - 1.0)
    axes.semilogy(taken[1:], np.maximum(off[1:], 1e-17), ".")
    axes.set(xlabel="steps", ylabel="relative difference of the energy", title="free top that flips over")
    tenth = _SAMPLES // 5
    drift = float(off[-tenth:].max() / off[1 : tenth + 1].max())
    return [
        StudyFinding("samples in which the top has flipped over", float(flips)),
        StudyFinding("samples with different bits of the angular momentum", float(changed), 0.0, 0.0),
        StudyFinding(f"largest difference of the energy in {steps} steps", float(off.max()), 1e-3, 0.0, at_most=True),
        StudyFinding("of the last fifth over that of the first", drift, 1.2, 0.0, at_most=True),
    ]


def _rotation(simulation: Simulation) -> float:
    momentum, spin = own_spins(simulation)
    return 0.5 * float(momentum[0] @ spin[0])


def impact(axes: Any, full: bool) -> list[StudyFinding]:
    """Compare the impulse at the end of a slender rod with J = (1 + e) v M / (1 + 3 cos^2 a)."""
    speed, findings = 0.05, []
    x = np.linspace(0.0, 90.0, 200)
    for e in RESTITUTIONS:
        simulation = _falling_rods(speed, e)
        simulation.advance(2000)
        ends = lowest_speeds(simulation) / speed
        spins = np.linalg.norm(own_spins(simulation)[1], axis=1)
        axes.plot(x, _spin_after(x, e, speed), "k")
        axes.plot(ANGLES, spins, "o", label=f"restitution {e:g}")
        for angle, end, spin in zip(ANGLES, ends, spins, strict=True):
            name = f"rod at {angle:g} deg, restitution {e:g}"
            expected = float(_spin_after(np.array(angle), e, speed))
            findings += [
                StudyFinding(f"{name}: rebound of its end", float(end), e, 2e-3),
                StudyFinding(f"{name}: spin [rad/s]", float(spin), expected, 2e-3),
            ]
    axes.set(xlabel="angle over the floor [deg]", ylabel="angular velocity [rad/s]", title="a rod hits the floor")
    axes.legend(title="line: exact")
    return findings


def _falling_rods(speed: float, restitution: float) -> Simulation:
    """Return rods at all angles that will hit the floor with their lower end, without touching each other."""
    groups = []
    for k, angle in enumerate(ANGLES):
        height = HALF * math.sin(math.radians(angle)) + RADIUS + 2e-7
        turned = {"axis": [0.0, 1.0, 0.0], "angle": angle}
        groups.append(cluster("rod", (0.0, 0.05 * k, height), orientation=turned, velocity=[0.0, 0.0, -speed]))
    return simulate(groups, {"rod": ROD}, 2e-8, {"restitution": restitution})


def _spin_after(angle: Floats, restitution: float, speed: float) -> Floats:
    """Return the angular velocity of a slender rod after the impact of its end on a smooth floor [rad/s]."""
    cosine = np.cos(np.radians(angle))
    return 3.0 * (1.0 + restitution) * speed * cosine / (HALF * (1.0 + 3.0 * cosine**2))


def several(axes: Any, full: bool) -> list[StudyFinding]:
    """Compare rebounds from N feet with those at sqrt(N m / M) times the damping ratio, m the mass shown by a foot."""
    findings = []
    for asked in (0.3, 0.5, 0.8):
        found = _landed(asked)
        expected = [_from_feet(feet, asked) for feet in FEET]
        axes.plot(FEET, expected, "k-")
        axes.plot(FEET, found, "o", label=f"restitution {asked:g}")
        findings += [
            StudyFinding(f"{feet} feet, restitution {asked:g}", float(one), other, 2e-3)
            for feet, one, other in zip(FEET, found, expected, strict=True)
        ]
    axes.set(
        xlabel="feet that land simultaneously",
        ylabel="rebound over impact speed",
        title="several contacts",
        ylim=(0, 1),
        xticks=FEET,
    )
    axes.legend(title="line: exact", loc="lower left")
    return findings


def _from_feet(feet: int, restitution: float) -> float:
    """Return the restitution of a body on its feet: M / m is 2 for a dumb-bell, and 3 for a thin ring."""
    shown = 2.0 if feet == 2 else 3.0
    return rebound(damping_factor(restitution, hertzian=False) * math.sqrt(feet / shown), hertzian=False)


def _landed(restitution: float) -> Floats:
    """Return rebound over impact speed of rings of feet that have landed on a floor."""
    speed = 0.1
    shapes = {f"ring{feet}": ring(feet) for feet in FEET}
    groups = [
        cluster(name, (0.0, 0.05 * k, RADIUS + 1e-8), velocity=[0.0, 0.0, -speed]) for k, name in enumerate(shapes)
    ]
    simulation = simulate(groups, shapes, 2e-8, {"restitution": restitution})
    simulation.advance(3000)
    return simulation.clusters.velocity[:, 2] / speed


def sliding_down(axes: Any, full: bool) -> list[StudyFinding]:
    """Compare the fall of a slender rod on a smooth floor with w^2 = 6 g (cos t0 - cos t) / (a (1 + 3 sin^2 t))."""
    start = math.radians(20.0)
    turned = {"axis": [0.0, 1.0, 0.0], "angle": 70.0}
    place = (0.0, 0.0, HALF * math.cos(start) + RADIUS)
    simulation = simulate([cluster("rod", place, orientation=turned)], {"rod": ROD}, 1e-6, gravity=[0.0, 0.0, -GRAVITY])
    rows, drift = [], 0.0
    while simulation.clusters.position[0, 2] > RADIUS + HALF * math.cos(math.radians(80.0)):
        simulation.advance(500)
        tilt = math.acos((simulation.clusters.position[0, 2] - RADIUS) / HALF)
        rows.append((tilt, float(np.linalg.norm(own_spins(simulation)[1][0]))))
        drift = max(drift, abs(float(simulation.clusters.position[0, 0])))
    tilts, spins = np.array(rows).T
    theory = spin_of_fallen(start, tilts)
    axes.plot(np.degrees(tilts), theory, "k", label="exact")
    axes.plot(np.degrees(tilts), spins, ".", label="pdem")
    axes.legend()
    axes.set(xlabel="angle to the vertical [deg]", ylabel="angular velocity [rad/s]", title="a rod slides down")
    findings = [
        StudyFinding(f"spin at {math.degrees(tilts[k]):.1f} deg [rad/s]", spins[k], theory[k], 5e-3)
        for k in (np.searchsorted(tilts, np.radians(wanted)) for wanted in (30.0, 45.0, 60.0, 75.0))
    ]
    return [*findings, StudyFinding("its centre aside [m]", drift, 1e-12, 0.0, at_most=True)]


def spin_of_fallen(start: float, tilt: Floats) -> Floats:
    """Return the angular velocity [rad/s] of a slender rod that slides down on a smooth floor from a tilt [rad]."""
    return np.sqrt(6.0 * GRAVITY * (math.cos(start) - np.cos(tilt)) / (HALF * (1.0 + 3.0 * np.sin(tilt) ** 2)))


def single(axes: Any, full: bool) -> list[StudyFinding]:
    """Compare a cluster of one sphere with a sphere: both hit a rough floor with spin and fly off."""
    motion = {"velocity": [0.3, 0.0, -1.0], "angular_velocity": [5.0, -40.0, 3.0]}
    sphere = {"material": "grain", "radius": RADIUS, "positions": [[0.0, 0.1, 1.2 * RADIUS]], **motion}
    simulation = simulate(
        [cluster("one", (0.0, 0.0, 1.2 * RADIUS), **motion), sphere], {"one": ONE}, 1e-7,
        {"friction": 0.5, "restitution": 0.5}, gravity=[0.0, 0.0, -GRAVITY],
    )  # fmt: skip
    rows = []
    for _ in range(100):
        simulation.advance(50)
        order = np.argsort(simulation.particles.id)
        rows.append([simulation.particles[name][order] for name in ("position", "velocity", "angular_velocity")])
    found = np.array(rows)  # sample, quantity, cluster and sphere, axis
    apart = np.abs(found[:, :, 0] - found[:, :, 1])
    apart[:, 0, 1] -= 0.1
    largest = np.abs(apart).max(axis=(0, 2)) / (RADIUS, 1.0, 1.0 / RADIUS)
    time = 5e-6 * np.arange(1, 101)
    axes.plot(time, found[:, 2, 0], "k", linewidth=2.5)
    for k, name in enumerate("xyz"):
        axes.plot(time, found[:, 2, 1, k], f"C{k}:", linewidth=2.5, label=name)
    axes.legend(title="line: cluster, dots: sphere")
    axes.set(xlabel="time [s]", ylabel="angular velocity [rad/s]", title="a cluster of one sphere, and a sphere")
    names = ("place, in radii", "velocity, in impact speeds", "spin, in impact speeds over radius")
    return [
        StudyFinding(f"largest difference of {name}", float(one), 1e-9, 0.0, at_most=True)
        for name, one in zip(names, largest, strict=True)
    ] + [StudyFinding("rebound over impact speed", float(found[-1, 1, 0, 2]), 0.5, 0.02)]

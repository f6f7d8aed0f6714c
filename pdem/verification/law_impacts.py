"""Free impacts of two spheres: restitution as a function of speed, and the largest stable time step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.preflight.findings import STEP_WARNING
from pdem.verification.law_pairs import State
from pdem.verification.law_proof import Proof, place_of_part

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.verification.law_subjects import Subject

SLOWEST, SPEEDS = 1e-2, 9
"""Slowest impact speed relative to the fastest speed of the case, and number of speeds."""

FINEST = 1e-3
"""Smallest time step for rebounds, as a share of the duration of an impact."""

LASTING = 6.0
"""A pair that still touches after this multiple of the duration of an impact counts as sticking."""

STEPS = np.geomspace(0.02, 2.0, 25)
"""Tested time steps, in durations of an impact."""

TRIED = 36
"""Number of impacts per tested time step."""

GAIN = 1.02
"""A time step is unstable if the ratio of kinetic energies after and before an impact exceeds this value."""


@dataclass(frozen=True)
class Rebounds:
    """Rebounds of central impacts at several speeds.

    Attributes
    ----------
    speed : (n,) array
        Impact speed [m/s].
    found : (n,) array
        Ratio of rebound speed to impact speed; 0 for sticking pairs.
    sticks : (n,) bool array
        Whether the pair was still in contact at the end.
    wanted : float
        Restitution coefficient of the case.
    step : float
        Time step [s].
    """

    speed: Floats
    found: Floats
    sticks: Booleans
    wanted: float
    step: float


def rebounds_of(subject: Subject) -> Rebounds:
    """Compute the rebounds of an interaction, with the step of its case or a finer step that resolves slow impacts."""
    speed = subject.speed * np.geomspace(SLOWEST, 1.0, SPEEDS)
    shortest, longest = subject.duration(subject.speed), subject.duration(subject.speed * SLOWEST)
    step = max(subject.step, FINEST * shortest)
    radius = np.tile(subject.radii(1), (SPEEDS, 1))
    pairs = subject.pairs(radius, step)
    begin = _meeting(radius, speed, np.zeros((SPEEDS, 2, 3)), 0.5 * step)
    end = pairs.fly(begin, math.ceil(LASTING * longest / step))
    sticks = pairs.touching
    away = end.velocity[:, 1, 2] - end.velocity[:, 0, 2]
    return Rebounds(speed, np.where(sticks, 0.0, away / speed), sticks, float(subject.recipe.keys["restitution"]), step)


def _meeting(radius: Floats, speed: Floats, spin: Floats, way: Floats | float, slip: Floats | None = None) -> State:
    """Return pairs a time `way` [s] before contact along z; the second body moves down, with `slip` along x [m/s]."""
    position, velocity = np.zeros((2, len(speed), 2, 3))
    position[:, 1, 2] = radius.sum(axis=1) + way * speed
    velocity[:, 1, 2] = -speed
    if slip is not None:
        velocity[:, 1, 0] = slip
    return State(position, velocity, spin)


def rebound_proof(subject: Subject, rebounds: Rebounds) -> Proof:
    """Return the proof that no impact creates energy."""
    worst = int(np.argmax(rebounds.found))
    remedy = (
        f"an impact at {rebounds.speed[worst]:.3g} m/s rebounds {rebounds.found[worst]:.4g} times as "
        f"fast, with a step of "
        f"{rebounds.step:.3g} s: shorten the step, or mend {place_of_part(subject.recipe.normal.part)}"
    )
    return Proof("rebound speed over impact speed", float(rebounds.found[worst]), math.sqrt(GAIN), remedy)


@dataclass(frozen=True)
class Stability:
    """Ratio of kinetic energies after and before impacts, for several time steps.

    Attributes
    ----------
    step : (n,) array
        Tested time steps [s].
    gain : (n,) array
        Largest energy ratio of all impacts.
    largest : float
        Largest time step below which no impact gained energy [s]; 0 if every step did.
    duration : float
        Duration of an impact according to the declared stiffness [s].
    """

    step: Floats
    gain: Floats
    largest: float
    duration: float


def stability_of(subject: Subject) -> Stability:
    """Compute the energy ratio of oblique impacts of spinning spheres for several time steps."""
    duration = subject.duration(subject.speed)
    tried = duration * STEPS
    gain = np.array([_largest_gain(subject, step, duration) for step in tried])
    bad = np.flatnonzero(~(gain <= GAIN))
    good = len(tried) if not len(bad) else int(bad[0])
    return Stability(tried, gain, float(tried[good - 1]) if good else 0.0, duration)


def _largest_gain(subject: Subject, step: float, duration: float) -> float:
    """Return the largest ratio of kinetic energies after and before an impact, the latter with energy of adhesion."""
    rng, radius = np.random.default_rng(1), subject.radii(TRIED)
    speed = subject.speed * 10.0 ** -rng.uniform(0.0, 0.5, TRIED)
    slip = speed * rng.normal(size=TRIED)
    spin = rng.normal(size=(TRIED, 2, 3)) * (speed[:, None] / radius)[..., None]
    spin[:, 1] *= not subject.is_wall
    begin = _meeting(radius, speed, spin, step * rng.uniform(0.0, 1.0, TRIED), slip)
    pairs = subject.pairs(radius, step)
    before = pairs.kinetic_energy(begin)
    after = pairs.kinetic_energy(pairs.fly(begin, math.ceil(3.0 * LASTING * duration / step)))
    lent = np.array([subject.spring.lent_energy(subject.inertia(ratio)[1]) for ratio in subject.ratios])
    lent = lent[np.arange(TRIED) % len(lent)]
    return float(np.max(after / (before + lent)))


def stability_proofs(subject: Subject, stability: Stability) -> list[Proof]:
    """Return the proofs that the time step of the case, and the steps that its checks accept, create no energy."""
    largest, allowed = stability.largest, STEP_WARNING["Hertz"] * stability.duration
    if not largest:
        remedy = (
            f"oblique impacts at {subject.speed:.3g} m/s gain energy with every step from "
            f"{stability.step[0]:.3g} s on: "
            "the forces are at fault, not the step"
        )
        return [Proof("kinetic energy after impacts, over that before", float(stability.gain[0]), GAIN, remedy)]
    given = f"oblique impacts at {subject.speed:.3g} m/s gain energy with steps above {largest:.3g} s"
    declared = (
        f"{given}, and by the stiffness that {place_of_part(subject.recipe.normal.part)} declares "
        f"{allowed:.3g} s would "
        "do: declare the stiffness that forces and torques really have"
    )
    name = "largest step by the declared stiffness, over the largest stable one found"
    proofs = [Proof(name, allowed / largest, 1.0, declared)]
    given += f", and the case takes {subject.step:.3g} s: shorten time.step"
    return [Proof("time step over the largest stable one found", subject.step / largest, 1.0, given), *proofs]

"""Free impacts of two spheres: rebound against speed, and the largest time step that makes no energy."""

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
"""Slowest impact over the fastest one of the case, and how many there are in between."""

FINEST = 1e-3
"""Steps of rebounds are no finer than this part of an impact."""

LASTING = 6.0
"""What still touches after so many durations of an impact sticks."""

STEPS = np.geomspace(0.02, 2.0, 25)
"""Steps that are tried, over the duration of an impact."""

TRIED = 36
"""Impacts with each of them."""

GAIN = 1.02
"""Kinetic energy after an impact over that before, from which on a step is no good."""


@dataclass(frozen=True)
class Rebounds:
    """Rebounds of central impacts at several speeds.

    Attributes
    ----------
    speed : (n,) array
        Of the impact [m/s].
    found : (n,) array
        Rebound speed over that; 0 of what sticks.
    sticks : (n,) bool array
        What was still in contact at the end.
    wanted : float
        Restitution of the case.
    step : float
        Time step [s].
    """

    speed: Floats
    found: Floats
    sticks: Booleans
    wanted: float
    step: float


def rebounds_of(subject: Subject) -> Rebounds:
    """Return the rebounds of an interaction, at the step of its case or a finer one that resolves the slow ones."""
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
    """Return pairs a time `way` [s] before they meet along z, the second body coming down; `slip` is along x [m/s]."""
    position, velocity = np.zeros((2, len(speed), 2, 3))
    position[:, 1, 2] = radius.sum(axis=1) + way * speed
    velocity[:, 1, 2] = -speed
    if slip is not None:
        velocity[:, 1, 0] = slip
    return State(position, velocity, spin)


def rebound_proof(subject: Subject, rebounds: Rebounds) -> Proof:
    """Return the proof that no impact gives energy."""
    worst = int(np.argmax(rebounds.found))
    remedy = (
        f"an impact at {rebounds.speed[worst]:.3g} m/s rebounds {rebounds.found[worst]:.4g} times as "
        f"fast, with a step of "
        f"{rebounds.step:.3g} s: shorten the step, or mend {place_of_part(subject.recipe.normal.part)}"
    )
    return Proof("rebound speed over impact speed", float(rebounds.found[worst]), math.sqrt(GAIN), remedy)


@dataclass(frozen=True)
class Stability:
    """Kinetic energy after impacts over that before, by the time step.

    Attributes
    ----------
    step : (n,) array
        Tried [s].
    gain : (n,) array
        Largest quotient of all impacts.
    largest : float
        Largest step up to which no impact gave energy [s]; 0 if there was none.
    duration : float
        Of an impact, by the declared stiffness [s].
    """

    step: Floats
    gain: Floats
    largest: float
    duration: float


def stability_of(subject: Subject) -> Stability:
    """Return what time steps do to oblique impacts of spinning spheres."""
    duration = subject.duration(subject.speed)
    tried = duration * STEPS
    gain = np.array([_largest_gain(subject, step, duration) for step in tried])
    bad = np.flatnonzero(~(gain <= GAIN))
    good = len(tried) if not len(bad) else int(bad[0])
    return Stability(tried, gain, float(tried[good - 1]) if good else 0.0, duration)


def _largest_gain(subject: Subject, step: float, duration: float) -> float:
    """Return the largest kinetic energy after an impact over that before it, with what adhesion may have given."""
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
    """Return the proofs that the step of the case, and those that its checks would let pass, make no energy."""
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

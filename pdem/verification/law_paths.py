"""Random closed paths of the relative motion of two spheres: approach, press, slip, roll, twist, and separate.

Both bodies are apart at the begin and end of a path, so that the contact stores no energy there. Whatever the history
of a contact is, the contact must not have returned more work than it received.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from pdem.verification.law_pairs import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats
    from pdem.verification.law_pairs import SeparatePairs

STEPS = 400
"""Number of steps of a path."""

HELD_FROM = STEPS // 4
"""Step of `held_paths` after which the bodies are at relative rest."""

HARMONICS = 5
"""Number of harmonics of the random functions of time."""

KINDS = ("normal", "tangential", "rolling", "twisting", "all")
"""Relative motion in addition to the approach; ``all`` combines the motions and also rotates the pair in space."""


@dataclass(frozen=True)
class Paths:
    """Relative motions of pairs over time; index 0 of `overlap` is the begin.

    Attributes
    ----------
    overlap : (t, n) array
        Overlap at the ends of steps, negative without contact [m].
    slip : (t - 1, n, 2) array
        Velocity along two directions of the tangent plane [m/s], in the middle of steps.
    roll : (t - 1, n, 2) array
        Relative angular velocity about these directions [rad/s].
    twist : (t - 1, n) array
        Relative angular velocity about the normal [rad/s].
    frame : (n, 3, 3) array
        Columns: the normal and the two tangential directions.
    turned : (n, 3) array
        Rotation vector of the whole pair in space over the path [rad].
    """

    overlap: Floats
    slip: Floats
    roll: Floats
    twist: Floats
    frame: Floats
    turned: Floats

    def turned_by(self, rotation: Floats) -> Paths:
        """Return the same paths in a frame rotated by a matrix (3, 3)."""
        return replace(self, frame=rotation @ self.frame, turned=self.turned @ rotation.T)

    def taken(self, order: NDArray[np.intp]) -> Paths:
        """Return the paths with the given indices, in this order."""
        one_by_one = {name: getattr(self, name)[:, order] for name in ("overlap", "slip", "roll", "twist")}
        return replace(self, **one_by_one, frame=self.frame[order], turned=self.turned[order])

    def turning(self, turned: Floats) -> Paths:
        """Return the same paths with each whole pair rotating steadily by a rotation vector (n, 3) over the path."""
        return replace(self, turned=turned)


def random_paths(kind: str, scale: Floats, span: float, gap: Floats, seed: int) -> Paths:
    """Return random closed paths of one kind.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    scale : (n, 2) array
        Largest overlap [m] and effective radius [m] of each pair.
    span : float
        Duration [s].
    gap : (n,) array
        Largest gap of a stretched contact [m].
    seed : int
        Seed of the random numbers.
    """
    rng, number = np.random.default_rng([seed, KINDS.index(kind)]), len(scale)
    time, dt = np.linspace(0.0, 1.0, STEPS + 1), span / STEPS
    depth, radius = scale.T
    press = _smooth(rng, time, number)
    bump = np.sin(np.pi * time)[:, None] ** 2
    level = 1.0 / (1.0 + np.exp(-2.0 * press))
    overlap = depth * (1.1 * bump * (0.1 + 0.9 * level) - 0.05) - 1.1 * gap * (1.0 - bump)
    slip = roll = np.zeros((STEPS, number, 2))
    twist = np.zeros((STEPS, number))

    def rates(size: Floats) -> Floats:
        return size * np.diff(_smooth(rng, time, number), axis=0) / dt

    def sizes(low: float, high: float) -> Floats:
        return depth * 10.0 ** rng.uniform(low, high, number)

    if kind in ("tangential", "all"):
        size = sizes(-1.0, 1.0)
        slip = np.stack([rates(size), rates(size)], axis=2)
    if kind in ("rolling", "all"):
        size = sizes(-1.0, 1.5) / radius
        roll = np.stack([rates(size), rates(size)], axis=2)
    if kind in ("twisting", "all"):
        twist = rates(sizes(-1.0, 1.5) / radius)
    turned = rng.normal(size=(number, 3)) * (kind == "all")
    return Paths(overlap, slip, roll, twist, _frames(rng, number), turned)


def held_paths(kind: str, scale: Floats, span: float, seed: int) -> Paths:
    """Return paths of pairs that are pressed together, slip, roll or twist a little, and then stay at relative rest.

    Parameters are the same as for `random_paths`. There is no relative motion from the step `HELD_FROM` on.
    """
    rng, number = np.random.default_rng([seed, KINDS.index(kind)]), len(scale)
    depth, radius = scale.T
    press = np.minimum(np.arange(STEPS + 1) / HELD_FROM, 1.0)[:, None]
    moving = (np.abs(np.arange(STEPS) - 0.75 * HELD_FROM) < 0.25 * HELD_FROM)[:, None]
    size = depth * 10.0 ** rng.uniform(-1.0, 0.0, number) * 2.0 * STEPS / (HELD_FROM * span)
    angle = rng.uniform(0.0, 2.0 * np.pi, number)
    way = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    slip, roll = (
        (size / length * moving)[..., None] * way * (kind == name)
        for name, length in (("tangential", np.ones(number)), ("rolling", radius))
    )
    twist = size / radius * moving * (kind == "twisting")
    return Paths(
        depth * (1.05 * press - 0.05), slip, roll, twist, _frames(rng, number), np.zeros((number, 3))
    )  # fmt: skip


def _smooth(rng: np.random.Generator, time: Floats, number: int) -> Floats:
    """Return random periodic functions of size about 1, shape (t, n)."""
    found = np.zeros((len(time), number))
    for harmonic in range(1, HARMONICS + 1):
        weight, phase = rng.normal(size=number), rng.uniform(0.0, 2.0 * np.pi, number)
        found += weight * np.sin(2.0 * np.pi * harmonic * time[:, None] + phase)
    return found / np.sqrt(HARMONICS / 2.0)


def _frames(rng: np.random.Generator, number: int) -> Floats:
    """Return random right-handed frames, (n, 3, 3)."""
    frames = np.linalg.qr(rng.normal(size=(number, 3, 3)))[0]
    frames[..., 2] *= np.linalg.det(frames)[:, None]
    return frames


def random_rotation(seed: int) -> Floats:
    """Return a random rotation matrix (3, 3)."""
    return _frames(np.random.default_rng(seed), 1)[0]


def rotations(vectors: Floats) -> Floats:
    """Return the rotation matrices (n, 3, 3) of rotation vectors (n, 3) [rad]."""
    found: Floats = Rotation.from_rotvec(vectors).as_matrix()
    return found


def states(paths: Paths, pairs: SeparatePairs, *, swapped: bool = False) -> Iterator[State]:
    """Yield the states of the pairs at the end of each step of their paths.

    With `swapped` the two bodies of each pair exchange their roles; radii and materials of `pairs` must be exchanged
    as well.
    """
    radius = pairs.radius[:, ::-1] if swapped else pairs.radius
    reach = radius.sum(axis=1)
    last = None
    for number in range(STEPS + 1):
        way = _frame_at(paths, number)
        centre = (reach - paths.overlap[number])[:, None] * way[..., 0]
        if last is not None:
            position, velocity = np.zeros((2, len(reach), 2, 3))
            position[:, 1], velocity[:, 1] = centre, (centre - last) / pairs.step
            state = State(position, velocity, _spins(paths, number - 1, radius, pairs.step))
            yield _exchanged(state) if swapped else state
        last = centre


def _frame_at(paths: Paths, number: float) -> Floats:
    found: Floats = rotations(paths.turned * (number / STEPS)) @ paths.frame
    return found


def _spins(paths: Paths, number: int, radius: Floats, dt: float) -> Floats:
    """Return angular velocities in the middle of a step, (n, 2, 3): rolling without slip, and slip without rolling."""
    n, *tangents = np.moveaxis(_frame_at(paths, number + 0.5), 2, 0)
    slip, roll = (
        part[:, :1] * tangents[0] + part[:, 1:] * tangents[1] for part in (paths.slip[number], paths.roll[number])
    )
    reach = radius.sum(axis=1)[:, None]
    whole = paths.turned / (STEPS * dt) + np.cross(n, slip) / reach
    twist = 0.5 * paths.twist[number][:, None] * n
    first, other = radius[:, :1] / reach, radius[:, 1:] / reach
    return np.stack([whole - other * roll - twist, whole + first * roll + twist], axis=1)


def _exchanged(state: State) -> State:
    """Return a state with the bodies of each pair exchanged."""
    return State(*(column[:, ::-1] for column in state))


@dataclass(frozen=True)
class Run:
    """Forces and work along paths.

    Attributes
    ----------
    force, torque : (t, n, 2, 3) arrays
        Force [N] and torque [N m] on both bodies at the end of each step.
    moment : (t, n, 3) array
        Sum of both torques and of the moments of both forces [N m].
    work : (t, n) array
        Cumulative work done on the bodies from outside [J].
    gross : (n,) array
        Sum of the absolute work of all steps [J].
    """

    force: Floats
    torque: Floats
    moment: Floats
    work: Floats
    gross: Floats


def follow(paths: Paths, pairs: SeparatePairs, *, swapped: bool = False, steps: int = STEPS) -> Run:
    """Move pairs along their paths for a number of steps, starting without contact histories."""
    pairs.begin()
    count = len(pairs.radius)
    force, torque = np.zeros((2, steps + 1, count, 2, 3))
    power, moment = np.zeros((steps, count)), np.zeros((steps, count, 3))
    for number, state in zip(range(1, steps + 1), states(paths, pairs, swapped=swapped), strict=False):
        acting = pairs.evaluate(state)
        force[number], torque[number] = acting.force, acting.torque
        mean_force, mean_torque = (0.5 * (one[number - 1] + one[number]) for one in (force, torque))
        power[number - 1] = -(mean_force * state.velocity + mean_torque * state.spin).sum(axis=(1, 2))
        moment[number - 1] = (acting.torque + np.cross(state.position, acting.force)).sum(axis=1)
    done = power * pairs.step
    return Run(force[1:], torque[1:], moment, np.cumsum(done, axis=0), np.abs(done).sum(axis=0))

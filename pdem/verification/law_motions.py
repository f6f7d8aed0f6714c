"""Proofs of a law on random paths: energy, exchange of bodies, rotation of the frame, momentum, equal bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.contact.law.elastic import half_gaps
from pdem.contact.pairs.history_kernels import CHUNKS
from pdem.verification.law_paths import (
    HELD_FROM,
    KINDS,
    STEPS,
    Paths,
    Run,
    follow,
    held_paths,
    random_paths,
    random_rotation,
    rotations,
)
from pdem.verification.law_proof import Proof, places_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.law_subjects import Subject

NUMBER = 32
"""Number of paths of each kind."""

IMPACTS = 6.0
"""Duration of a path in durations of an impact."""

SEED = 20061

GAIN = 5e-3
"""Largest energy gain of a closed path relative to the exchanged energy: a bound on the error of the finite
steps."""

SAME = 1e-4
"""Largest relative difference by rounding of quantities that should be equal: stiff spheres overlap by a millionth of
their radius."""

TURN = 1.0
"""Angle by which pairs at relative rest are rotated [rad]."""

TURNED = 0.03
"""Largest relative error by finite steps for a contact rotated by about one radian. A law with a history that does not
rotate with the contact has an error of order one."""

NO_TORQUE = 1e-3
"""Torques below this share of force times radius count as zero."""

COPIES, FEWER = 24, 150
"""Copies of each path, and steps per path, in the proof of equal bits."""

FAULT_OF_PDEM = "this is a fault of pdem, not of the law: please report it with the case"


@dataclass(frozen=True)
class Trial:
    """Paths of one kind, and the forces and work along them."""

    kind: str
    paths: Paths
    run: Run

    @property
    def gain(self) -> Floats:
        """Energy gained along each path relative to the exchanged energy (n,)."""
        found: Floats = -self.run.work[-1] / np.maximum(self.run.gross, 1e-300)
        return found


class Motions:
    """Proofs of a law with pairs of spheres on prescribed paths.

    Parameters
    ----------
    subject : Subject
        The interaction.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._radius = subject.radii(NUMBER)
        span = IMPACTS * subject.duration(subject.speed)
        self._pairs = subject.pairs(self._radius, span / STEPS)
        self.trials = {kind: self._trial(kind, span) for kind in self._kinds()}

    def _kinds(self) -> list[str]:
        """Return the kinds of motion for which the law has a part, and the kind ``all``."""
        has = {kind: getattr(self.subject.recipe, kind, None) is not None for kind in KINDS}
        return [kind for kind in KINDS if has[kind] or kind == "all"]

    def _trial(self, kind: str, span: float) -> Trial:
        subject, radius = self.subject, self._radius
        effective = radius.prod(axis=1) / radius.sum(axis=1)
        law, rows = subject.table.law, subject.table.rows
        gap = 2.0 * half_gaps(law, rows)(effective) if law.may_stretch else np.zeros(NUMBER)
        weaker = 10.0 ** -np.random.default_rng(SEED).uniform(0.0, 2.0, NUMBER)
        depth = np.minimum(subject.depths(NUMBER), 0.3 * radius.min(axis=1)) * weaker
        self._scale = np.stack([depth, effective], axis=1)
        paths = random_paths(kind, self._scale, span, gap, SEED)
        return Trial(kind, paths, follow(paths, self._pairs))

    def proofs(self) -> Iterator[Proof]:
        """Yield all proofs."""
        yield from self._energy()
        yield from self._exchange()
        yield from self._frame()
        yield from self._turning()
        yield from self._momentum()
        yield from self._bits()

    def _energy(self) -> Iterator[Proof]:
        for kind, trial in self.trials.items():
            worst = int(np.argmax(trial.gain))
            given, gross = -trial.run.work[-1, worst], trial.run.gross[worst]
            where = places_of(self.subject.recipe, kind)
            remedy = (
                f"path {worst} gives {given:.3g} J of the {gross:.3g} J that go to and fro on it: {where} "
                "must give back less than it has taken, whatever the path"
            )
            yield Proof(f"energy gained in closed paths, {_words(kind)}", float(trial.gain[worst]), GAIN, remedy)

    def _exchange(self) -> Iterator[Proof]:
        radius, step = self._radius, self._pairs.step
        others = self.subject.pairs(radius, step, swapped=True)
        for kind, trial in self.trials.items():
            run = follow(trial.paths, others, swapped=True)
            difference = _difference(run.force[:, :, ::-1], run.torque[:, :, ::-1], trial.run, self._radius.min(axis=1))
            remedy = (
                "with both partners exchanged forces are others: let the force or torque of "
                f"{places_of(self.subject.recipe, kind)} change its sign with normal, velocity and rotation"
            )
            yield Proof(f"exchange of the partners, {_words(kind)}", difference, SAME, remedy)

    def _frame(self) -> Iterator[Proof]:
        rotation = random_rotation(SEED)
        for kind, trial in self.trials.items():
            run = follow(trial.paths.turned_by(rotation), self._pairs)
            difference = _difference(run.force @ rotation, run.torque @ rotation, trial.run, self._radius.min(axis=1))
            remedy = (
                "the same motion along other axes has other forces: let "
                f"{places_of(self.subject.recipe, kind)} use components of vectors along normal, slip "
                f"and rotation only, "
                "never along x, y or z alone"
            )
            yield Proof(f"another frame, {_words(kind)}", difference, SAME, remedy)

    def _turning(self) -> Iterator[Proof]:
        for kind in self.trials:
            if kind in ("normal", "all"):
                continue
            remedy = (
                f"what {places_of(self.subject.recipe, kind)} remembers is not turned with the contact: turn it by "
                "contact.spin about the normal, and into the tangent plane"
            )
            held = held_paths(kind, self._scale, self._pairs.step * STEPS, SEED)
            base = follow(held, self._pairs)
            axes = np.random.default_rng(SEED).normal(size=(NUMBER, 3))
            axes /= np.linalg.norm(axes, axis=1)[:, None]
            for name, turned in (("turning", axes), ("turning about the normal", held.frame[..., 0])):
                run = follow(held.turning(TURN * turned), self._pairs)
                back = _turned_back(self._acting(run, kind), TURN * turned)
                along = held.frame[..., 0] if kind == "twisting" else None
                value = _apart(self._acting(base, kind)[HELD_FROM:], back, along)
                yield Proof(f"{name}, {_words(kind)}", value, TURNED, remedy)

    def _acting(self, run: Run, kind: str) -> Floats:
        """Return the force on the second body (t, n, 3), or the torque without the moment of the force."""
        if kind == "tangential":
            return run.force[:, :, 1]
        arm = self._radius[:, :, None]
        found: Floats = (arm[:, 0] * run.torque[:, :, 1] - arm[:, 1] * run.torque[:, :, 0]) / arm.sum(axis=1)
        return found

    def _momentum(self) -> Iterator[Proof]:
        run = self.trials["all"].run
        sums, size = np.abs(run.force.sum(axis=2)).max(axis=(0, 2)), np.abs(run.force).max(axis=(0, 2, 3))
        yield Proof("sum of both forces", _largest(sums, size), SAME, FAULT_OF_PDEM)
        moments, arm = np.abs(run.moment).max(axis=(0, 2)), self._radius.min(axis=1)
        yield Proof("sum of both moments", _largest(moments, arm * size), SAME, FAULT_OF_PDEM)

    def _bits(self) -> Iterator[Proof]:
        """Yield the proof of equal bits in a different order, in other chunks and with several workers."""
        order = np.random.default_rng(SEED).permutation(np.arange(COPIES * NUMBER) % NUMBER)
        trial, pairs, differ = (self.trials["all"], self.subject.pairs(self._radius[order], self._pairs.step), 0)
        for workers, chunk in ((1, CHUNKS[-1]), (3, CHUNKS[0])):
            pairs.chunk_size, pairs.workers = chunk, workers
            run = follow(trial.paths.taken(order), pairs, steps=FEWER)
            for one, other in ((run.force, trial.run.force), (run.torque, trial.run.torque)):
                differ += int((one != other[:FEWER, order]).sum())
        yield Proof("numbers with other bits on several workers", float(differ), 0.0, FAULT_OF_PDEM)


def _words(kind: str) -> str:
    return "all motions at once" if kind == "all" else kind


def _largest(values: Floats, sizes: Floats) -> float:
    """Return the largest quotient; very small sizes are replaced by a share of the largest size."""
    return float((values / np.maximum(sizes, 1e-9 * sizes.max() + 1e-300)).max())


def _difference(force: Floats, torque: Floats, expected: Run, radius: Floats) -> float:
    """Return the largest difference of forces and torques from a run, relative to the largest value of each path.

    Torques are compared with at least `NO_TORQUE` times force times radius (n,).
    """
    forces, torques = (np.abs(one).max(axis=(0, 2, 3)) for one in (expected.force, expected.torque))
    apart = [
        np.abs(one - other).max(axis=(0, 2, 3)) for one, other in ((force, expected.force), (torque, expected.torque))
    ]
    return max(
        _largest(apart[0], forces), _largest(apart[1], np.maximum(torques, NO_TORQUE * radius * forces))
    )  # fmt: skip


def _turned_back(moved: Floats, turned: Floats) -> Floats:
    """Return vectors on rotating pairs (t, n, 3) in the frame of the pair, for the steps at relative rest."""
    return np.stack([
        (rotations(-turned * ((number + 1) / STEPS)) @ moved[number][..., None])[..., 0]
        for number in range(HELD_FROM, STEPS)
    ])  # fmt: skip


def _apart(one: Floats, other: Floats, along: Floats | None) -> float:
    """Return the relative difference of two vector fields (t, n, 3), optionally of their components along (n, 3).

    The result is the median over the paths of the root mean square over time.
    """
    if along is not None:
        one, other = ((part * along).sum(axis=2, keepdims=True) for part in (one, other))
    apart, size = ((part**2).sum(axis=(0, 2)) for part in (other - one, one))
    return float(np.median(np.sqrt(apart / np.maximum(size, 1e-300))))

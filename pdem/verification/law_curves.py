"""Proofs of the scalar functions of a law: at the first touch, and against their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.function_trials import place_of
from pdem.verification.law_proof import DEEPEST, POINTS, SOFTER, TOUCH, UNLIKE, Proof, functions_of, place_of_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats
    from pdem.verification.law_subjects import Subject

PATHS = 20
STEPS = 400
"""Number of steps per path: enough to integrate the work between two turning points to a thousandth."""


def curve_proofs(subject: Subject) -> Iterator[Proof]:
    """Yield the proofs of the normal force of an interaction, without adhesion."""
    mass, radius = subject.inertia(subject.ratios[0])
    depth = min(subject.spring.depth(mass, radius, subject.speed), DEEPEST * radius)
    overlaps = np.geomspace(1e-3 * depth, DEEPEST * radius, POINTS)
    where = place_of_part(subject.recipe.normal.part)
    yield from _at_touch(subject, radius, depth, where)
    if subject.recipe.normal.part.history:
        yield from remembering_proofs(subject, radius, overlaps[-1])
    else:
        yield _pushing(subject, radius, overlaps, where)
    yield _stiffness(subject, radius, overlaps, where)
    yield _energy(subject, radius, overlaps)
    if subject.recipe.adhesion is not None:
        yield _adhesive_energy(subject, radius)
        yield _gap(subject, radius)


def _at_touch(subject: Subject, radius: float, depth: float, where: str) -> Iterator[Proof]:
    begin, usual = subject.spring.force(0.0, radius), subject.spring.force(depth, radius)
    remedy = (
        f"{where} returns {begin:.3g} N at an overlap of 0, and {usual:.3g} N at {depth:.3g} m: a "
        f"force that begins with "
        "a jump makes energy; let it vanish at the touch"
    )
    # a normal force with a history may be sticky, with a pull from the first touch on
    jump = max(begin, 0.0) if subject.recipe.normal.part.history else abs(begin)
    yield Proof("force at the touch", jump / max(abs(usual), 1e-300), TOUCH, remedy)


def _pushing(subject: Subject, radius: float, overlaps: Floats, where: str) -> Proof:
    forces = np.array([subject.spring.force(overlap, radius) for overlap in overlaps])
    pulls = -forces.min() / np.abs(forces).max()
    remedy = (
        f"{where} returns {forces.min():.3g} N at an overlap of {overlaps[forces.argmin()]:.3g} m, "
        f"and contacts without "
        "adhesion do not pull: it is cut to 0; what pulls is given as adhesion"
    )
    return Proof("pull without adhesion", float(max(pulls, 0.0)), 0.0, remedy)


def _stiffness(subject: Subject, radius: float, overlaps: Floats, where: str) -> Proof:
    spring, h = subject.spring, 1e-4
    slopes = np.array(
        [
            (spring.force((1.0 + h) * at, radius) - spring.force((1.0 - h) * at, radius)) / (2.0 * h * at)
            for at in overlaps
        ]
    )
    declared = np.array([spring.stiffness(at, radius) for at in overlaps])
    lacking = 1.0 - declared / np.maximum(slopes, 1e-300)
    worst = int(np.argmax(lacking))
    remedy = (
        f"{where} declares {declared[worst]:.3g} N/m at an overlap of {overlaps[worst]:.3g} m, and "
        f"its force rises by "
        f"{slopes[worst]:.3g} N/m there: the time step and the damping follow from what is declared; return the "
        "derivative of the force"
    )
    return Proof("stiffness that is not declared", float(max(lacking[worst], 0.0)), SOFTER, remedy)


def _energy(subject: Subject, radius: float, overlaps: Floats) -> Proof:
    spring, h = subject.spring, 1e-4
    rises = np.array(
        [
            (spring.work((1.0 + h) * at, radius) - spring.work((1.0 - h) * at, radius)) / (2.0 * h * at)
            for at in overlaps
        ]
    )
    forces = np.array([spring.force(at, radius) for at in overlaps])
    apart = np.abs(rises - forces) / np.maximum(np.abs(forces), 1e-300)
    worst = int(np.argmax(apart))
    function = functions_of(subject.recipe.normal.part).get("energy")
    where = place_of_part(subject.recipe.normal.part) if function is None else place_of(function)
    remedy = (
        f"the energy of {where} rises by {rises[worst]:.3g} J/m at an overlap of "
        f"{overlaps[worst]:.3g} m, where the force is {forces[worst]:.3g} N: the energy balance will "
        f"not close; give as "
        "energy= the integral of the force, which is force * overlap / (1 + power) for a power of the overlap alone"
    )
    return Proof("energy that is not the work of the force", float(apart[worst]), UNLIKE, remedy, "warning")


def _adhesive_energy(subject: Subject, radius: float) -> Proof:
    spring, pull = subject.spring, subject.spring.pull_off(radius)
    overlaps = np.array(spring.stretches(radius))
    h = 1e-3 * (overlaps[-1] - overlaps[0])
    apart = np.array(
        [
            abs((spring.sticking_energy(at + h, radius) - spring.sticking_energy(at - h, radius)) / (2.0 * h)
                - spring.sticking_force(at, radius))
            for at in overlaps[2:-2]
            if abs(at) > h
        ]
    )  # fmt: skip
    part = subject.recipe.adhesion.part  # type: ignore[union-attr]
    remedy = (
        f"the energy of {place_of_part(part)} changes by up to {apart.max():.3g} J/m more or less "
        f"than its force is: the "
        "energy balance will not close; return the integral of the pull over the overlap, 0 at the touch"
    )
    name = "energy of adhesion that is not the work of its force, over the largest pull"
    return Proof(name, float(apart.max() / max(pull, 1e-300)), UNLIKE, remedy, "warning")


def _gap(subject: Subject, radius: float) -> Proof:
    gaps = np.array([subject.spring.gap(radius * size) for size in np.geomspace(1.0, 100.0, 20)])
    part = subject.recipe.adhesion.part  # type: ignore[union-attr]
    remedy = (
        f"the gap of {place_of_part(part)} shrinks from {gaps.max():.3g} m to {gaps.min():.3g} m as "
        f"the radius grows, or "
        "is negative: lists reach as far as the largest sphere needs, so let it grow with the radius"
    )
    falls = max(float(-np.diff(gaps).min()), float(-gaps.min()), 0.0)
    return Proof("gap that shrinks with the radius [m]", falls, 0.0, remedy)


def symmetric_coefficients(subject: Subject) -> Proof:
    """Return the proof that all coefficients are symmetric in the two materials."""
    worst, named = 0.0, ""
    for use in subject.recipe.uses:
        one, other = (subject.spring.values_of(use, swapped=swapped) for swapped in (False, True))
        for name, a, b in zip(use.part.coefficients, one, other, strict=True):
            apart = abs(a - b) / max(abs(a), abs(b), 1e-300)
            if apart > worst:
                worst, named = (apart, f"{name} of {use.part.role} is {a:.3g} for one order and {b:.3g} for the other")
    remedy = f"{named}: let it be symmetric in the two materials"
    return Proof("coefficients that depend on the order of materials", worst, 1e-12, remedy)


class Pressed:
    """The normal force of a contact that is loaded and unloaded, evaluated in Python floats.

    Attributes
    ----------
    force, stored, lost, work : float
        At the present overlap: force [N], recoverable energy, energy dissipated so far, and work done on it [J].
    """

    def __init__(self, subject: Subject, radius: float) -> None:
        self._part, self._c, self._radius = (
            subject.recipe.normal.part, subject.spring.coefficients, radius
        )  # fmt: skip
        self._history, self._overlap = tuple(0.0 for _ in self._part.history), 0.0
        self.force = self.stored = self.lost = self.work = 0.0
        self.lead(0.0)
        self.lost = self.work = 0.0

    def lead(self, overlap: float) -> float:
        """Change the overlap in one step; return the force."""
        force, _, _, self._history, lost = self._part.elastic(overlap, self._radius, self._c, self._history)
        self.work += 0.5 * (self.force + force) * (overlap - self._overlap)
        self.lost, self.force, self._overlap = self.lost + lost, force, overlap
        self.stored = self._part.energy(overlap, self._radius, self._c, self._history)
        return float(force)


def remembering_proofs(subject: Subject, radius: float, deepest: float) -> Iterator[Proof]:
    """Yield the proofs of a normal force with a history, up to the overlap `deepest` [m]."""
    yield _account(subject, radius, deepest)
    yield _unloading(subject, radius, deepest)


def _account(subject: Subject, radius: float, deepest: float) -> Proof:
    """Compare stored plus dissipated energy with the work along random paths with several reversals."""
    worst, rng = 0.0, np.random.default_rng(7)
    for _ in range(PATHS):
        contact, turns, most = Pressed(subject, radius), rng.uniform(0.0, deepest, 6), 0.0
        for begin, end in zip((0.0, *turns[:-1]), turns, strict=True):
            for overlap in np.linspace(begin, end, STEPS + 1)[1:]:
                contact.lead(float(overlap))
            most = max(most, abs(contact.work), abs(contact.stored) + abs(contact.lost))
            worst = max(worst, abs(contact.work - contact.stored - contact.lost) / max(most, 1e-300))
    part = subject.recipe.normal.part
    energy = functions_of(part).get("energy")
    where = place_of_part(part) if energy is None else f"{place_of_part(part)} or {place_of(energy)}"
    remedy = (
        f"{where}: energy stored and lost are up to {worst:.3g} of the work off along paths up and down: the energy "
        "balance will not close; return as lost what the work of the force in the step is more than energy() has grown"
    )
    return Proof("energy stored and lost that is not the work", worst, UNLIKE, remedy, "warning")


def _unloading(subject: Subject, radius: float, deepest: float) -> Proof:
    """Compare the stiffness of unloading with the declared stiffness."""
    worst, told = 0.0, ""
    for overlap in np.geomspace(1e-3 * deepest, deepest, 20).tolist():
        contact, step = Pressed(subject, radius), 1e-4 * overlap
        slope = (contact.lead(overlap) - contact.lead(overlap - step)) / step
        declared = subject.spring.stiffness(overlap, radius)
        if 1.0 - declared / max(slope, 1e-300) > worst:
            worst = 1.0 - declared / slope
            told = f"{declared:.3g} N/m at an overlap of {overlap:.3g} m, and unloading from there has {slope:.3g} N/m"
    part = subject.recipe.normal.part
    where = place_of(functions_of(part)["steepest"]) if "steepest" in functions_of(part) else place_of_part(part)
    remedy = (
        f"{where} declares {told}: the time step follows from what is declared; give as unloading= a function of "
        "overlap, radius and c that returns the largest stiffness of unloading"
    )
    return Proof("stiffness of unloading that is not declared", worst, SOFTER, remedy)

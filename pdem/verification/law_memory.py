"""Proofs of a normal force that remembers how it was pressed: its account of energy, and how stiff it is unloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.numerics.function_trials import place_of
from pdem.verification.law_limits import SOFTER, UNLIKE
from pdem.verification.law_proof import Proof, functions_of, place_of_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pdem.verification.law_subjects import Subject

    Floats = NDArray[np.float64]

PATHS = 20
STEPS = 400
"""Of each path: as fine as that for the work between two points to be known to a thousandth."""


class Pressed:
    """The normal force of a contact that is pressed and released, in plain numbers.

    Attributes
    ----------
    force, stored, lost, work : float
        At the present overlap: force [N], energy that can be got back, lost so far, and done on it so far [J].
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
        """Bring it to an overlap in one step; return the force."""
        force, _, _, self._history, lost = self._part.elastic(overlap, self._radius, self._c, self._history)
        self.work += 0.5 * (self.force + force) * (overlap - self._overlap)
        self.lost, self.force, self._overlap = self.lost + lost, force, overlap
        self.stored = self._part.energy(overlap, self._radius, self._c, self._history)
        return float(force)


def remembering_proofs(subject: Subject, radius: float, deepest: float) -> Iterator[Proof]:
    """Yield the proofs of the normal force of an interaction, which has a history, up to an overlap [m]."""
    yield _account(subject, radius, deepest)
    yield _unloading(subject, radius, deepest)


def _account(subject: Subject, radius: float, deepest: float) -> Proof:
    """Compare what is stored and lost with the work along random paths of several turns."""
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
        "ledger will not close; return as lost what the work of the force in the step is more than energy() has grown"
    )
    return Proof("energy stored and lost that is not the work", worst, UNLIKE, remedy, "warning")


def _unloading(subject: Subject, radius: float, deepest: float) -> Proof:
    """Compare the stiffness of unloading with the declared one."""
    worst, told = 0.0, ""
    for overlap in np.geomspace(1e-3 * deepest, deepest, 20).tolist():
        contact, step = Pressed(subject, radius), 1e-4 * overlap
        slope = (contact.lead(overlap) - contact.lead(overlap - step)) / step
        declared = subject.spring.stiffness(overlap, radius)
        if 1.0 - declared / max(slope, 1e-300) > worst:
            worst = 1.0 - declared / slope
            told = f"{declared:.3g} N/m at an overlap of {overlap:.3g} m, and unloading from there has {slope:.3g} N/m"
    part = subject.recipe.normal.part
    where = (
        place_of(functions_of(part)["steepest"]) if "steepest" in functions_of(part) else place_of_part(part)
    )
    remedy = (
        f"{where} declares {told}: the time step follows from what is declared; give as unloading= a function of "
        "overlap, radius and c that returns the largest stiffness of unloading"
    )
    return Proof("stiffness of unloading that is not declared", worst, SOFTER, remedy)

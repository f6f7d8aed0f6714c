"""Proofs of the contact laws of a case, on isolated contacts, with the same kernel as in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.verification.law_curves import curve_proofs, symmetric_coefficients
from pdem.verification.law_impacts import rebound_proof, rebounds_of, stability_of, stability_proofs
from pdem.verification.law_motions import Motions
from pdem.verification.law_report import LawReport
from pdem.verification.law_subjects import subjects_of
from pdem.verification.law_vectors import vector_proofs

if TYPE_CHECKING:
    from pdem.case.model import Case
    from pdem.verification.law_subjects import Subject


def prove_laws(case: Case, *, all_laws: bool = False) -> list[LawReport]:
    """Prove the contact laws of a case; return a report for each interaction.

    Compiles the kernel of contacts between particles of the case, unless the kernel is in the cache.

    Parameters
    ----------
    case : Case
        The case.
    all_laws : bool
        Also prove laws made only of parts of pdem; by default only laws with functions of a user.

    Raises
    ------
    CaseError
        If a file of particles or of a law cannot be used, or the case has no time step.
    """
    return [_proved(subject) for subject in subjects_of(case) if all_laws or is_own(subject)]


def is_own(subject: Subject) -> bool:
    """Return whether the law of an interaction has functions of a user."""
    return any(use.part.digest for use in subject.recipe.uses)


def _proved(subject: Subject) -> LawReport:
    rebounds, stability = rebounds_of(subject), stability_of(subject)
    proofs = [
        *curve_proofs(subject), symmetric_coefficients(subject), *Motions(subject).proofs(),
        rebound_proof(subject, rebounds), *stability_proofs(subject, stability), *vector_proofs(subject),
    ]  # fmt: skip
    return LawReport(subject, proofs, rebounds, stability)

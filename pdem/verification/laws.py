"""Proofs of the contact laws of a case, on contacts made for that, by the kernel that evaluates those of a run."""

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
    """Return what is found about the contact laws of a case.

    Compiles the kernel of contacts between particles of the case, unless there is one already.

    Parameters
    ----------
    case : Case
        The case.
    all_laws : bool
        Also those of which every part is pdem's own; else only those with functions of a user.

    Raises
    ------
    CaseError
        If a file of particles or of a law cannot be used, or there is no time step.
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

"""What the checks before a run find, and how long they let a step be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pdem.case.model import Case

Level = Literal["error", "warning", "info"]

STEP_WARNING = {"Rayleigh": 0.4, "Hertz": 0.2, "linear": 0.2, "adhesion": 0.2}
"""Largest part of each limit that a time step should take: an impact then lasts at least five steps."""

STEP_ERROR = {"Rayleigh": 1.0, "Hertz": 0.5, "linear": 0.5, "adhesion": 0.5}
"""Part of each limit from which on a simulation is unstable or cannot see impacts."""


@dataclass(frozen=True)
class Finding:
    """One result of the checks before a run.

    Attributes
    ----------
    level : {"error", "warning", "info"}
        How bad it is; a run does not start with an error.
    subject : str
        What was looked at: ``time step``, ``overlaps``, ``wall drum``, ...
    message : str
        The number, the limit and the remedy.
    """

    level: Level
    subject: str
    message: str

    def __str__(self) -> str:
        """Return the line that users see."""
        return f"{self.level}: {self.subject}: {self.message}"


def too_short(case: Case, step: float) -> str:
    """Return what is wrong with a case that ends before its first step [s], empty if it does not."""
    if round(case.time.end / step) >= 1:
        return ""
    return (
        f"time.end = {case.time.end:g} s is less than half the time step {step:.4g} s: no step would be taken; "
        "give a later end"
    )

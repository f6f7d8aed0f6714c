"""Findings of the checks before a run, and the limits of the time step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pdem.case.model import Case

Level = Literal["error", "warning", "info"]

STEP_WARNING = {"Rayleigh": 0.4, "Hertz": 0.2, "linear": 0.2, "adhesion": 0.2, "rolling": 0.2, "twisting": 0.2}
"""Time step relative to each limit above which there is a warning: at this value an impact has at least five steps."""

STEP_ERROR = {"Rayleigh": 1.0, "Hertz": 0.5, "linear": 0.5, "adhesion": 0.5, "rolling": 0.5, "twisting": 0.5}
"""Time step relative to each limit above which a simulation is unstable or does not resolve impacts."""


@dataclass(frozen=True)
class Finding:
    """One result of the checks before a run.

    Attributes
    ----------
    level : {"error", "warning", "info"}
        Severity; a run does not start with an error.
    subject : str
        Subject of the check: ``time step``, ``overlaps``, ``wall drum``, ...
    message : str
        The number, the limit and the remedy.
    """

    level: Level
    subject: str
    message: str

    def __str__(self) -> str:
        """Return the finding as a line for the user."""
        return f"{self.level}: {self.subject}: {self.message}"


def end_problem(case: Case, step: float) -> str:
    """Return a message if a case ends before its first step of `step` [s], otherwise an empty string."""
    if round(case.time.end / step) >= 1:
        return ""
    return (
        f"time.end = {case.time.end:g} s is less than half the time step {step:.4g} s: no step would be taken; "
        "give a later end"
    )

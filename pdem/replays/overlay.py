"""What a replay may change of its case: outputs and those who look on, nothing that changes the motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.differences import differences, differences_text
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from pdem.case.model import Case

ALLOWED = ("title", "time.end", "output.", "decomposition.", "detection.", "sensors", "fields")
"""Prefixes of keys that a replay may change."""

NOT_ALLOWED = ("detection.wall", "output.energies", "output.contact_ages")
"""Those among them that it may not: they change the motion, or what contacts have to remember from their begin."""


def check_same_motion(run: Case, again: Case) -> None:
    """Require that a case moves particles as that of the run did.

    Raises
    ------
    CaseError
        If it changes something else than outputs and sensors, or what sensors take out.
    """
    changed = [
        row
        for row in differences(run, again)
        if not row[0].startswith(ALLOWED) or row[0].startswith(NOT_ALLOWED)
    ]
    if changed:
        raise CaseError(
            f"a replay changes outputs and sensors only, and this changes {differences_text(changed)}; leave it out, "
            "or begin another run from the checkpoint by pdem restart --set output.folder=..."
        )
    outlets = [[one for one in case.sensors if one.remove] for case in (run, again)]
    if outlets[0] != outlets[1]:
        raise CaseError(
            "a replay keeps the sensors that take particles out (remove = true) as they are, in their order; add "
            "others behind them"
        )

"""Warnings that appear once in a run: in the log, and on the first rank as a warning of Python."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.system import System


def note_once(progress: RunProgress, kind: str, text: str) -> bool:
    """Add a text to the log unless one of its kind has been added; return whether it was added."""
    is_new = progress.is_new(kind)
    if is_new:
        progress.note(text)
    return is_new


def warn_once(system: System, kind: str, text: str) -> None:
    """Add a text to the log and warn on the first rank, unless a text of its kind has been added before."""
    if note_once(system.progress, kind, text) and system.exchange.rank == 0:
        warnings.warn(text, PdemWarning, stacklevel=4)

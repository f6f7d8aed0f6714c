"""What users are told once in a run: in the log, and by a warning of the first rank."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pdem.foundation.errors import PdemWarning

if TYPE_CHECKING:
    from pdem.engine.system import System


def note_once(system: System, kind: str, text: str) -> bool:
    """Note a text for the log unless one of its kind has been noted; return whether it was."""
    is_new = system.progress.is_new(kind)
    if is_new:
        system.progress.note(text)
    return is_new


def warn_once(system: System, kind: str, text: str) -> None:
    """Note a text for the log and warn of it, on the first rank, unless that was done for one of its kind."""
    if note_once(system, kind, text) and system.exchange.rank == 0:
        warnings.warn(text, PdemWarning, stacklevel=4)

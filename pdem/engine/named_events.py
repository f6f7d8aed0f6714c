"""Constants of events between steps: the step of an event that never comes, and keys for names in checkpoints."""

from __future__ import annotations

import hashlib

NEVER = 2**62
"""Step of an event that never comes."""


def name_key(name: str) -> int:
    """Return the number of a name (of an insertion, a stage, ...) that identifies its state in checkpoints."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)

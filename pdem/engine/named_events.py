"""What all events between steps share: the step of those that do not come, and numbers for their names."""

from __future__ import annotations

import hashlib

NEVER = 2**62
"""Step of an event that does not come."""


def name_key(name: str) -> int:
    """Return a number for the name of an insertion, stage or the like, under which checkpoints hold its state."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)

"""An expected impact between particles, or with a wall."""

from __future__ import annotations

from typing import NamedTuple


class Impact(NamedTuple):
    """An expected impact.

    Attributes
    ----------
    speed : float
        Impact speed in m/s.
    text : str
        Origin of this speed; empty if there is no information.
    """

    speed: float
    text: str

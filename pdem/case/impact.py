"""An impact that is expected."""

from __future__ import annotations

from typing import NamedTuple


class Impact(NamedTuple):
    """An impact that is expected.

    Attributes
    ----------
    speed : float
        In m/s.
    text : str
        Where this speed comes from, empty if that is not known.
    """

    speed: float
    text: str

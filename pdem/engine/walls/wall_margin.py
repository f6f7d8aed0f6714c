"""How far walls may move until facets are listed anew.

Facets are listed with all other lists, and whenever a wall has moved farther than the margin of their lists since. A
fast rotor should not need that twice while all other lists last once: the margin is how far it moves in the time that
these last.
"""

from __future__ import annotations

import math

SPARE = 1.25
"""How much longer lists may last than the last ones did."""

WIDEST = 3.0
"""Largest margin, by the mean skin: the facets near a particle become many, and half of the way is twice as often."""


class WallMargin:
    """The margin of the lists of facets, the same for all walls. Results do not depend on it.

    Attributes
    ----------
    length : float
        How far walls may be from where they were when facets were listed [m]; 0 if they do not move.
    """

    def __init__(self) -> None:
        self.length = 0.0
        self._detected = self._listed = math.inf
        self._life = 0.0

    def note_detection(self, step: int) -> None:
        """Have known that all lists are made anew after a step."""
        self._life, self._detected = max(step - self._detected, 0.0), step

    def choose(self, step: int, moved: float, skin: float) -> None:
        """Set the length for the lists of facets that are made after a step.

        Parameters
        ----------
        step : int
            That step.
        moved : float
            How far walls have moved since the last lists of facets [m].
        skin : float
            Mean skin of the particles [m]: the least length.
        """
        since, self._listed = step - self._listed, step
        left = self._detected + self._life - step
        way = SPARE * moved * left / since if since > 0 else 0.0
        self.length = max(skin, way / math.ceil(way / (WIDEST * skin))) if way > 0.0 and skin > 0.0 else skin

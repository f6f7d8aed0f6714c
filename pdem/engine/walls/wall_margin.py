"""Margin of the lists of facets: the displacement of walls after which facets are listed again.

Facets are listed together with all further lists, and whenever the displacement of a wall exceeds the margin of the
present lists. A fast rotor should not require this twice during the lifetime of the further lists: the margin is its
displacement in this time.
"""

from __future__ import annotations

import math

SPARE = 1.25
"""Factor of the lifetime of lists over the lifetime of the previous ones."""

WIDEST = 3.0
"""Upper bound of the margin over the mean skin. Beyond it the facets per particle outweigh the rarer rebuilds."""


class WallMargin:
    """The margin of the lists of facets, the same for all walls. Results do not depend on it.

    Attributes
    ----------
    length : float
        Largest displacement of walls since facets were listed [m]; 0 if they do not move.
    """

    def __init__(self) -> None:
        self.length = 0.0
        self._detected = self._listed = math.inf
        self._life = 0.0

    def note_detection(self, step: int) -> None:
        """Record that all lists are rebuilt after a step."""
        self._life, self._detected = max(step - self._detected, 0.0), step

    def choose(self, step: int, moved: float, skin: float) -> None:
        """Set the length for the lists of facets that are made after a step.

        Parameters
        ----------
        step : int
            The step.
        moved : float
            Displacement of walls since the last lists of facets [m].
        skin : float
            Mean skin of the particles [m]: the least length.
        """
        since, self._listed = step - self._listed, step
        left = self._detected + self._life - step
        way = SPARE * moved * left / since if since > 0 else 0.0
        self.length = max(skin, way / math.ceil(way / (WIDEST * skin))) if way > 0.0 and skin > 0.0 else skin

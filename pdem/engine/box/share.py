"""Division of skins between the motion of a deforming box and the motion of particles in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.motion.moving_box import MovingBox

FIRST_SHARE = 0.3
"""Initial share of the box in the skins, before its need has been measured."""

SPARE = 0.5
"""Safety margin: the box gets its last need plus this fraction of it, times the unused share."""

LARGEST_CHANGE = 2.0
"""Largest factor by which the share changes from lists to lists."""

LEAST_SHARE, LARGEST_SHARE = 0.02, 0.8


class BoxShare:
    """The share of the skins that a box may use up before lists are stale; motions relative to it have the remainder.

    Attributes
    ----------
    narrowest : float
        Largest factor by which the box may change distances.
    """

    def __init__(self) -> None:
        self.narrowest, self._share = 1.0, FIRST_SHARE

    def divide(self, box: MovingBox, step: int, least: float) -> None:
        """Choose the share for lists that are made at a step, by the part of the last skins that the box has used.

        `least` is the smallest skin of a particle over its reach.
        """
        allowed = 1.0 - self.narrowest
        if allowed > 0.0:
            self._share = next_share(self._share, (1.0 - box.narrowest(step)) / allowed * self._share)
        self.narrowest = 1.0 - self._share * least
        box.note_lists(step)


def next_share(share: float, used: float) -> float:
    """Return the share of the box in the skins of new lists.

    The previous lists became stale because the box had used up its share, or a particle had used up the remainder. The
    share is chosen so that both take equally long.

    Parameters
    ----------
    share, used : float
        Share of the box in the skins of the previous lists, and the part of the skins that it has used.
    """
    if used >= share:
        return min(LARGEST_CHANGE * share, LARGEST_SHARE)
    needed = used / (used + 1.0 - share)
    changed = max(needed * (1.0 + SPARE * (1.0 - needed)), share / LARGEST_CHANGE)
    return min(max(changed, LEAST_SHARE), LARGEST_CHANGE * share, LARGEST_SHARE)

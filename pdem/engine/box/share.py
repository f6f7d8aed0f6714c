"""How skins are divided between a box that deforms and the particles in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pdem.motion.moving_box import MovingBox

FIRST_SHARE = 0.3
"""Part of the skins that the box may use up before it is known how much it needs."""

SPARE = 0.5
"""The box gets more than it would have needed, since its rate may grow: by so much of that, times what is left."""

LARGEST_CHANGE = 2.0
"""Factor by which the part changes at most from lists to lists."""

LEAST_SHARE, LARGEST_SHARE = 0.02, 0.8


class BoxShare:
    """Which part of the skins a box may use up before lists are stale; the rest is for motions relative to it.

    Attributes
    ----------
    narrowest : float
        By which factor distances may change with the box.
    """

    def __init__(self) -> None:
        self.narrowest, self._share = 1.0, FIRST_SHARE

    def divide(self, box: MovingBox, step: int, least: float) -> None:
        """Choose the part for lists that are made at a step, by what the box has used up of the last ones.

        `least` is the least skin of a particle over its reach.
        """
        allowed = 1.0 - self.narrowest
        if allowed > 0.0:
            self._share = next_share(self._share, (1.0 - box.narrowest(step)) / allowed * self._share)
        self.narrowest = 1.0 - self._share * least
        box.note_lists(step)


def next_share(share: float, used: float) -> float:
    """Return the part of the skins of new lists for the box.

    The lists before have been given up since the box had used up its part, or else a particle what was left to it. Both
    shall take equally long.

    Parameters
    ----------
    share, used : float
        Parts of the skins of these lists that the box was given, and that it has used up.
    """
    if used >= share:
        return min(LARGEST_CHANGE * share, LARGEST_SHARE)
    needed = used / (used + 1.0 - share)
    changed = max(needed * (1.0 + SPARE * (1.0 - needed)), share / LARGEST_CHANGE)
    return min(max(changed, LEAST_SHARE), LARGEST_CHANGE * share, LARGEST_SHARE)

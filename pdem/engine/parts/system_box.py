"""The box of a run, if it deforms: its shape, its drive, and its share of the skins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.box.drive import BoxDrive
from pdem.engine.box.share import BoxShare
from pdem.motion.integration import Motion

if TYPE_CHECKING:
    from pdem.motion.moving_box import MovingBox


class SystemBox:
    """The box of a run. Steps move it, detections divide skins with it, and its feature writes its drive.

    Attributes
    ----------
    moving : MovingBox or None
        The box, None if it does not deform.
    share : BoxShare
        Share of the box in the skins; written when lists are made.
    drive : BoxDrive
        Present drive; written between steps by the feature of the box.
    """

    def __init__(self, moving: MovingBox | None) -> None:
        self.moving = moving
        self.drive, self.share = BoxDrive(), BoxShare()

    def motion_at(self, motion: Motion, step: int) -> Motion:
        """Return the constants of a motion with the sides of the box at a step, the present one or the next."""
        box = self.moving
        return motion if box is None else Motion(motion.gravity, motion.free, box.sides(step), box.images(step))

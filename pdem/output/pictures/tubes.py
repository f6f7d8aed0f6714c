"""Radii of the tubes that show contacts or bonds in a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats
    from pdem.output.pictures.scene import SceneFrame

_THINNEST, _THICK = 0.03, 0.5  # radii of the tubes of contacts over the median radius of particles
_THICKEST = 99.5  # percentile of forces


def tube_radii(frame: SceneFrame) -> Floats:
    """Return the radius of the tube of each contact or bond of a frame (n,) [m]; empty if there is nothing to draw.

    Bonds have the radius of their section. The radius of a contact grows with its normal force over the largest ones.
    """
    assert frame.contacts is not None
    if "radius" in frame.contacts:
        section: Floats = frame.contacts["radius"]
        return section
    force = np.abs(frame.contacts["normal_force"])
    if not len(force) or not force.any():
        return np.zeros(0)
    share = np.minimum(force / np.percentile(force, _THICKEST), 1.0)
    found: Floats = float(np.median(frame.columns["radius"])) * (_THINNEST + (_THICK - _THINNEST) * share)
    return found

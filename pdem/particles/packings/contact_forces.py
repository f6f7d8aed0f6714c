"""Forces of contacts of packings under a pressure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContactForces:
    """Forces of contacts as a packing under pressure takes them: k R^q d^p, of effective radius R and overlap d.

    Attributes
    ----------
    pressure : float
        Wanted [Pa], in 2D [N/m].
    power, size_power : float
        p, 1 or 1.5, and q, 0 or 0.5.
    stiffness : float
        k of two particles.
    walls : tuple of float
        k of a particle and each wall.
    """

    pressure: float
    power: float
    size_power: float
    stiffness: float
    walls: tuple[float, ...] = ()

"""What bonds remember from the moment in which they are made: their reference, stiffness, damping and strength."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.features.bonds.bond_stiffness import damping_coefficients, inverse_inertias, stiffnesses
from pdem.features.bonds.kernel import BondColumns

if TYPE_CHECKING:
    from pdem.features.bonds.bond_stiffness import Elasticity, RoundSection
    from pdem.foundation.array_types import Floats


class EndStates(NamedTuple):
    """Both ends of n bonds when they are made, the end with the lower id first.

    Attributes
    ----------
    branch : (n, 3) array
        From the centre of the lower to that of the nearest image of the higher end [m].
    orientation : (n, 2, 4) array
        Unit quaternions w, x, y, z from the frames of the ends to space.
    radius : (n, 2) array
        In m.
    inverse_mass : (n, 2) array
        In 1/kg, 0 of particles that are fixed.
    """

    branch: Floats
    orientation: Floats
    radius: Floats
    inverse_mass: Floats


class BondModel(NamedTuple):
    """What the bonds of one kind have in common.

    Attributes
    ----------
    kind : int
        Number of the kind, its row of the laws.
    elasticity : Elasticity
        Material and family.
    damping_ratio : float
        Of each mode.
    moment_factor : float
        Share of the moments that counts in stresses.
    """

    kind: int
    elasticity: Elasticity
    damping_ratio: float = 0.0
    moment_factor: float = 1.0


def new_bonds(model: BondModel, ends: EndStates, section: RoundSection, strength: Floats) -> BondColumns:
    """Return the columns of bonds that are made now, without strain.

    Parameters
    ----------
    model : BondModel
        Their kind.
    ends : EndStates
        Their ends.
    section : RoundSection
        Their sections.
    strength : (n, 3) array
        Tensile and shear strength [Pa], fracture energy [J/m^2].
    """
    length = np.sqrt((ends.branch**2).sum(axis=1))
    stiffness = stiffnesses(section, length, model.elasticity)
    inertia = inverse_inertias(ends.inverse_mass, ends.radius)
    damping = damping_coefficients(stiffness, length, ends.inverse_mass, inertia, model.damping_ratio)
    arm = model.moment_factor * section.outer / section.second_moment
    return BondColumns(
        length=length,
        axis=_to_body(ends.orientation[:, 0], ends.branch / length[:, None]),
        turn=_turn(ends.orientation[:, 0], ends.orientation[:, 1]),
        stiffness=stiffness,
        damping=damping,
        section=np.stack([section.area, arm, 0.5 * arm], axis=-1),
        strength=np.array(strength, dtype=np.float64),
        kind=np.full(len(length), model.kind, dtype=np.int64),
    )


def law_row(criterion: int, friction_angle: float) -> tuple[float, float, float]:
    """Return the row of laws of a kind, by its criterion and its angle of friction [degrees]."""
    return float(criterion), math.tan(math.radians(friction_angle)), 0.0


def _to_body(orientation: Floats, vector: Floats) -> Floats:
    """Return vectors (n, 3) of space in the frames of orientations (n, 4)."""
    back = -orientation[:, 1:]
    once = np.cross(back, vector)
    return vector + 2.0 * (orientation[:, :1] * once + np.cross(back, once))


def _turn(lower: Floats, higher: Floats) -> Floats:
    """Return the orientation of the lower end in the frame of the higher one, both (n, 4)."""
    scalar = (lower * higher).sum(axis=1, keepdims=True)
    vector = higher[:, :1] * lower[:, 1:] - lower[:, :1] * higher[:, 1:] - np.cross(higher[:, 1:], lower[:, 1:])
    return np.concatenate([scalar, vector], axis=1)

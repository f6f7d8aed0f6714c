"""Creation of bonds: their reference at this moment, their stiffness, damping and strength, which never change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.features.bonds.bond_stiffness import damping_coefficients, inverse_inertias, stiffnesses
from pdem.features.bonds.kernel import BondColumns
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.features.bonds.bond_stiffness import Elasticity, RoundSection
    from pdem.foundation.array_types import Floats


class EndStates(NamedTuple):
    """Both ends of n bonds at their creation, the end with the lower id first.

    Attributes
    ----------
    branch : (n, 3) array
        From the centre of the lower end to the nearest image of the centre of the higher end [m].
    orientation : (n, 2, 4) array
        Unit quaternions w, x, y, z from the frames of the ends to space.
    radius : (n, 2) array
        Radii of both spheres [m].
    inverse_mass : (n, 2) array
        One over the mass [1/kg], 0 for fixed particles.
    """

    branch: Floats
    orientation: Floats
    radius: Floats
    inverse_mass: Floats


class BondModel(NamedTuple):
    """Common properties of the bonds of one kind.

    Attributes
    ----------
    kind : int
        Number of the kind, which is also its row of the laws.
    elasticity : Elasticity
        Material and family.
    damping_ratio : float
        Damping ratio of each mode.
    moment_factor : float
        Share of the moments that counts in stresses.
    """

    kind: int
    elasticity: Elasticity
    damping_ratio: float = 0.0
    moment_factor: float = 1.0


def new_bonds(model: BondModel, ends: EndStates, section: RoundSection, strength: Floats) -> BondColumns:
    """Return the columns of new bonds, which have no strain.

    Parameters
    ----------
    model : BondModel
        Kind of the bonds.
    ends : EndStates
        Ends of the bonds.
    section : RoundSection
        Sections of the bonds.
    strength : (n, 3) array
        Tensile and shear strength [Pa], fracture energy [J/m^2].
    """
    length = exact_math.norm(ends.branch)
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
    """Return the row of the laws of a kind with a criterion and an angle of friction [degrees]."""
    return float(criterion), exact_math.tan(math.radians(friction_angle)), 0.0


def _to_body(orientation: Floats, vector: Floats) -> Floats:
    """Transform vectors (n, 3) from space into the frames of orientations (n, 4)."""
    back = -orientation[:, 1:]
    once = np.cross(back, vector)
    return vector + 2.0 * (orientation[:, :1] * once + np.cross(back, once))


def _turn(lower: Floats, higher: Floats) -> Floats:
    """Return orientations `lower` in the frames of orientations `higher`, all (n, 4)."""
    scalar = exact_math.inner(lower, higher)[:, None]
    vector = higher[:, :1] * lower[:, 1:] - lower[:, :1] * higher[:, 1:] - np.cross(higher[:, 1:], lower[:, 1:])
    return np.concatenate([scalar, vector], axis=1)

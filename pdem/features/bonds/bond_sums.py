"""Sums of the loads of bonds on each particle, in the order of its partners' ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine.id_pairs.by_particle import PairsOfParticles
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import plain, prange, uncounted_kernel

if TYPE_CHECKING:
    from pdem.foundation.array_types import Floats


@inlined_geometry
def add_bond_loads_of(particle: int, bonds: PairsOfParticles, loads: Floats, force: Floats, torque: Floats) -> None:
    """Add to the force and the torque of one particle the loads of its bonds."""
    fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for place in range(bonds.starts[particle], bonds.starts[particle + 1]):
        bond, is_higher = bonds.entries[place] >> 1, bonds.entries[place] & 1
        sign, at = (1.0, 6) if is_higher else (-1.0, 3)
        fx, fy, fz = fx + sign * loads[bond, 0], fy + sign * loads[bond, 1], fz + sign * loads[bond, 2]
        tx, ty, tz = tx + loads[bond, at], ty + loads[bond, at + 1], tz + loads[bond, at + 2]
    force[particle, 0] += fx
    force[particle, 1] += fy
    force[particle, 2] += fz
    torque[particle, 0] += tx
    torque[particle, 1] += ty
    torque[particle, 2] += tz


@uncounted_kernel
def _add_bond_loads(bonds: PairsOfParticles, loads: Floats, force: Floats, torque: Floats) -> None:
    lists = PairsOfParticles(*bonds)
    for particle in prange(len(lists.starts) - 1):
        add_bond_loads_of(particle, lists, loads, force, torque)


def add_bond_loads(bonds: PairsOfParticles, loads: Floats, force: Floats, torque: Floats) -> None:
    """Add the loads of bonds to the forces [N] and torques [N m] of owned particles.

    Parameters
    ----------
    bonds : PairsOfParticles
        The bonds of each owned particle.
    loads : (n, `pdem.features.bonds.kernel.BOND_LOADS`) array
        See `pdem.features.bonds.kernel.BondResults`.
    force, torque : (N, 3) arrays
        Forces and torques of particles; the rows of owned particles are changed.
    """
    _add_bond_loads(*plain(bonds, loads, force, torque))

"""The kernel of bonds: evaluates each bond by itself, from its lower to its higher end; `bond_sums` adds up the loads.

If two ranks own the ends of a bond, both evaluate it by the same operations in the same order, so that no rank sends a
force back. The kernel is compiled without contraction: neither vector instructions nor neighbouring bonds in the table
change the bits of a bond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.features.bonds.potential import (
    BY_ENERGY,
    BY_FORCE,
    UNBROKEN,
    bond_strains,
    damping_loads,
    elastic_loads,
    energies,
    quaternion_product,
    section_forces,
    strain_rates,
    stresses,
    turned_by,
    undone,
    used_by_energy,
    used_by_force,
    used_by_stress,
)
from pdem.foundation.packed_row import PLACE, SPEED, SPIN
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import plain, prange, uncounted_kernel
from pdem.numerics.vectors import exact_dot3, exact_plus3, square_root

if TYPE_CHECKING:
    from pdem.features.bonds.potential import Four, Loads
    from pdem.foundation.array_types import Floats, Integers
    from pdem.motion.rigid_rotation import Quaternion
    from pdem.numerics.vectors import Vector

BOND_LOADS = 9
"""Numbers of a row of loads: the force on the higher end, the moments on the lower and on the higher end."""


class BondColumns(NamedTuple):
    """Constant columns of n bonds: their reference, their stiffness and their strength.

    Attributes
    ----------
    length : (n,) array
        Distance of the centres at rest [m].
    axis : (n, 3) array
        Unit vector from the lower to the higher end at rest, in the frame of the lower end.
    turn : (n, 4) array
        Orientation of the lower end at rest in the frame of the higher end, as a unit quaternion.
    stiffness : (n, 4) array
        Axial [N/m], shear [N/m], bending [N m], twisting [N m].
    damping : (n, 4) array
        Coefficients in the same order [kg/s, kg/s, N m s, N m s].
    section : (n, 3) array
        Area A [m^2], beta R / I and beta R / J [1/m^3].
    strength : (n, 3) array
        Tensile and shear strength [Pa], fracture energy [J/m^2]; infinite if the case does not give it.
    kind : (n,) array
        Row of the laws.
    """

    length: Floats
    axis: Floats
    turn: Floats
    stiffness: Floats
    damping: Floats
    section: Floats
    strength: Floats
    kind: Integers


class BondEnds(NamedTuple):
    """The ends of n bonds: their rows among the particles of a rank, and their images.

    Attributes
    ----------
    rows : (n, 2) array
        Rows of the particles with the lower and the higher id.
    shift : (n, 3) array
        Added to the position of the higher end, gives its image next to the lower end [m].
    drift : (n, 3) array
        Velocity of this image relative to the particle [m/s], not 0 in boxes that deform.
    """

    rows: Integers
    shift: Floats
    drift: Floats


class BondResults(NamedTuple):
    """Results of an evaluation of n bonds.

    Attributes
    ----------
    loads : (n, `BOND_LOADS`) array
        Force on the higher end [N], moments on the lower and on the higher end [N m]. The loads of a bond that breaks
        act until the end of the step.
    energy : (n, 4) array
        Energies stored in elongation, shear, bending and twist [J].
    power : (n,) array
        Power lost to damping [W].
    used : (n,) array
        Used share of the strength by the criterion of the bond, such as stress over strength: a bond breaks at 1.
    mode : (n,) array
        0 for an unbroken bond, else the mode in which it breaks, see `.potential`.
    """

    loads: Floats
    energy: Floats
    power: Floats
    used: Floats
    mode: Integers

    @classmethod
    def empty(cls, count: int) -> BondResults:
        """Return zeros for a number of bonds."""
        return cls(
            np.zeros((count, BOND_LOADS)),
            np.zeros((count, 4)),
            np.zeros(count),
            np.zeros(count),
            np.zeros(count, np.int64),
        )


@inlined_geometry
def three(rows: Floats, row: int, at: int) -> Vector:
    """Return three consecutive numbers of a row, from column `at` on."""
    return rows[row, at], rows[row, at + 1], rows[row, at + 2]


@inlined_geometry
def four(rows: Floats, row: int) -> Four:
    """Return the four numbers of a row."""
    return rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3]


@inlined_geometry
def branch_of(packed: Floats, lower: int, higher: int, shift: Vector) -> tuple[Vector, float]:
    """Return the unit vector from the lower to the higher end and the distance of the centres [m]."""
    a, b = three(packed, lower, PLACE), three(packed, higher, PLACE)
    r = (b[0] - a[0]) + shift[0], (b[1] - a[1]) + shift[1], (b[2] - a[2]) + shift[2]
    distance = square_root(exact_dot3(r, r))
    inverse = 1.0 / distance
    return (r[0] * inverse, r[1] * inverse, r[2] * inverse), distance


@inlined_geometry
def criterion_of(
    law: Vector, loads: Loads, direction: Vector, energy: Four, section: Vector, strength: Vector
) -> tuple[float, int]:
    """Return the used share of the strength of a bond, and the mode in which it would break.

    `law` is a row of the laws: the criterion, and the tangent of the angle of friction.
    """
    criterion, friction, _ = law
    if criterion == BY_ENERGY:
        return used_by_energy(energy, section[0], strength[2])
    stress = stresses(section_forces(loads, direction), section)
    if criterion == BY_FORCE:
        return used_by_force(stress, strength[0], strength[1], friction)
    return used_by_stress(stress, strength[0], strength[1], friction)


@inlined_geometry
def write_loads(loads: Floats, row: int, new: Loads) -> None:
    """Write the force and the two moments of `new` into a row of `loads`."""
    for axis in range(3):
        loads[row, axis] = new[0][axis]
        loads[row, 3 + axis] = new[1][axis]
        loads[row, 6 + axis] = new[2][axis]


@inlined_geometry
def relative_turn(lower: Quaternion, higher: Quaternion, turn: Quaternion) -> Quaternion:
    """Return the rotation of the higher end relative to the lower end since the bond was made."""
    return quaternion_product(higher, quaternion_product(turn, undone(lower)))


@inlined_geometry
def evaluate_bond(
    bond: int,
    ends: BondEnds,
    columns: BondColumns,
    laws: Floats,
    packed: Floats,
    orientation: Floats,
    results: BondResults,
) -> None:
    """Evaluate one bond and write its results; parameters as in `evaluate_bonds`."""
    lower, higher = ends.rows[bond, 0], ends.rows[bond, 1]
    direction, distance = branch_of(packed, lower, higher, three(ends.shift, bond, 0))
    at_lower = four(orientation, lower)
    relative = relative_turn(at_lower, four(orientation, higher), four(columns.turn, bond))
    axis, length = turned_by(at_lower, three(columns.axis, bond, 0)), columns.length[bond]
    stiffness = four(columns.stiffness, bond)
    strain = bond_strains(direction, distance, axis, relative, length)
    energy = energies(strain, stiffness)
    loads = elastic_loads(strain, stiffness, direction, distance, axis, relative, length)
    law = three(laws, columns.kind[bond], 0)
    section, strength = three(columns.section, bond, 0), three(columns.strength, bond, 0)
    used, mode = criterion_of(law, loads, direction, energy, section, strength)
    for part in range(4):
        results.energy[bond, part] = energy[part]
    results.used[bond], results.mode[bond] = used, mode if used >= 1.0 else UNBROKEN
    a, b, drift = three(packed, lower, SPEED), three(packed, higher, SPEED), three(ends.drift, bond, 0)
    velocity = (b[0] - a[0]) + drift[0], (b[1] - a[1]) + drift[1], (b[2] - a[2]) + drift[2]
    rates = strain_rates(direction, distance, velocity, three(packed, lower, SPIN), three(packed, higher, SPIN))
    damped, power = damping_loads(rates, four(columns.damping, bond), direction, distance)
    results.power[bond] = power
    both = exact_plus3(loads[0], damped[0]), exact_plus3(loads[1], damped[1]), exact_plus3(loads[2], damped[2])
    write_loads(results.loads, bond, both)


@uncounted_kernel
def _evaluate_bonds(
    ends: BondEnds, columns: BondColumns, laws: Floats, packed: Floats, orientation: Floats, results: BondResults
) -> None:  # fmt: skip
    bonds, memory, yields = BondEnds(*ends), BondColumns(*columns), BondResults(*results)
    for bond in prange(len(bonds.rows)):
        evaluate_bond(bond, bonds, memory, laws, packed, orientation, yields)


def evaluate_bonds(
    ends: BondEnds, columns: BondColumns, laws: Floats, packed: Floats, orientation: Floats, results: BondResults
) -> None:  # fmt: skip
    """Evaluate all bonds of a rank and write their results.

    Parameters
    ----------
    ends : BondEnds
        Ends of the bonds among the particles.
    columns : BondColumns
        Constant columns of the bonds.
    laws : (K, 3) array
        By kind: criterion, tangent of the angle of friction, 0.
    packed : (N, `pdem.foundation.packed_row.PACKED`) array
        Packed rows of particles, ghosts behind owned ones.
    orientation : (N, 4) array
        Orientations of particles: unit quaternions w, x, y, z from their frames to space.
    results : BondResults
        Written: the results of all bonds.
    """
    _evaluate_bonds(*plain(ends, columns, laws, packed, orientation, results))

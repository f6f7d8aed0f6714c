"""Bonds against closed forms: beams, frequencies, longest steps, lattices, loads and energies of breaks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from helpers.bonded import (
    DENSITY,
    FAMILIES,
    INERTIA,
    LENGTH,
    MASS,
    POISSON,
    RADIUS,
    YOUNG,
    Bonded,
    chain,
    product,
    quaternion,
    section_of,
)
from pdem.detection.find_pairs import find_pairs
from pdem.features.bonds.bond_steps import (
    BondNetwork,
    bounded_step,
    close_packed_step,
    highest_frequency,
    stable_step,
    strain_rows,
)
from pdem.features.bonds.bond_stiffness import Elasticity, damping_coefficients, inverse_inertias, stiffnesses

KAPPA = 0.9
MODULUS = YOUNG / (2.0 * (1.0 + POISSON))
AREA, SECOND = np.pi * RADIUS**2, 0.25 * np.pi * RADIUS**4
TIPS = {
    ("euler-bernoulli", 4): 2.172995490e-4,
    ("timoshenko", 4): 2.246560441e-4,
    ("springs", 4): 2.205250891e-4,
    ("euler-bernoulli", 10): 3.395305453e-3,
    ("timoshenko", 10): 3.413696690e-3,
    ("springs", 10): 3.403369303e-3,
    ("euler-bernoulli", 20): 2.716244362e-2,
    ("timoshenko", 20): 2.719922610e-2,
    ("springs", 20): 2.717857132e-2,
}
"""Deflection of the tip of a cantilever of N bonds by 1 N [m]."""

FREQUENCIES = {
    "euler-bernoulli": (491.43449, 3056.98416, 8428.53338),
    "timoshenko": (489.57601, 2979.98101, 7961.89951),
    "springs": (490.61727, 3022.53610, 8214.55219),
}
"""Lowest bending frequencies of a cantilever of ten bonds [Hz]."""

HIGHEST = {"euler-bernoulli": 1059814.0, "timoshenko": 772431.0, "springs": 772431.0}
"""Highest frequencies of a free chain of twenty bonds [rad/s]."""


def kappa_of(family):
    return KAPPA if family == "timoshenko" else None


def network(position, pairs, family, damping=0.0, held=()):
    position, pairs = np.array(position, dtype=np.float64), np.array(pairs)
    branch = position[pairs[:, 1]] - position[pairs[:, 0]]
    length = np.sqrt((branch**2).sum(axis=1))
    inverse = np.full(len(position), 1.0 / MASS)
    inverse[list(held)] = 0.0
    turning = inverse_inertias(inverse, np.full(len(position), RADIUS))
    stiffness = stiffnesses(section_of(len(pairs)), length, Elasticity(YOUNG, POISSON, family, kappa_of(family)))
    dashpots = damping_coefficients(stiffness, length, inverse[pairs], turning[pairs], damping)
    return BondNetwork(pairs, branch, stiffness, dashpots, inverse, turning)


def assembled(bonds, count):
    """Return the stiffness matrix of displacements and rotations, six for each sphere."""
    matrix = np.zeros((6 * count, 6 * count))
    rows = strain_rows(bonds.branch)
    for pair, strains, stiffness in zip(bonds.rows, rows, bonds.stiffness, strict=True):
        at = np.concatenate([6 * pair[0] + np.arange(6), 6 * pair[1] + np.arange(6)])
        matrix[np.ix_(at, at)] += strains.T @ (stiffness[[0, 1, 1, 2, 2, 3], None] * strains)
    return matrix


@pytest.mark.parametrize("family", FAMILIES)
def test_small_strains_have_the_assembled_stiffness(family):
    """The stiffness matrix is the derivative of the forces of the kernels, in a bent arrangement of three bonds."""
    position = np.array([[0.0, 0.0, 0.0], [2e-3, 0.0, 0.0], [2.5e-3, 1.9e-3, 0.0], [2.5e-3, 2.5e-3, 1.9e-3]])
    pairs, h = [[0, 1], [1, 2], [2, 3]], 1e-6
    matrix = assembled(network(position, pairs, family), 4)
    for degree in range(24):
        ends = []
        for sign in (1.0, -1.0):
            one = Bonded(position, pairs, family, kappa=kappa_of(family))
            row, part = divmod(degree, 6)
            if part < 3:
                one.position[row, part] += sign * h * LENGTH
            else:
                turn = np.zeros((1, 3))
                turn[0, part - 3] = sign * h
                one.orientation[row] = product(quaternion(turn), one.orientation[row : row + 1])[0]
            one.evaluate()
            ends.append(np.concatenate([one.force, one.torque], axis=1).ravel())
        unit = LENGTH if degree % 6 < 3 else 1.0
        slope = (ends[1] - ends[0]) / (2.0 * h * unit)
        assert slope == pytest.approx(matrix[:, degree], abs=1e-8 * np.abs(matrix[:, degree]).max() + 1e-30)


@pytest.mark.parametrize(("family", "count"), TIPS)
def test_tips_of_cantilevers(family, count):
    """Tip force and tip moment; beams are exact at the nodes for any number of bonds."""
    matrix = assembled(network(*chain(count), family), count + 1)[6:, 6:]
    load = np.zeros(6 * count)
    load[-5] = 1.0
    tip = np.linalg.solve(matrix, load)[-5]
    length, cross = count * LENGTH, {"timoshenko": KAPPA, "springs": 1.0}.get(family, np.inf)
    bending = length**3 / (3.0 * YOUNG * SECOND) * (1.0 - (family == "springs") / (4.0 * count**2))
    assert tip == pytest.approx(TIPS[family, count], rel=1e-8)
    assert tip == pytest.approx(bending + length / (cross * MODULUS * AREA), rel=1e-8)
    moment = np.zeros(6 * count)
    moment[-1] = 1e-3
    assert np.linalg.solve(matrix, moment)[-5] == pytest.approx(1e-3 * length**2 / (2.0 * YOUNG * SECOND), rel=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_frequencies_of_a_cantilever(family):
    matrix = assembled(network(*chain(10), family), 11)[6:, 6:]
    masses = np.tile([MASS] * 3 + [INERTIA] * 3, 10)
    plane = np.flatnonzero(np.isin(np.arange(60) % 6, (0, 1, 5)))
    squares = eigh(matrix[np.ix_(plane, plane)], np.diag(masses[plane]), eigvals_only=True)
    found = np.sqrt(squares[:5]) / (2.0 * np.pi)
    axial = np.sqrt(YOUNG * AREA / LENGTH / MASS) / np.pi * np.sin(np.pi / 42.0)
    assert axial == pytest.approx(9212.79236, rel=1e-8)
    assert found[:3] == pytest.approx(FREQUENCIES[family], rel=1e-7)
    assert np.abs(found - axial).min() < 1e-6 * axial


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cantilever_swings_with_its_lowest_frequency(family):
    """Zero crossings of the tip in a run of the kernels, after a kick in the shape of the lowest mode."""
    matrix = assembled(network(*chain(4), family), 5)[6:, 6:]
    masses = np.diag(np.tile([MASS] * 3 + [INERTIA] * 3, 4))
    plane = np.flatnonzero(np.isin(np.arange(24) % 6, (1, 5)))
    squares, shapes = eigh(matrix[np.ix_(plane, plane)], masses[np.ix_(plane, plane)])
    one = Bonded(*chain(4), family, held=[0], kappa=kappa_of(family))
    shape = 1e-4 * shapes[:, 0].reshape(-1, 2) / np.abs(shapes[:, 0]).max()
    one.velocity[1:, 1], one.spin[1:, 2] = shape.T
    one.evaluate()
    omega, dt = np.sqrt(squares[0]), 1e-6
    times, tips = [], []
    for number in range(int(3.2 * np.pi / omega / dt)):
        one.step(dt)
        times.append((number + 1) * dt)
        tips.append(one.position[-1, 1])
    signs = np.flatnonzero(np.diff(np.sign(tips)) != 0)
    crossings = [times[i] - tips[i] * dt / (tips[i + 1] - tips[i]) for i in signs]
    assert np.pi / (crossings[-1] - crossings[0]) * (len(crossings) - 1) == pytest.approx(omega, rel=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_highest_frequencies_of_a_free_chain(family):
    bonds = network(*chain(20), family)
    assert highest_frequency(bonds) == pytest.approx(HIGHEST[family], rel=1e-6)
    assert bounded_step(bonds) < stable_step(bonds) < 1.5 * bounded_step(bonds)


def block(sides):
    cells = np.stack(np.meshgrid(*(np.arange(side) for side in sides), indexing="ij"), axis=-1).reshape(-1, 3)
    position = LENGTH * cells
    return position, find_pairs(position, RADIUS, skin=1e-6).pairs


@pytest.mark.parametrize("damping", [0.0, 0.4])
@pytest.mark.parametrize(("places", "family"), [("chain", "euler-bernoulli"), ("block", "timoshenko")])
def test_steps_are_stable_up_to_the_limit(places, family, damping):
    """At 0.99 of the longest step small random velocities stay small, at 1.01 they grow without limit."""
    position, pairs = chain(5) if places == "chain" else block((3, 3, 3))
    limit = stable_step(network(position, pairs, family, damping))
    assert bounded_step(network(position, pairs, family, damping)) <= limit
    for share, grows in ((0.99, False), (1.01, True)):
        one = Bonded(position, pairs, family, damping=damping, kappa=kappa_of(family))
        random = np.random.default_rng(1)
        one.velocity[:], one.spin[:] = 1e-9 * random.normal(size=(2, *position.shape)) * [[[1.0]], [[1e3]]]
        one.evaluate()
        first = one.kinetic
        with np.errstate(all="ignore"):
            for _ in range(400):
                one.step(share * limit)
                if not one.kinetic < 1e6 * first:
                    break
        assert (not one.kinetic + one.stored < 1e4 * first) is grows


def test_closest_packing_is_stiffer_than_a_lattice_of_twelve_neighbours():
    """The bound for unknown places holds for a face-centred lattice, and is near its frequency."""
    cells = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    position = LENGTH / np.sqrt(2.0) * cells[cells.sum(axis=1) % 2 == 0]
    pairs = find_pairs(position, RADIUS, skin=1e-6).pairs
    for damping in (0.0, 0.3):
        bonds = network(position, pairs, "springs", damping)
        one = network(*chain(1), "springs", damping)
        bound = close_packed_step(one.stiffness[0], one.damping[0], LENGTH, MASS, INERTIA)
        assert bound <= stable_step(bonds) < 2.0 * bound


@pytest.mark.parametrize("family", FAMILIES)
def test_lattices_have_the_stiffness_of_their_bonds(family):
    """Energy of affine strains: simple cubic E = k_n / l and G = k_s / (2 l), face-centred C11, C12, C44."""
    cells = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    diagonals = np.array([[i, j, 0.0] for i in (1.0,) for j in (1.0, -1.0)])
    faces = np.concatenate([np.roll(diagonals, turn, axis=1) for turn in range(3)]) / np.sqrt(2.0)
    for directions, volume in ((cells, LENGTH**3), (faces, LENGTH**3 / np.sqrt(2.0))):
        kn, ks, *_ = stiffnesses(section_of(1), [LENGTH], Elasticity(YOUNG, POISSON, family, kappa_of(family)))[0]

        def density(strain, directions=directions, volume=volume):
            total = 0.0
            for direction in directions:
                pair = Bonded([[0.0] * 3, LENGTH * direction], [[0, 1]], family, kappa=kappa_of(family))
                pair.position[1] += strain @ pair.position[1]
                pair.evaluate()
                total += pair.stored
            return total / volume

        e = 1e-6
        stretch, both, shear = np.diag([e, 0.0, 0.0]), np.diag([e, e, 0.0]), np.zeros((3, 3))
        shear[0, 1] = shear[1, 0] = 0.5 * e
        c11 = 2.0 * density(stretch) / e**2
        c12 = density(both) / e**2 - c11
        c44 = 2.0 * density(shear) / e**2
        if directions is cells:
            assert [c11, c44] == pytest.approx([kn / LENGTH, 0.5 * ks / LENGTH], rel=1e-5)
            assert abs(c12) < 1e-5 * c11
            assert c11 == pytest.approx(0.25 * np.pi * YOUNG, rel=1e-5)
        else:
            root = np.sqrt(2.0) / LENGTH
            assert [c11, c12] == pytest.approx([root * (kn + ks), 0.5 * root * (kn - ks)], rel=1e-5)
            assert c44 == pytest.approx(0.5 * c11, rel=1e-5)


@pytest.mark.parametrize("count", [2, 5, 16])
def test_a_break_in_a_stretched_chain_takes_one_of_n_parts(count):
    """All bonds are stretched alike; the weak one breaks and takes exactly its part of the stored energy."""
    strength = np.full((count, 3), np.inf)
    weak = count // 2
    strength[weak, 0] = 5e6
    for share, broken in ((0.9999, False), (1.0001, True)):
        one = Bonded(*chain(count), strength=strength)
        one.position *= 1.0 + share * 5e6 / YOUNG
        one.evaluate()
        assert (one.fractured > 0.0) is broken
        if broken:
            assert one.last_broken[0].tolist() == [[weak, weak + 1]]
            whole = one.stored + one.fractured
            assert one.fractured == pytest.approx(whole / count, rel=1e-11)
            assert one.fractured == pytest.approx(0.5 * (share * 5e6) ** 2 * AREA * LENGTH / YOUNG, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [20, 40])
def test_a_ring_has_the_moment_of_large_bending(family, count):
    """A chain that is bent to a circle, each bond by 360 / N degrees at its length: the law of pure bending."""
    pair = Bonded(*chain(1), family, kappa=kappa_of(family))
    angle = 2.0 * np.pi / count
    pair.orientation = quaternion(np.array([[0.0, 0.0, -0.5 * angle], [0.0, 0.0, 0.5 * angle]]))
    pair.evaluate()
    _, ks, kb, _ = pair.columns.stiffness[0]
    known = {
        ("springs", 20): 1.002494862, ("euler-bernoulli", 20): 1.020414920, ("timoshenko", 20): 0.995247415,
        ("springs", 40): 1.000630424, ("euler-bernoulli", 40): 1.005131229, ("timoshenko", 40): 0.998810154,
    }  # fmt: skip
    assert -pair.results.loads[0, 8] / (kb * angle) == pytest.approx(known[family, count], rel=1e-8)
    law = 0.5 * ks * LENGTH**2 * np.sin(0.5 * angle) + (kb - 0.25 * ks * LENGTH**2) * np.sin(angle)
    assert -pair.results.loads[0, 8] == pytest.approx(law, rel=1e-11)


def test_a_spinning_pair_keeps_energy_and_angular_momentum():
    """Errors of the energy fall with the square of the step; those of the angular momentum are rounding."""
    errors = []
    for dt in (4e-7, 2e-7):
        pair = Bonded(*chain(1), kappa=KAPPA)
        pair.velocity[:] = [[0.0, 0.3, 0.0], [0.0, -0.3, 0.2]]
        pair.spin[:] = [[800.0, 500.0, 200.0], [-500.0, 900.0, 300.0]]
        pair.evaluate()
        first, turning, worst = pair.kinetic + pair.stored, pair.angular_momentum, 0.0
        for _ in range(int(5e-4 / dt)):
            pair.step(dt)
            worst = max(worst, abs(pair.kinetic + pair.stored - first) / first)
        errors.append(worst)
        assert np.abs(pair.angular_momentum - turning).max() < 1e-12 * np.abs(turning).max()
    assert errors[1] < 3e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)


def test_the_pulse_of_a_chain_has_the_speed_of_a_bar():
    """Long waves in a chain of bonds have c = l sqrt(k / m); m is 2/3 of the mass of the cylinder around a sphere."""
    kn = stiffnesses(section_of(1), [LENGTH], Elasticity(YOUNG, POISSON))[0, 0]
    assert LENGTH * np.sqrt(kn / MASS) == pytest.approx(np.sqrt(1.5 * YOUNG / DENSITY), rel=1e-12)

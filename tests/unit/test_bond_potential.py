"""The potential of bonds: forces are its gradient, nothing depends on the frame, and small strains are beams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.bonded import FAMILIES, INERTIA, LENGTH, MASS, RADIUS, Bonded, chain, product, quaternion
from pdem.features.bonds.potential import BY_ENERGY, BY_FORCE, IN_BENDING, IN_SHEAR, IN_TENSION, IN_TWIST

EXACT = 1e-11
numbers = st.floats(-1.0, 1.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
states = st.tuples(*[vectors] * 4)
families = st.sampled_from(FAMILIES)


def matrices(orientation):
    """Return rotation matrices of quaternions (n, 4)."""
    w, x, y, z = orientation.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.moveaxis(np.array(rows), -1, 0)


def published(position, orientation, stiffness):
    """Return force on the end, both moments and energy in the published form, by frames at both ends."""
    kn, ks, kb, kt = stiffness
    b1, b2, b4 = kn, ks * LENGTH**2, kt
    b3 = kb - 0.25 * b2 - 0.5 * kt
    low, high = matrices(orientation)
    (n1, n2, n3), (m1, m2, m3) = low.T, high.T
    m1 = -m1
    r = position[1] - position[0]
    distance = np.linalg.norm(r)
    d, q = r / distance, m1 - n1
    force = -b1 * (distance - LENGTH) * d - b2 / (2.0 * distance) * (q - d * (d @ q))
    turn = np.cross(n2, m2) + np.cross(n3, m3)
    lower = -(np.cross(n1, -0.5 * b2 * d + b3 * m1) - 0.5 * b4 * turn)
    higher = -(np.cross(m1, 0.5 * b2 * d + b3 * n1) + 0.5 * b4 * turn)
    energy = 0.5 * b1 * (distance - LENGTH) ** 2 + 0.5 * b2 * (q @ d) + b3 * (n1 @ m1)
    return force, lower, higher, energy - 0.5 * b4 * (n2 @ m2 + n3 @ m3) + b2 + b3 + b4


def bent(state, family, size=0.1, turn=0.5):
    """Return a pair with displacements and rotations of some size."""
    pair = Bonded(*chain(1), family)
    pair.position += size * LENGTH * np.array(state[:2])
    pair.orientation = quaternion(turn * np.array(state[2:]))
    pair.evaluate()
    return pair


@given(states, families)
@settings(deadline=None, max_examples=40)
def test_loads_and_energy_are_those_of_the_published_potential(state, family):
    pair = bent(state, family)
    force, lower, higher, energy = published(pair.position, pair.orientation, pair.columns.stiffness[0])
    loads, scale = pair.results.loads[0], pair.columns.stiffness[0]
    assert loads[:3] == pytest.approx(force, abs=EXACT * scale[0] * LENGTH)
    assert loads[3:6] == pytest.approx(lower, abs=EXACT * scale[0] * LENGTH**2)
    assert loads[6:] == pytest.approx(higher, abs=EXACT * scale[0] * LENGTH**2)
    assert pair.stored == pytest.approx(energy, abs=EXACT * scale[0] * LENGTH**2)
    assert (pair.results.energy >= 0.0).all()


def energy_at(pair, position, orientation):
    there = Bonded(*chain(1), "springs")
    there.columns, there.position, there.orientation = pair.columns, position, orientation
    there.evaluate()
    return there.stored


@given(states, families, vectors, vectors)
@settings(deadline=None, max_examples=15)
def test_loads_are_the_gradient_of_the_energy(state, family, way, turn):
    pair = bent(state, family)
    loads, h = pair.results.loads[0], 1e-5
    for row, force, moment in ((0, -loads[:3], loads[3:6]), (1, loads[:3], loads[6:])):
        there = [pair.position.copy() for _ in range(2)]
        turned = [pair.orientation.copy() for _ in range(2)]
        for sign, place, angle in zip((1.0, -1.0), there, turned, strict=True):
            place[row] += sign * h * LENGTH * way
            angle[row] = product(quaternion(sign * h * turn[None]), pair.orientation[row : row + 1])[0]
        rise = energy_at(pair, there[0], turned[0]) - energy_at(pair, there[1], turned[1])
        wanted = -2.0 * h * (LENGTH * (force @ way) + moment @ turn)
        scale = pair.columns.stiffness[0, 0] * LENGTH**2
        assert rise == pytest.approx(wanted, abs=h * 1e-7 * scale)


@given(states, families, st.floats(0.0, 1.0), vectors, vectors)
@settings(deadline=None, max_examples=40)
def test_nothing_is_gained_by_rigid_motions(state, family, damping, velocity, spin):
    """Forces and moments, damping included, add up to nothing."""
    pair = Bonded(*chain(1), family, damping=damping)
    pair.position += 0.1 * LENGTH * np.array(state[:2])
    pair.orientation = quaternion(0.5 * np.array(state[2:]))
    pair.velocity[1], pair.spin[1] = 10.0 * velocity, 1e4 * spin
    pair.evaluate()
    loads, r = pair.results.loads[0], pair.position[1] - pair.position[0]
    scale = np.abs(loads[3:]).max() + LENGTH * np.abs(loads[:3]).max()
    assert np.abs(loads[3:6] + loads[6:] + np.cross(r, loads[:3])).max() <= 1e-14 * scale + 1e-300
    assert np.abs(pair.force.sum(axis=0)).max() == 0.0


@given(states, families, vectors, vectors, vectors)
@settings(deadline=None, max_examples=40)
def test_a_turned_and_moved_pair_has_turned_loads(state, family, turn, place, spin):
    pair = Bonded(*chain(1), family, damping=0.3)
    pair.position += 0.1 * LENGTH * np.array(state[:2])
    pair.orientation = quaternion(0.5 * np.array(state[2:]))
    pair.velocity[0], pair.spin[1] = spin, 1e3 * spin
    pair.evaluate()
    whole = quaternion(3.0 * turn[None])
    matrix = matrices(whole)[0]
    other = Bonded(*chain(1), family, damping=0.3)
    other.position = pair.position @ matrix.T + LENGTH * place
    other.orientation = product(np.repeat(whole, 2, axis=0), pair.orientation)
    other.velocity, other.spin = pair.velocity @ matrix.T, pair.spin @ matrix.T
    other.evaluate()
    before, after = pair.results, other.results
    wanted = (before.loads.reshape(3, 3) @ matrix.T).ravel()
    scale = pair.columns.stiffness[0, 0] * LENGTH
    assert after.loads[0] == pytest.approx(wanted, abs=1e-12 * scale)
    assert after.energy[0] == pytest.approx(before.energy[0], abs=1e-12 * scale * LENGTH)
    assert after.power == pytest.approx(before.power, rel=1e-9, abs=1e-12)


@given(states, families, st.floats(0.01, 1.0), vectors, vectors)
@settings(deadline=None, max_examples=40)
def test_the_power_is_what_the_dashpots_do(state, family, damping, velocity, spin):
    """The loads with dashpots less those without, times the velocities, are the power; it is never negative."""
    pair, other = Bonded(*chain(1), family, damping=damping), Bonded(*chain(1), family)
    for one in (pair, other):
        one.position += 0.1 * LENGTH * np.array(state[:2])
        one.orientation = quaternion(0.5 * np.array(state[2:]))
        one.velocity[:], one.spin[:] = [velocity, spin], [1e3 * spin, 1e3 * velocity]
        one.evaluate()
    done = ((pair.force - other.force) * pair.velocity).sum() + ((pair.torque - other.torque) * pair.spin).sum()
    scale = np.abs(pair.force * pair.velocity).sum() + np.abs(pair.torque * pair.spin).sum()
    assert pair.results.power[0] >= 0.0
    assert pair.results.power[0] == pytest.approx(-done, rel=1e-9, abs=1e-11 * scale)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3])
def test_small_strains_have_the_four_stiffnesses(family, size):
    """Elongation, shear, bending and twist, one by one; no digits are lost where strains are small."""
    turns = np.array([[0.0, 0.0, -0.5 * size], [0.0, 0.0, 0.5 * size]])
    axial, shear, bend, twist = (Bonded(*chain(1), family) for _ in range(4))
    axial.position[1, 0] += size * LENGTH
    shear.position[1, 1] += size * LENGTH
    bend.orientation, twist.orientation = quaternion(turns), quaternion(turns[:, ::-1])
    for one in (axial, shear, bend, twist):
        one.evaluate()
    kn, ks, kb, kt = axial.columns.stiffness[0]
    tolerance = 10.0 * size**2 + 1e-15 / size
    assert axial.results.loads[0, 0] == pytest.approx(-kn * size * LENGTH, rel=tolerance)
    assert shear.results.loads[0, 1] == pytest.approx(-ks * size * LENGTH, rel=tolerance)
    assert bend.results.loads[0, 8] == pytest.approx(-kb * size, rel=tolerance)
    assert twist.results.loads[0, 6] == pytest.approx(-kt * size, rel=tolerance)
    stored = [one.stored for one in (axial, shear, bend, twist)]
    length = np.array([LENGTH, LENGTH, 1.0, 1.0])
    assert stored == pytest.approx(0.5 * (size * length) ** 2 * axial.columns.stiffness[0], rel=2.0 * tolerance)


def test_bonds_of_turned_spheres_have_no_strain():
    """A bond that is made later begins without strain, whatever turns its ends have made."""
    turns = quaternion(np.array([[1.0, -2.0, 0.3], [-0.4, 0.1, 2.5]]))
    pair = Bonded([[0.1, 0.2, 0.3], [0.1 + 1e-3, 0.2 - 1e-3, 0.3 + 5e-4]], [[0, 1]], orientation=turns)
    assert pair.stored < 1e-28 * pair.columns.stiffness[0, 0]
    pair.orientation = product(np.repeat(quaternion(np.array([[0.2, 0.1, -0.7]])), 2, axis=0), pair.orientation)
    pair.evaluate()
    assert pair.stored > 1e-12


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", range(4))
def test_dashpots_damp_each_mode_of_a_free_pair_by_their_ratio(family, mode):
    """The energy left at a time is that of an oscillator of this damping ratio; the ledger has the rest."""
    damping, time, steps = 0.2, 2.0, 400
    pair = Bonded(*chain(1), family, damping=damping)
    inverse = (2.0 / MASS, 2.0 / MASS + 0.5 * LENGTH**2 / INERTIA, 2.0 / INERTIA, 2.0 / INERTIA)[mode]
    omega = np.sqrt(pair.columns.stiffness[0, mode] * inverse)
    if mode == 1:  # of the motion that shears the middle of the bond, without what is rigid
        pair.velocity[:, 1] = np.array([-1e-4, 1e-4]) / MASS
        pair.spin[:, 2] = -1e-4 * 0.5 * LENGTH / INERTIA
    else:
        axis = {0: 0, 2: 2, 3: 0}[mode]
        (pair.velocity if mode == 0 else pair.spin)[:, axis] = np.array([-1e-4, 1e-4]) / (LENGTH if mode else 1.0)
    if mode == 1:
        pair.velocity *= 1e-5
        pair.spin *= 1e-5
    pair.evaluate()
    first = pair.kinetic
    for _ in range(steps):
        pair.step(time / steps / omega)
    damped = np.sqrt(1.0 - damping**2)
    sine, cosine, decay = np.sin(damped * time), np.cos(damped * time), np.exp(-damping * time)
    place, speed = decay * sine / damped, decay * (cosine - damping * sine / damped)
    left = pair.kinetic + pair.stored
    assert left / first == pytest.approx(place**2 + speed**2, rel=1e-2)
    assert pair.lost == pytest.approx(first - left, rel=1e-2)


STRENGTHS = (5e6, 8e6, 3.0)
AREA = np.pi * RADIUS**2


@pytest.mark.parametrize(
    ("way", "turn", "limit", "mode"),
    [
        ([1.0, 0.0, 0.0], [0.0] * 3, STRENGTHS[0] * AREA, IN_TENSION),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], STRENGTHS[0] * np.pi * RADIUS**3 / 4.0, IN_BENDING),
        ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], STRENGTHS[1] * np.pi * RADIUS**3 / 2.0, IN_TWIST),
    ],
)
@pytest.mark.parametrize("inner", [0.0, 0.6e-3])
def test_bonds_break_at_the_stress_of_their_section(way, turn, limit, mode, inner):
    """At 1 in 10,000 below the load of the section the bond holds, at 1 in 10,000 above it is broken."""
    hollow = 1.0 - (inner / RADIUS) ** (2 if mode == IN_TENSION else 4)
    pair = Bonded(*chain(1), "timoshenko", strength=STRENGTHS, inner=inner)
    kn, _, kb, kt = pair.columns.stiffness[0]
    size = limit * hollow / {IN_TENSION: kn, IN_BENDING: kb, IN_TWIST: kt}[mode]
    size = size if mode == IN_TENSION else np.arcsin(size)  # moments of large angles
    for share, broken in ((0.9999, False), (1.0001, True)):
        one = Bonded(*chain(1), "timoshenko", strength=STRENGTHS, inner=inner)
        one.position[1] += share * size * np.array(way)
        one.orientation = quaternion(0.5 * share * size * np.array([turn, turn]) * [[-1.0], [1.0]])
        one.evaluate()
        assert (one.fractured > 0.0) is broken
        assert (len(one.pairs) == 0) is broken
        if broken:
            assert one.last_broken[1].tolist() == [mode]
            assert not one.force.any()
            assert not one.torque.any()


def test_pressure_along_the_bond_adds_to_its_shear_strength():
    for press, angle, limit in ((0.0, 30.0, 1.0), (1e-3, 0.0, 1.0), (1e-3, 30.0, None)):
        pair = Bonded(*chain(1), "springs", strength=(np.inf, 8e6, np.inf), friction_angle=angle)
        kn, ks, *_ = pair.columns.stiffness[0]
        squeezed = press * LENGTH
        extra = 1.0 + np.tan(np.radians(angle)) * kn * squeezed / AREA / 8e6
        assert limit is None or extra == pytest.approx(limit, abs=1e-12)
        side = 8e6 * extra * AREA / ks
        for share, broken in ((0.998, 0), (1.002, 1)):
            one = Bonded(*chain(1), "springs", strength=(np.inf, 8e6, np.inf), friction_angle=angle)
            one.position[1] += [-squeezed, share * side, 0.0]
            one.position[1] *= (LENGTH - squeezed) / np.linalg.norm(one.position[1])  # shear without elongation
            one.evaluate()
            assert 1 - len(one.pairs) == broken or one.last_broken[1].tolist() != [IN_SHEAR]


def test_the_criterion_of_forces_adds_all_ratios():
    """Half of the tensile strength and half of that of bending break a bond, a little less does not."""
    for share, broken in ((0.4999, 0), (0.5001, 1)):
        pair = Bonded(*chain(1), strength=STRENGTHS, criterion=BY_FORCE)
        kn, _, kb, _ = pair.columns.stiffness[0]
        pair.position[1, 0] += share * STRENGTHS[0] * AREA / kn
        angle = share * STRENGTHS[0] * np.pi * RADIUS**3 / 4.0 / kb
        pair.orientation = quaternion(np.array([[0.0, 0.0, -0.5 * angle], [0.0, 0.0, 0.5 * angle]]))
        pair.evaluate()
        assert 1 - len(pair.pairs) == broken


def test_the_criterion_of_energy_is_the_stored_energy_over_the_area():
    """U / A, not twice that."""
    for share, broken in ((0.9999, 0), (1.0001, 1)):
        pair = Bonded(*chain(1), strength=STRENGTHS, criterion=BY_ENERGY)
        pair.position[1, 0] += np.sqrt(2.0 * share * STRENGTHS[2] * AREA / pair.columns.stiffness[0, 0])
        pair.evaluate()
        assert 1 - len(pair.pairs) == broken
        if broken:
            assert pair.fractured == pytest.approx(1.0001 * STRENGTHS[2] * AREA, rel=1e-9)

"""The signed contact sum on random surfaces: no mesh, order or orientation matters; it is a gradient, without jumps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from helpers.surfaces import FLAT, block_cells, blocks, moved, nearest_on_hull, random_place, rough, subdivided
from pdem.contact.geometry.query import wall_contacts
from pdem.containers.meshes.mesh import Mesh, join_meshes

SEEDS = st.integers(0, 2**32 - 1)
RELATIVE_OVERLAPS = st.floats(1e-3, 0.9)


def signed(centre, radius, mesh):
    return wall_contacts(centre, radius, mesh, method="signed")


def force(contacts):
    """Resultant of Hertzian forces of unit stiffness."""
    return (contacts["count"] * contacts["overlap"] ** 1.5) @ contacts["normal"]


def energy(contacts):
    return 0.4 * (contacts["count"] * contacts["overlap"] ** 2.5).sum()


@pytest.mark.parametrize("surface", FLAT)
@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS, relative=RELATIVE_OVERLAPS)
def test_one_force_on_a_flat_surface(surface, seed, relative):
    """Needles, fans, facets far below the indentation, hanging nodes, repeated and turned facets."""
    generator = np.random.default_rng(seed)
    points, facets = surface(generator)
    turn, shift, _ = moved(generator, points)
    fine, parts = subdivided(generator, points, facets, generator.uniform(), int(generator.integers(1, 4)))
    vertices = fine @ turn[:, :2].T + shift
    parts = [loop[::-1] if generator.integers(2) else loop for loop in parts]
    mesh = Mesh(vertices, parts + [parts[k] for k in generator.integers(len(parts), size=3)])
    for _ in range(4):
        radius = 10 ** generator.uniform(-2, 0.5)
        normal = turn[:, 2] * generator.choice([-1, 1])
        foot = turn[:, :2] @ random_place(generator, points, facets) + shift
        contacts = signed(foot + (1 - relative) * radius * normal, radius, mesh)
        assert contacts["count"].sum() == 1
        np.testing.assert_allclose(force(contacts) / (relative * radius) ** 1.5, normal, atol=2e-9)


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS, relative=RELATIVE_OVERLAPS)
def test_one_contact_outside_a_convex_polyhedron(seed, relative):
    """However thin it is: its far side is not counted."""
    generator = np.random.default_rng(seed)
    cloud = generator.normal(size=(int(generator.integers(4, 40)), 3)) * 10 ** generator.uniform(-1.5, 0.3, 3)
    facets = [loop[::-1] if generator.integers(2) else loop for loop in ConvexHull(cloud).simplices.tolist()]
    mesh = Mesh(cloud, facets)
    for _ in range(4):
        away = generator.normal(size=3)
        away /= np.linalg.norm(away)
        centre = cloud.mean(axis=0) + away * ((cloud - cloud.mean(axis=0)) @ away).max()
        centre += away * 10 ** generator.uniform(-2, 0.5)
        foot = nearest_on_hull(centre, cloud, np.array(facets))
        distance = np.linalg.norm(centre - foot)
        radius = distance / (1 - relative)
        contacts = signed(centre, radius, mesh)
        pull = (centre - foot) / distance
        np.testing.assert_allclose(force(contacts) / (radius * relative) ** 1.5, pull, atol=1e-7)
        assert energy(contacts) == pytest.approx(0.4 * (radius * relative) ** 2.5, rel=1e-7)


@pytest.mark.parametrize("surface", [*FLAT, rough])
@settings(max_examples=25, derandomize=True)
@given(seed=SEEDS)
def test_the_same_bits_for_any_order_and_orientation(surface, seed):
    """Facets and nodes in another order, loops begun elsewhere and turned round, facets given twice."""
    generator = np.random.default_rng(seed)
    points, facets = surface(generator)
    _, _, vertices = moved(generator, points)
    mesh = Mesh(vertices, facets)
    order, places = generator.permutation(len(facets)), generator.permutation(len(vertices))
    number = np.argsort(places)
    loops = [np.roll(number[facets[k]], generator.integers(4))[:: generator.choice([1, -1])] for k in order]
    loops += [loops[k] for k in generator.integers(len(loops), size=2)]
    shuffled = Mesh(vertices[places], loops)
    for _ in range(6):
        radius = 10 ** generator.uniform(-2, 0.5)
        foot = random_place(generator, vertices, facets)
        centre = foot + generator.normal(size=3) * radius * generator.choice([0.0, 0.1, 0.5])
        one, other = signed(centre, radius, mesh), signed(centre, radius, shuffled)
        for name in ("kind", "point", "normal", "overlap", "count"):
            assert one[name].tobytes() == other[name].tobytes(), name
        vertex = one["kind"] == 2
        np.testing.assert_array_equal(places[other["feature"][vertex]], one["feature"][vertex])


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_rough_surfaces_do_not_notice_how_fine_their_mesh_is(seed):
    generator = np.random.default_rng(seed)
    points, facets = rough(generator)
    turn, shift, vertices = moved(generator, points)
    fine, parts = subdivided(generator, points, facets, generator.uniform(), 3)
    coarse, refined = Mesh(vertices, facets), Mesh(fine @ turn.T + shift, parts)
    for _ in range(6):
        radius = 10 ** generator.uniform(-1.5, 0.5)
        centre = random_place(generator, vertices, facets) + generator.uniform(0, radius) * turn[:, 2]
        one, other = signed(centre, radius, coarse), signed(centre, radius, refined)
        assert one["count"].sum() == other["count"].sum()
        assert abs(energy(one) - energy(other)) < 1e-11 * radius**2.5
        assert np.linalg.norm(force(one) - force(other)) < 1e-8 * radius**1.5


def test_rough_force_is_the_gradient_of_the_energy():
    """At 400 places over random terrains: central differences of the energy, and no more than they can tell."""
    generator = np.random.default_rng(3)
    worst, weights = 0.0, set()
    for _ in range(40):
        points, facets = rough(generator)
        mesh = Mesh(points, facets)
        for _ in range(10):
            radius = 10 ** generator.uniform(-1.0, 0.0)
            centre = random_place(generator, points, facets)
            centre = centre + generator.uniform(0.3, 0.9) * radius * np.array([0.0, 0.0, 1.0])
            contacts = signed(centre, radius, mesh)
            weights |= set(contacts["count"].tolist())
            step = 1e-6 * radius
            slope = [
                (energy(signed(centre + way, radius, mesh)) - energy(signed(centre - way, radius, mesh))) / (2 * step)
                for way in step * np.eye(3)
            ]
            worst = max(worst, np.abs(force(contacts) + slope).max() / radius**1.5)
    print("\nforce against gradient", worst, weights)
    assert {-1, 1} <= weights
    assert worst < 1e-6


def valley(angle, generator):
    """Two planes that rise from the y axis by half of `angle` each, in triangles."""
    slope = 0.5 * angle
    x = np.sort(generator.uniform(0.0, 4.0, 3))
    points = [[0.0, y, 0.0] for y in (-3.0, 3.0)]
    points += [[s * v * np.cos(slope), y, v * np.sin(slope)] for s in (-1, 1) for v in (*x, 5.0) for y in (-3.0, 3.0)]
    facets = []
    for first in (2, 10):
        rows = [0, *range(first, first + 8, 2)]
        facets += [t for a, b in pairwise(rows) for t in ([a, a + 1, b + 1], [a, b + 1, b])]
    return Mesh(points, facets)


@settings(max_examples=60, derandomize=True)
@given(seed=SEEDS, degrees=st.floats(0.1, 170.0), relative=st.floats(1e-3, 0.6))
def test_no_jump_where_the_second_side_of_a_valley_begins(seed, degrees, relative):
    """Carried at constant height over one side, past where the centre begins to project into the other."""
    generator = np.random.default_rng(seed)
    angle = np.radians(degrees)
    mesh, slope = valley(angle, generator), 0.5 * angle
    into = np.array([np.sin(slope), 0.0, np.cos(slope)])  # normal of the left side
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    # the centre at height 1 - relative over the left side projects onto the crease along the right side's normal
    place = (1 - relative) * into - (1 - relative) * np.tan(angle) * down if degrees < 89.0 else None
    if (
        place is None or np.linalg.norm(place) >= 1.0
    ):  # the crease is out of reach: the right side begins at its surface
        place = (1 - relative) * into - down * ((1 - (1 - relative) * np.cos(angle)) / np.sin(angle))
    jumps = [
        np.linalg.norm(force(signed(place + s * down, 1.0, mesh)) - force(signed(place - s * down, 1.0, mesh)))
        for s in (1e-3, 1e-5, 1e-7, 1e-9)
    ]
    assert jumps[0] < 0.02
    assert jumps[3] < 1e-6


def test_the_second_contact_of_a_shallow_valley_came_with_a_jump():
    """What the crease takes away: half of both forces, at 10 degrees and an overlap of a tenth."""
    mesh = valley(np.radians(10.0), np.random.default_rng(0))
    contacts = signed([0.0, 0.2, 0.9], 1.0, mesh)
    assert contacts["count"].tolist() == [1, 1, -1]
    assert len(wall_contacts([0.0, 0.2, 0.9], 1.0, mesh, method="h2")) == 2
    assert np.linalg.norm(force(contacts)) == pytest.approx(0.1**1.5, rel=0.1)


@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS, relative=st.floats(1e-3, 0.28))
def test_separate_walls_are_two_contacts_and_a_thin_plate_is_one(seed, relative):
    generator = np.random.default_rng(seed)
    square = np.array([[-9.0, -9.0], [9.0, -9.0], [9.0, 9.0], [-9.0, 9.0]])
    gap = generator.uniform(0.02, 0.9) * (2 - 2 * relative)
    low, high = (np.column_stack((square, np.full(4, z))) for z in (0.0, -gap))
    two = join_meshes([Mesh(low, [[0, 1, 2, 3]]), Mesh(high, [[0, 1, 2, 3]])])
    turn, _, _ = moved(generator, low)
    centre = turn @ [0.1, 0.2, 1 - relative]
    apart = Mesh(two.vertices @ turn.T, two.facet_vertices.reshape(-1, 4))
    reached = max(relative - gap, 0.0)
    expected = relative**1.5 + reached**1.5
    assert np.linalg.norm(force(signed(centre, 1.0, apart))) == pytest.approx(expected, rel=1e-9)
    sides = [[k, (k + 1) % 4, (k + 1) % 4 + 4, k + 4] for k in range(4)]
    plate = Mesh(two.vertices @ turn.T, [[0, 1, 2, 3], [4, 5, 6, 7], *sides])
    for x in (0.1, 8.9, 8.999999, 9.0):
        (contact,) = signed(turn @ [x, 0.2, 1 - relative], 1.0, plate)
        np.testing.assert_allclose(contact["normal"], turn[:, 2], atol=1e-9)


def plate(generator, low, high):
    """A rectangle of the plane z = 0, cut up at random."""
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    points, facets = subdivided(generator, corners, [[0, 1, 2, 3]], generator.uniform(), int(generator.integers(1, 4)))
    return np.column_stack((points, np.zeros(len(points)))), facets


@settings(max_examples=100, derandomize=True)
@given(seed=SEEDS, relative=st.floats(1e-3, 0.3), apart=st.booleans())
def test_sheets_of_one_plane_count_once_where_they_overlap_or_meet(seed, relative, apart):
    """Side by side without a common node, on top of each other, several times; as one wall or as two."""
    generator = np.random.default_rng(seed)
    turn, shift, _ = moved(generator, np.zeros((1, 3)))
    wide, seam = 9.0, generator.uniform(-0.2, 0.2)
    lap = generator.choice([0.0, 1e-9, generator.uniform(0.0, 3.0)])
    boxes = [([-wide, -wide], [seam + lap, wide]), ([seam, -wide - 0.1], [wide, wide + 0.2])]
    boxes += [([-wide - 1.0, -wide], [wide, 0.3 * wide])] * generator.integers(2)
    meshes = [Mesh(points @ turn.T + shift, facets) for points, facets in (plate(generator, *box) for box in boxes)]
    joined = join_meshes(meshes)
    if not apart:
        loops = [joined.loop(facet) for facet in range(joined.facet_count)]
        joined = Mesh(joined.vertices, loops)
    for _ in range(5):
        foot = turn @ [generator.uniform(-0.6, 0.6), generator.uniform(-0.5, 0.5), 0.0] + shift
        contacts = signed(foot + (1 - relative) * turn[:, 2], 1.0, joined)
        assert contacts["count"].sum() == 1
        np.testing.assert_allclose(force(contacts) / relative**1.5, turn[:, 2], atol=1e-9)


def in_box(centre, low, high):
    """Vector from the nearest point of a box."""
    return centre - np.clip(centre, low, high)


@settings(max_examples=150, derandomize=True)
@given(seed=SEEDS)
def test_a_thin_bracket_counts_as_the_solid_it_is(seed):
    """Against another road: energy of its two legs less that of the block in which they meet."""
    generator = np.random.default_rng(seed)
    a, b, s, t, w = (*generator.uniform(0.3, 2.0, 2), *generator.uniform(0.02, 0.25, 2), generator.uniform(0.5, 3.0))
    outline = np.array([[0, 0], [a, 0], [a, s], [t, s], [t, b], [0, b]])
    points = np.vstack([np.column_stack((outline, np.full(6, z))) for z in (0.0, w)])
    ends = [[0, 1, 2, 3], [0, 3, 4, 5]]
    facets = ends + [[k + 6 for k in loop] for loop in ends]
    facets += [[k, (k + 1) % 6, (k + 1) % 6 + 6, k + 6] for k in range(6)]
    turn, shift, vertices = moved(generator, points)
    mesh = Mesh(vertices, facets)
    legs = [([0, 0, 0], [a, s, w], 1), ([0, 0, 0], [t, b, w], 1), ([0, 0, 0], [t, s, w], -1)]
    tested = 0
    while tested < 5:
        centre = generator.uniform(-0.6, 2.0, 3)
        arms = [(in_box(centre, np.array(low), np.array(high)), k) for low, high, k in legs]
        if min(np.linalg.norm(arm) for arm, _ in arms) < 1e-3:
            continue
        tested += 1
        expected, stored = np.zeros(3), 0.0
        for arm, k in arms:
            distance = np.linalg.norm(arm)
            overlap = max(1.0 - distance, 0.0)
            expected += k * overlap**1.5 * arm / distance
            stored += k * 0.4 * overlap**2.5
        contacts = signed(turn @ centre + shift, 1.0, mesh)
        np.testing.assert_allclose(force(contacts) if len(contacts) else np.zeros(3), turn @ expected, atol=1e-9)
        assert energy(contacts) == pytest.approx(stored, abs=1e-9)


@settings(max_examples=40, derandomize=True)
@given(seed=SEEDS)
def test_results_are_finite_wherever_the_centre_is(seed):
    generator = np.random.default_rng(seed)
    points, facets = rough(generator)
    mesh = Mesh(points, facets)
    tiny = generator.choice([0.0, 1e-300, 1e-170, 1e-16, 1e-9])
    for _ in range(5):
        centre = random_place(generator, points, facets) + tiny * generator.normal(size=3)
        contacts = signed(centre, 10 ** generator.uniform(-6, 0), mesh)
        assert len(contacts) >= 1
        for name in ("point", "normal", "overlap", "weights"):
            assert np.isfinite(contacts[name]).all()
        np.testing.assert_allclose(np.linalg.norm(contacts["normal"], axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(contacts["weights"].sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("surface", FLAT)
def test_one_force_on_many_flat_surfaces(surface):
    """The same ones in every run: a rule that fails once in a thousand surfaces is found here."""
    for seed in (*range(150), 421, 15239, 164927, 268129377):
        test_one_force_on_a_flat_surface.hypothesis.inner_test(surface, seed, 0.5)


@pytest.mark.slow
def test_one_contact_outside_many_convex_polyhedra():
    """So deep that most of the body is within reach, and its sharp ends tell its sides badly."""
    for seed in range(320):
        test_one_contact_outside_a_convex_polyhedron.hypothesis.inner_test(seed, 0.85)


@settings(max_examples=150, derandomize=True)
@given(seed=SEEDS)
def test_a_solid_of_blocks_is_the_sum_over_its_cells(seed):
    """Rings, steps, pits and pillars, however meshed, against distances from the blocks, their sides and edges."""
    generator = np.random.default_rng(seed)
    solid, lines, points, facets = blocks(generator)
    fine, parts = points, facets
    if generator.integers(2):
        fine, parts = subdivided(generator, points, facets, generator.uniform(), int(generator.integers(1, 4)))
    parts = [loop[::-1] if generator.integers(2) else loop for loop in parts]
    turn, shift, vertices = moved(generator, fine)
    mesh, cells = Mesh(vertices, parts), block_cells(solid, lines)
    for _ in range(12):
        radius = 10 ** generator.uniform(-1.5, 0.5)
        centre = random_place(generator, fine, parts) + generator.normal(size=3) * radius * generator.choice([0.3, 1])
        if generator.integers(3) == 0:  # in the plane of facets
            axis = generator.integers(3)
            centre[axis] = generator.choice(lines[axis])
        arms = np.array([in_box(centre, low, high) for low, high, _ in cells])
        distance, counts = np.linalg.norm(arms, axis=1), np.array([count for _, _, count in cells])
        if distance.min() < 1e-3 * radius:
            continue
        overlap = np.maximum(1.0 - distance / radius, 0.0)
        contacts = signed(turn @ centre + shift, radius, mesh)
        pull = turn @ ((counts * overlap**1.5 / distance) @ arms)
        np.testing.assert_allclose(force(contacts) / radius**1.5, pull, atol=1e-8)
        assert energy(contacts) / radius**2.5 == pytest.approx(0.4 * counts @ overlap**2.5, abs=1e-9)

"""Overlaps of spheres with one another and with meshes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from pdem.case.sections.general import Domain
from pdem.containers.meshes.mesh import Mesh
from pdem.particles.clearance import coincident_pair, overlapping_pairs, touching_walls
from pdem.particles.regions import wrap_positions

GENERATOR = np.random.default_rng(1)


def box(*periodic: bool) -> Domain:
    return Domain(lower=(-1.0, 0.0, 2.0), upper=(1.0, 1.5, 3.0), periodic=periodic or (False,) * 3)


def spheres(count: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    position = GENERATOR.uniform([-1.0, 0.0, 2.0], [1.0, 1.5, 3.0], (count, 3))
    return position, 0.2 * ratio ** -GENERATOR.random(count)


def brute_force(position: np.ndarray, radius: np.ndarray, domain: Domain) -> np.ndarray:
    first, second = np.triu_indices(len(radius), 1)
    offset = position[first] - position[second]
    width = np.subtract(domain.upper, domain.lower)
    offset -= np.where(domain.periodic, np.round(offset / width) * width, 0.0)
    return np.stack([first, second], axis=1)[np.linalg.norm(offset, axis=1) < radius[first] + radius[second]]


@pytest.mark.parametrize("periodic", [(False, False, False), (True, False, True), (True, True, True)])
@pytest.mark.parametrize("ratio", [1.0, 30.0])
def test_all_overlapping_pairs_are_found(periodic: tuple[bool, bool, bool], ratio: float) -> None:
    domain = box(*periodic)
    position, radius = spheres(120, ratio)
    pairs, overlaps = overlapping_pairs(position, radius, domain)
    np.testing.assert_array_equal(pairs, brute_force(position, radius, domain))
    assert np.all(overlaps > 0.0)


def test_of_several_images_of_a_pair_the_nearest_one_counts() -> None:
    domain = box(True, True, True)
    position, _ = spheres(40, 1.0)
    radius = np.full(40, 0.6)  # above half of the box: every sphere overlaps itself
    pairs, overlaps = overlapping_pairs(position, radius, domain)
    np.testing.assert_array_equal(pairs, brute_force(position, radius, domain))
    apart = position[pairs[:, 0]] - position[pairs[:, 1]]
    width = np.subtract(domain.upper, domain.lower)
    apart -= np.round(apart / width) * width
    np.testing.assert_allclose(overlaps, 1.2 - np.linalg.norm(apart, axis=1))


def test_positions_on_the_far_face_are_on_the_near_one() -> None:
    domain = box(True, True, True)
    position = np.array([[1.0, 1.5, 3.0], [-1.0 - 1e-17, 0.0, 2.0], [5.5, 0.1, 2.1]])
    moved = wrap_positions(position, domain)
    assert np.all((moved >= domain.lower) & (moved < domain.upper))
    assert moved[2, 0] == pytest.approx(-0.5)
    assert overlapping_pairs(position[:2], np.array([0.1, 0.1]), domain)[1] == pytest.approx([0.2])


def test_radii_in_the_wrong_unit_do_not_exhaust_memory() -> None:
    position, radius = spheres(3000, 1.0)
    pairs, _ = overlapping_pairs(position, radius * 100.0, box())
    assert 3000 < len(pairs) < 5_000_000


def test_coincident_centres_are_named_lowest_first() -> None:
    position, _ = spheres(50, 1.0)
    assert coincident_pair(position, box()) is None
    position[[40, 7, 12]] = position[3]
    assert coincident_pair(position, box()) == (3, 7)
    position = np.array([[1.0, 0.0, 2.0], [-1.0, 0.0, 2.0]])
    assert coincident_pair(position, box()) is None
    assert coincident_pair(position, box(True, False, False)) == (0, 1)
    assert coincident_pair(np.zeros((0, 3)), box()) is None


def test_spheres_through_a_plate_are_found_with_their_depth() -> None:
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [1.5, 0.5, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3, 4]])
    position = np.array([[0.5, 0.5, 0.08], [0.5, 0.5, -0.08], [0.5, 0.5, 0.2], [-0.06, 0.5, 0.08], [-0.1, -0.1, 0.0]])
    hit, depth, facet = touching_walls(position, np.full(5, 0.1), mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert hit.tolist() == [0, 1]
    np.testing.assert_allclose(depth, 0.02)
    assert facet.tolist() == [0, 0]
    assert touching_walls(position, np.full(5, 0.101), mesh.vertices, mesh.facet_start, mesh.facet_vertices)[
        0
    ].tolist() == [0, 1, 3]


def test_distance_to_random_triangles_agrees_with_sampling() -> None:
    corners = GENERATOR.random((30, 3, 3))
    mesh = Mesh(corners.reshape(-1, 3), np.arange(90).reshape(30, 3))
    position = GENERATOR.random((60, 3))
    weights = GENERATOR.dirichlet([1.0, 1.0, 1.0], 4000)
    edge = np.linspace(0.0, 1.0, 200)
    weights = np.concatenate(
        [weights, *(np.roll(np.stack([edge, 1 - edge, 0 * edge], 1), k, axis=1) for k in range(3))]
    )
    samples = (weights @ corners).reshape(-1, 3)
    nearest = np.array([np.linalg.norm(samples - point, axis=1).min() for point in position])
    hit, depth, _ = touching_walls(position, np.full(60, 5.0), mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert hit.tolist() == list(range(60))
    distance = 5.0 - depth
    assert np.all(distance <= nearest + 1e-12)
    np.testing.assert_allclose(distance, nearest, atol=0.03)


def test_small_spheres_near_large_ones_are_not_forgotten() -> None:
    mesh = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    position = np.array([[0.2, 0.2, 0.9], [0.2, 0.2, 0.0009], [0.3, 0.3, 0.0011], [0.2, 0.2, 0.03]])
    radius = np.array([1.0, 0.001, 0.001, 0.04])
    hit, _, _ = touching_walls(position, radius, mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert hit.tolist() == [0, 1, 3]


@pytest.mark.parametrize("at_once", [1, 2, 1 << 19])
@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_of_facets_that_are_as_deep_the_last_one_counts(order, at_once, monkeypatch):
    """In whichever parts the pairs come, which depends on how particles are shared among ranks."""
    monkeypatch.setattr("pdem.containers.meshes.box_tree.AT_ONCE", at_once)
    corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    facets = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    mesh = Mesh(corners, facets[list(order)])
    position = np.array([[0.5, 0.5, 0.05], [0.5, 0.4, 0.05]])
    hit, depth, facet = touching_walls(position, np.full(2, 0.1), mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert (hit.tolist(), facet.tolist()) == ([0, 1], [3, order.index(0)])
    assert depth == pytest.approx(0.05)

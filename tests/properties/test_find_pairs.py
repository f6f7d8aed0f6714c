"""Every detection method finds the pairs that a plain comparison of all distances finds."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from pdem.detection.find_pairs import METHODS, PairSearch, find_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SINGLE_SIZE = [method for method in METHODS if method != "hgrid"]
KINDS = ("random", "lattice", "fine lattice", "one point", "clusters", "wall of layers")


@dataclass(frozen=True)
class System:
    """A system of spheres in a box."""

    positions: NDArray[np.float64]
    radii: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    periodic: tuple[bool, ...]
    skin: float

    @property
    def dimension(self) -> int:
        return self.positions.shape[1]

    def search(self, method: str, **options: object) -> PairSearch:
        return find_pairs(
            self.positions,
            self.radii,
            method=method,
            lower=self.lower,
            upper=self.upper,
            periodic=self.periodic,
            skin=self.skin,
            **options,
        )

    def reference(self) -> NDArray[np.int64]:
        """All pairs in plain numpy, in the one order of operations that decides about rounding."""
        first, second = np.triu_indices(len(self.radii), k=1)
        squared = np.zeros(len(first))
        for axis in range(self.dimension):
            apart = self.positions[first, axis] - self.positions[second, axis]
            if self.periodic[axis]:
                period = self.upper[axis] - self.lower[axis]
                apart = np.where(apart > period / 2, apart - period, apart)
                apart = np.where(apart < -period / 2, apart + period, apart)
            squared = squared + apart * apart
        reach = self.radii[first] + self.radii[second] + self.skin
        touching = squared <= reach * reach
        return np.stack((first[touching], second[touching]), axis=1)


def random_system(generator: np.random.Generator, *, most: int = 120) -> System:
    """Draw a system of any dimension, kind, size ratio, box and skin; periodic boxes are small on purpose."""
    dimension = int(generator.integers(2, 4))
    count = int(generator.choice([0, 1, 2, 3, 20, most]))
    ratio = float(generator.choice([1.0, 2.0, 10.0, 100.0, 1000.0]))
    scale = float(generator.choice([1e-3, 1.0, 7.3]))
    radii = scale * 0.5 * ratio ** -generator.random(count)
    largest = 2.0 * float(radii.max(initial=0.25 * scale))
    skin = float(generator.choice([0.0, 0.0, 0.1, 0.4])) * largest
    length = (largest + skin) * generator.choice([1.0, 1.7, 2.0, 2.5, 3.0, 6.1, 11.0], size=dimension)
    lower = generator.uniform(-5.0, 5.0, size=dimension) * float(generator.choice([0.0, 1.0, 1000.0]))
    # An exact period: otherwise the box is a rounding error smaller than it was meant to be.
    upper = np.nextafter(lower + length * (1.0 + 1e-9), np.inf)
    periodic = tuple(bool(flag) for flag in generator.random(dimension) < generator.choice([0.0, 0.5, 1.0]))
    positions = lower + _places(generator, str(generator.choice(KINDS)), count, length, largest)
    inside = np.minimum(np.maximum(positions, lower), np.nextafter(upper, -np.inf))
    positions = np.where(np.array(periodic), inside, positions)
    return System(positions, radii, lower, upper, periodic, skin)


def _places(
    generator: np.random.Generator, kind: str, count: int, length: NDArray[np.float64], largest: float
) -> NDArray[np.float64]:
    """Return centres relative to the lower corner."""
    shape = (count, len(length))
    if kind == "random":
        return generator.random(shape) * length
    if kind == "lattice":
        return generator.integers(0, 7, shape) * largest
    if kind == "fine lattice":
        return generator.integers(0, 23, shape) * (0.1 * largest) * 3.0
    if kind == "one point":
        return np.repeat(generator.random((1, len(length))) * length, count, axis=0)
    if kind == "clusters":
        return generator.normal(size=shape) * largest * 0.6 + generator.integers(0, 2, (count, 1)) * length * 1e5
    layers = generator.random(shape) * length
    layers[:, 0] = generator.integers(0, 2, count) * largest
    return layers


def random_systems(seed: int, number: int, **options: int) -> Iterator[System]:
    for index in range(number):
        yield random_system(np.random.default_rng((seed, index)), **options)


def scale_of(system: System) -> float:
    """The largest radius, 1 without particles."""
    return float(system.radii.max(initial=0.0)) or 1.0


def level_sizes(generator: np.random.Generator, system: System, levels: int) -> NDArray[np.float64]:
    """Draw rising cell sizes; some equal a particle's own diameter plus skin."""
    diameters = 2.0 * system.radii + system.skin
    top = float(diameters.max(initial=1.0))
    lower = generator.uniform(0.2 * float(diameters.min(initial=0.5)), top, size=levels - 1)
    if len(diameters) and levels > 1:
        lower[0] = generator.choice(diameters)
    return np.unique(np.append(lower[lower < top], top))


@pytest.mark.parametrize("method", SINGLE_SIZE)
def test_methods_for_similar_sizes_find_the_pairs_of_brute_force(method: str) -> None:
    for system in random_systems(1, 300):
        if method == "screening" and np.abs(system.positions - system.lower).max(initial=0.0) > 100 * scale_of(system):
            continue  # two clusters far apart: the dense array is refused
        assert np.array_equal(system.search(method).pairs, system.reference()), system


@pytest.mark.parametrize("direction", ["top-down", "bottom-up"])
@pytest.mark.parametrize("levels", range(1, 11))
def test_hgrid_with_any_levels_finds_the_pairs_of_brute_force(direction: str, levels: int) -> None:
    for index, system in enumerate(random_systems(100 + levels, 60)):
        sizes = level_sizes(np.random.default_rng(index), system, levels)
        found = system.search("hgrid", direction=direction, cell_sizes=sizes)
        assert np.array_equal(found.pairs, system.reference()), (system, sizes)


@pytest.mark.parametrize("rule", ["auto", "single", "linear", "exponential", "constant", "optimal"])
def test_hgrid_with_chosen_levels_finds_the_pairs_of_brute_force(rule: str) -> None:
    for system in random_systems(7, 60 if rule == "auto" else 12):
        found = system.search("hgrid", cell_sizes=rule)
        assert np.array_equal(found.pairs, system.reference()), system
        if len(system.radii):
            assert found.cell_sizes[-1] == 2.0 * system.radii.max() + system.skin
            assert (np.diff(found.cell_sizes) > 0.0).all()


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    points=st.lists(st.tuples(*[st.integers(-6, 6)] * 3), max_size=12),
    radii=st.lists(st.sampled_from([0.25, 0.5, 1.0, 1.5]), min_size=12, max_size=12),
    dimension=st.sampled_from([2, 3]),
    periodic=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    skin=st.sampled_from([0.0, 0.5]),
)
def test_exact_contacts_on_cell_borders(
    points: list[tuple[int, int, int]],
    radii: list[float],
    dimension: int,
    periodic: tuple[bool, bool, bool],
    skin: float,
) -> None:
    """Half-integer places and radii: spheres touch exactly, and lie exactly on borders of cells and box."""
    system = System(
        np.array(points, dtype=float).reshape(-1, 3)[:, :dimension] * 0.5,
        np.array(radii[: len(points)]),
        np.full(dimension, -3.0),
        np.full(dimension, 3.5),
        periodic[:dimension],
        skin,
    )
    inside = np.where(np.array(system.periodic), system.positions % 6.5, system.positions)
    system = replace(system, positions=np.where(inside > 3.0, inside - 6.5 * np.array(system.periodic), inside))
    expected = system.reference()
    for method in METHODS:
        assert np.array_equal(system.search(method).pairs, expected), method
    bottom_up = system.search("hgrid", direction="bottom-up", cell_sizes=[0.5 + skin, 1.0 + skin, 2.5 + skin, 3.5])
    assert np.array_equal(bottom_up.pairs, expected)


@pytest.mark.parametrize("method", METHODS)
def test_order_of_particles_only_renames_pairs(method: str) -> None:
    generator = np.random.default_rng(5)
    positions, radii = generator.random((80, 3)) * 4.0, generator.uniform(0.05, 0.5, 80)
    order = generator.permutation(80)
    found = find_pairs(positions, radii, method=method).pairs
    renamed = np.sort(order[find_pairs(positions[order], radii[order], method=method).pairs], axis=1)
    assert np.array_equal(found, renamed[np.lexsort((renamed[:, 1], renamed[:, 0]))])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_positions_outside_a_periodic_box_are_wrapped(method: str, dimension: int) -> None:
    generator = np.random.default_rng(11)
    inside = generator.integers(0, 2**20, (60, dimension)) * 2.0**-18
    images = inside + 4.0 * generator.integers(-3, 4, inside.shape)
    options = {"lower": [0.0] * dimension, "upper": [4.0] * dimension, "periodic": [True] * dimension}
    expected = find_pairs(inside, 0.3, method=method, **options).pairs
    assert len(expected) > 0
    assert np.array_equal(find_pairs(images, 0.3, method=method, **options).pairs, expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("exponent", [-900, -500, 0, 500, 900])
def test_scale_does_not_matter(method: str, exponent: int) -> None:
    generator = np.random.default_rng(2)
    positions, radii = generator.random((50, 3)) * 3.0, generator.uniform(0.02, 0.4, 50)
    expected = find_pairs(positions, radii, method=method)
    scaled = find_pairs(np.ldexp(positions, exponent), np.ldexp(radii, exponent), method=method)
    assert len(expected.pairs) > 10
    assert np.array_equal(scaled.pairs, expected.pairs)
    assert np.array_equal(scaled.cell_sizes, np.ldexp(expected.cell_sizes, exponent))


@pytest.mark.parametrize("method", METHODS)
def test_far_from_the_origin(method: str) -> None:
    generator = np.random.default_rng(3)
    positions = generator.integers(0, 4096, (60, 3)) / 1024.0 + 2.0**40
    found = find_pairs(positions, 0.3, method=method).pairs
    assert len(found) > 5
    assert np.array_equal(found, find_pairs(positions - 2.0**40, 0.3, method="brute-force").pairs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(0, 2), (0, 3), (1, 2), (1, 3)])
def test_without_a_pair(method: str, shape: tuple[int, int]) -> None:
    found = find_pairs(np.zeros(shape), 1.0, method=method)
    assert found.pairs.shape == (0, 2)
    assert found.pairs.dtype == np.int64
    assert found.checks == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_pair_is_listed_once_when_two_images_touch(method: str) -> None:
    """Two spheres half a period apart, 1.1 m in both directions: they reach 1.0 m, with the skin 1.15 m."""
    options = {"lower": [0, 0], "upper": [2.2, 1.2], "periodic": [True, True]}
    positions = [[0.1, 0.5], [1.2, 0.5]]
    assert find_pairs(positions, 0.5, method=method, **options).pairs.tolist() == []
    assert find_pairs(positions, 0.5, method=method, skin=0.15, **options).pairs.tolist() == [[0, 1]]


def test_counts_of_a_full_lattice() -> None:
    """A periodic cubic lattice with one sphere per cell: the half mask is met exactly once per sphere."""
    places = np.stack(np.meshgrid(*[np.arange(5) + 0.5] * 3), axis=-1).reshape(-1, 3)
    for method in ("linked-cell", "nbs", "sorting", "screening"):
        found = find_pairs(places, 0.4999, method=method, lower=[0] * 3, upper=[5] * 3, periodic=[True] * 3, skin=1e-4)
        assert found.checks == 13 * 125
        assert found.cell_accesses == 14 * 125
    flat = np.unique(places[:, :2], axis=0)
    found = find_pairs(flat, 0.4999, method="nbs", lower=[0] * 2, upper=[5] * 2, periodic=[True] * 2)
    assert (found.checks, found.cell_accesses) == (4 * 25, 5 * 25)
    assert find_pairs(flat, 0.4, method="brute-force").checks == 25 * 24 // 2


@pytest.mark.parametrize("method", ["hgrid", "linked-cell", "nbs", "sorting"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_memory_does_not_grow_with_the_emptiness_of_the_box(method: str, dimension: int) -> None:
    """One particle per million cells, and two clusters 1e9 diameters apart: still O(N)."""
    generator = np.random.default_rng(1)
    count = 2000
    dense = generator.random((count, dimension)) * count ** (1.0 / dimension)
    sparse = dense * 1e6 ** (1.0 / dimension)
    apart = dense + generator.integers(0, 2, (count, 1)) * 1e9
    find_pairs(dense, 0.5, method=method)
    for positions in (sparse, apart):
        tracemalloc.start()
        found = find_pairs(positions, 0.5, method=method)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1200 * count
        assert np.array_equal(found.pairs, find_pairs(positions, 0.5, method="brute-force").pairs)

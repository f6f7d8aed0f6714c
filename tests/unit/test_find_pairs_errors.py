"""Bad input to the pair search is refused with the particle or value, the limit and the remedy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pdem.detection.cell_sizes import cell_sizes
from pdem.detection.find_pairs import METHODS, find_pairs
from pdem.detection.rivals.cell_grid import cell_grid
from pdem.detection.rivals.screening import check_memory
from pdem.foundation.errors import InputError

THREE = np.zeros((3, 3))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_coordinates_must_be_finite(bad: float) -> None:
    positions = np.zeros((4, 3))
    positions[2, 1] = bad
    with pytest.raises(InputError, match=f"particle 2 has the y coordinate {bad}"):
        find_pairs(positions, 1.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_radii_must_be_positive_and_finite(bad: float) -> None:
    with pytest.raises(InputError, match=f"particle 1 has the radius {bad}.*positive and finite"):
        find_pairs(THREE, [1.0, bad, 1.0])
    with pytest.raises(InputError, match=f"particle 0 has the radius {bad}"):
        find_pairs(THREE, bad)
    with pytest.raises(InputError, match="particle 1 has the radius"):
        cell_sizes([1.0, bad], volume_fraction=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": np.zeros(3)}, r"positions have shape \(3,\)"),
        ({"positions": np.zeros((3, 4))}, r"positions have shape \(3, 4\)"),
        ({"positions": [[0, 1], [0]]}, "positions are not real numbers"),
        ({"positions": [["a", "b"]]}, "positions are not real numbers"),
        ({"positions": [[1j, 0]]}, "positions are not real numbers"),
        ({"radii": [1.0, 1.0]}, r"radii have shape \(2,\) for 3 particles"),
        ({"radii": np.ones((3, 1))}, r"radii have shape \(3, 1\)"),
        ({"skin": -0.1}, "skin is -0.1"),
        ({"skin": math.nan}, "skin is nan"),
        ({"skin": [0.1, 0.2]}, "skin is"),
        ({"method": "verlet"}, "method is 'verlet'; use one of hgrid, linked-cell, nbs, sorting, screening"),
        ({"direction": "up"}, "direction is 'up'; use one of top-down, bottom-up"),
        ({"cell_sizes": "many"}, "cell_sizes is 'many'; use auto"),
        ({"cell_sizes": []}, "cell_sizes have shape"),
        ({"cell_sizes": [1.0, 3.0, 3.0]}, "cell size 2 is 3.0 after 3.0; cell sizes must rise"),
        ({"cell_sizes": [3.0, 2.0]}, "cell size 1 is 2.0 after 3.0"),
        ({"cell_sizes": [-1.0, 2.0]}, "cell size 0 is -1.0"),
        ({"cell_sizes": [1.0, math.inf]}, "cell size 1 is inf"),
        ({"cell_sizes": [0.5, 1.9]}, "largest cell size 1.9 m cannot hold particle 0"),
        ({"cell_sizes": [0.5, 2.0], "skin": 0.1}, "cannot hold particle 0 of diameter plus skin 2.1 m"),
        ({"cell_sizes": ["a"]}, "cell_sizes is"),
        ({"periodic": (True, False, False)}, "axis x is periodic but the box is not known"),
        ({"periodic": (True, False)}, "for 3D positions"),
        ({"lower": [0, 0, 0]}, "upper is missing"),
        ({"upper": [0, 0, 0]}, "lower is missing"),
        ({"lower": [0, 0], "upper": [9, 9]}, "3D positions need 3 finite numbers"),
        ({"lower": [0, 0, math.nan], "upper": [9, 9, 9]}, "lower is"),
        ({"lower": [0, 0, 9], "upper": [9, 9, 9]}, "lower 9.0 is not below upper 9.0 along z"),
        (
            {"lower": [0, 0, 0], "upper": [9, 1.9, 9], "periodic": (True, True, True)},
            "periodic box is 1.9 m long along y, less than the largest diameter plus skin, 2.0 m",
        ),
        (
            {"lower": [0, 0, 0], "upper": [9, 9, 2.05], "periodic": (False, False, True), "skin": 0.1},
            "periodic box is 2.05 m long along z",
        ),
        ({"lower": [-1e308] * 3, "upper": [1e308] * 3, "periodic": (True,) * 3}, "too long along x"),
        ({"radii": 1e308}, "largest diameter plus skin is above"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_pairs(**({"positions": THREE, "radii": 1.0} | arguments))


def test_two_dimensional_positions_take_two_dimensional_bounds() -> None:
    with pytest.raises(InputError, match="2D positions need 2 finite numbers"):
        find_pairs(np.zeros((1, 2)), 1.0, lower=[0, 0, 0], upper=[9, 9, 9])
    with pytest.raises(InputError, match="for 2D positions"):
        find_pairs(np.zeros((1, 2)), 1.0, periodic=(False, False, True), lower=[0, 0], upper=[9, 9])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "brute-force"])
def test_too_many_cells_along_an_axis(method: str) -> None:
    positions = np.array([[0.0, 0.0, 0.0], [0.0, 1.0e10, 0.0]])
    with pytest.raises(InputError, match=r"extend 1e\+10 m along y: more than 2\^31 cells of 1 m"):
        find_pairs(positions, 0.5, method=method)
    assert len(find_pairs(positions, 0.5, method="brute-force").pairs) == 0


def test_explicit_sizes_that_make_too_many_cells_and_automatic_ones_that_do_not() -> None:
    positions, radii = np.array([[0.0, 0.0], [1e6, 0.0], [1e6, 1.0]]), [1e-5, 1.0, 1e-5]
    with pytest.raises(InputError, match=r"more than 2\^31 cells of 2e-05 m"):
        find_pairs(positions, radii, cell_sizes=[2e-5, 2.0])
    for rule in ("auto", "exponential"):
        assert find_pairs(positions, radii, cell_sizes=rule).pairs.tolist() == [[1, 2]]


def test_coordinates_beyond_all_diameters() -> None:
    with pytest.raises(InputError, match=r"particle 1 is more than .* of the largest diameters"):
        find_pairs([[0.0, 0.0], [1e100, 0.0]], 1e-250)


def test_screening_memory_is_checked_before_it_is_taken() -> None:
    positions = np.array([[0.0, 0.0, 0.0], [1e6, 1e6, 1e6]])
    with pytest.raises(InputError, match=r"screening array of \d+ x \d+ x \d+ cells takes .* GB.*use method"):
        find_pairs(positions, 0.5, method="screening")
    grid = cell_grid(positions / 1e4, 1.0, lower=np.zeros(3), upper=np.zeros(3), periodic=(False,) * 3, dimension=3)
    check_memory(grid, free=2 * 8 * int(np.prod(grid.counts)))
    with pytest.raises(InputError, match="screening array"):
        check_memory(grid, free=2 * 8 * int(np.prod(grid.counts)) - 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "method is 'best'; use one of single, linear, exponential, constant, optimal"),
        ({"levels": 0}, "levels is 0"),
        ({"levels": 2.5}, "levels is 2.5"),
        ({"volume_fraction": 0.0}, "volume_fraction is 0.0"),
        ({"volume_fraction": math.nan}, "volume_fraction is nan"),
        ({"overhead": -1.0}, "overhead is -1.0"),
        ({"skin": math.inf}, "skin is inf"),
        ({"dimension": 4}, "dimension is 4; use 2 or 3"),
        ({"direction": "sideways"}, "direction is 'sideways'"),
        ({"own_level": "all"}, "own_level is 'all'; use one of half-mask, search-box"),
        ({"unit": "planes"}, "unit is 'planes'; use one of cells, rows"),
        ({"radii": []}, r"radii have shape \(0,\)"),
        ({"radii": "fine"}, "radii are str"),
    ],
)
def test_bad_arguments_of_cell_sizes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cell_sizes(**({"radii": [1.0, 2.0], "volume_fraction": 0.5} | arguments))

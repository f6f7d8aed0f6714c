"""The common ground of the cell methods: rings, half mask, margins, folds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pdem.detection.rivals.cell_grid import cell_grid, collect, half_mask

FREE = {"lower": np.zeros(3), "upper": np.full(3, 8.0)}


@pytest.mark.parametrize("counts", list(itertools.product((1, 2, 3, 4), repeat=3)))
def test_half_mask_meets_each_pair_of_neighbours_once(counts: tuple[int, int, int]) -> None:
    rings = np.array(counts)
    met = []
    neighbours = np.empty((13, 3), dtype=np.int64)
    for cell in itertools.product(*(range(count) for count in counts)):
        number = half_mask(np.array(cell), rings, neighbours)
        met += [frozenset((cell, tuple(int(index) for index in other))) for other in neighbours[:number]]
    adjacent = {
        frozenset((cell, tuple((index + step) % count for index, step, count in zip(cell, steps, counts, strict=True))))
        for cell in itertools.product(*(range(count) for count in counts))
        for steps in itertools.product((-1, 0, 1), repeat=3)
    }
    assert len(met) == len(set(met))
    assert set(met) == {pair for pair in adjacent if len(pair) == 2}


def test_an_open_axis_has_an_empty_cell_at_its_end_and_the_third_axis_of_2d_has_one_cell() -> None:
    positions = np.array([[0.0, 0.0, 5.0], [7.9, 3.0, -5.0]])
    grid = cell_grid(positions, 1.0, periodic=(False, True, False), dimension=2, **FREE)
    assert grid.counts.tolist() == [9, 7, 1]  # 8 m of period hold 7 cells a little larger than 1 m
    assert grid.edge[1] == 8.0 / 7.0
    assert grid.box.tolist() == [np.inf, 8.0, np.inf]
    assert grid.cells(positions).tolist() == [[0, 0, 0], [7, 2, 0]]


@pytest.mark.parametrize("size", [0.1, 1.0 / 3.0, 0.7, 1e-3])
def test_centres_one_size_apart_are_never_two_cells_apart(size: float) -> None:
    start = np.random.default_rng(1).random(2000) * 1e5 * size
    chain = np.zeros((4000, 3))
    chain[:2000, 0] = np.floor(start / size) * size
    chain[2000:, 0] = np.nextafter(chain[:2000, 0] + size, np.inf)
    cells = cell_grid(chain, size, periodic=(False,) * 3, dimension=3, **FREE).cells(chain)[:, 0]
    assert (np.abs(cells[2000:] - cells[:2000]) <= 1).all()


def test_a_folded_periodic_axis_has_a_multiple_of_the_fold() -> None:
    positions = np.array([[0.0, 0.0, 0.0], [7.9, 0.0, 0.0]])
    grid = cell_grid(positions, 0.1, periodic=(True, False, False), dimension=3, fold=12, **FREE)
    assert grid.counts.tolist() == [72, 2, 2]
    assert grid.folded.tolist() == [12, 2, 2]
    assert (grid.edge >= 0.1).all()


def test_pairs_beyond_the_first_guess_are_not_lost() -> None:
    calls = []

    def search(pairs: np.ndarray) -> tuple[int, int, int]:
        calls.append(len(pairs))
        room = min(len(pairs), 500)
        pairs[:room, 0] = np.arange(room)
        return 500, 7, 3

    pairs, checks, accesses = collect(search, 10)
    assert calls == [96, 500]
    assert pairs[:, 0].tolist() == list(range(500))
    assert (checks, accesses) == (7, 3)

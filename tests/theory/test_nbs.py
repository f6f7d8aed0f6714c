"""The examples of Munjiza and Andrews, Int. J. Numer. Meth. Engng 43 (1998) 131-149, as counts of operations.

The paper measures time; what makes it linear in N and independent of the spacing is that the number of lists
consulted and of distance tests is.
"""

from __future__ import annotations

import numpy as np
import pytest

from pdem.detection.find_pairs import PairSearch, find_pairs


def packing(count: int, spacing_x: float, spacing_y: float) -> PairSearch:
    """Discs of diameter 1 on a rectangular lattice."""
    side = int(np.sqrt(count))
    column, row = np.divmod(np.arange(side * side), side)
    return find_pairs(np.stack((column * spacing_x, row * spacing_y), axis=1), 0.5, method="nbs")


@pytest.mark.parametrize("count", [100, 900, 10_000])
def test_packing_a_is_linear_in_the_number_of_discs(count: int) -> None:
    """Example I: touching along x, 2 D apart along y: a chain of contacts in each row."""
    found = packing(count, 1.0, 2.0)
    side = int(np.sqrt(count))
    assert len(found.pairs) == side * (side - 1)
    assert found.cell_accesses <= 5 * count
    assert found.checks <= 4 * count


@pytest.mark.parametrize("spacing", [2.0, 5.0, 20.0, 50.0, 200.0])
def test_packings_b_and_c_do_not_depend_on_the_spacing(spacing: float) -> None:
    """Examples II and III: density down to 1/40,000; every disc consults its own list and four others."""
    for found in (packing(2500, spacing, 2.0), packing(2500, spacing, spacing)):
        assert found.cell_accesses == 5 * 2500
        assert found.checks <= 200  # rows exactly two cells apart: rounding may put two of them side by side
        assert len(found.pairs) == 0


def test_packing_d_with_two_spacings() -> None:
    """Example IV: pairs of touching discs, each pair far from the next."""
    for spacing in (3.0, 100.0):
        column, row = np.divmod(np.arange(2500), 50)
        x = (column // 2) * (1.0 + spacing) + column % 2
        found = find_pairs(np.stack((x, 2.0 * row), axis=1), 0.5, method="nbs")
        assert len(found.pairs) == 1250
        assert 1250 <= found.checks <= 1400
        assert found.cell_accesses <= 5 * 2500

"""Whatever a case is put together of, it has the same bits on any number of ranks, and after a restart on others."""

from __future__ import annotations

import pytest
from generated_machines import STEPS, machine
from rank_cases import compare, compare_restart

pytestmark = pytest.mark.filterwarnings("ignore:insertion inlet:RuntimeWarning")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.ranks(2, 3, timeout=300)
def test_same_bits_by_springs(ranks, seed):
    compare(machine(seed, ("linear",)), STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
@pytest.mark.ranks(2, 3, 4, timeout=600)
def test_same_bits_by_all_laws(ranks, seed):
    compare(machine(seed), STEPS)


@pytest.mark.parametrize("seed", range(10, 13))
@pytest.mark.ranks(2, timeout=300)
def test_a_restart_on_one_rank(ranks, seed):
    compare_restart(machine(seed, ("linear",)), STEPS // 2, STEPS // 2)

"""Whatever a case is put together of, it has the same bits on any number of ranks, and after a restart on others."""

from __future__ import annotations

import pytest

import pdem
from helpers.generated_boxes import deforming_box
from helpers.generated_machines import STEPS, machine
from helpers.rank_cases import communicator, compare, compare_restart, require_same_bits, state

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


def box_on_all_ranks(folder, seed):
    comm = communicator()
    return comm.bcast(deforming_box(folder, seed) if comm.rank == 0 else None)


@pytest.mark.parametrize("seed", [0, 11])
@pytest.mark.ranks(2, 3, timeout=300)
def test_same_bits_in_boxes_that_deform(ranks, seed, shared_path):
    case, meshes = box_on_all_ranks(shared_path, seed)
    assert compare(case, STEPS, meshes=meshes).measures().pair_contacts > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
@pytest.mark.ranks(2, 3, 4, timeout=600)
def test_same_bits_in_many_boxes_that_deform(ranks, seed, shared_path):
    case, meshes = box_on_all_ranks(shared_path, seed)
    compare(case, STEPS, meshes=meshes)


@pytest.mark.parametrize("seed", [4])
@pytest.mark.ranks(2, timeout=300)
def test_a_box_that_deforms_goes_on_alone(ranks, seed, shared_path):
    """In the middle of an interval between two changes of its rates."""
    case, meshes = box_on_all_ranks(shared_path, seed)
    compare_restart(case, STEPS // 2 + 3, STEPS // 2, meshes=meshes)


@pytest.mark.slow
@pytest.mark.parametrize("skin", [0.5, 3.0])
@pytest.mark.parametrize("seed", range(30))
def test_skins_do_not_matter_in_boxes_that_deform(tmp_path, seed, skin):
    """Beside lists that are made in each step."""
    states = []
    for one in (0.0, skin):
        case, meshes = deforming_box(tmp_path, seed, skin=one)
        run = pdem.Simulation(case, meshes=meshes)
        run.advance(STEPS)
        states.append(state(run))
    require_same_bits(*states)

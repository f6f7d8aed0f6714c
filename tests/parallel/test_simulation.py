"""The same bits on every number of ranks: each run is compared with the same run on one rank."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, DRUM, communicator, compare, compare_restart, divided, require_same_bits, state
from pdem.case.example_meshes.mixer import drum
from pdem.output.checkpoints.checkpoint_folder import latest_checkpoint
from pdem.output.compare import compare as compare_files
from pdem.run.run import run


@pytest.mark.ranks(1, 2, 3, 4, timeout=240)
def test_polydisperse_cloud(ranks):
    simulation = compare(divided(CLOUD, "bisection"), 200)
    assert simulation.system.lists.detections >= 3
    assert simulation.energies()["sliding"] > 0.0


@pytest.mark.ranks(3, slow=(8,), timeout=240)
def test_polydisperse_cloud_divided_anew_at_every_detection(ranks):
    simulation = compare(divided(CLOUD, "slabs" if ranks == 3 else "bisection", "always"), 200)
    assert simulation.system.lists.rebalances >= 3


@pytest.mark.ranks(1, 2, 8, slow=(3, 4), timeout=240)
def test_moving_drum(ranks):
    simulation = compare(divided(DRUM, "slabs"), 220, meshes=[drum()])
    assert simulation.measures().wall_contacts > 0


@pytest.mark.ranks(4, timeout=240)
def test_moving_drum_in_boxes_divided_anew_at_every_detection(ranks):
    simulation = compare(divided(DRUM, "bisection", "always"), 240, meshes=[drum()])
    assert simulation.measures().wall_contacts > 0
    assert simulation.system.lists.rebalances >= 3


@pytest.mark.ranks(3, timeout=240)
def test_large_meshes_by_blocks(ranks, monkeypatch):
    """Ranks move only the facets near their own particles; rank 0 shares out the forces of all."""
    monkeypatch.setattr("pdem.detection.walls.facets.LARGE", 10)
    compare(pdem.Case.from_text(DRUM), 200, meshes=[drum()])


@pytest.mark.ranks(2, 3, timeout=240)
def test_restart_on_another_number_of_ranks(ranks):
    comm, case = communicator(), pdem.Case.from_text(DRUM)
    states = compare_restart(case, 150, 150, meshes=[drum()])
    middle, end = comm.bcast(states)
    again = pdem.Simulation(case, comm, meshes=[drum()], state=middle)
    again.advance(150)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, end)
    patient_barrier(comm)


@pytest.mark.ranks(4, slow=(8,), timeout=240)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_more_ranks_than_particles(ranks, count):
    positions = [[0.02 + 0.03 * k, 0.04, 0.04] for k in range(count)]
    text = CLOUD.split("[[particles]]")[0] + '[output]\nfolder = "unused"\n'
    if count:
        text += f'[[particles]]\nmaterial = "glass"\nradius = 0.01\npositions = {positions}\nvelocity = [1, 0, 0]\n'
    simulation = compare(pdem.Case.from_text(text), 30)
    assert simulation.measures().particles == count


@pytest.mark.ranks(3, timeout=240)
def test_blow_up_is_the_same_on_all_ranks(ranks):
    text = CLOUD.replace("random = 1.0", "random = 900.0")
    simulation = pdem.Simulation(pdem.Case.from_text(text), communicator())
    with pytest.raises(pdem.PdemError, match=r"step \d+ .*particle \d+") as caught:
        simulation.advance(50)
    assert len(set(communicator().allgather(str(caught.value)))) == 1


@pytest.mark.ranks(1, 3, slow=(2, 4), timeout=240)
def test_particles_come_and_go(ranks):
    """Some leave the box by themselves, some are taken out, some are put in."""
    text = CLOUD.replace("gravity", 'outside = "remove"\ngravity').replace("random = 1.0", "random = 2.0")
    case = pdem.Case.from_text(text)
    comm = communicator()

    def played(communicator):
        run = pdem.Simulation(case, communicator)
        run.advance(250)
        run.remove([0, 2, 4])
        ids = run.insert([[0.01, 0.02, 0.004], [0.1, 0.06, 0.076]], [0.001, 0.0015], "glass", velocity=[0, 0.1, 0])
        run.advance(100)
        levels = run.system.lists.skins.radii.tolist()
        assert levels == run.system.exchange.share(levels)  # which they are follows from when lists are made
        return state(run), run.energies(), ids.tolist()

    found = played(comm)
    if comm.rank == 0:
        expected = played(None)
        require_same_bits(found[0], expected[0])
        assert found[1:] == expected[1:]
        assert len(found[0]["particles"]["id"]) < found[2][0] - 20
        assert found[1]["outflow"] != 0.0
    patient_barrier(comm)


@pytest.mark.ranks(3, timeout=240)
def test_files_of_a_run_hold_the_same_bits(ranks, shared_path, monkeypatch):
    """Snapshots and checkpoints, which all ranks write, and a restart from them on another number of ranks."""
    monkeypatch.setattr("pdem.output.hdf5.parallel_hdf5.BLOCK_ROWS", 16)
    comm = communicator()

    def played(name, communicator, end, state=None):
        case = pdem.Case.from_text(DRUM)
        for setting in (f"time.end={end}", "output.snapshots_every=3.5e-3", "output.checkpoint_every=3.5e-3"):
            case.override(setting)
        case.override(f"output.folder={shared_path / name}")
        run(pdem.Simulation(case, communicator, meshes=[drum()], state=state), quiet=True)
        patient_barrier(comm) if communicator else None

    played("together", comm, 10.5e-3)
    if comm.rank == 0:
        played("alone", None, 7e-3)
        first = latest_checkpoint(shared_path / "alone").groups
        assert len(first["wall_contacts"]["id"]) > 0
    patient_barrier(comm)
    played("alone", comm, 10.5e-3, first if comm.rank == 0 else None)
    if comm.rank == 0:
        played("one", None, 10.5e-3)
        for name in ("particles.vtkhdf", "walls.vtkhdf", "checkpoint-000000140.h5", "checkpoint-000000210.h5"):
            for folder in ("together", "alone"):
                found = compare_files(shared_path / folder / name, shared_path / "one" / name)
                assert found.equal, str(found)
    patient_barrier(comm)

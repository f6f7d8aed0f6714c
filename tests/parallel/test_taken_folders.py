"""Ranks agree that an output folder is taken, and end alike; a ledger goes on with the same bits on any number."""

from __future__ import annotations

import hashlib

import pytest

import pdem
from pdem.case.example_meshes.mixer import drum
from pdem.case.model import Case
from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.run.files.folder_use import FolderUse
from pdem.run.rebase_ledger import rebase_ledger
from pdem.run.run import run

BED = """
[time]
step = 5e-5
end = 0.01
[domain]
lower = [-0.18, -0.135, -0.135]
upper = [0.18, 0.135, 0.135]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e6
poisson_ratio = 0.2
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.008
fill = {count = 150, seed = 1}
velocity = {random = 2.0, seed = 3}
[[walls]]
name = "drum"
mesh = "unused"
material = "grain"
[output]
snapshots_every = 0.01
checkpoint_every = 0.005
"""


def communicator():
    from decomposition.mpi import start_world

    world = start_world()
    return Alone() if world is None else world.communicator


def ranks_of(comm):
    """Return what a simulation takes for its ranks."""
    return None if isinstance(comm, Alone) else comm


class Alone:
    """One rank, without MPI."""

    rank, size = 0, 1

    def Barrier(self):  # noqa: N802 - as of mpi4py
        """Wait for nobody."""


def case_in(folder, *settings):
    case = Case.from_text(BED)
    for setting in (f"output.folder={folder}", *settings):
        case.override(setting)
    return case


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.ranks(1, 2, timeout=240)
def test_all_ranks_refuse_a_folder_that_is_taken(ranks, shared_path):
    comm = communicator()

    def played(*settings, **options):
        simulation = pdem.Simulation(case_in(shared_path, *settings), ranks_of(comm), meshes=[drum()])
        try:
            run(simulation, quiet=True, **options)
        finally:
            comm.Barrier()

    played()
    before = digests(shared_path)
    with pytest.raises(InputError, match="holds a run"):
        played()
    restarted = pdem.Simulation(
        case_in(shared_path, "walls.0.name=barrel", "time.end=0.02"), ranks_of(comm), meshes=[drum()],
        state=read_checkpoint(CheckpointFolder(shared_path).paths()[-1]).groups,
    )  # fmt: skip
    with pytest.raises(InputError, match="holds other columns"):
        run(restarted, quiet=True)
    comm.Barrier()
    assert digests(shared_path) == before
    comm.Barrier()
    played("time.end=0.005", use=FolderUse(overwrite=True))
    assert [path.name for path in CheckpointFolder(shared_path).paths()] == ["checkpoint-000000100.h5"]
    with pytest.raises(InputError, match="cannot be made"):
        played(f"output.folder={shared_path}/run.log/none")


@pytest.mark.ranks(1, 2, timeout=240)
def test_a_ledger_goes_on_with_the_same_bits(ranks, shared_path):
    """As if the energy had always been that of the changed case, whatever has changed."""
    comm = communicator()
    meshes = [drum()]
    run(pdem.Simulation(case_in(shared_path), ranks_of(comm), meshes=meshes), quiet=True)
    comm.Barrier()
    held = read_checkpoint(CheckpointFolder(shared_path).paths()[-1])
    changes = ("domain.gravity=[0.0, 3.0, -20.0]", "materials.grain.youngs_modulus=3e6")

    def rebased(communicator):
        case = case_in(shared_path, *changes)
        simulation = pdem.Simulation(case, ranks_of(communicator), meshes=meshes, state=held.groups)
        return (rebase_ledger(simulation, case_in(shared_path)), simulation.first_balance, simulation.energies())

    def unchanged(communicator):
        return pdem.Simulation(
            case_in(shared_path), ranks_of(communicator), meshes=meshes, state=held.groups
        ).energies()

    found, before = rebased(comm), unchanged(comm)
    assert found[2]["residual"] == pytest.approx(before["residual"], abs=1e-12)
    assert abs(found[2]["elastic"] - before["elastic"]) > 1e-6
    assert abs(found[0]) > 100 * abs(before["residual"])
    if comm.rank == 0:
        assert rebased(None) == found
    comm.Barrier()

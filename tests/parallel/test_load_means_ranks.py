"""Mean and largest loads of walls have the same bits on any ranks and threads, and after restarts."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided

WALLS = """
[[walls]]
name = "floor"
shape = "plane"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
material = "glass"
[[walls]]
name = "lid"
shape = "plane"
point = [0.0, 0.0, 0.08]
normal = [0.0, 0.0, -1.0]
material = "glass"
servo = {axis = [0.0, 0.0, -1.0], force = 2.0, largest_rate = 0.1}
"""
EVERY = "series_every = 1.4e-3\nsnapshots_every = 1.0\ncheckpoint_every = 2e-3\nmean_wall_loads = ['*']\n"
CASE = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.3").replace("end = 1.0", "end = 0.006")
CASE = CASE.replace("[output]\n", f"[output]\n{EVERY}") + WALLS


def loads_of(folder):
    """Return the columns of means and largest loads."""
    series = pdem.Results(folder).series
    names = [name for name in series.names if "_mean" in name or name.endswith("_max")]
    assert len(names) == 18
    return {name: series[name] for name in names}


def require_same(found, expected):
    for name, column in expected.items():
        assert found[name].tobytes() == column.tobytes(), name


@pytest.mark.ranks(3, slow=(1, 4), timeout=300)
def test_means_and_largest_loads_have_the_same_bits(ranks, tmp_path):
    """On all ranks, on one, and from a state in the middle of an interval, written by several, on the others."""
    comm = communicator()
    root, case = comm.bcast(tmp_path), divided(CASE, "bisection", "always")
    case.override(f'output.folder="{root}/ranks"')
    pdem.Simulation(case, comm).run()
    comm.Barrier()
    shared = loads_of(root / "ranks")
    middle = sorted((root / "ranks").glob("checkpoint-*.h5"))[0]
    comm.Barrier()
    pdem.Simulation.restart(middle, comm, threads=2).run(overwrite=True)
    comm.Barrier()
    require_same(loads_of(root / "ranks"), shared)
    if comm.rank == 0:
        case.override(f'output.folder="{root}/alone"')
        pdem.Simulation(case, threads=2).run()
        require_same(loads_of(root / "alone"), shared)
        assert all(shared[f"{wall}_force_max"][1:].min() > 0.0 for wall in ("floor", "lid"))
    patient_barrier(comm)

"""Continuum fields have the same bits on any ranks, threads and cuts, in files as well, and after restarts."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided, require_same_bits, state

STEP = 2e-5
FIELDS = f"""
[[walls]]
name = "floor"
shape = "plane"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
material = "glass"
[[fields]]
name = "whole"
cells = [4, 3, 5]
width = 0.008
every = {4 * STEP!r}
average = {20 * STEP!r}
by = "material"
[[fields]]
name = "corner"
lower = [0.0, 0.0, -0.02]
upper = [0.05, 0.04, 0.06]
cells = [3, 1, 4]
width = 0.005
kernel = "lucy"
every = {6 * STEP!r}
average = {18 * STEP!r}
"""
CASE = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.3") + FIELDS


def numbers(fields):
    """Return all columns of all fields, bit by bit."""
    return {f"{name}.{column}": values for name, one in fields.items() for column, values in one.named.items()}


def looked_at(run):
    now = run.coarse_grain(cells=(2, 2, 2), width=0.01)
    return {"averages": numbers(run.fields), "now": numbers({"now": now})}


@pytest.mark.ranks(1, 3, slow=(4,), timeout=300)
def test_averages_have_the_same_bits(ranks):
    """In the middle of an average, over ranks and threads, and across a restart; looking on changes nothing."""
    case, comm = divided(CASE, "bisection" if ranks % 2 else "slabs", "always"), communicator()
    shared = pdem.Simulation(case, comm)
    shared.advance(27)
    middle = comm.bcast(state(shared))
    shared.advance(24)
    found, ended = looked_at(shared), state(shared)
    again = pdem.Simulation(case, comm, state=middle, threads=2)
    again.advance(24)
    require_same_bits(looked_at(again), found)
    if comm.rank == 0:
        assert middle["field_averages"]["samples"].tolist() == [1, 1]
        alone = pdem.Simulation(case, threads=2)
        alone.advance(51)
        expected = looked_at(alone)
        require_same_bits(found, expected)
        require_same_bits(ended, state(alone))
        unseen = pdem.Simulation(pdem.Case.from_text(CASE.split("[[fields]]")[0]))
        unseen.advance(51)
        require_same_bits({"particles": ended["particles"]}, {"particles": state(unseen)["particles"]})
        assert np.abs(found["averages"]["whole.contact_stress"]).max() > 0.0
        assert np.abs(found["averages"]["whole.wall_force"]).max() > 0.0
    patient_barrier(comm)


@pytest.mark.ranks(3, timeout=300)
def test_runs_write_the_same_fields(ranks, tmp_path):
    """A run on three ranks that is stopped and goes on alone, and one alone all the time."""
    comm = communicator()
    root = comm.bcast(tmp_path)
    case = pdem.Case.from_text(CASE.replace("end = 1.0", "end = 0.0012"))
    for key in ("series_every", "snapshots_every", "checkpoint_every"):
        case.override(f"output.{key}={30 * STEP!r}")
    case.override(f'output.folder="{root}/ranks"')
    pdem.Simulation(case, comm).run()
    comm.Barrier()
    if comm.rank == 0:
        case.override(f'output.folder="{root}/alone"')
        pdem.Simulation(case).run()
        (root / "ranks").rename(root / "moved")
        (checkpoint,) = (root / "moved").glob("checkpoint-*30.h5")
        pdem.Simulation.restart(checkpoint).run(overwrite=True)
        for name, count in (("whole", 3), ("corner", 3)):
            both = [pdem.Results(root / folder).fields(name) for folder in ("moved", "alone")]
            assert both[0].times.tolist() == both[1].times.tolist()
            assert len(both[0]) == count
            for first, other in zip(*both, strict=True):
                require_same_bits({"fields": first.named}, {"fields": other.named})
    patient_barrier(comm)

"""Stress and contacts have the same bits on any number of ranks: in scripts, series and files, after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided, require_same_bits, state
from pdem.output.snapshots.contact_snapshots import CONTACT_FILE, read_contacts
from pdem.output.snapshots.vtkhdf import read_times
from pdem.run.files.contact_columns import fields_of_contacts

FLOOR = """
[[walls]]
name = "floor"
shape = "plane"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
material = "glass"
[[sensors]]
name = "across"
region = {lower = [-0.02, 0.0, 0.0], upper = [0.03, 0.08, 0.05]}
stress = true
"""
CASE = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.3") + FLOOR
KEPT = CASE.replace('folder = "unused"', 'folder = "unused"\nstress = true')


def looked_at(run):
    """Return all numbers of stress, and the contacts on the first rank."""
    tensors = run.stress()
    found = np.concatenate([np.ravel(one).astype(np.float64) for one in tensors])
    return found, run.contacts(), run.sensors()["across"]


def require_same_look(found, expected):
    assert found[0].tobytes() == expected[0].tobytes()
    assert repr(found[2]) == repr(expected[2])
    if expected[1] is not None:
        require_same_bits({"contacts": found[1]}, {"contacts": expected[1]})


def looks(run):
    """Take steps, look at forces that acted, then at such as are evaluated anew, and go on."""
    run.advance(43)
    acted = looked_at(run)
    run.system.contacts.keeps_forces = False
    run.advance(7)
    anew = looked_at(run)
    run.advance(5)  # looking has changed nothing
    return acted, anew, state(run)


@pytest.mark.ranks(3, slow=(4,), timeout=300)
def test_stress_and_contacts_have_the_same_bits(ranks):
    """Forces of the last step and those evaluated anew, over ranks, threads and a restart."""
    case, comm = divided(KEPT, "bisection" if ranks % 2 else "slabs", "always"), communicator()
    shared = pdem.Simulation(case, comm)
    shared.advance(60)
    middle = comm.bcast(state(shared))
    acted, anew, ended = looks(shared)
    again = looks(pdem.Simulation(case, comm, state=middle, threads=2))
    require_same_look(again[0], acted)
    require_same_look(again[1], anew)
    if comm.rank == 0:
        alone = pdem.Simulation(case, threads=2)
        alone.advance(60)
        expected = looks(alone)
        require_same_look(acted, expected[0])
        require_same_look(anew, expected[1])
        require_same_bits(ended, expected[2])
        require_same_bits(again[2], expected[2])
        assert len(acted[1]["first"]) > 50
        assert (acted[1]["second"] < 0).any()
    patient_barrier(comm)


def touching(contacts, ids):
    """Return how many of the contacts that overlap each particle has, in the order of `ids`."""
    deep = contacts["overlap"] > 0.0
    ends = np.concatenate((contacts["first"][deep], contacts["second"][deep]))
    return [int(np.count_nonzero(ends == one)) for one in ids]


def require_same_files(files):
    times = [read_times(path) for path in files.values()]
    assert np.array_equal(*times)
    assert len(times[0]) == 7
    for number in range(7):
        first, other = (read_contacts(path, number) for path in files.values())
        require_same_bits({"contacts": first}, {"contacts": other})


@pytest.mark.ranks(3, timeout=300)
def test_runs_write_the_same_contacts(ranks, tmp_path):
    """A run on three ranks, one that goes on from its middle alone, and one alone all the time."""
    comm = communicator()
    root = comm.bcast(tmp_path)
    text = KEPT.replace("end = 1.0", "end = 0.0024")
    every = "contacts_every = 4e-4\nseries_every = 4e-4\nsnapshots_every = 4e-4\ncheckpoint_every = 8e-4\n"
    text = text.replace("stress = true\n", f"stress = true\n{every}", 1)
    case = pdem.Case.from_text(text)
    case.override(f'output.folder="{root}/ranks"')
    run = pdem.Simulation(case, comm)
    run.run()
    names = [one.name for one in fields_of_contacts(run.system)]
    comm.Barrier()
    if comm.rank == 0:
        (root / "ranks").rename(root / "first")
        files = {name: root / name / CONTACT_FILE for name in ("first", "alone")}
        alone = pdem.Simulation(case)
        case.override(f'output.folder="{root}/alone"')
        alone.run()
        found = {name: pdem.Results(path.parent) for name, path in files.items()}
        require_same_files(files)
        columns = [name for name in found["alone"].series.names if "stress" in name or "fabric" in name]
        assert len(columns) == 48
        for name in columns:
            assert found["first"].series[name].tobytes() == found["alone"].series[name].tobytes()
        middle = sorted((root / "first").glob("checkpoint-*.h5"))[0]
        pdem.Simulation.restart(middle).run(overwrite=True)
        require_same_files(files)
        last = found["first"][-1].contacts
        for run in found.values():
            for snapshot in run:
                counts = touching(snapshot.contacts, snapshot.id)
                assert snapshot.contact_count.tolist() == counts
        assert max(counts) > 2
        assert set(names) < set(last)
        assert len(last["first"]) > 50
    patient_barrier(comm)

"""No rank ever needs much more than twice the memory of its own part: not at the start, in output, in a restart."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

import pytest

import pdem
from decomposition.mpi import patient_barrier
from pdem.engine.ranks import group_of
from pdem.engine.state import local_groups, tables_of
from pdem.output.checkpoints.checkpoint import write_tables
from pdem.run.inputs import checkpoint_at

CASE = """
time = {step = 1e-5, end = 1.0}
domain = {lower = [0, 0, 0], upper = [1.0, 0.6, 0.5], periodic = [true, true, false], gravity = [0, 0, -9.81]}
[materials.grain]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.6
[[particles]]
material = "grain"
radius = 0.0048
fill = {arrangement = "hexagonal"}
velocity = {random = 0.2}
"""
CLUSTERS = (
    CASE.replace("youngs_modulus = 1e7\npoisson_ratio = 0.25\n", "")
    .replace("grain]\nfriction", 'grain]\nlaw = "linear"\nnormal_stiffness = 1e4\nfriction')
    .replace("radius = 0.0048", 'shape = "pair"\norientation = "random"')
    + "[shapes.pair]\nspheres = [[-0.0035, 0.0, 0.0, 0.0035], [0.0035, 0.0, 0.0, 0.0035]]\n"
)
FEWER = 5
"""Ranks of a restart."""
SLACK = 12e6
"""Bytes that libraries, messages and the allocator take in any case."""


def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


class Memory:
    """Resident memory from now on."""

    def __init__(self):
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        self._begin = status("VmRSS")

    @property
    def peak(self):
        return status("VmHWM") - self._begin

    @property
    def now(self):
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        return status("VmRSS") - self._begin


def most_of(communicator, value):
    return max(communicator.allgather(value))


def forget_peak():
    """Let the peak of resident memory begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def started(text, box, communicator):
    """Start a case that fills a small box like its own, so that all kernels are loaded; return it and its memory."""
    small = pdem.Case.from_text(text.replace("[1.0, 0.6, 0.5]", box))
    pdem.Simulation(small, communicator, threads=1).advance(3)
    memory = Memory()
    return pdem.Simulation(pdem.Case.from_text(text), communicator, threads=1), memory


def write_state(simulation, path):
    system = simulation.system
    attributes = {"case": simulation.case.to_toml(), "directory": "."}
    write_tables(path, tables_of(system, local_groups(system)), attributes, system.exchange)


def restarted(text, path, communicator):
    stored = checkpoint_at(path, group_of(communicator))
    held = [stored.groups]
    del stored
    return pdem.Simulation(pdem.Case.from_text(text), communicator, threads=1, state=held.pop())


@pytest.mark.ranks(8, timeout=300)
@pytest.mark.parametrize(("text", "least"), [(CASE, 250_000), (CLUSTERS, 150_000)], ids=["spheres", "clusters"])
def test_no_rank_needs_more_than_twice_its_part(ranks, communicator, shared_path, text, least):
    """Not at the start, in steps, in output, nor in a restart on fewer ranks, whose parts are larger."""
    simulation, memory = started(text, "[0.1, 0.1, 0.1]", communicator)
    total = communicator.allreduce(len(simulation.particles))
    assert total > least
    simulation.advance(20)
    at_start, own = memory.peak, memory.now
    assert most_of(communicator, own) < 1.5 * communicator.allreduce(own) / ranks
    assert most_of(communicator, at_start - 2.0 * own) < SLACK

    forget_peak()
    write_state(simulation, shared_path / "state.h5")
    assert most_of(communicator, memory.peak - 2.0 * own) < SLACK
    del simulation

    few = communicator.Split(communicator.rank < FEWER, communicator.rank)
    if communicator.rank < FEWER:
        memory = Memory()
        again = restarted(text, shared_path / "state.h5", few)
        assert few.allreduce(len(again.particles)) == total
        again.advance(3)
        at_start, own = memory.peak, memory.now
        assert most_of(few, at_start - 2.0 * own) < SLACK
    patient_barrier(communicator)

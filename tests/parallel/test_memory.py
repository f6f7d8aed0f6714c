"""No rank ever needs much more than twice the memory of its own part: not at the start, in output, in a restart."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path

import pytest

import pdem
from pdem.output.checkpoint import write_tables
from pdem.simulation.inputs import checkpoint_at
from pdem.simulation.ranks import group_of
from pdem.simulation.state import local_groups, tables_of

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


@pytest.mark.ranks(8, timeout=300)
def test_no_rank_needs_more_than_twice_its_part(ranks, communicator, shared_path):
    case = pdem.Case.from_text(CASE)
    warm = pdem.Case.from_text(CASE.replace("[1.0, 0.6, 0.5]", "[0.1, 0.1, 0.1]"))
    pdem.Simulation(warm, communicator, threads=1).advance(3)
    memory = Memory()
    simulation = pdem.Simulation(case, communicator, threads=1)
    total = communicator.allreduce(len(simulation.particles))
    assert total > 250_000
    simulation.advance(20)
    at_start, own = memory.peak, memory.now
    assert most_of(communicator, own) < 1.5 * communicator.allreduce(own) / ranks
    assert most_of(communicator, at_start - 2.0 * own) < SLACK

    Path("/proc/self/clear_refs").write_text("5")
    system = simulation.system
    attributes = {"case": case.to_toml(), "directory": "."}
    write_tables(
        shared_path / "state.h5", tables_of(system, local_groups(system)), attributes, system.exchange
    )
    assert most_of(communicator, memory.peak - 2.0 * own) < SLACK
    del simulation, system

    memory = Memory()
    stored = checkpoint_at(shared_path / "state.h5", group_of(communicator))
    held = [stored.groups]
    del stored
    again = pdem.Simulation(case, communicator, threads=1, state=held.pop())
    assert communicator.allreduce(len(again.particles)) == total
    again.advance(3)
    assert most_of(communicator, memory.peak - 2.0 * own) < SLACK

"""Measurement of one run: times, owned particles, ghosts and messages of every rank, as a dictionary."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.ranks import group_of
from pdem.engine.state import StatePart
from pdem.foundation.machine import available_cores, usable_cores
from pdem.output.log import environment
from pdem.run.inputs import case_of, checkpoint_at

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.containers.exchange import Exchange
    from pdem.run.simulation import Simulation

FORMAT = 1
"""Version of the format of result files."""

GROUPS = {
    "compute": ("integrate", "walls move", "pairs", "walls", "sum"),
    "exchange": ("exchange",),
    "wait": ("wait",),
    "detect": ("detect", "detect facets"),
    "migrate": ("migrate",),
    "output": ("output",),
}
"""Groups in a report, with the phases of a step in each group. In ``wait``, an all-reduce, all ranks wait for the
slowest rank; ``exchange`` and ``migrate`` include some waiting as well."""


def read_start(path: Path, communicator: Any) -> tuple[Case, StatePart]:
    """Return the case and the state of a checkpoint, with a part of its rows on each rank. Collective."""
    checkpoint = checkpoint_at(path, group_of(communicator))
    return case_of(checkpoint), StatePart(checkpoint.groups)


def measure_run(simulation: Simulation, steps: int, warm_up: int) -> dict[str, Any] | None:
    """Run and time steps; return a dictionary with their cost on rank 0, None on other ranks. Collective.

    Parameters
    ----------
    simulation : Simulation
        A simulation at its first step.
    steps, warm_up : int
        Number of timed steps, and number of steps before them without timing.
    """
    exchange = simulation.system.exchange
    at_start = rank_counts(simulation)
    simulation.advance(warm_up)
    detections, divisions = simulation.system.lists.detections, simulation.system.lists.rebalances
    simulation.phases.reset_seconds()
    clock = time.perf_counter()
    simulation.advance(steps)
    seconds = time.perf_counter() - clock
    simulation.phases.start()
    simulation.measures()
    simulation.gather()
    simulation.phases.lap("output")
    phases = _phases(simulation, steps)
    at_end, measured = rank_counts(simulation), simulation.measures()
    if exchange.rank:
        return None
    return {
        "format": FORMAT, "ranks": exchange.size, "threads": exchange.threads, "steps": steps, "warm_up": warm_up,
        "seconds_per_step": seconds / steps, "particles": measured.particles,
        "pair_contacts": measured.pair_contacts, "wall_contacts": measured.wall_contacts,
        "detections_per_1000_steps": 1000.0 * (simulation.system.lists.detections - detections) / steps,
        "divisions": simulation.system.lists.rebalances - divisions, "skin": simulation.system.lists.skins.fraction,
        **phases, "radii": simulation.system.lists.skins.radii.tolist(), "start": at_start, "end": at_end,
        "environment": environment(),
        "machine": {"cores": len(usable_cores()), "available_cores": available_cores()},
    }  # fmt: skip


def rank_counts(simulation: Simulation) -> dict[str, Any]:
    """Return owned particles, ghosts and messages of each rank, as lists over ranks, on rank 0. Collective."""
    system = simulation.system
    owned, ghosts = system.lists.counts_by_level()
    table = {"owned": owned, "ghosts": ghosts, **system.exchange.traffic()._asdict()}
    return {name: _rows_of_ranks(system.exchange, value).tolist() for name, value in table.items()}


def _rows_of_ranks(exchange: Exchange, values: Any) -> NDArray[Any]:
    """Gather the values of all ranks on rank 0, one row per rank."""
    own = np.asarray(values)
    joined = exchange.collect({"values": own.reshape(1, -1)})
    if joined is None:
        return np.empty(0)
    return joined["values"] if own.ndim else joined["values"][:, 0]


def _phases(simulation: Simulation, steps: int) -> dict[str, Any]:
    """Return seconds per step of each group over the ranks (for output: total seconds), and imbalance. Collective."""
    spent = simulation.phases.seconds
    own = np.array([sum(spent.get(name, 0.0) for name in names) for names in GROUPS.values()])
    rows = _rows_of_ranks(simulation.system.exchange, own)
    if not len(rows):
        return {}
    table = {
        group: {"min": column.min(), "mean": column.mean(), "max": column.max()}
        for group, column in zip(GROUPS, rows.T / steps, strict=True)
    }
    output = {name: float(seconds) * steps for name, seconds in table.pop("output").items()}
    mean = table["compute"]["mean"]
    return {
        "phases": {group: {key: float(value) for key, value in row.items()} for group, row in table.items()},
        "output_seconds": output, "imbalance": float(table["compute"]["max"] / mean) if mean else 1.0,
    }  # fmt: skip

"""One measured run: what every rank spends, and what it sends, as one dictionary."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.model import Case
from pdem.foundation.machine import available_cores, usable_cores
from pdem.output.checkpoint import read_checkpoint
from pdem.output.log import environment
from pdem.simulation.inputs import case_of
from pdem.simulation.ranks import on_first

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.simulation.simulation import Simulation
    from pdem.simulation.state import Groups

FORMAT = 1
"""Of the files that are written."""

GROUPS = {
    "compute": ("integrate", "walls move", "pairs", "walls", "sum"),
    "exchange": ("exchange",),
    "wait": ("wait",),
    "detect": ("detect", "detect facets"),
    "migrate": ("migrate",),
    "output": ("output",),
}
"""What a report calls the phases of a step. The time in which ranks agree on the next step, ``wait``, is what the
others wait for the busiest; some waiting is in ``exchange`` and ``migrate`` as well."""


def read_start(path: Path, communicator: Any) -> tuple[Case, Groups | None]:
    """Return case and state of a checkpoint, the state on the first rank only. Collective."""
    held: list[Groups] = []

    def read() -> tuple[str, str]:
        checkpoint = read_checkpoint(path)
        held.append(checkpoint.groups)
        case = case_of(checkpoint)
        return case.to_toml(), str(case.directory)

    case = Case.from_text(*on_first(communicator, read))
    return case, held[0] if held else None


def measure_run(simulation: Simulation, steps: int, warm_up: int) -> dict[str, Any] | None:
    """Take steps and return what they cost, on rank 0; None elsewhere. Collective.

    Parameters
    ----------
    simulation : Simulation
        At its beginning.
    steps, warm_up : int
        To be timed, and before that.
    """
    exchange = simulation.system.exchange
    begun = counts(simulation)
    simulation.advance(warm_up)
    detections, divisions = simulation.system.detections, simulation.system.rebalances
    simulation.phases.reset_seconds()
    clock = time.perf_counter()
    simulation.advance(steps)
    seconds = time.perf_counter() - clock
    simulation.phases.start()
    simulation.measures()
    simulation.gather()
    simulation.phases.lap("output")
    phases = _phases(simulation, steps)
    ended, measured = counts(simulation), simulation.measures()
    if exchange.rank:
        return None
    return {
        "format": FORMAT, "ranks": exchange.size, "threads": exchange.threads, "steps": steps, "warm_up": warm_up,
        "seconds_per_step": seconds / steps, "particles": measured.particles,
        "pair_contacts": measured.pair_contacts, "wall_contacts": measured.wall_contacts,
        "detections_per_1000_steps": 1000.0 * (simulation.system.detections - detections) / steps,
        "divisions": simulation.system.rebalances - divisions, "skin": simulation.system.skins.fraction,
        **phases, "radii": simulation.system.skins.radii.tolist(), "start": begun, "end": ended,
        "environment": environment(),
        "machine": {"cores": len(usable_cores()), "available_cores": available_cores()},
    }  # fmt: skip


def counts(simulation: Simulation) -> dict[str, Any]:
    """Return what each rank owns, copies and sends at present, as lists by rank; on rank 0. Collective."""
    system = simulation.system
    owned, ghosts = system.counts_by_level()
    table = {"owned": owned, "ghosts": ghosts, **system.exchange.traffic()._asdict()}
    return {name: _by_rank(system.exchange, value).tolist() for name, value in table.items()}


def _by_rank(exchange: Exchange, values: Any) -> NDArray[Any]:
    """Return the values of all ranks, a row for each; on rank 0."""
    mine = np.asarray(values)
    joined = exchange.collect({"values": mine.reshape(1, -1)})
    if joined is None:
        return np.empty(0)
    return joined["values"] if mine.ndim else joined["values"][:, 0]


def _phases(simulation: Simulation, steps: int) -> dict[str, Any]:
    """Return seconds per step of each group (of the output: in all) over the ranks, and the imbalance. Collective."""
    spent = simulation.phases.seconds
    mine = np.array([sum(spent.get(name, 0.0) for name in names) for names in GROUPS.values()])
    rows = _by_rank(simulation.system.exchange, mine)
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

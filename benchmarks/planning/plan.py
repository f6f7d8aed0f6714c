"""A plan: the partition of a case's particles among many ranks, and the predicted time of a step."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.planning.predict import Costs, WorkCounts, predict, summary
from benchmarks.planning.rank_counts import Grains, copy_seconds, neighbour_seconds
from benchmarks.planning.rank_counts import divide as divide_grains
from decomposition.partitioners import PARTITIONERS
from pdem.containers.clusters import ParticleTable
from pdem.foundation.errors import InputError
from pdem.foundation.fields import state_fields
from pdem.foundation.memory import BYTES_PER_PARTICLE, largest_count
from pdem.output.log import environment
from pdem.scaling.starts import simulation_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.planning.division import Division
    from benchmarks.planning.network import Network
    from pdem.benchmark.cases import Start
    from pdem.contact.walls.contacts import WallContacts
    from pdem.foundation.array_types import Integers
    from pdem.run.simulation import Simulation


def plan(
    name: str, start: Start, ranks: Sequence[int], network: Network, threads: int, steps: int, warm_up: int,
    larger: Callable[[int], Start] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the plan of a case as a dictionary for a file.

    Parameters
    ----------
    name : str
        Name of the case.
    start : Start
        The case with its initial state.
    ranks : sequence of int
        Numbers of ranks, each at least 1.
    network : Network
        Network between the ranks.
    threads : int
        Threads of each rank.
    steps, warm_up : int
        Timed steps on one rank, and steps before them; without timed steps the plan has no predicted times.
    larger : callable, optional
        Returns the enlarged start for a number of ranks (weak scaling).

    Raises
    ------
    InputError
        If a number of ranks is below 1, or there are no particles, or too many for the memory.
    """
    if not ranks or min(ranks) < 1:
        raise InputError(f"a plan for {min(ranks, default=0)} ranks: at least 1 is needed")
    simulation = simulation_of(start, threads)
    if simulation.particles.count == 0:
        raise InputError(f"{name}: has no particles at its beginning; plan a checkpoint of its run instead")
    if larger is not None:
        _require_memory(name, int(simulation.particles.count), max(ranks))
    work = work_of(simulation, start)
    document: dict[str, Any] = {
        "case": name, "weak": larger is not None, "particles": int(simulation.particles.count),
        "candidate_pairs": len(work.first), "threads": threads, "radii": simulation.system.lists.skins.radii.tolist(),
        "network": asdict(network), "environment": environment(),
    }  # fmt: skip
    parts: Iterable[tuple[Division, WorkCounts]]
    if larger is None:
        parts = [(divide(simulation, start, count), work) for count in ranks]  # before steps change skins
        costs = measured_costs(simulation, threads, steps, warm_up) if steps else None
    else:
        costs = measured_costs(simulation, threads, steps, warm_up) if steps else None
        parts = (_enlarged_division(larger(count), count, threads) for count in ranks)
    rows = []
    for division, own_work in parts:
        predicted = {} if costs is None else predict(division, own_work, costs.for_work(work, own_work), network)
        rows.append({**summary(division, own_work), **predicted})
    return {**document, "costs": None if costs is None else asdict(costs), "rows": rows}


def _enlarged_division(start: Start, ranks: int, threads: int) -> tuple[Division, WorkCounts]:
    """Return division and work of a start that is enlarged for `ranks` ranks."""
    simulation = simulation_of(start, threads)
    return divide(simulation, start, ranks), work_of(simulation, start)


def _require_memory(name: str, particles: int, times: int) -> None:
    """Require that `times` copies of a case fit into the memory of this machine."""
    most = largest_count(BYTES_PER_PARTICLE) / particles
    if times > most:
        raise InputError(
            f"{name}: {particles} particles for each of {times} ranks do not fit into the memory of this machine, "
            f"where a plan has them all: about {most:.0f} times as many do; plan for fewer ranks, or without --weak"
        )


def divide(simulation: Simulation, start: Start, ranks: int) -> Division:
    """Return the division of a start among `ranks` ranks at the beginning of a run."""
    domain, system, particles = start.case.domain, simulation.system, columns_of(start)
    partition = PARTITIONERS[start.case.decomposition.method](domain.lower, domain.upper)
    position, radius, velocity = (particles[name] for name in ("position", "radius", "velocity"))
    reach = system.reach_of(radius, velocity, position)
    grains = Grains(position, radius, reach, particles["cluster"], particles.centres())
    return divide_grains(ranks, grains, system.lists.skins.radii, system.constants.shape, partition)


def columns_of(start: Start) -> ParticleTable:
    """Return the particles of a start, with all columns of a state, and its clusters.

    Raises
    ------
    InputError
        If it has no particles.
    """
    given = start.particles if start.state is None else start.state["particles"]
    if given is None:
        raise InputError("a start without particles cannot be planned; prepare it on rank 0")
    columns = {
        field.name: np.asarray(given.get(field.name, field.allocate(len(given["id"]))), field.dtype)
        for field in state_fields()
    }
    return ParticleTable(columns, getattr(given, "clusters", (start.state or {}).get("clusters", {})))


def work_of(simulation: Simulation, start: Start) -> WorkCounts:
    """Return the candidates of a simulation on one rank at its first step, by rows of its start."""
    system, ids = simulation.system, columns_of(start)["id"]
    order = np.argsort(ids)
    row = order[np.searchsorted(ids, system.particles.id, sorter=order)]
    found = slice(0, system.contacts.pairs.candidates)
    facets = np.zeros(len(ids), np.int64)
    facets[row] = system.contacts.work()[:, 2]
    near = None if system.contacts.walls is None else facets_of(system.contacts.walls)
    facet_candidates = None if near is None else (row[near[0]], near[1])
    return WorkCounts(
        row[system.contacts.pairs.lower[found]], row[system.contacts.pairs.higher[found]], facets, facet_candidates
    )


def facets_of(walls: WallContacts) -> tuple[Integers, Integers]:
    """Return all candidates for contacts with walls: rows of particles, and facets."""
    lists = walls.lists
    first, count = lists.start, lists.end - lists.start
    rows = np.repeat(lists.near.astype(np.int64), count)
    places = np.arange(len(rows)) + np.repeat(first - (np.cumsum(count) - count), count)
    return rows, lists.candidates[places]


def measured_costs(simulation: Simulation, threads: int, steps: int, warm_up: int) -> Costs:
    """Run steps on one rank and return their measured costs."""
    simulation.advance(warm_up)
    simulation.phases.reset_seconds()
    detections = simulation.system.lists.detections
    simulation.advance(steps)
    spent = simulation.phases.seconds

    def per_step(*names: str) -> float:
        return sum(spent.get(name, 0.0) for name in names) / steps

    return Costs(
        threads=threads,
        steps=steps,
        particle=per_step("integrate", "sum", "wait"),
        pair=per_step("pairs"),
        wall=per_step("walls", "walls move", "detect facets"),
        detect=per_step("detect", "migrate", "exchange"),
        detections=(simulation.system.lists.detections - detections) / steps,
        copy=copy_seconds(),
        neighbour=neighbour_seconds(len(simulation.system.lists.skins.radii)),
    )

"""Rehearsal of a run on very many ranks: some of its ranks are made here as they would be, run, and measured.

The system is copies of a small periodic one (`pdem.scaling.tiling`). Space is cut as for the real number of ranks, from
a sample. Of a few ranks, the heaviest among them, the particles are made, and those around, which belong to neighbours;
the rank then makes ghosts and lists, packs, and takes steps, as in a run (`decomposition.one_of_many`). Messages are
added by a model of the network. The slowest rank counts.
"""

from __future__ import annotations

import math
import time
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.containers.exchange import Alone
from pdem.containers.mesh import Mesh
from pdem.containers.particles import Particles
from pdem.foundation.errors import InputError
from pdem.foundation.fields import state_fields
from pdem.scaling.tiling import Tiling, copies_along
from pdem.simulation import step as time_step
from pdem.simulation.phases import Phases
from pdem.simulation.ranks import partition_of, rank_among_others
from pdem.simulation.setup import constants_of, skins_of, wall_geometry_of, walls_of
from pdem.simulation.state import initial_groups, load_state
from pdem.simulation.system import System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.benchmark.cases import Start
    from pdem.containers.exchange import Exchange, Traffic
    from pdem.detection.skins import Skins
    from pdem.scaling.predict import Network

    Columns = dict[str, NDArray[Any]]
    Floats = NDArray[np.float64]

SAMPLES = 48
"""Particles for each rank, at least, from which space is cut."""

DETECTIONS = 3
"""Detections that are timed; the fastest counts."""

AGREEMENTS = 6
"""All-reduces and barriers of a detection."""

MESSAGES = 3
"""Messages of a detection to each neighbour: extents, copies, particles that leave."""

CUT_BYTES = 32
"""Of a cut of space, of which every rank has all."""


@dataclass(frozen=True)
class RankCost:
    """What one rank has, and what it takes.

    Attributes
    ----------
    rank : int
        Its number.
    owned, ghosts, neighbours : int
        Particles, copies of those of others, ranks that it exchanges messages with.
    traffic : Traffic
        Messages and bytes of a step.
    step : float
        Work of a step without lists, packing included [s].
    detection : float
        Work of a detection [s].
    bytes : int
        Memory of particles, contacts and lists.
    """

    rank: int
    owned: int
    ghosts: int
    neighbours: int
    traffic: Traffic
    step: float
    detection: float
    bytes: int

    def seconds(self, detections: float, network: Network) -> float:
        """Return the time of a mean step, with so many detections per step, messages included [s]."""
        messages = max(self.traffic.sends, self.traffic.receives)
        sent = max(self.traffic.sent, self.traffic.received)
        step = self.step + network.latency * messages + sent / network.bandwidth
        lists = self.detection + MESSAGES * network.latency * self.neighbours
        return step + detections * lists


class Rehearsal:
    """A small periodic system from which large ones are made.

    Parameters
    ----------
    name : str
        Of the case, for messages.
    start : Start
        Case, meshes and particles.
    threads, steps, warm_up : int
        Threads of a rank, steps that are timed, and those before.

    Raises
    ------
    InputError
        If no axis of the case is periodic, or there are no particles.
    """

    def __init__(self, name: str, start: Start, threads: int, steps: int, warm_up: int) -> None:
        self.case, self._meshes = start.case, list(start.meshes)
        domain = self.case.domain
        self.periodic = [bool(one) for one in domain.periodic]
        if not any(self.periodic):
            raise InputError(
                f"{name}: no axis of its domain is periodic; a rehearsal lays copies of a case side by side: "
                "make the axis along which the large system is longer periodic"
            )
        columns = start.particles if start.state is None else start.state["particles"]
        if columns is None or not len(columns["id"]):
            raise InputError(
                f"{name}: has no particles at its beginning; rehearse a checkpoint of its run instead"
            )
        self._particles = {
            field.name: np.asarray(columns.get(field.name, field.allocate(len(columns["id"]))))
            for field in state_fields()
        }
        self._lower, self._upper = np.array(domain.lower), np.array(domain.upper)
        self.threads, self._steps, self._warm_up = threads, steps, warm_up

    def tiling(self, particles: float) -> Tiling:
        """Return about so many particles."""
        tiles = max(1, round(particles / len(self._particles["id"])))
        length = self._upper - self._lower
        return Tiling(self._particles, self._lower, length, copies_along(tiles, length, self.periodic))

    def skins(self) -> Skins:
        """Return the levels of size of all particles."""
        return skins_of(self.case, self._particles)

    def alone(self, tiling: Tiling) -> tuple[RankCost, float]:
        """Return the costs of one rank that has all particles, and the measured detections per step."""
        columns, _ = tiling.within(tiling.lower, tiling.upper, [False] * 3)
        case = self._case_of(tiling.lower, tiling.upper, self.periodic)
        system = self._system(
            case, columns, Alone(self.threads), self._meshes_in(tiling, tiling.lower, tiling.upper)
        )
        return self._measure(0, system)

    def rank(self, tiling: Tiling, parts: Any, rank: int, skins: Skins) -> RankCost:
        """Return the costs of one of many ranks.

        Parameters
        ----------
        tiling : Tiling
            All particles.
        parts : Cuts
            Which part of space each rank has.
        rank : int
            Which one.
        skins : Skins
            Levels of size, those of all particles.
        """
        whole = np.concatenate((tiling.lower, tiling.upper))
        box, reach = parts.box(rank, whole), skins.reach(self._particles["radius"]).max()
        lower, upper = box[:3] - 2.0 * reach, box[3:] + 2.0 * reach
        columns, home = tiling.within(lower, upper, self.periodic)
        owner = parts.owners(home)
        is_image = np.any(np.abs(home - columns["position"]) > reach, axis=1)
        mine = (owner == rank) & ~is_image
        others = _by_owner(columns, owner, home, ~mine)
        own = {name: column[mine] for name, column in columns.items()}
        exchange = rank_among_others(others, self.threads)
        case = self._case_of(lower, upper, [False] * 3)
        system = self._system(case, own, exchange, self._meshes_in(tiling, lower, upper), skins)
        return self._measure(rank, system)[0]

    def _case_of(self, lower: Floats, upper: Floats, periodic: Sequence[bool]) -> Case:
        """Return the case with another box, and no particles of its own."""
        document = tomllib.loads(self.case.to_toml())
        domain = {
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "periodic": list(periodic),
            "outside": "keep",
        }
        document["domain"] = {**document.get("domain", {}), **domain}
        document["time"] = {**document["time"], "step": self.case.resolved_step()}
        document.pop("particles", None)
        return Case.from_text(tomli_w.dumps(document), str(self.case.directory))

    def _meshes_in(self, tiling: Tiling, lower: Floats, upper: Floats) -> list[Mesh]:
        """Return the walls of the tiles that a box meets."""
        length = self._upper - self._lower
        shifts = [np.array(tile) * length for tile in tiling.tiles_in(lower, upper, self.periodic)]
        return [_copied(mesh, shifts, self._lower, self._upper) for mesh in self._meshes]

    def _system(
        self, case: Case, columns: Columns, exchange: Exchange, meshes: list[Mesh], skins: Skins | None = None
    ) -> System:
        """Return the state of a rank with its lists."""
        geometry = wall_geometry_of(case, meshes)
        walls = walls_of(case, geometry)
        system = System(
            case, constants_of(case), walls, exchange,
            lambda own, over: skins_of(case, own, over) if skins is None else skins, geometry.facet_tree,
        )  # fmt: skip
        contacts = load_state(system, initial_groups(columns, exchange))
        system.renew_levels()
        if walls is not None:
            walls.place(0.0, 0.0)
        system.settings_tuner.start(0)
        time_step.rebuild_lists(system, contacts, Phases())
        time_step.compute_contact_forces(system, 0.0, Phases())
        return system

    def _measure(self, rank: int, system: System) -> tuple[RankCost, float]:
        """Take steps; return the costs, and the detections per step."""
        phases, exchange = Phases(), system.exchange

        def advance(steps: int) -> None:
            for number in range(steps):
                time_step.advance(system, phases, ahead=number + 1 < steps)

        advance(self._warm_up)
        before, others, clock = system.detections, _others_of(exchange), time.perf_counter()
        advance(self._steps)
        seconds = time.perf_counter() - clock - (_others_of(exchange) - others)
        made = system.detections - before
        detection = min(_detection_seconds(system) for _ in range(DETECTIONS))
        traffic = exchange.traffic()
        cost = RankCost(
            rank, system.particles.count, system.particles.ghosts, getattr(exchange, "neighbours", 0), traffic,
            max(seconds - made * detection, 0.0) / self._steps, detection, system.memory(),
        )  # fmt: skip
        return cost, made / self._steps


def _others_of(exchange: Exchange) -> float:
    """Return the time spent so far on what other ranks would do [s]."""
    return float(getattr(exchange, "seconds_of_others", 0.0))


def _detection_seconds(system: System) -> float:
    """Return the time of a detection [s]."""
    others, clock = _others_of(system.exchange), time.perf_counter()
    time_step.migrate_and_rebuild_lists(system, None, Phases())
    return time.perf_counter() - clock - (_others_of(system.exchange) - others)


def _by_owner(
    columns: Columns, owner: NDArray[np.int64], home: Floats, chosen: NDArray[np.bool_]
) -> list[Particles]:
    """Return the chosen particles by their owners, and images of one owner's by where they are seen."""
    rows = np.flatnonzero(chosen)
    shift = np.rint((columns["position"][rows] - home[rows]) * 1e9).astype(np.int64)
    keys = np.column_stack((owner[rows], shift))
    _, group = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(np.diff(group[order])) + 1
    return [
        Particles({name: column[few] for name, column in columns.items()})
        for few in np.split(rows[order], ends)
        if len(few)
    ]


def _copied(mesh: Mesh, shifts: Sequence[Floats], lower: Floats, upper: Floats) -> Mesh:
    """Return the mesh of a wall at several places; along axes where it exceeds the box, in the middle of them."""
    inside = (mesh.vertices.min(axis=0) >= lower - 1e-9) & (mesh.vertices.max(axis=0) <= upper + 1e-9)
    places = np.array(shifts)
    middle = places[len(places) // 2]
    moved = np.unique(np.where(inside, places, middle), axis=0)
    count = len(moved)
    vertices = np.concatenate([mesh.vertices + shift for shift in moved])
    sizes = np.tile(np.diff(mesh.facet_start), count)
    start = np.concatenate(([0], np.cumsum(sizes)))
    loops = np.concatenate([mesh.facet_vertices + number * len(mesh.vertices) for number in range(count)])
    return Mesh.from_loops(vertices, start, loops)


def rehearse(
    rehearsal: Rehearsal, ranks: Sequence[int], network: Network, *, per_rank: float | None = None,
    total: float | None = None, made: int = 3,
) -> dict[str, Any]:  # fmt: skip
    """Return what runs on so many ranks would take, with the costs of one rank, as a dictionary for a file.

    Parameters
    ----------
    rehearsal : Rehearsal
        The small system.
    ranks : sequence of int
        Numbers of ranks.
    network : Network
        Between them.
    per_rank, total : float
        Particles of each rank (weak scaling) or of all (strong scaling).
    made : int
        How many of the ranks are made.
    """
    one, detections = rehearsal.alone(rehearsal.tiling(per_rank or min(total or 1.0, 30_000.0)))
    skins = rehearsal.skins()
    per_particle = one.seconds(detections, network) / one.owned
    rows = [
        _row(
            rehearsal,
            count,
            network,
            skins,
            (per_rank * count if per_rank else total or 1.0),
            made,
            detections,
            per_particle,
        )
        for count in ranks
    ]
    return {
        "weak": per_rank is not None, "threads": rehearsal.threads, "detections": detections,
        "particles_alone": one.owned, "seconds_per_particle": per_particle,
        "network": {"latency": network.latency, "bandwidth": network.bandwidth}, "rows": rows,
    }  # fmt: skip


def _row(
    rehearsal: Rehearsal, ranks: int, network: Network, skins: Skins, particles: float, made: int,
    detections: float, per_particle: float,
) -> dict[str, Any]:  # fmt: skip
    tiling = rehearsal.tiling(particles)
    sample = tiling.sample(math.ceil(SAMPLES * ranks / tiling.tiles))
    parts = partition_of(rehearsal.case, sample, tiling.lower, tiling.upper, ranks)
    weight = np.bincount(parts.owners(sample), minlength=ranks)
    chosen = np.unique([int(np.argmax(weight)), *np.linspace(0, ranks - 1, made - 1).astype(int)])
    costs = [rehearsal.rank(tiling, parts, int(rank), skins) for rank in chosen]
    agree = 2.0 * math.ceil(math.log2(ranks)) * network.latency if ranks > 1 else 0.0
    seconds = [one.seconds(detections, network) for one in costs]
    slowest = costs[int(np.argmax(seconds))]
    total = max(seconds) + agree * (1.0 + AGREEMENTS * detections)
    return {
        "ranks": ranks, "particles": tiling.count, "made": [one.rank for one in costs],
        "owned": slowest.owned, "ghosts": slowest.ghosts, "neighbours": slowest.neighbours,
        "bytes_per_step": slowest.traffic.sent, "work": slowest.step, "detection": slowest.detection,
        "agree": agree, "seconds_per_step": total, "memory": max(one.bytes for one in costs) + CUT_BYTES * ranks,
        "efficiency": per_particle * tiling.count / ranks / total,
    }  # fmt: skip

"""Rehearsal of a run on very many ranks: some of its ranks are made here as they would be, run, and measured.

The system is copies of a small periodic one (`pdem.scaling.tiling`). Space is cut as for the real number of ranks, from
a sample. Of a few ranks, the heaviest among them, the particles are made, and those around, which belong to neighbours;
the rank then makes ghosts and lists, packs, and takes steps, as in a run (`decomposition.one_of_many`). Messages are
added by a model of the network. The slowest rank counts.
"""

from __future__ import annotations

import math
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from pdem.case.deformation import deforms
from pdem.case.model import Case
from pdem.case.shapes import has_clusters
from pdem.containers.exchange import Alone
from pdem.containers.mesh import Mesh
from pdem.containers.particles import Particles
from pdem.foundation.errors import InputError
from pdem.foundation.fields import state_fields
from pdem.scaling.rank_cost import TimedRank
from pdem.scaling.tiling import Tiling, copies_along
from pdem.simulation import step as time_step
from pdem.simulation.contact_forces import compute_contact_forces
from pdem.simulation.phases import Phases
from pdem.simulation.ranks import partition_of, rank_among_others
from pdem.simulation.setup import constants_of, skins_of, wall_geometry_of, walls_of
from pdem.simulation.state import initial_groups, load_state
from pdem.simulation.system import System

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.benchmark.cases import Start
    from pdem.containers.exchange import Exchange
    from pdem.detection.skins import Skins
    from pdem.scaling.predict import Network

    Columns = dict[str, NDArray[Any]]
    Floats = NDArray[np.float64]

SAMPLES = 48
"""Particles for each rank, at least, from which space is cut."""

ROUNDS = 5
"""In which ranks are timed in turn, so that what else the machine does meets all of them; medians count."""

AGREEMENTS = 6
"""All-reduces and barriers of a detection."""

CUT_BYTES = 32
"""Of a cut of space, of which every rank has all."""


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
    beside : int
        Processes that take the same steps while a rank is timed, as the other ranks of a node would.

    Raises
    ------
    InputError
        If processes beside shall have several threads, no axis of the case is periodic, there are no particles, or
        some are rigid clusters, or the box deforms.
    """

    def __init__(
        self, name: str, start: Start, threads: int, steps: int, warm_up: int, beside: int = 0
    ) -> None:
        self.case, self._meshes = start.case, list(start.meshes)
        if has_clusters(self.case):
            raise InputError(
                f"{name}: has rigid clusters, whose states a rehearsal does not make up; measure it by pdem scaling run"
            )
        if deforms(self.case):
            raise InputError(
                f"{name}: its box deforms, which a rehearsal does not; measure it by pdem scaling run"
            )
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
        if beside and threads > 1:
            raise InputError(
                f"{threads} threads and {beside} processes beside: those that run beside have one thread each; "
                "give --threads 1, or no --beside"
            )
        self.threads, self.beside, self._steps, self._warm_up = threads, beside, steps, warm_up

    def tiling(self, particles: float) -> Tiling:
        """Return about so many particles."""
        tiles = max(1, round(particles / len(self._particles["id"])))
        length = self._upper - self._lower
        return Tiling(self._particles, self._lower, length, copies_along(tiles, length, self.periodic))

    def skins(self) -> Skins:
        """Return the levels of size of all particles."""
        skins = skins_of(self.case, self._particles)
        skins.measure_speeds(self._particles["radius"], self._particles["velocity"], Alone())
        return skins

    def alone(self, tiling: Tiling) -> TimedRank:
        """Return one rank that has all particles."""
        columns, _ = tiling.within(tiling.lower, tiling.upper, [False] * 3)
        meshes = self._meshes_in(tiling, tiling.lower, tiling.upper)
        return self._timed(0, tiling, columns, [], meshes, None)

    def rank(self, tiling: Tiling, parts: Any, rank: int, skins: Skins) -> TimedRank:
        """Return one of many ranks.

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
        box, reach = parts.box(rank, whole), self._largest_reach(skins)
        columns, home = tiling.within(box[:3] - 2.0 * reach, box[3:] + 2.0 * reach, self.periodic)
        _, first = np.unique(columns["id"], return_index=True)  # of images on both sides one
        columns = {**{name: column[first] for name, column in columns.items()}, "position": home[first]}
        owner = parts.owners(columns["position"])
        own = {name: column[owner == rank] for name, column in columns.items()}
        others = _by_owner(columns, owner, owner != rank)
        meshes = self._meshes_in(tiling, box[:3] - reach, box[3:] + reach)
        return self._timed(rank, tiling, own, others, meshes, skins)

    def _largest_reach(self, skins: Skins) -> float:
        return float(skins.reach(self._particles["radius"], self._particles["velocity"]).max())

    def _case_of(self, tiling: Tiling) -> Case:
        """Return the case with the box of all copies, and no particles of its own."""
        document = tomllib.loads(self.case.to_toml())
        domain = {
            "lower": tiling.lower.tolist(),
            "upper": tiling.upper.tolist(),
            "outside": "keep",
        }
        document["domain"] = {**document.get("domain", {}), **domain}
        document["time"] = {**document["time"], "step": self.case.resolved_step()}
        document.pop("particles", None)
        return Case.from_text(tomli_w.dumps(document), str(self.case.directory))

    def _meshes_in(self, tiling: Tiling, lower: Floats, upper: Floats) -> list[Mesh]:
        """Return the walls of the tiles that a box meets."""
        length = self._upper - self._lower
        shifts = [np.array(tile) * length for tile in tiling.tiles_in(lower, upper, [False] * 3)]
        return [_copied(mesh, shifts, self._lower, self._upper) for mesh in self._meshes]

    def _timed(
        self, rank: int, tiling: Tiling, own: Columns, others: Sequence[Particles], meshes: list[Mesh],
        skins: Skins | None,
    ) -> TimedRank:  # fmt: skip
        """Return a rank with its lists, after the steps that are not timed."""
        period = np.where(self.periodic, tiling.upper - tiling.lower, 0.0)
        exchange = rank_among_others(others, period, self.threads)
        timed = TimedRank(rank, self._system(self._case_of(tiling), own, exchange, meshes, skins), exchange)
        timed.advance(self._warm_up)
        return timed

    def _system(
        self, case: Case, columns: Columns, exchange: Exchange, meshes: list[Mesh], skins: Skins | None
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
        compute_contact_forces(system, 0.0, Phases())
        return system

    def measure(self, ranks: Sequence[TimedRank]) -> None:
        """Time ranks in turn, several times."""
        for _ in range(ROUNDS):
            for one in ranks:
                one.time(max(1, self._steps // ROUNDS), self.beside)


def _by_owner(columns: Columns, owner: NDArray[np.int64], chosen: NDArray[np.bool_]) -> list[Particles]:
    """Return the chosen particles, those of each owner together."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(owner[rows])) + 1
    return [
        Particles({name: column[few] for name, column in columns.items()})
        for few in np.split(rows, ends)
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
    one = rehearsal.alone(rehearsal.tiling(per_rank or min(total or 1.0, 30_000.0)))
    rows = [
        _row(rehearsal, count, network, per_rank * count if per_rank else total or 1.0, made, one)
        for count in ranks
    ]
    return {
        "weak": per_rank is not None, "threads": rehearsal.threads, "beside": rehearsal.beside,
        "detections": one.detections, "particles_alone": one.owned,
        "seconds_per_particle": _per_particle(one, network),
        "network": {"latency": network.latency, "bandwidth": network.bandwidth}, "rows": rows,
    }  # fmt: skip


def _per_particle(one: TimedRank, network: Network) -> float:
    """Return the time of a step of a rank alone, for each of its particles [s]."""
    return one.cost().seconds(one.detections, network) / one.owned


def _row(
    rehearsal: Rehearsal, ranks: int, network: Network, particles: float, made: int, one: TimedRank
) -> dict[str, Any]:
    """Return the costs of a run on so many ranks, and its efficiency over a rank alone."""
    tiling, skins = rehearsal.tiling(particles), rehearsal.skins()
    sample = tiling.sample(math.ceil(SAMPLES * ranks / tiling.tiles))
    parts = partition_of(rehearsal.case, sample, tiling.lower, tiling.upper, ranks)
    weight = np.bincount(parts.owners(sample), minlength=ranks)
    chosen = np.unique([int(np.argmax(weight)), *np.linspace(0, ranks - 1, made - 1).astype(int)])
    timed = [rehearsal.rank(tiling, parts, int(rank), skins) for rank in chosen]
    rehearsal.measure([one, *timed])
    costs, detections = [each.cost() for each in timed], one.detections
    agree = 2.0 * math.ceil(math.log2(ranks)) * network.latency if ranks > 1 else 0.0
    slowest = max(costs, key=lambda cost: cost.seconds(detections, network))
    total = slowest.seconds(detections, network) + agree * (1.0 + AGREEMENTS * detections)
    return {
        "ranks": ranks, "particles": tiling.count, "made": [cost.rank for cost in costs],
        "owned": slowest.owned, "ghosts": slowest.ghosts, "neighbours": slowest.neighbours,
        "bytes_per_step": slowest.traffic.sent, "work": slowest.step, "detection": slowest.detection,
        "agree": agree, "seconds_per_step": total, "memory": max(cost.bytes for cost in costs) + CUT_BYTES * ranks,
        "efficiency": _per_particle(one, network) * tiling.count / ranks / total,
    }  # fmt: skip

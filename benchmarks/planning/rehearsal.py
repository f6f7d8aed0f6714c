"""Rehearsal of a run on very many ranks: some of its ranks are created here, run, and measured.

The system consists of copies of a small periodic system (`benchmarks.planning.tiling`). Space is cut as for the real
number of ranks: exactly around a few of them, and by a sample elsewhere. The particles of these few ranks are created,
and nearby particles, which belong to neighbours. The rank then makes ghosts and lists, packs, and runs steps as in a
real run (`benchmarks.planning.one_of_many`). A model of the network adds the travel time of messages that exceeds the
time of the contacts evaluated meanwhile. The slowest rank counts.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from benchmarks.planning.one_of_many import OneOfMany, OtherRank
from benchmarks.planning.plan import columns_of
from benchmarks.planning.predict import AGREEMENTS
from benchmarks.planning.rank_cost import TimedRank
from benchmarks.planning.rehearsal_limits import require_rehearsable
from benchmarks.planning.tiled_walls import walls_near
from benchmarks.planning.tiling import Tiling, copies_along
from decomposition.bisection import with_exact_parts
from decomposition.partitioners import PARTITIONERS
from pdem.case.groups.shapes import shapes_of
from pdem.case.model import Case
from pdem.containers.box_shape import BoxShape
from pdem.containers.clusters import Clusters, ParticleTable, states_of
from pdem.containers.exchange import Alone
from pdem.containers.particles import Particles
from pdem.engine.contact_forces import compute_contact_forces
from pdem.engine.phases import Phases
from pdem.engine.setup import skins_of, wall_geometry_of
from pdem.engine.stages.state import STAGES
from pdem.engine.start import NewSystem
from pdem.engine.state import initial_groups
from pdem.engine.system import System
from pdem.features.insertions.state import STATES as INSERTIONS
from pdem.features.insertions.state import WAITING
from pdem.features.registry import FEATURES, fields_of_features
from pdem.features.wall_loads.feature import WallLoads
from pdem.foundation.errors import InputError
from pdem.particles.clusters.shapes import shape_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.planning.network import Network
    from pdem.benchmark.cases import Start
    from pdem.containers.clusters import ShapeArrays
    from pdem.containers.exchange import Exchange
    from pdem.containers.meshes.mesh import Mesh
    from pdem.detection.skins import Skins
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.foundation.fields import Field

    Columns = dict[str, NDArray[Any]]

SAMPLES = 48
"""Least number of particles per rank in the sample from which space is cut."""

ROUNDS = 5
"""Rounds in which ranks are timed in turn, so that disturbances by other programs affect all; medians count."""

CONTINUED = ("counters", STAGES, INSERTIONS, WAITING)
"""Groups of a checkpoint that the ranks continue from."""

# ranks add up loads of walls between steps, which are not run one by one here
_FEATURES = tuple(one for one in FEATURES if one is not WallLoads)
_ROUNDING = 1e-9

CUT_BYTES = 32
"""Size of a cut of space, which every rank stores [bytes]."""


class Rehearsal:
    """A small periodic system from which large systems are made.

    Parameters
    ----------
    name : str
        Name of the case, for messages.
    start : Start
        Case, meshes and particles.
    threads, steps, warm_up : int
        Threads of a rank, timed steps, and steps before the timing.
    beside : int
        Number of processes that run the same steps while a rank is timed, as the other ranks of a node would.

    Raises
    ------
    InputError
        If processes beside would have several threads, or the case cannot be rehearsed; see
        `benchmarks.planning.rehearsal_limits`.
    """

    def __init__(self, name: str, start: Start, threads: int, steps: int, warm_up: int, beside: int = 0) -> None:
        self.case, self._meshes = start.case, list(start.meshes)
        table = columns_of(start)
        require_rehearsable(name, self.case, len(table["id"]))
        domain = self.case.domain
        self.periodic = [bool(one) for one in domain.periodic]
        self._lower, self._upper = np.array(domain.lower), np.array(domain.upper)
        shape = BoxShape.upright(self._lower, np.where(self.periodic, self._upper - self._lower, 0.0))
        centre = table.centres()
        beside_centre = centre + shape.nearest(table["position"] - centre)
        self._particles = ParticleTable({**table, "position": beside_centre}, table.clusters)
        self._shapes = shape_arrays(list(shapes_of(self.case).values())) if table.clusters else None
        self._continued = {name: dict((start.state or {})[name]) for name in CONTINUED if name in (start.state or {})}
        if beside and threads > 1:
            raise InputError(
                f"{threads} threads and {beside} processes beside: those that run beside have one thread each; "
                "give --threads 1, or no --beside"
            )
        self.threads, self.beside, self._steps, self._warm_up = threads, beside, steps, warm_up

    def tiling(self, particles: float) -> Tiling:
        """Return a tiling with about this number of particles."""
        tiles = max(1, round(particles / len(self._particles["id"])))
        length = self._upper - self._lower
        return Tiling(self._particles, self._lower, length, copies_along(tiles, length, self.periodic))

    def skins(self) -> Skins:
        """Return the levels of size of all particles."""
        skins = skins_of(self.case, self._particles)
        skins.measure_speeds(self._particles["radius"], self._particles["velocity"], Alone())
        return skins

    def alone(self, tiling: Tiling) -> TimedRank:
        """Return a single rank with all particles."""
        columns = self._particles_in(tiling, tiling.lower, tiling.upper)
        meshes = self._walls_in(tiling, tiling.lower, tiling.upper)
        return self._timed(0, tiling, _with_clusters(tiling, columns), [], meshes, None, np.zeros(3, np.bool_))

    def rank(self, tiling: Tiling, parts: Any, rank: int, skins: Skins) -> TimedRank:
        """Return one of many ranks.

        Parameters
        ----------
        tiling : Tiling
            All particles.
        parts : Cuts
            Division of space among the ranks.
        rank : int
            Number of the rank.
        skins : Skins
            Levels of size of all particles.
        """
        box, reach = parts.box(rank, self.whole(tiling)), self._largest_reach(skins) + tiling.overhang
        columns = self._particles_in(tiling, box[:3] - 2.0 * reach, box[3:] + 2.0 * reach)
        owner = parts.owners(_with_clusters(tiling, columns).centres())
        own = _with_clusters(tiling, {name: column[owner == rank] for name, column in columns.items()})
        fields = fields_of_features(self.case)
        others = _by_owner(tiling, columns, owner, owner != rank, self._shapes, fields)
        meshes = self._walls_in(tiling, box[:3] - reach, box[3:] + reach)
        return self._timed(rank, tiling, own, others, meshes, skins, parts.axes_of(rank))

    def whole(self, tiling: Tiling) -> Floats:
        """Return the bounds (6,) of the particles of the large system [m]; along open axes they may exceed its box."""
        position, is_open = self._particles["position"], ~np.array(self.periodic)
        lower = np.where(is_open, np.minimum(tiling.lower, position.min(axis=0)), tiling.lower)
        upper = np.where(is_open, np.maximum(tiling.upper, position.max(axis=0)), tiling.upper)
        return np.concatenate((lower, upper))

    def _particles_in(self, tiling: Tiling, lower: Floats, upper: Floats) -> Columns:
        """Return the particles in a box [m], each once, with all members of clusters with a centre in it."""
        wide = tiling.overhang + _ROUNDING * (tiling.upper - tiling.lower)
        columns, home = tiling.within(lower - wide, upper + wide, self.periodic)
        _, first = np.unique(columns["id"], return_index=True)  # one of several images
        return {**{name: column[first] for name, column in columns.items()}, "position": home[first]}

    def _largest_reach(self, skins: Skins) -> float:
        return float(skins.reach(self._particles["radius"], self._particles["velocity"]).max())

    def _case_of(self, tiling: Tiling) -> Case:
        """Return the case with the box of all copies."""
        document = tomllib.loads(self.case.to_toml())
        domain = {"lower": tiling.lower.tolist(), "upper": tiling.upper.tolist(), "outside": "keep"}
        document["domain"] = {**document.get("domain", {}), **domain}
        document["time"] = {**document["time"], "step": self.case.resolved_step()}
        return Case.from_text(tomli_w.dumps(document), str(self.case.directory))

    def _walls_in(self, tiling: Tiling, lower: Floats, upper: Floats) -> list[Mesh]:
        return walls_near(self.case, self._meshes, tiling, lower, upper, self.periodic)

    def _timed(
        self, rank: int, tiling: Tiling, own: ParticleTable, others: Sequence[OtherRank], meshes: list[Mesh],
        skins: Skins | None, cut_axes: Booleans,
    ) -> TimedRank:  # fmt: skip
        """Return a rank with its lists, after the untimed steps."""
        period = np.where(self.periodic, tiling.upper - tiling.lower, 0.0)
        exchange = OneOfMany(others, period, cut_axes, self.threads)
        timed = TimedRank(rank, self._system(self._case_of(tiling), own, exchange, meshes, skins), exchange)
        timed.advance(self._warm_up)
        return timed

    def _system(
        self, case: Case, columns: ParticleTable, exchange: Exchange, meshes: list[Mesh], skins: Skins | None
    ) -> System:
        """Return the state of a rank with its lists, as `pdem.run.simulation.Simulation` creates it."""
        choose = None if skins is None else lambda own, over: skins
        new = NewSystem(case, wall_geometry_of(case, meshes), exchange, _FEATURES, choose)
        groups = initial_groups(columns, exchange)
        counters = groups["counters"]
        groups.update(self._continued)
        groups["counters"] = counters | {"step": groups.pop("counters").get("step", counters["step"])}
        system = new.load(groups).make_lists(Phases())
        system.tuners.fix_skin()  # all ranks use the skins of the single rank
        compute_contact_forces(system, Phases(), at_rest=True)
        return system

    def measure(self, ranks: Sequence[TimedRank]) -> None:
        """Time ranks in turn, in several rounds."""
        for _ in range(ROUNDS):
            for one in ranks:
                one.time(max(1, self._steps // ROUNDS), self.beside)


def _with_clusters(tiling: Tiling, columns: Columns) -> ParticleTable:
    """Return particles together with the clusters of their members."""
    numbers = np.unique(columns["cluster"])
    clusters = tiling.clusters_of(numbers[numbers > 0]) if numbers.any() else {}
    return ParticleTable(columns, clusters)


def _by_owner(
    tiling: Tiling,
    columns: Columns,
    owner: Integers,
    chosen: Booleans,
    shapes: ShapeArrays | None,
    further: Sequence[Field],
) -> list[OtherRank]:
    """Return the chosen particles and their clusters, grouped by owner.

    Particles have the standard fields and the `further` ones.
    """
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(owner[rows])) + 1
    found = []
    for few in np.split(rows, ends) if len(rows) else ():
        table = _with_clusters(tiling, {name: column[few] for name, column in columns.items()})
        clusters = None
        if shapes is not None:
            clusters = Clusters(shapes)
            if table.clusters:
                clusters.replace(table.clusters["number"], table.clusters["image"], states_of(table.clusters))
        found.append(OtherRank(Particles(table, further), clusters))
    return found


def rehearse(
    rehearsal: Rehearsal, ranks: Sequence[int], network: Network, *, per_rank: float | None = None,
    total: float | None = None, made: int = 3,
) -> dict[str, Any]:  # fmt: skip
    """Return the predicted times of runs on these numbers of ranks, and the costs of one rank, as a dictionary.

    Parameters
    ----------
    rehearsal : Rehearsal
        The small system.
    ranks : sequence of int
        Numbers of ranks.
    network : Network
        Network between the ranks.
    per_rank, total : float
        Particles of each rank (weak scaling) or of all (strong scaling).
    made : int
        Number of ranks to create.
    """
    one = rehearsal.alone(rehearsal.tiling(per_rank or min(total or 1.0, 30_000.0)))
    rows = [
        _row(rehearsal, count, network, per_rank * count if per_rank else total or 1.0, made, one) for count in ranks
    ]
    return {
        "weak": per_rank is not None, "threads": rehearsal.threads, "beside": rehearsal.beside,
        "detections": one.detections, "particles_alone": one.owned,
        "seconds_per_particle": _per_particle(one, network),
        "network": asdict(network), "rows": rows,
    }  # fmt: skip


def _per_particle(one: TimedRank, network: Network) -> float:
    """Return the time of a step per particle of a single rank [s]."""
    return one.cost().seconds(one.detections, network) / one.owned


def _row(
    rehearsal: Rehearsal, ranks: int, network: Network, particles: float, made: int, one: TimedRank
) -> dict[str, Any]:
    """Return the costs of a run on `ranks` ranks, and its efficiency relative to a single rank."""
    tiling, skins = rehearsal.tiling(particles), rehearsal.skins()
    sample = tiling.sample(math.ceil(SAMPLES * ranks / tiling.tiles))
    partition = PARTITIONERS[rehearsal.case.decomposition.method](tiling.lower.tolist(), tiling.upper.tolist())
    rough: Any = partition(sample, ranks)  # both methods return `Cuts`
    chosen = np.unique(np.linspace(0, ranks - 1, made).astype(int)).tolist()
    parts = with_exact_parts(rough, chosen, rehearsal.whole(tiling), tiling.count_in)
    timed = [rehearsal.rank(tiling, parts, rank, skins) for rank in chosen]
    rehearsal.measure([one, *timed])
    costs, detections = [each.cost() for each in timed], one.detections
    agree = network.all_reduce(ranks)
    slowest = max(costs, key=lambda cost: cost.seconds(detections, network))
    total = slowest.seconds(detections, network) + agree * (1.0 + AGREEMENTS * detections)
    return {
        "ranks": ranks, "asked": particles, "particles": tiling.count, "copies": tiling.tiles,
        "made": [cost.rank for cost in costs],
        "owned": slowest.owned, "ghosts": slowest.ghosts, "neighbours": slowest.neighbours,
        "bytes_per_step": slowest.most_bytes, "work": slowest.step, "early": slowest.early,
        "messages": slowest.most_bytes / network.bandwidth, "delay": slowest.delay(network),
        "detection": slowest.detection,
        "agree": agree, "seconds_per_step": total, "memory": max(cost.bytes for cost in costs) + CUT_BYTES * ranks,
        "efficiency": _per_particle(one, network) * tiling.count / ranks / total,
    }  # fmt: skip

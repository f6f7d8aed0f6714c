"""Dense packings for ``fill`` groups: up to random close packing or a pressure, in any region, between walls.

Particles start at random positions, overlapping, and are pushed apart until none overlaps
(`pdem.particles.packings.soft_spheres`). This is possible below the jamming fraction; above it, forces balance with
overlaps (O'Hern, Silbert, Liu, Nagel, Phys. Rev. E 68 (2003) 011306: 0.639 for many equal spheres). A fill without a
number of particles is filled until it jams: it starts with too many particles, and some are removed until overlaps
vanish. From this state `pdem.particles.packings.pressing` proceeds to a pressure.

The first rank makes all packed groups together, so that they are the same on any number of ranks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pdem.containers.exchange import Alone
from pdem.containers.global_order import part_of
from pdem.containers.group import on_first_rank
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.foundation.terminal import ERRORS
from pdem.particles.clearance import overlapping_pairs
from pdem.particles.filling import PlacedGroup
from pdem.particles.packings import soft_spheres
from pdem.particles.packings.packing_task import Task
from pdem.particles.packings.pressing import pressed, require_reasonable
from pdem.particles.random_filling import PROGRESS_AFTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Floats
    from pdem.particles.filling import FillGroup, FillRequest, Surroundings
    from pdem.particles.packings.packing_task import Packing, PackingPlaces

GROWTH = (0.6, 0.7, 0.8, 0.9)
"""Fractions of the full size at which particles are relaxed first, so that none is pushed through a wall."""

GROWTH_STEPS = 150

FIRST_FRACTION = {2: 0.87, 3: 0.67}
"""Initial volume fraction of a fill without a number of particles."""

ADDED = 1.05
"""Factor by which the number of particles of such a fill grows while it does not jam."""

LOST = 1.2
"""Particles to remove from such a fill, over its excess above the jamming density: some removals leave a hole."""

MOST_ROUNDS = 60
"""Largest number of rounds that add particles to such a fill, and of rounds that remove particles."""

RETURNS = 8
"""Largest number of times that particles outside their container are put back."""


TOUCHING = 1e-3
"""Gap over the radius up to which particles without load count as touching."""


def pack(task: Task, counts: Sequence[int | None], bar: Any) -> tuple[list[Floats], Packing, float]:
    """Return the radii of the particles of each group, the packing, and the growth factor of a pressed packing.

    The radius of a cluster is the largest distance of its surface from its centre. A single group without a count is
    packed until it jams, and is pressed if it has a pressure.
    """
    chosen = [_first_count(task, k) if one is None else one for k, one in enumerate(counts)]
    reach = [task.reaches(group, count) for group, count in enumerate(chosen)]
    require_reasonable(task, reach[0])
    places = task.seeds(0, 0, reach[0])
    for group, one in enumerate(reach[1:], 1):
        places = places.joined(task.seeds(group, 0, one))
    found = _kept_inside(task, reach, _relaxed(task, reach, places, bar), bar)
    factor = 1.0
    if list(counts) == [None]:
        reach[0], found = _until_jammed(task, reach[0], found, bar)
        if not len(reach[0]):
            raise CaseError(f"{task.requests[0].where}: no particle fits into the region; enlarge it")
        if task.requests[0].forces is not None:
            reach[0], found, factor = pressed(task, reach[0], found, bar)
    _require_inside(task, reach, found)
    return reach, found, factor


def _relaxed(task: Task, reach: list[Floats], places: PackingPlaces, bar: Any) -> Packing:
    """Push particles apart from any start positions; with walls they grow in steps, so that none passes a wall."""
    for share in GROWTH if len(task.corners) else ():
        places = task.relax(places, reach, bar, scale=share, most=GROWTH_STEPS).places
    return task.relax(places, reach, bar)


def _kept_inside(task: Task, reach: list[Floats], found: Packing, bar: Any) -> Packing:
    """Put particles that were pushed out of a container back into it, at new random positions."""
    ends = np.cumsum([0, *map(len, reach)])
    for turned in range(1, RETURNS + 1):
        outside = task.outside(reach, found.places)
        if not len(outside):
            break
        places = found.places
        for row in outside.tolist():
            group = int(np.searchsorted(ends, row, side="right")) - 1
            number = row - int(ends[group])
            seed = task.seeds(group, number, reach[group][number : number + 1], turned)
            places.position[row], places.turn[row] = seed.position[0], seed.turn[0]
        found = _relaxed(task, reach, places, bar)
    return found


def _require_inside(task: Task, reach: list[Floats], found: Packing) -> None:
    outside = task.outside(reach, found.places)
    if len(outside):
        raise CaseError(
            f"{task.requests[0].where}: {len(outside)} particles were pushed through the walls of the container; "
            "ask for fewer, or close gaps that are nearly as wide as particles"
        )


def _until_jammed(task: Task, reach: Floats, found: Packing, bar: Any) -> tuple[Floats, Packing]:
    """Add particles until they jam, then remove particles until they just do not jam."""
    for _ in range(MOST_ROUNDS):
        if found.reason != soft_spheres.DONE:
            break
        more = task.reaches(0, int(len(reach) * ADDED) + 1)
        seeds = task.seeds(0, len(reach), more[len(reach) :])
        reach, found = more, task.relax(found.places.joined(seeds), [more], bar)
        found = _kept_inside(task, [reach], found, bar)
    for _ in range(MOST_ROUNDS):
        if found.reason == soft_spheres.DONE:
            break
        excess = LOST * task.domain.dimension * found.overlap * len(reach)
        reach = reach[: len(reach) - max(int(excess), 1)]
        found = task.relax(found.places.of(slice(len(reach))), [reach], bar)
    return reach, found


def _first_count(task: Task, group: int) -> int:
    """Return a number of particles that exceeds the capacity of the region of a fill."""
    each = exact_math.total(task.volumes(group, task.reaches(group, 4096))) / 4096
    return int(FIRST_FRACTION[task.domain.dimension] * task.room() / each) + 1


def pack_together(
    groups: Sequence[FillGroup],
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    *,
    progress: bool = False,
    over: Exchange | None = None,
) -> None:
    """Place the particles of all packed fills with a given number of particles. Collective.

    Groups with the same region are mixed.

    Parameters
    ----------
    groups : sequence of FillGroup
        This rank's part of each group to be placed; positions are written.
    placed : sequence of PlacedGroup
        Parts of groups that are placed already, and keep their positions.
    surroundings : Surroundings
        The domain and the walls.
    progress : bool
        Report the result on the standard error of rank 0, and show the progress if it takes some seconds.
    over : Exchange, optional
        The ranks; by default this process alone.

    Raises
    ------
    CaseError
        On all ranks, if the particles jam with overlaps.
    """
    over = Alone() if over is None else over
    counts = over.add(np.array([len(one.radius) for one in groups], np.int64)).tolist()
    if not any(counts):
        return
    begins = [over.before(len(one.radius)) for one in groups]
    asked = [
        (one.request, one.first_id - begin, count) for one, begin, count in zip(groups, begins, counts, strict=True)
    ]
    _, places = _packed(asked, placed, surroundings, progress, over)
    ends = np.cumsum([0, *counts]).tolist()
    for one, begin, end in zip(groups, begins, ends[:-1], strict=True):
        rows = slice(end + begin, end + begin + len(one.radius))
        one.position, one.orientation = places.position[rows].copy(), places.turn[rows].copy()


def pack_until_jammed(
    request: FillRequest,
    first_id: int,
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    *,
    progress: bool = False,
    over: Exchange | None = None,
) -> PlacedGroup:
    """Return this rank's part of a group with as many particles as its region holds, jammed or pressed. Collective.

    Parameters are the same as of `pack_together`; `first_id` is the first id of the whole group.

    Raises
    ------
    CaseError
        On all ranks, if nothing fits, or the pressure cannot be reached.
    """
    over = Alone() if over is None else over
    (reach,), places = _packed([(request, first_id, None)], placed, surroundings, progress, over)
    begin, end = part_of(len(reach), over.rank, over.size)
    rows = slice(begin, end)
    return PlacedGroup(
        first_id + begin, reach[rows].copy(), places.position[rows].copy(), shape=request.shape,
        orientation=places.turn[rows].copy(),
    )  # fmt: skip


def _packed(
    asked: Sequence[tuple[FillRequest, int, int | None]],
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    progress: bool,
    over: Exchange,
) -> tuple[list[Floats], PackingPlaces]:
    """Pack whole groups of requests, first ids and counts; return the radii of particles, and their positions."""
    obstacles = over.collect(
        {
            "position": np.concatenate([np.zeros((0, 3)), *(one.position for one in placed)]),
            "radius": np.concatenate([np.zeros(0), *(one.radius for one in placed)]),
        }
    )

    def work() -> tuple[list[Floats], PackingPlaces]:
        assert obstacles is not None
        requests, first_ids, counts = map(list, zip(*asked, strict=True))
        task, begin = Task(requests, first_ids, obstacles, surroundings), time.perf_counter()
        with tqdm(
            desc="packing particles",
            delay=PROGRESS_AFTER,
            disable=not progress,
            leave=False,
            unit=" steps",
            file=ERRORS,
        ) as bar:
            reach, found, factor = pack(task, counts, bar)
        _require_room(task, reach, found)
        if progress:
            took = f" in {time.perf_counter() - begin:.1f} s, {task.steps} steps"
            ERRORS.line(f"pdem: {packing_report(task, reach, found, factor)}{took}")
        return reach, found.places

    return on_first_rank(over, work)


def _require_room(task: Task, reach: Sequence[Floats], found: Packing) -> None:
    """Raise an error for a packing with overlaps if no pressure was requested."""
    if found.reason == soft_spheres.DONE or task.requests[0].forces is not None:
        return
    number, fraction = sum(map(len, reach)), task.fraction(reach)
    fits = fraction * (1.0 - task.domain.dimension * found.overlap)
    raise CaseError(
        f"{task.requests[0].where}: {number} particles fill {fraction:.4g} of the region, and they jam at about "
        f"{fits:.3g}; ask for fewer, enlarge the region, or leave count, volume_fraction and mass out: then it is "
        "filled until it jams"
    )


def packing_report(task: Task, reach: Sequence[Floats], found: Packing, factor: float) -> str:
    """Return number, volume fraction and contacts of a packing; for a pressed packing also overlaps and growth."""
    number, fraction = sum(map(len, reach)), task.fraction(reach)
    text = f"packed {number:,} particles to a volume fraction of {fraction:.4f}"
    if not number:
        return text
    bears = found.reason != soft_spheres.DONE
    contacts, few, largest = _contacts(task, reach, found, 0.0 if bears else TOUCHING)
    text += f", {contacts:.2f} contacts of each {'' if bears else 'within a gap of 0.1 % of the radius '}"
    text += f"with others, {few:,} with fewer than {task.domain.dimension + 1}"
    if task.requests[0].forces is not None:
        text += f", largest overlap {100.0 * largest:.2g} % of the diameter, radii times {factor:.6g}"
    return text


def _contacts(task: Task, reach: Sequence[Floats], found: Packing, gap: float) -> tuple[float, int, float]:
    """Return the mean number of contacts, the number of rattlers, and the largest overlap."""
    spheres = task.all_spheres(reach, found.places)
    owner = np.repeat(np.arange(len(spheres.begin) - 1), np.diff(spheres.begin))
    pairs, overlap = overlapping_pairs(spheres.centre, spheres.radius * (1.0 + gap), task.domain)
    apart = owner[pairs[:, 0]] != owner[pairs[:, 1]]
    pairs, overlap = pairs[apart], overlap[apart]
    counts = np.bincount(owner[pairs].reshape(-1), minlength=int(owner[-1]) + 1)
    strain = overlap / (spheres.radius[pairs[:, 0]] + spheres.radius[pairs[:, 1]])
    return (
        int(counts.sum()) / len(counts),
        int(np.count_nonzero(counts <= task.domain.dimension)),
        float(strain.max(initial=0.0)),
    )

"""Dense packings for ``fill`` groups: up to random close packing, in any region, between walls and other particles.

Spheres begin at random places, overlapping, and are pushed apart until none overlaps (`pdem.particles.soft_spheres`):
below the fraction at which they jam that is possible, above forces balance before (O'Hern, Silbert, Liu, Nagel, Phys.
Rev. E 68 (2003) 011306: 0.639 for many equal spheres). A fill without a number of particles is filled until it jams: it
begins with more than fit, and loses some until overlaps vanish.

The first rank makes all packed groups together, so that they are the same on any number of ranks.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pdem.containers.exchange import Alone
from pdem.containers.global_order import part_of
from pdem.containers.group import on_first_rank
from pdem.containers.mesh_splitting import triangle_fans
from pdem.detection.find_pairs import find_pairs
from pdem.foundation.errors import CaseError
from pdem.foundation.random import keyed_vectors
from pdem.foundation.terminal import to_terminal
from pdem.particles import regions, soft_spheres
from pdem.particles.clearance import near_triangles
from pdem.particles.filling import PlacedGroup, reaches
from pdem.particles.particle_spheres import single_spheres
from pdem.particles.random_filling import PROGRESS_AFTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.particles.filling import FillGroup, FillRequest, Surroundings

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]

MARGIN = 3e-6
"""By which share radii are larger while spheres are pushed apart, so that they do not overlap in the end."""

SMALL = 1e-6
"""Overlap over the diameter that counts as none."""

BALANCED = 2e-4
"""Mean square of the sum of the forces on a sphere, over that of a contact, at which forces are balanced."""

MOST_STEPS = 40_000
"""Steps in one relaxation; a packing at the border of jamming takes some thousands."""

SKIN = 0.12
"""How far a sphere may move before lists are made anew, over its radius."""

GROWTH = (0.6, 0.7, 0.8, 0.9)
"""Shares of the radii at which spheres are relaxed for a while first, so that none is pushed through a wall."""

GROWTH_STEPS = 150

FIRST_FRACTION = {2: 0.87, 3: 0.67}
"""Of a fill that is filled until it jams, at the begin."""

ADDED = 1.05
"""By which factor such a fill grows while it does not jam."""

LOST = 1.2
"""How many particles such a fill loses, over the excess by which it is denser than jammed: some leave a hole."""

MOST_ROUNDS = 60
"""How often such a fill may lose particles."""

_PLACE_STREAM, _ATTEMPTS, _FREE = 48, 400, 0.5


@dataclass
class Packing:
    """What has come out.

    Attributes
    ----------
    position : (n, 3) array
        In m.
    overlap : float
        Mean overlap over the diameter of the contacts that are left; 0 if none is.
    steps : int
        Of the method.
    reason : int
        Why they ended.
    """

    position: Floats
    overlap: float
    steps: int
    reason: int


class _Task:
    """All groups that are packed together, on the first rank."""

    def __init__(
        self,
        requests: Sequence[FillRequest],
        first_ids: Sequence[int],
        obstacles: dict[str, NDArray[Any]],
        surroundings: Surroundings,
    ) -> None:
        self.requests, self.first_ids, self.surroundings = requests, first_ids, surroundings
        self.steps = 0
        self.domain = surroundings.domain
        self.obstacles = np.asarray(obstacles["position"]).reshape(-1, 3), np.asarray(obstacles["radius"])
        self.kind, self.numbers = _rows_of_regions(requests, self.domain)
        width = np.subtract(self.domain.upper, self.domain.lower)
        self.period = np.where(self.domain.periodic, width, 0.0)
        self.period[self.domain.dimension :] = 0.0
        walls = surroundings.walls() if any(one.fill.avoid_walls for one in requests) else None
        self.corners = np.zeros((0, 3, 3))
        if walls is not None:
            triangles, _ = triangle_fans(walls.facet_start, walls.facet_vertices)
            self.corners = np.ascontiguousarray(walls.vertices[triangles])

    def radii(self, group: int, count: int) -> Floats:
        """Return the radii (n,) of the first particles of a group [m]."""
        return reaches(self.requests[group], self.first_ids[group], count)

    def seeds(self, group: int, begin: int, radii: Floats) -> Floats:
        """Return random places (n, 3) of particles of a group, from the one numbered `begin` on [m].

        They are in their region, and off walls by half of their radius.
        """
        request, count = self.requests[group], len(radii)
        lower, upper = regions.bounds(request.region)
        ids = self.first_ids[group] + begin + np.arange(count)
        found, left = np.zeros((count, 3)), np.arange(count)
        for attempt in range(_ATTEMPTS):
            uniform = keyed_vectors(request.fill.seed, _PLACE_STREAM + 3 * attempt, ids[left])
            places = lower + uniform * (upper - lower)
            places[:, self.domain.dimension :] = 0.5 * (lower + upper)[self.domain.dimension :]
            free = self.surroundings.free(request, single_spheres(places, _FREE * radii[left]))
            found[left[free]] = places[free]
            left = left[~free]
            if not len(left):
                return found
        raise CaseError(f"{request.where}: no room is free of walls in this region; enlarge it")

    def relax(
        self, position: Floats, radii: Sequence[Floats], bar: Any, share: float = 1.0, most: int = MOST_STEPS
    ) -> Packing:
        """Push spheres apart, from positions of all groups in a row; see `soft_spheres.relax`."""
        moving = np.concatenate(radii) * (share * (1.0 + MARGIN))
        unit = float(moving.min())
        crowd = soft_spheres.Crowd(
            np.concatenate((moving, self.obstacles[1] * (1.0 + MARGIN))),
            (moving / unit) ** 2,
            np.repeat(np.arange(len(radii)), [len(one) for one in radii]),
            self.kind, self.numbers, self.period,
            np.divide(1.0, self.period, out=np.zeros(3), where=self.period > 0.0),
            self.corners, self.domain.dimension,
        )  # fmt: skip
        count = len(moving)
        state = np.zeros(6)
        state[soft_spheres.TIME_STEP], state[soft_spheres.MIXING] = soft_spheres.FIRST, soft_spheres.TURNED
        motion = soft_spheres.Motion(
            np.concatenate((position, self.obstacles[0])), np.zeros((count, 3)), np.zeros((count, 3)), state
        )
        steps, reason = 0, soft_spheres.MOVED
        while reason == soft_spheres.MOVED and steps < most:
            lists = self._lists(crowd, motion.position)
            reason, taken = soft_spheres.relax(crowd, lists, motion, most - steps, SMALL, BALANCED)
            steps += taken
            bar.update(taken)
        self.steps += steps
        overlap = 0.0 if reason == soft_spheres.DONE else float(state[soft_spheres.MEAN])
        return Packing(motion.position[:count].copy(), overlap, steps, reason)

    def _lists(self, crowd: soft_spheres.Crowd, position: Floats) -> soft_spheres.Lists:
        """Return who may touch whom while none moves farther than its skin."""
        count, size = len(crowd.mass), self.domain.dimension
        position[:count] = regions.wrap_positions(position[:count], self.domain)
        skin = SKIN * crowd.radius[:count]
        reach = crowd.radius.copy()
        reach[:count] += skin
        pairs = find_pairs(
            position[:, :size], reach, lower=self.domain.lower[:size], upper=self.domain.upper[:size],
            periodic=self.domain.periodic[:size],
        ).pairs  # fmt: skip
        pairs = pairs[pairs[:, 0] < count]
        touched = [
            (near[reach[near] > 0.0], triangle)
            for near, triangle in near_triangles(position[:count], float(reach[:count].max()), self.corners)
        ] if len(self.corners) and count else []  # fmt: skip
        sphere, triangle = (
            np.concatenate([one[k] for one in touched]) if touched else np.zeros(0, np.int64)
            for k in (0, 1)
        )  # fmt: skip
        order = np.lexsort((triangle, sphere))
        first, second = np.ascontiguousarray(pairs.T)
        return soft_spheres.Lists(
            first, second, sphere[order], triangle[order], position[:count].copy(), skin
        )


def pack(task: _Task, counts: Sequence[int | None], bar: Any) -> tuple[list[Floats], list[Floats], Packing]:
    """Return radii and positions of each group, and the packing; a single one without a count jams."""
    chosen = [_first_count(task, k) if one is None else one for k, one in enumerate(counts)]
    radii = [task.radii(group, count) for group, count in enumerate(chosen)]
    position = np.concatenate([task.seeds(group, 0, one) for group, one in enumerate(radii)])
    for share in GROWTH if len(task.corners) else ():
        position = task.relax(position, radii, bar, share, GROWTH_STEPS).position
    found = task.relax(position, radii, bar)
    if list(counts) == [None]:
        radii[0], found = _until_jammed(task, radii[0], found, bar)
    found.steps = task.steps
    ends = np.cumsum([len(one) for one in radii])[:-1]
    return radii, np.split(found.position, ends), found


def _until_jammed(task: _Task, radius: Floats, found: Packing, bar: Any) -> tuple[Floats, Packing]:
    """Add particles until they jam, then take some away until they just do not."""
    for _ in range(MOST_ROUNDS):
        if found.reason != soft_spheres.DONE:
            break
        more = task.radii(0, int(len(radius) * ADDED) + 1)
        seeds = task.seeds(0, len(radius), more[len(radius) :])
        radius, found = more, task.relax(np.concatenate((found.position, seeds)), [more], bar)
    for _ in range(MOST_ROUNDS):
        if found.reason == soft_spheres.DONE:
            break
        excess = LOST * task.domain.dimension * found.overlap * len(radius)
        radius = radius[: len(radius) - max(int(excess), 1)]
        found = task.relax(found.position[: len(radius)], [radius], bar)
    return radius, found


def _first_count(task: _Task, group: int) -> int:
    """Return more particles than fit into the region of a fill."""
    request, size = task.requests[group], task.domain.dimension
    sample = task.radii(group, 4096)
    each = np.pi * np.mean(sample**2) if size == 2 else 4.0 / 3.0 * np.pi * np.mean(sample**3)
    return int(FIRST_FRACTION[size] * regions.size(request.region, size) / each) + 1


def _rows_of_regions(requests: Sequence[FillRequest], domain: regions.Domain) -> tuple[Indices, Floats]:
    """Return kinds and numbers of the regions, see `pdem.particles.soft_spheres`."""
    kinds, rows = [], np.zeros((len(requests), soft_spheres.REGION_NUMBERS))
    for row, request in zip(rows, requests, strict=True):
        region: Any = request.region
        free = regions.unbounded_axes(region, domain)
        if region.shape == "box":
            kinds.append(soft_spheres.BOX)
            row[:] = *region.lower, *region.upper, *(~free)
        elif region.shape == "sphere":
            kinds.append(soft_spheres.BALL)
            row[:4] = *region.centre, region.radius
        else:
            axis = np.asarray(region.axis) / np.linalg.norm(region.axis)
            ends = not np.any(free & (np.abs(axis) > 0.5))
            kinds.append(soft_spheres.CYLINDER)
            row[:] = *region.centre, *axis, region.radius, 0.5 * region.length, ends
    return np.array(kinds), rows


def pack_together(
    groups: Sequence[FillGroup],
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    *,
    progress: bool = False,
    over: Exchange | None = None,
) -> None:
    """Place the particles of all packed fills whose numbers are known, mixed where regions are the same. Collective.

    Parameters
    ----------
    groups : sequence of FillGroup
        Of each group to be placed this rank's part, whose positions are written.
    placed : sequence of PlacedGroup
        Parts of groups that are placed already, and stay where they are.
    surroundings : Surroundings
        The domain and the walls.
    progress : bool
        Say on the standard error of rank 0 what has come out, and show the progress if it takes some seconds.
    over : Exchange, optional
        The ranks; this process alone unless given.

    Raises
    ------
    CaseError
        On all ranks, if the particles jam before they have room.
    """
    over = Alone() if over is None else over
    counts = over.add(np.array([len(one.radius) for one in groups], np.int64)).tolist()
    if not any(counts):
        return
    begins = [over.before(len(one.radius)) for one in groups]
    asked = [
        (one.request, one.first_id - begin, count)
        for one, begin, count in zip(groups, begins, counts, strict=True)
    ]
    _, positions = _packed(asked, placed, surroundings, progress, over)
    for one, begin, position in zip(groups, begins, positions, strict=True):
        one.position = position[begin : begin + len(one.radius)].copy()


def pack_until_jammed(
    request: FillRequest,
    first_id: int,
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    *,
    progress: bool = False,
    over: Exchange | None = None,
) -> PlacedGroup:
    """Return this rank's part of a group with as many particles as its region holds, jammed. Collective.

    Parameters are those of `pack_together`; `first_id` is that of the whole group.

    Raises
    ------
    CaseError
        On all ranks, if nothing fits.
    """
    over = Alone() if over is None else over
    (radius,), (position,) = _packed([(request, first_id, None)], placed, surroundings, progress, over)
    begin, end = part_of(len(radius), over.rank, over.size)
    return PlacedGroup(first_id + begin, radius[begin:end].copy(), position[begin:end].copy())


def _packed(
    asked: Sequence[tuple[FillRequest, int, int | None]],
    placed: Sequence[PlacedGroup],
    surroundings: Surroundings,
    progress: bool,
    over: Exchange,
) -> tuple[list[Floats], list[Floats]]:
    """Return radii and positions of whole groups: of requests with first ids, and numbers if these are known."""
    obstacles = over.collect(
        {
            "position": np.concatenate([np.zeros((0, 3)), *(one.position for one in placed)]),
            "radius": np.concatenate([np.zeros(0), *(one.radius for one in placed)]),
        }
    )

    def work() -> tuple[list[Floats], list[Floats]]:
        assert obstacles is not None
        requests, first_ids, counts = map(list, zip(*asked, strict=True))
        task, begin = _Task(requests, first_ids, obstacles, surroundings), time.perf_counter()
        with tqdm(
            desc="packing particles", delay=PROGRESS_AFTER, disable=not progress, leave=False, unit=" steps"
        ) as bar:
            radii, positions, found = pack(task, counts, bar)
        _require_room(task, radii, found)
        if progress:
            with to_terminal():
                print(f"pdem: {_said(task, radii, found, time.perf_counter() - begin)}", file=sys.stderr)
        return radii, positions

    return on_first_rank(over, work)


def _fraction(task: _Task, radii: Sequence[Floats]) -> float:
    """Return the volume fraction of all groups in their regions, in 2D that of the area."""
    size = task.domain.dimension
    solid = [np.pi * (one**2).sum() if size == 2 else 4.0 / 3.0 * np.pi * (one**3).sum() for one in radii]
    room = {str(one.region): regions.size(one.region, size) for one in task.requests}
    return float(sum(solid) / sum(room.values()))


def _require_room(task: _Task, radii: Sequence[Floats], found: Packing) -> None:
    """Refuse a packing with overlaps."""
    if found.reason == soft_spheres.DONE:
        return
    number, fraction = sum(map(len, radii)), _fraction(task, radii)
    fits = fraction * (1.0 - task.domain.dimension * found.overlap)
    raise CaseError(
        f"{task.requests[0].where}: {number} particles fill {fraction:.4g} of the region, and they jam at about "
        f"{fits:.3g}; ask for fewer, enlarge the region, or leave count, volume_fraction and mass out: then it is "
        "filled until it jams"
    )


def _said(task: _Task, radii: Sequence[Floats], found: Packing, seconds: float) -> str:
    """Return what has come out, for people."""
    number, fraction = sum(map(len, radii)), _fraction(task, radii)
    return f"packed {number:,} particles to a volume fraction of {fraction:.4f} in {seconds:.1f} s, {found.steps} steps"

"""The stages of contacts between spheres and walls, counted and timed separately as in sect. 6.2.

A run evaluates them in one pass per sphere, so that its stages cannot be timed. Here they are called on the state of a
run and do not change it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.geometry.double_hierarchy import resolve_h2
from pdem.contact.geometry.scratch_columns import INTEGER_COLUMNS
from pdem.contact.geometry.sphere_facet import sphere_touches_facet
from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch, Sphere, SurfaceArrays
from pdem.numerics.kernels import inlined, prange, threaded_kernel
from pdem.numerics.thread_pool import set_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.foundation.array_types import Floats, Int32s, Integers
    from pdem.run.simulation import Simulation

_REPETITIONS = 3


class StageWork(NamedTuple):
    """Work of the stages in one step.

    Attributes
    ----------
    potential, touched, contacts : int
        Numbers of facets tested, of facets that intersect their sphere, and of contacts.
    fast, split, direct : float
        Time of the fast intersection test, of the double hierarchy on the facets that pass the test, and of the double
        hierarchy on all facets [s].
    """

    potential: int
    touched: int
    contacts: int
    fast: float
    split: float
    direct: float


class SpheresNearWall(NamedTuple):
    """Spheres near a wall: their rows, positions and radii, and candidate facets."""

    near: Int32s
    position: Floats
    radius: Floats
    start: Integers
    end: Integers
    candidates: Integers


@inlined
def _sphere(spheres: SpheresNearWall, q: int) -> Sphere:
    p = spheres.near[q]
    return Sphere(spheres.position[p, 0], spheres.position[p, 1], spheres.position[p, 2], spheres.radius[p])


@threaded_kernel
def intersect(spheres: SpheresNearWall, surface: SurfaceArrays, touched: Integers, touched_end: Integers) -> None:
    """Write the facets that intersect each sphere into its rows of `touched`, and the ends of these rows."""
    for q in prange(len(spheres.near)):
        row = spheres.start[q]
        for place in range(spheres.start[q], spheres.end[q]):
            facet = spheres.candidates[place]
            if sphere_touches_facet(_sphere(spheres, q), facet, surface):
                touched[row] = facet
                row += 1
        touched_end[q] = row


@threaded_kernel
def resolve(spheres: SpheresNearWall, surface: SurfaceArrays, scratch: Scratch, found: Found, counts: Integers) -> None:
    """Resolve the contacts of each sphere with its candidates by the double hierarchy; write their numbers."""
    for q in prange(len(spheres.near)):
        first, last = spheres.start[q], spheres.end[q]
        own = Scratch(scratch.real, scratch.integer, scratch.tally, scratch.bound, first)
        counts[q] = resolve_h2(
            _sphere(spheres, q), FacetRange(spheres.candidates, first, last), first, surface, own, found, last - first
        )


def measure_stages(simulation: Simulation) -> StageWork:
    """Count and time the stages for the present state of a run.

    Parameters
    ----------
    simulation : Simulation
        A simulation with walls, on one rank.
    """
    system = simulation.system
    assert system.contacts.walls is not None
    walls, lists, particles = system.contacts.walls.walls, system.contacts.walls.lists, system.particles
    surface, rows = SurfaceArrays.of(walls.mesh, walls.vertices, walls.normals), len(lists.candidates)
    touched, touched_end = np.zeros_like(lists.candidates), lists.end.copy()
    scratch, found = Scratch.rows(rows, INTEGER_COLUMNS), Found.rows(rows)
    counts = np.zeros(len(lists.near), np.int64)
    spheres = SpheresNearWall(
        lists.near, particles.column("position"), particles.column("radius"), lists.start, lists.end,
        lists.candidates,
    )  # fmt: skip
    fast = _shortest(lambda: intersect(spheres, surface, touched, touched_end))
    direct = _shortest(lambda: resolve(spheres, surface, scratch, found, counts))
    hits = spheres._replace(end=touched_end, candidates=touched)
    split = _shortest(lambda: resolve(hits, surface, scratch, found, counts))
    potential, hit = (int((end - lists.start).sum()) for end in (lists.end, touched_end))
    return StageWork(potential, hit, int(counts.sum()), fast, split, direct)


def seconds_on_threads(simulation: Simulation, steps: int, numbers: Sequence[int], threads: int) -> dict[int, float]:
    """Return the shortest time per step of several blocks for each number of threads, measured in turn [s].

    Parameters
    ----------
    simulation : Simulation
        A simulation on one rank.
    steps : int
        Steps of each block.
    numbers : sequence of int
        Numbers of threads, none larger than `threads`.
    threads : int
        Number of threads afterwards.
    """
    shortest = dict.fromkeys(numbers, np.inf)
    for _ in range(_REPETITIONS):
        for number in numbers:
            set_threads(number)
            start = time.perf_counter()
            simulation.advance(steps)
            shortest[number] = min(shortest[number], (time.perf_counter() - start) / steps)
    set_threads(threads)
    return shortest


def _shortest(work: Callable[[], object]) -> float:
    """Return the shortest time of several calls [s]."""
    seconds = []
    for _ in range(_REPETITIONS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)

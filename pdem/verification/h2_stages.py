"""The stages of the contact of spheres with walls, each by itself: what is counted and timed in sect. 6.2.

A run does them in one pass per sphere, which leaves nothing in between to look at. Here they are called on the state
that a run has reached, and change nothing of it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.contact_rows import INTEGER_COLUMNS, REAL_COLUMNS
from pdem.contact.hierarchy import resolve_h2
from pdem.contact.intersection import sphere_touches_facet
from pdem.foundation.kernels import prange, set_threads, threaded_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.simulation.simulation import Simulation

_REPETITIONS = 3


class Stages(NamedTuple):
    """Work of the stages in one step.

    Attributes
    ----------
    potential, touched, contacts : int
        Facets tested, facets that intersect their sphere, and what is left of them as contacts.
    fast, split, direct : float
        Time of the fast intersection test, of the double hierarchy on what it has found, and of the double
        hierarchy on all facets [s].
    """

    potential: int
    touched: int
    contacts: int
    fast: float
    split: float
    direct: float


@threaded_kernel
def intersect(
    near: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    facet_start: NDArray[np.int64],
    facet_vertices: NDArray[np.int64],
    facet_edges: NDArray[np.int64],
    edges: NDArray[np.int64],
    touched: NDArray[np.int64],
    touched_end: NDArray[np.int64],
) -> None:
    """Write the facets that intersect each sphere into its rows of `touched`, and where they end."""
    for q in prange(len(near)):
        p = near[q]
        row = start[q]
        for place in range(start[q], end[q]):
            facet = candidates[place]
            if sphere_touches_facet(
                position[p, 0], position[p, 1], position[p, 2], radius[p], facet, vertices, normals,
                facet_start, facet_vertices, facet_edges, edges,
            ):  # fmt: skip
                touched[row] = facet
                row += 1
        touched_end[q] = row


@threaded_kernel
def resolve(
    near: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    candidates: NDArray[np.int64],
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    vertices: NDArray[np.float64],
    normals: NDArray[np.float64],
    topology: tuple[Any, ...],
    scratch: tuple[Any, ...],
    counts: NDArray[np.int64],
) -> None:
    """Resolve the contacts of each sphere with its candidates by the double hierarchy; write their numbers."""
    (facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
     vertex_facets) = topology  # fmt: skip
    real, integer, kind, feature, facet, point, normal, overlap = scratch
    for q in prange(len(near)):
        p = near[q]
        first, last = start[q], end[q]
        counts[q] = resolve_h2(
            position[p, 0], position[p, 1], position[p, 2], radius[p], candidates, first, last, vertices,
            normals, facet_start, facet_vertices, facet_edges, edges, edge_start, edge_facets, vertex_start,
            vertex_facets, real, integer, first, last, kind, feature, facet, point, normal, overlap, first, last,
        )  # fmt: skip


def stages(simulation: Simulation) -> Stages:
    """Count and time the stages for the state that a run has reached.

    Parameters
    ----------
    simulation : Simulation
        With walls, on one rank.
    """
    system = simulation.system
    assert system.walls is not None
    walls, lists, particles = system.walls.walls, system.walls.lists, system.particles
    place = particles.column("position"), particles.column("radius"), walls.vertices, walls.normals
    topology = tuple(walls.mesh.topology)
    touched, touched_end = np.zeros_like(lists.candidates), lists.end.copy()
    scratch, counts = _scratch(len(lists.candidates)), np.zeros(len(lists.near), np.int64)
    begin, candidates = (lists.near, lists.start), lists.candidates
    fast = _shortest(
        lambda: intersect(*begin, lists.end, candidates, *place, *topology[:4], touched, touched_end)
    )
    direct = _shortest(lambda: resolve(*begin, lists.end, candidates, *place, topology, scratch, counts))
    split = _shortest(lambda: resolve(*begin, touched_end, touched, *place, topology, scratch, counts))
    potential, hit = (int((end - lists.start).sum()) for end in (lists.end, touched_end))
    return Stages(potential, hit, int(counts.sum()), fast, split, direct)


def seconds_on_threads(
    simulation: Simulation, steps: int, numbers: Sequence[int], threads: int
) -> dict[int, float]:
    """Return the shortest time per step of several blocks for each number of threads, taken in turns [s].

    Parameters
    ----------
    simulation : Simulation
        On one rank.
    steps : int
        Of each block.
    numbers : sequence of int
        Numbers of threads, none larger than `threads`.
    threads : int
        Number to go on with.
    """
    shortest = dict.fromkeys(numbers, np.inf)
    for _ in range(_REPETITIONS):
        for number in numbers:
            set_threads(number)
            begun = time.perf_counter()
            simulation.advance(steps)
            shortest[number] = min(shortest[number], (time.perf_counter() - begun) / steps)
    set_threads(threads)
    return shortest


def _scratch(rows: int) -> tuple[NDArray[Any], ...]:
    return (
        np.empty((rows, REAL_COLUMNS)), np.empty((rows, INTEGER_COLUMNS), np.int64), np.empty(rows, np.int8),
        np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty((rows, 3)), np.empty((rows, 3)),
        np.empty(rows),
    )  # fmt: skip


def _shortest(work: Callable[[], object]) -> float:
    """Return the shortest time of a work [s]."""
    seconds = []
    for _ in range(_REPETITIONS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)

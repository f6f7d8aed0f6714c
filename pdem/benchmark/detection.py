"""Benchmark of neighbour list builds over methods, numbers of particles, size ratios and numbers of threads.

One detection is the work of a run when its lists are stale: sort particles into cells, search pairs, sort the
candidates of each particle by id, and transfer the histories of contacts.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.contact_law import ContactLaw, PartUse, Recipe
from pdem.contact.law.dissipation import ENDED
from pdem.contact.law.kinds.friction import MINDLIN
from pdem.contact.law.kinds.hertz import HERTZ
from pdem.contact.pairs.contacts import PairContacts
from pdem.containers.particles import Particles
from pdem.containers.records import PairRecords
from pdem.detection.cell_sizes import automatic_cell_sizes
from pdem.detection.id_table import indexed
from pdem.detection.overhead import search_times, uncorrelated_spheres
from pdem.detection.searches import make_search
from pdem.numerics.sums import ExactSums
from pdem.numerics.thread_pool import set_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.detection.searches import PairFinder
    from pdem.foundation.array_types import Floats

FRACTION = 0.4
"""Volume fraction of the spheres."""

SKIN = 0.1
"""Skin relative to the radius."""

_REPETITIONS = 5
_SYSTEMS = (
    # method, particles, size ratio
    *(("hgrid", 100_000, ratio) for ratio in (1.0, 2.0, 10.0, 50.0, 100.0, 1000.0)),
    *(("hgrid", count, 10.0) for count in (10_000, 1_000_000)),
    *(("linked-cell", 100_000, ratio) for ratio in (1.0, 10.0)),
    *((method, 100_000, 1.0) for method in ("nbs", "sorting", "screening")),
)


LAW = ContactLaw([Recipe(PartUse(HERTZ), tangential=PartUse(MINDLIN), keys={"friction": 0.5})])
"""Contact law, which determines the size of the transferred histories."""


@dataclass(frozen=True)
class DetectionResult:
    """Result for one system and number of threads.

    Attributes
    ----------
    method : str
        Method of detection.
    particles, threads : int
        Number of particles, number of threads.
    ratio : float
        Largest over smallest radius.
    levels : int
        Levels of the grid.
    pairs, checks, accesses : float
        Near pairs, distance tests and cell visits per particle.
    nanoseconds : float
        Time of a detection per particle [ns].
    search, lists : float
        Parts of this time per particle [ns]: search of pairs; lists of candidates with their histories.
    memory : float
        Memory of search and lists per particle [bytes].
    """

    method: str
    particles: int
    threads: int
    ratio: float
    levels: int
    pairs: float
    checks: float
    accesses: float
    nanoseconds: float
    search: float
    lists: float
    memory: float

    def as_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary for a file."""
        return {"name": "detection", **asdict(self)}

    def __str__(self) -> str:
        """Return the result as a line for users."""
        return (
            f"detection by {self.method}, {self.particles} particles, ratio {self.ratio:g}, {self.levels} levels, "
            f"{self.threads} threads: {self.nanoseconds:.0f} ns per particle (search {self.search:.0f}, lists "
            f"{self.lists:.0f}); {self.pairs:.2f} pairs, {self.checks:.1f} tests, {self.accesses:.1f} visits, "
            f"{self.memory:.0f} bytes per particle"
        )


def measure_detection(threads: int) -> Iterator[DetectionResult]:
    """Time full detections of randomly placed spheres at equal volume fraction, on one thread and on `threads`."""
    for method, count, ratio in _SYSTEMS:
        system = _spheres(count, ratio)
        for number in sorted({1, threads}):
            set_threads(number)
            yield _measure(method, ratio, number, *system)
    set_threads(threads)


def _measure(
    method: str, ratio: float, threads: int, particles: Particles, edge: float, sizes: Floats
) -> DetectionResult:
    count = particles.count
    search = make_search(method, sizes, np.zeros(3), np.full(3, edge), "top-down", 3)
    particles.reorder(search.order(particles.position, particles.radius, count).copy())
    reach = (1.0 + SKIN) * particles.radius
    contacts = _contacts(search, particles, reach)
    times = [_detect(search, contacts, particles, reach) for _ in range(_REPETITIONS + 1)]
    finding, listing = (1e9 * median(part) / count for part in zip(*times[1:], strict=True))
    return DetectionResult(
        method, count, threads, ratio, len(sizes) if method == "hgrid" else 1, contacts.candidates / count,
        search.checks / count, search.accesses / count, finding + listing, finding, listing,
        (search.memory + contacts.memory) / count,
    )  # fmt: skip


def _spheres(count: int, ratio: float) -> tuple[Particles, float, Floats]:
    """Return randomly placed spheres in a periodic box, the edge of the box [m], and the sizes of the levels [m]."""
    position, radii, edge = uncorrelated_spheres(count, ratio, FRACTION)
    sizes = automatic_cell_sizes(
        (1.0 + SKIN) * radii, density=count / edge**3, dimension=3, overhead=search_times().overhead
    ).sizes
    return Particles({"id": np.arange(count), "radius": radii, "position": position}), edge, sizes


def _detect(search: PairFinder, contacts: PairContacts, particles: Particles, reach: Any) -> tuple[float, float]:
    """Build the lists; return the times of the search and of the lists [s]."""
    start = time.perf_counter()
    near = search.search(particles.position, reach, particles.count)
    found = time.perf_counter()
    contacts.carry(particles)
    contacts.take_candidates(near, particles, ExactSums(ENDED))
    return found - start, time.perf_counter() - found


def _contacts(search: PairFinder, particles: Particles, reach: Any) -> PairContacts:
    """Return lists in which every second candidate has a history, as if it were in contact."""
    contacts, ended = PairContacts(LAW), ExactSums(ENDED)
    contacts.take_candidates(search.search(particles.position, reach, particles.count), particles, ended)
    ids, half = particles.id, slice(0, contacts.candidates, 2)
    lower, higher = ids[contacts.lower[half]], ids[contacts.higher[half]]
    records = PairRecords(lower, higher, np.zeros((LAW.columns, len(lower))))
    contacts.load_state(records, particles, indexed(ids))
    contacts.take_candidates(search.search(particles.position, reach, particles.count), particles, ended)
    return contacts

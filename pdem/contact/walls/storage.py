"""Memory for contacts with walls: their histories, and the results of one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.geometry.signed_patches import SIGNED_COLUMNS
from pdem.contact.geometry.surface_arrays import PLACE_NUMBERS, Found, Scratch
from pdem.contact.law.contact_law import BLOCK, OVERLAP, UNKNOWN
from pdem.contact.law.dissipation import ENDED, terms_of_accounts
from pdem.contact.walls.arguments import WallRecord, WallWork
from pdem.contact.walls.due_facets import TILE
from pdem.contact.walls.search import SEEN
from pdem.contact.walls.stages import LOAD, WALL_COLUMNS, wall_columns_of
from pdem.foundation.array_types import Floats, Int32s, Integers
from pdem.numerics.arrays import line_zeros, with_spare
from pdem.numerics.simd.threshold_filter import DUE_LANES
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.walls.arguments import NearFacets


class ActingOnWalls(NamedTuple):
    """Contacts with walls and their forces.

    Attributes
    ----------
    particle, facet : (n,) int64 arrays
        Row of the particle, and a facet that it touches.
    point, normal : (n, 3) arrays
        Point on the wall [m], unit normal from this point to the particle.
    overlap : (n,) array
        Overlap [m].
    force : (n, 3) array
        Force on the particle [N].
    history : (n, columns) array
        Histories, see `pdem.contact.walls.stages.wall_columns_of`.
    """

    particle: Integers
    facet: Integers
    point: Floats
    normal: Floats
    overlap: Floats
    force: Floats
    history: Floats


class Evaluated(NamedTuple):
    """The contacts of the last two evaluations, as arguments of kernels.

    Attributes
    ----------
    near : NearFacets
        The particles near walls.
    now, before : WallRecord
        Contacts of the last evaluation, and of the one before it.
    found : Found
        Points, normals and overlaps of the contacts.
    match : int64 array
        History row of `before` that a contact continues, 0 for a new contact.
    facet_wall : int32 array
        Wall of each facet.
    materials : int
        Number of materials.
    """

    near: NearFacets
    now: WallRecord
    before: WallRecord
    found: Found
    match: Integers
    facet_wall: Int32s
    materials: int


class WallRows:
    """Contacts of one evaluation: kind, feature, facet and history by row; their number by particle near a wall.

    Histories, of shape (rows + 1, columns), are shifted by one row: row 0 is the history of a new contact.
    """

    def __init__(self, law: ContactLaw, rows: int, particles: int) -> None:
        self._normal = law.columns
        self.kind = np.zeros(rows, np.int8)
        self.feature = np.zeros(rows, np.int64)
        self.facet = np.zeros(rows, np.int64)
        self.history = line_zeros((rows + 1, wall_columns_of(law)))
        self.history[0, OVERLAP] = UNKNOWN
        self.counts = np.zeros(particles, np.int32)

    @property
    def record(self) -> WallRecord:
        """Contacts as arguments of kernels; views."""
        return WallRecord(
            self.kind, self.feature, self.facet, self.history.reshape(-1), self.counts, self.history.shape[1],
            self._normal,
        )  # fmt: skip


def ended_accounts(law: ContactLaw) -> tuple[Integers, Integers]:
    """Return terms of the energy balance, by index in `ENDED`, and the columns of a history that are added to them."""
    work = law.columns + 3
    terms = np.append(terms_of_accounts(law), ENDED.index("wall_work"))
    return terms, np.append(np.arange(law.first_energy, law.columns), work)


class WallRoom:
    """Memory for the results of contacts with walls in one step.

    Parameters
    ----------
    law : ContactLaw
        Contact law of the case.
    rows : int
        Largest number of contacts.
    largest_order : int
        Vertices of the largest facet for the signed contact sum, 0 for the double hierarchy.

    Attributes
    ----------
    match : (rows,) int64 array
        Row of the history that a contact continues.
    force : (rows, LOAD) array
        Forces and moments on particles.
    """

    def __init__(self, law: ContactLaw, rows: int, largest_order: int) -> None:
        self._width, self._sides = law.columns, largest_order
        self.force, self.match = np.zeros((rows, LOAD)), np.empty(rows, np.int64)
        self._ended = np.empty(rows, np.int32)
        self._places, self._weight = line_zeros((rows, PLACE_NUMBERS)), np.empty(rows, np.int64)
        self._scratch = Scratch.rows(0, SIGNED_COLUMNS, largest_order)
        self._seen = np.zeros((SEEN, 0), np.int64)
        self._lists, self._active = np.empty((3, 0), np.int32), np.empty((2, 0), np.int32)
        self._listed, self._tested = np.empty(0, np.int32), np.empty(0, np.int64)
        self._history, self._columns = np.empty(0), np.empty(0)

    @property
    def tally(self) -> Int32s | None:
        """Counts of features, (s, 1 + 2 largest_order), see `pdem.contact.geometry.surface_arrays.Scratch`."""
        tally: Int32s | None = self._scratch.tally
        return tally

    @property
    def memory(self) -> int:
        """Bytes held in buffers."""
        held = (*vars(self).values(), *self._scratch)
        return sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def found(self, rows: WallRows) -> Found:
        """Return memory for contacts; their features are written to `rows`."""
        return Found(rows.kind, rows.feature, rows.facet, self._places, self._weight)

    def work(self, near: int, most: int, workers: int, total: Floats) -> WallWork:
        """Return the work arrays of kernels, for `near` particles near walls that are divided among `workers`.

        Each particle has at most `most` facets to test.
        """
        if len(self._scratch.real) != most * workers:
            self._scratch = Scratch.rows(most * workers, SIGNED_COLUMNS, self._sides)
        room = len(self.force) + LANES * (near // TILE + workers + 1)
        if room > self._lists.shape[1]:
            self._lists = np.empty((3, with_spare(room)), np.int32)
        if workers * WALL_COLUMNS > len(self._columns):
            self._history = line_zeros(workers * self._width * BLOCK)
            self._columns = line_zeros(workers * WALL_COLUMNS)
        if self._seen.shape[1] != workers:
            self._seen = np.zeros((SEEN, workers), np.int64)
            self._active = np.zeros((2, workers * TILE), np.int32)
        if len(self.force) + DUE_LANES * (workers + 1) > len(self._listed):
            listed = len(self.force) + DUE_LANES * (workers + 1)
            self._listed, self._tested = np.zeros(listed, np.int32), np.zeros(listed, np.int64)
        (row, particle, owner), (active, until) = self._lists, self._active
        return WallWork(
            self._seen, self._scratch.real, self._scratch.integer, self._scratch.bound, self._listed, self._tested,
            active, until, self.match, row, particle, owner, self.force, total, self._history, self._columns,
            self._ended,
        )  # fmt: skip

"""Fragments: particles that unbroken bonds join directly or through further particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.engine.views.bodies import sizes_of, sphere_masses
from pdem.foundation import exact_math
from pdem.foundation.errors import InputError
from pdem.output.frames import data_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

NEVER_BONDED = -1
"""Label of particles that have never been part of a bond."""

UNITS_OF_FRAGMENTS = {"fragment": "1", "particles": "1", "mass": "kg", "equivalent_diameter": "m"}
"""Columns of a table of fragments, and their units."""


@dataclass(frozen=True, eq=False)
class Fragments:
    """The fragments at one time, the one with the largest mass first; of equal masses the lower label first.

    A particle is part of a fragment if it has a bond, or had one that has broken: a sphere that has lost all its bonds
    is a fragment of its own. The label of a fragment is the lowest id of its particles.

    Attributes
    ----------
    ids : (n,) int64 array
        Ids of the particles in fragments, rising.
    labels : (n,) int64 array
        Label of the fragment of each of these particles.
    fragment : (k,) int64 array
        Label of each fragment.
    particles : (k,) int64 array
        Number of its particles.
    mass : (k,) array
        Its mass [kg], the sum over its spheres.
    equivalent_diameter : (k,) array
        Diameter of the sphere with the volume of its spheres; in 2D of the disc with their area [m].
    """

    ids: Integers
    labels: Integers
    fragment: Integers
    particles: Integers
    mass: Floats
    equivalent_diameter: Floats

    def __len__(self) -> int:
        return len(self.fragment)

    @property
    def largest_mass(self) -> float:
        """Mass of the heaviest fragment [kg]; 0 without fragments."""
        return float(self.mass[0]) if len(self) else 0.0

    @property
    def table(self) -> dict[str, NDArray[Any]]:
        """The columns of the fragments by name, as in ``fragments.csv``."""
        return {name: getattr(self, name) for name in UNITS_OF_FRAGMENTS}

    def members(self, label: int) -> Integers:
        """Return the ids of the particles of a fragment, rising.

        Raises
        ------
        InputError
            If no fragment has the label.
        """
        if label not in self.fragment:
            raise InputError(f"no fragment has the label {label}; labels are in the column fragment")
        return self.ids[self.labels == label]

    def passing(self, diameter: float) -> float:
        """Return the share by mass of the fragments with an equivalent diameter of at most `diameter` [m].

        It is the cumulative size distribution; NaN without fragments.
        """
        whole = exact_math.total(self.mass)
        return exact_math.total(self.mass[self.equivalent_diameter <= diameter]) / whole if whole > 0.0 else float("nan")

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame with a row per fragment; its ``attrs["units"]`` has the units.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        return data_frame(self.table, UNITS_OF_FRAGMENTS)

    def __repr__(self) -> str:
        """Return the number of fragments and of their particles, and the largest mass."""
        return f"Fragments({len(self)} of {len(self.ids)} particles, the largest {self.largest_mass:.6g} kg)"


def labels_of(ids: Integers, pairs: Integers) -> Integers:
    """Return for each particle the lowest id among the particles that pairs join with it.

    Parameters
    ----------
    ids : (n,) int64 array
        Ids of particles, rising.
    pairs : (b, 2) int64 array
        Pairs of these ids.

    Returns
    -------
    (n,) int64 array
        Its own id for a particle without pairs.
    """
    from scipy.sparse import coo_array  # imported late, since the import is slow
    from scipy.sparse.csgraph import connected_components

    count, rows = len(ids), np.searchsorted(ids, pairs)
    graph = coo_array((np.ones(len(rows), np.int8), (rows[:, 0], rows[:, 1])), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    _, first, place = np.unique(component, return_index=True, return_inverse=True)
    found: Integers = ids[first[place]]
    return found


def fragments_of(particles: Mapping[str, NDArray[Any]], density: Floats, dimension: int) -> Fragments:
    """Return the fragments of labelled particles.

    Parameters
    ----------
    particles : mapping of (n, ...) arrays
        ``id``, ``radius`` [m], ``material`` and ``fragment``, the label or `NEVER_BONDED`, in any order.
    density : (M,) array
        Density by material [kg/m^3].
    dimension : int
        2 or 3.
    """
    inside = np.flatnonzero(particles["fragment"] != NEVER_BONDED)
    rows = inside[np.argsort(particles["id"][inside], kind="stable")]  # sums then have the same bits on any ranks
    ids, labels, radius = particles["id"][rows], particles["fragment"][rows].astype(np.int64), particles["radius"][rows]
    fragment, place, number = np.unique(labels, return_inverse=True, return_counts=True)
    each = sphere_masses(radius, density[particles["material"][rows]]), sizes_of(radius, dimension)
    mass, whole = (np.bincount(place, weights=one, minlength=len(fragment)).astype(np.float64) for one in each)
    per_cube = 6.0 if dimension == 3 else 4.0
    diameter = exact_math.power(per_cube / np.pi * whole, 1.0 / dimension)
    order = np.lexsort((fragment, -mass))
    return Fragments(
        ids.astype(np.int64), labels, fragment[order], number[order].astype(np.int64), mass[order], diameter[order]
    )

"""Sums, extremes and histograms over the particles of all ranks: exact, hence independent of partition and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.rules.region_rules import region_of
from pdem.containers.group import on_each_rank
from pdem.continuum.fields import ContinuumFields
from pdem.engine.views.bodies import sphere_masses
from pdem.engine.views.stress import stress_of
from pdem.features.bonds.feature import Bonds
from pdem.features.breakage.feature import Breakage
from pdem.features.collisions.feature import Collisions
from pdem.features.fields.feature import Fields
from pdem.features.fields.sampling import present_frame, present_sums
from pdem.foundation.arguments import shown
from pdem.foundation.errors import InputError
from pdem.numerics.sums import LIMBS, add_rows, exact_values, normalise
from pdem.run.files.contact_columns import gathered_contacts
from pdem.run.reading.coarse_graining import checked_grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pdem.engine.system import System
    from pdem.engine.views.stress import Stress
    from pdem.features.bonds.results.fragments import Fragments
    from pdem.features.breakage.results.breakage_file import BrokenParticles
    from pdem.features.collisions.counted import CollisionEnergies
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.output.contact_table import ContactTable

BLOCK = 4096
"""Number of sums that are reduced over ranks in one message."""

MOST_SUMS = 10_000_000
"""Largest number of bins or cells of a histogram."""


class Reductions:
    """Reductions over the particles of all ranks, for scripts and observers.

    Values are arrays (n,) over the particles that this rank owns, in the order of `particles`, or one number for all.
    `where` is a mask (n,) of the particles to include. All ranks must call the same methods in the same order, and
    receive the same numbers, bit for bit equal to a run on one rank. Sums are rounded once.
    """

    system: System

    @property
    def masses(self) -> Floats:
        """Masses of the particles that this rank owns (n,) [kg]; for members of clusters, masses of their spheres."""
        own = self.system.particles
        return sphere_masses(own.radius, self.system.constants.density[own.material])

    def sum(self, values: ArrayLike = 1.0, where: ArrayLike | None = None) -> Any:
        """Return the sum of values over all particles; for columns (n, k) the sums (k,). Collective.

        ``simulation.sum()`` is the number of particles.

        Raises
        ------
        InputError
            On all ranks, if values have other shapes, or are not finite.
        """
        rows, chosen = self._taken(values, where, wide=True)
        total = self._sums(np.ascontiguousarray(rows[chosen].T), np.arange(rows.shape[1]), rows.shape[1])
        return total if np.ndim(values) == 2 else float(total[0])

    def mean(self, values: ArrayLike, weights: ArrayLike = 1.0, where: ArrayLike | None = None) -> float:
        """Return the weighted mean of values (n,); NaN if the sum of the weights is zero. Collective.

        Raises
        ------
        InputError
            As for `sum`.
        """
        rows, chosen = self._taken(values, where)
        weight, _ = self._taken(weights, where)
        pairs = np.column_stack((rows[:, 0] * weight[:, 0], weight[:, 0]))
        total, share = self.sum(pairs, chosen).tolist()
        return total / share if share else float("nan")

    def minimum(self, values: ArrayLike, where: ArrayLike | None = None) -> float:
        """Return the smallest of values (n,); infinite without particles. Collective.

        Raises
        ------
        InputError
            As for `sum`.
        """
        rows, chosen = self._taken(values, where)
        lowest = rows[chosen].min(initial=np.inf)
        return 0.0 - float(self.system.exchange.largest(np.array([-lowest]))[0])

    def maximum(self, values: ArrayLike, where: ArrayLike | None = None) -> float:
        """Return the largest of values (n,); minus infinity without particles. Collective.

        Raises
        ------
        InputError
            As for `sum`.
        """
        rows, chosen = self._taken(values, where)
        highest = rows[chosen].max(initial=-np.inf)
        return 0.0 + float(self.system.exchange.largest(np.array([highest]))[0])  # removes the sign of zero

    def histogram(
        self, values: ArrayLike, edges: ArrayLike, weights: ArrayLike | None = None, where: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Count values (n,) between consecutive edges, the last edge included. Collective.

        Parameters
        ----------
        values : (n,) array_like
            A value per particle.
        edges : (b + 1,) array_like
            Increasing edges, the same on all ranks. Values outside are ignored.
        weights : (n,) array_like, optional
            Weights to sum instead of counts.
        where : (n,) array_like of bool, optional
            Mask of the particles to include.

        Returns
        -------
        (b,) array
            int64 counts, or float64 sums of weights.

        Raises
        ------
        InputError
            As for `sum`, and if edges do not increase.
        """
        rows, chosen = self._taken(values, where)
        limits = on_each_rank(self.system.exchange, lambda: _edges(edges))
        at = np.searchsorted(limits, rows[:, 0], side="right") - 1
        at[rows[:, 0] == limits[-1]] = len(limits) - 2
        inside = chosen & (at >= 0) & (at < len(limits) - 1)
        if weights is None:
            found = np.bincount(at[inside], minlength=len(limits) - 1).astype(np.int64)
            return self.system.exchange.add(found)
        weight, _ = self._taken(weights, where)
        return self._sums(weight[inside, 0], at[inside], len(limits) - 1)

    def by_cell(
        self,
        values: ArrayLike = 1.0,
        cells: ArrayLike = (10, 10, 10),
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Floats:
        """Return the sums of values (n,) of the particles with centres in each cell of a box. Collective.

        Parameters
        ----------
        values : (n,) array_like
            A value per particle; 1 counts the particles.
        cells : 3 int
            Number of equal cells along x, y and z.
        lower, upper : (3,) array_like, optional
            Corners of the box [m]; by default the corners of the domain.
        where : (n,) array_like of bool, optional
            Mask of the particles to include.

        Returns
        -------
        (nx, ny, nz) array
            A cell includes its lower faces; the last cells also include the upper faces of the box.

        Raises
        ------
        InputError
            As for `sum`, and if the number of cells is zero or too large, or the box has no size.
        """
        rows, chosen = self._taken(values, where)
        domain = self.system.case.domain
        shape, low, high = on_each_rank(
            self.system.exchange,
            lambda: _box(cells, domain.lower if lower is None else lower, domain.upper if upper is None else upper),
        )
        position = self.system.particles.position
        place = np.floor((position - low) * (shape / (high - low))).astype(np.int64)
        place = np.where(position == high, shape - 1, place)
        inside = chosen & ((place >= 0) & (place < shape)).all(axis=1)
        at = np.ravel_multi_index(tuple(place[inside].T), tuple(shape))
        return self._sums(rows[inside, 0], at, int(shape.prod())).reshape(shape)

    def stress(self, region: Any = None) -> Stress:
        """Return stress, fabric and coordination of all particles, or of a region. Collective.

        Parameters
        ----------
        region : mapping or region of a case, optional
            A box, cylinder or ball as in the case file: ``{"lower": [...], "upper": [...]}``. By default all contacts
            and particles, over the volume of the domain.

        Returns
        -------
        Stress
            With ``contact``, ``kinetic``, ``total`` (3, 3) [Pa], ``pressure``, ``fabric``, ``coordination`` and more,
            see `pdem.engine.views.stress.Stress`.

        Raises
        ------
        InputError
            On all ranks, if the region is not valid.
        """
        system = self.system
        return stress_of(system, on_each_rank(system.exchange, lambda: None if region is None else region_of(region)))

    @property
    def fields(self) -> dict[str, ContinuumFields]:
        """The ``[[fields]]`` of the case by name, the same on every rank: means of the samples since the last output.

        At an output step, these are the fields that are written.
        """
        return {one.name: one.present for one in self.system.features.get(Fields).averages}

    def collisions(self) -> CollisionEnergies:
        """Return numbers of collisions by the energy lost so far, the same on every rank. Collective.

        Raises
        ------
        InputError
            On all ranks, if the case does not count collisions (``output.collision_energies``).
        """
        return self.system.features.get(Collisions).energies(self.system)

    def coarse_grain(
        self,
        *,
        cells: ArrayLike = (10, 10, 10),
        width: float,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        kernel: str = "gaussian",
        by: str | None = None,
    ) -> ContinuumFields:
        """Return continuum fields of the present state on a grid, on all ranks. Collective.

        Parameters
        ----------
        cells, width, lower, upper, kernel, by
            As for `pdem.run.reading.coarse_graining.coarse_grain`.

        Returns
        -------
        ContinuumFields
            Fields with the same bits for any number of ranks and threads. Forces are the forces of `contacts`.

        Raises
        ------
        InputError
            On all ranks, if an argument is not valid.
        """
        system = self.system
        corners, names = (lower, upper), list(system.case.materials)
        grid = on_each_rank(
            system.exchange, lambda: checked_grid(system.case, present_frame(system), cells, corners, width, kernel, by)
        )
        sums = present_sums(system, grid, len(names) if by else 0, system.features.get(Fields).rooms)
        return ContinuumFields.of_sums(grid, sums, names if by else ())

    def contacts(self) -> ContactTable | None:
        """Return all contacts ordered by ids, as columns by name, on rank 0; None elsewhere. Collective.

        The columns are described in `pdem.run.reading.results.Results.contacts_at`. If the case stores contact forces
        (``stress``, ``contacts_every``), these are the forces of the last step; their sums are the column ``force`` of
        particles. Otherwise, before the first step after a restart, and after particles were inserted or removed, the
        forces are evaluated for the present velocities, half a step later than the velocities that damping used in the
        step.
        """
        return gathered_contacts(self.system)

    @property
    def bonds(self) -> dict[str, NDArray[Any]] | None:
        """All bonds since the begin of the run, sorted by ids, on the first rank; None on others. Collective.

        ``ids`` (n, 2) of both particles, ``bond`` (n,), the name in the case, ``broken_at`` [s], NaN for present bonds,
        and the columns of snapshots of bonds from ``length`` on: ``radius``, ``force`` of the first on the second
        particle, ``first_moment``, ``second_moment``, ``tensile_stress``, ``stress``, the load over the strength, and
        more. A broken bond has the energy with which it broke, and NaN in the remaining columns.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        return self.system.features.get(Bonds).all_of(self.system)

    def fragments(self) -> Fragments | None:
        """Return the fragments: groups of particles that bonds join, on the first rank; None elsewhere. Collective.

        Raises
        ------
        InputError
            If the case has no bonds.
        """
        return self.system.features.get(Bonds).fragments(self.system)

    @property
    def breakage(self) -> BrokenParticles | None:
        """Particles that have broken into fragments, by time and id, on the first rank; None elsewhere. Collective.

        Their strengths are the columns ``fracture_energy`` and ``fracture_stress`` of particles.

        Raises
        ------
        InputError
            If no material of the case breaks.
        """
        return self.system.features.get(Breakage).all_of(self.system)

    def _taken(self, values: Any, where: Any, *, wide: bool = False) -> tuple[Floats, Booleans]:
        """Return values as rows (n, k), and the mask of particles to include. Collective."""
        many = self.system.particles.count
        return on_each_rank(self.system.exchange, lambda: _rows(values, where, many, wide=wide))

    def _sums(self, values: Floats, at: Integers, count: int) -> Floats:
        """Return exact sums (count,) over all ranks of values (m,) or (m, r); row i belongs to the sum `at[i]`."""
        order = np.argsort(at, kind="stable")
        values = values[:, None] if values.ndim == 1 else values
        values, at = np.ascontiguousarray(values[order]), at[order]
        found = np.zeros(count)
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            begin, end = np.searchsorted(at, [first, last])
            limbs = np.zeros((last - first, LIMBS), np.int64)
            add_rows(limbs, at[begin:end] - first, values[begin:end])
            normalise(limbs)
            limbs = self.system.exchange.add(limbs)
            some = np.flatnonzero(limbs.any(axis=1))
            found[first + some] = exact_values(limbs[some])
        return found


def _rows(values: Any, where: Any, many: int, *, wide: bool) -> tuple[Floats, Booleans]:
    """Return values as rows (n, k) of `many` particles, and the mask of particles to include.

    Raises
    ------
    InputError
        If shapes or values are not valid.
    """
    chosen = np.ones(many, np.bool_) if where is None else np.asarray(where)
    if chosen.dtype != np.bool_ or chosen.shape != (many,):
        raise InputError(
            f"where is {shown(where)}; give a mask for the {many} particles of this rank, such as "
            "simulation.particles.radius > 0.01"
        )
    try:
        rows = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the values are {shown(values)}; give numbers") from None
    if rows.ndim == 0:
        rows = np.full(many, rows)
    if len(rows) != many or rows.ndim > 1 + wide:
        shapes = f"({many},){f' or ({many}, k)' if wide else ''}"
        raise InputError(
            f"the values have the shape {rows.shape}; give one for each particle of this rank, {shapes}, in the order "
            "of simulation.particles"
        )
    rows = rows.reshape(many, -1) if many else rows.reshape(0, rows.shape[1] if rows.ndim > 1 else 1)
    if not np.isfinite(rows[chosen]).all():
        number = int(np.count_nonzero(~np.isfinite(rows[chosen])))
        raise InputError(f"{number} of the values are not finite; leave them out by where=")
    return rows, chosen


def _edges(edges: Any) -> Floats:
    limits = np.asarray(edges, np.float64)
    if limits.ndim != 1 or not 2 <= len(limits) <= MOST_SUMS or not np.all(np.diff(limits) > 0.0):
        raise InputError(f"the edges are {shown(edges)}; give two or more rising numbers")
    return limits


def _box(cells: Any, lower: Any, upper: Any) -> tuple[Integers, Floats, Floats]:
    shape = np.asarray(cells)
    if shape.shape != (3,) or shape.dtype.kind not in "iu" or shape.min() < 1 or shape.prod() > MOST_SUMS:
        raise InputError(f"cells are {shown(cells)}; give three numbers of at least 1, {MOST_SUMS} cells at most")
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    if low.shape != (3,) or high.shape != (3,) or not np.all(high > low):
        raise InputError(f"the box from {shown(lower)} to {shown(upper)} has no size; give two corners in m")
    return shape.astype(np.int64), low, high

"""Choice of the levels of the hierarchical grid: their number, and the sizes of their cells.

Four rules after Krijgsman, Ogarko and Luding (2014), section 5, and the single level of linked cells. The number of
levels is the one with the least work by the cost model. Sizes are limits of diameters: a particle belongs to the lowest
level with a size no less than its diameter plus skin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pdem.detection.cost_model import check_options, expected_counts, number_density
from pdem.detection.moments import Moments, SampleMoments, below_smallest, moments_of, sample_table
from pdem.foundation.arguments import real_number, whole_number
from pdem.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats, Integers

OVERHEAD = {"cells": 7.0, "rows": 15.0}
"""Time of one access in distance tests, measured with sorted contiguous arrays."""

_MOST_LEVELS = {"linear": 64, "exponential": 20, "constant": 24, "optimal": 16}
_PATIENCE = {"linear": 8, "exponential": 3, "constant": 3, "optimal": 1}
_WORTHWHILE = 1e-5
_DIFFERENCE = 1e-5
_FINE, _COARSE = 4096, 256
_SAME_SIZE = 1e-9  # relative difference of radii that differ by rounding


@dataclass(frozen=True)
class CellSizes:
    """Levels of a hierarchical grid, and their expected work.

    Attributes
    ----------
    sizes : (L,) array
        Increasing limits of the diameters of the levels, in m.
    checks : float
        Expected distance tests per particle.
    accesses : float
        Expected accesses of cells (or rows) per particle.
    cost : float
        ``checks + overhead * accesses``.
    """

    sizes: Floats
    checks: float
    accesses: float
    cost: float

    @property
    def levels(self) -> int:
        """Number of levels."""
        return len(self.sizes)


@dataclass(frozen=True)
class _Problem:
    """Input of a rule."""

    moments: Moments
    density: float
    dimension: int
    overhead: float
    direction: str
    unit: str
    own_level: str

    @property
    def smallest(self) -> float:
        return 2.0 * self.moments.smallest

    @property
    def largest(self) -> float:
        return 2.0 * self.moments.largest

    def evaluate(self, sizes: Floats) -> CellSizes:
        checks, accesses = (float(count) for count in self.counts(sizes))
        return CellSizes(sizes, checks, accesses, checks + self.overhead * accesses)

    def counts(self, sizes: Floats) -> tuple[Floats, Floats]:
        return expected_counts(
            self.moments,
            sizes,
            density=self.density,
            dimension=self.dimension,
            direction=self.direction,
            unit=self.unit,
            own_level=self.own_level,
        )

    def cost(self, sizes: Floats) -> Floats:
        checks, accesses = self.counts(sizes)
        return checks + self.overhead * accesses


def cell_sizes(
    radii: ArrayLike | object,
    *,
    method: str = "optimal",
    levels: int | None = None,
    volume_fraction: float,
    dimension: int = 3,
    overhead: float | None = None,
    direction: str = "top-down",
    unit: str = "cells",
    own_level: str = "half-mask",
    skin: float = 0.0,
) -> CellSizes:
    """Choose the cell sizes of a hierarchical grid for given radii.

    Parameters
    ----------
    radii : array_like or distribution
        Radii of the particles in m; or an object with ``smallest``, ``largest`` and either
        ``moment(power, lower, upper)`` (partial moments of the number density) or ``radii(uniform)``.
    method : {"single", "linear", "exponential", "constant", "optimal"}
        One level; equal steps; equal ratios; equal expected number of particles per cell; least expected
        cost.
    levels : int, optional
        Number of levels; by default the number with the least expected cost. A sample of radii may give fewer levels,
        because empty levels are removed.
    volume_fraction : float
        Volume (2D: area) of the particles per volume of the system.
    dimension : {3, 2}
        Dimension of the system.
    overhead : float, optional
        Time of one access in units of one distance test; by default that of sorted arrays,
        7 for cells and 15 for rows. Krijgsman et al. use 0.2.
    direction : {"top-down", "bottom-up"}
        Which particles search: large ones in the levels of smaller ones, or small ones in the levels of larger ones.
    unit : {"cells", "rows"}
        Unit of an access: one cell, or one row of cells that are adjacent in memory.
    own_level : {"half-mask", "search-box"}
        How a particle searches its own level: as published, or as `pdem.find_pairs` does; see
        `pdem.detection.cost_model.expected_counts`.
    skin : float
        Largest gap in m at which particles count as touching; it is added to every diameter. For samples only.

    Returns
    -------
    CellSizes
        Sizes in m with the expected distance tests, accesses and cost per particle.

    Raises
    ------
    InputError
        Unknown method, direction, unit or dimension; radii, fraction or overhead out of range.

    Notes
    -----
    Cost model and rules: Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372, sections 3 and 5.

    Examples
    --------
    >>> from pdem.containers.sizes import PowerLaw
    >>> chosen = cell_sizes(PowerLaw(-3, 1, 20), volume_fraction=0.4, dimension=2, overhead=0.2)
    >>> chosen.sizes.round(1).tolist()
    [4.0, 7.9, 15.1, 27.2, 40.0]
    """
    _check_numbers(method, levels, volume_fraction, overhead, skin)
    check_options(direction, unit, own_level, dimension)
    moments = moments_of(radii)
    density = number_density(moments, volume_fraction, dimension)
    if isinstance(moments, SampleMoments) and skin > 0.0:
        moments = SampleMoments(moments.radii + 0.5 * skin)
    weight = OVERHEAD[unit] if overhead is None else float(overhead)
    problem = _Problem(moments, density, dimension, weight, direction, unit, own_level)
    if method == "single" or problem.smallest == problem.largest:
        return problem.evaluate(np.array([problem.largest]))
    return _best(problem, method, levels)


def automatic_cell_sizes(
    radii: Floats,
    *,
    density: float,
    dimension: int,
    overhead: float,
    skin: float = 0.0,
    direction: str = "top-down",
    least: float = 0.0,
    counts: Integers | None = None,
) -> CellSizes:
    """Choose few levels for given particles within milliseconds: constant number per cell, cost of rows.

    Parameters
    ----------
    radii : (n,) array
        Radii in m, checked.
    density : float
        Particles per volume (2D: area) in the region that they fill, in m**-dimension.
    dimension : {2, 3}
        Dimension of the system.
    overhead : float
        Time of a visit of a row over the time of a distance test, see `pdem.detection.overhead`.
    skin : float
        Largest gap in m that counts as contact.
    direction : {"top-down", "bottom-up"}
        Direction of the search.
    least : float
        Smallest permitted cell size, in m.
    counts : (n,) int64 array, optional
        Numbers of particles of each radius; 1 by default.

    Returns
    -------
    CellSizes
        Increasing sizes in m, the last one the largest diameter plus skin, no sizes without particles; and the expected
        work of one search, for uncorrelated positions of this density.
    """
    if len(radii) == 0:
        return CellSizes(np.empty(0), 0.0, 0.0, 0.0)
    top = 2.0 * float(radii.max()) + skin
    effective = radii + 0.5 * skin
    differ = float(effective.max()) > float(effective.min()) * (1.0 + _SAME_SIZE)
    table = sample_table(effective, _COARSE, counts) if differ else SampleMoments(effective)
    if not 0.0 < density < math.inf:
        return CellSizes(np.array([top]), math.nan, math.nan, math.nan)
    problem = _Problem(table, density, dimension, overhead, direction, "rows", "search-box")
    if isinstance(table, SampleMoments):
        return problem.evaluate(np.array([top]))
    rule = _constant_number(problem, _COARSE, 30)
    chosen = _search_levels(lambda levels: problem.evaluate(rule(levels)), most=8, patience=2, gain=0.01)
    tight = _tight(chosen.sizes, radii, skin)
    return problem.evaluate(np.append(tight[(tight >= least) & (tight < top)], top))


def _check_numbers(
    method: str, levels: int | None, volume_fraction: float, overhead: float | None, skin: float
) -> None:
    methods = ("single", *_MOST_LEVELS)
    if method not in methods:
        raise InputError(f"method is {method!r}; use one of {', '.join(methods)}")
    if levels is not None and not (isinstance(levels, (int, np.integer)) and 1 <= levels <= 1000):
        raise InputError(f"levels is {levels!r}; give a whole number from 1 to 1000, or None")
    if levels is not None:
        whole_number("levels", levels, 1)
    for name, value in (("volume_fraction", volume_fraction), ("overhead", overhead), ("skin", skin)):
        if name != "overhead" or value is not None:
            real_number(name, value)
    if not 0.0 < volume_fraction < math.inf:
        raise InputError(f"volume_fraction is {volume_fraction!r}; it must be positive and finite")
    if overhead is not None and not 0.0 <= overhead < math.inf:
        raise InputError(f"overhead is {overhead!r}; it must be finite, zero or positive")
    if not 0.0 <= skin < math.inf:
        raise InputError(f"skin is {skin!r}; it must be finite, zero or positive, in m")


def _best(problem: _Problem, method: str, levels: int | None) -> CellSizes:
    """Return the levels of a rule: the wanted number of levels, or the number with the least cost."""
    rule = _RULES[method](problem)

    def result(number: int) -> CellSizes:
        sizes = rule(number)
        if isinstance(problem.moments, SampleMoments):
            sizes = _tight(sizes, problem.moments.radii, 0.0)
        return problem.evaluate(sizes)

    if levels is not None:
        return result(int(levels))
    return _search_levels(result, most=_MOST_LEVELS[method], patience=_PATIENCE[method], gain=_WORTHWHILE)


def _search_levels(result: Callable[[int], CellSizes], *, most: int, patience: int, gain: float) -> CellSizes:
    """Return the cheapest grid; stop when `patience` further levels have not lowered the cost by `gain`."""
    best = result(1)
    best_number = 1
    for number in range(2, most + 1):
        candidate = result(number)
        if candidate.cost < best.cost * (1.0 - gain):
            best, best_number = candidate, number
        elif number - best_number >= patience:
            break
    return best


def _tight(sizes: Floats, radii: Floats, skin: float) -> Floats:
    """Lower each size to the largest diameter of its level; remove empty levels."""
    diameters = 2.0 * radii + skin
    # Half a rounding error above each limit, so that a limit computed as 2 r keeps the particle of radius r.
    level = np.searchsorted(sizes * (1.0 + 1e-15), diameters, side="left")
    largest = np.zeros(len(sizes) + 1)
    np.maximum.at(largest, level, diameters)
    return np.unique(largest[largest > 0.0])


def _linear(problem: _Problem) -> Callable[[int], Floats]:
    return lambda levels: np.linspace(problem.smallest, problem.largest, levels + 1)[1:]


def _exponential(problem: _Problem) -> Callable[[int], Floats]:
    return lambda levels: np.geomspace(problem.smallest, problem.largest, levels + 1)[1:]


def _constant_number(problem: _Problem, knots: int = _FINE, bisections: int = 60) -> Callable[[int], Floats]:
    """Solve by shooting: a number per cell determines one size after the other; bisect until the last size fits."""
    grid = np.geomspace(problem.smallest, problem.largest, knots)
    grid[-1] = problem.largest
    population = problem.moments.moment(0, np.full(knots, below_smallest(problem.moments)), 0.5 * grid)
    volume = grid**problem.dimension

    def walk(number: float, levels: int) -> tuple[list[float], float]:
        """Return all sizes but the last, and the remaining range of the last level; not positive if they overshoot."""
        sizes: list[float] = []
        below = 0.0
        for _ in range(levels - 1):
            values = np.maximum(population - below, 0.0) * volume
            at = int(np.searchsorted(values, number))
            if at >= knots:
                return sizes, -1.0
            share = (number - values[at - 1]) / (values[at] - values[at - 1]) if at else 1.0
            start = max(at - 1, 0)
            sizes.append(float(grid[start] * (grid[at] / grid[start]) ** share))
            below = float(population[start] + share * (population[at] - population[start]))
        return sizes, float((population[-1] - below) * volume[-1])

    def rule(levels: int) -> Floats:
        high = math.log(population[-1] * volume[-1])
        low = high - 70.0
        for _ in range(bisections if levels > 1 else 0):
            middle = 0.5 * (low + high)
            if walk(math.exp(middle), levels)[1] > math.exp(middle):
                low = middle
            else:
                high = middle
        return np.unique(np.append(walk(math.exp(low), levels)[0], problem.largest))

    return rule


def _optimal(problem: _Problem) -> Callable[[int], Floats]:
    """Minimise the expected cost over the steps of ln(size), which are a softmax of free variables."""
    from scipy.optimize import minimize

    smooth = problem
    if isinstance(problem.moments, SampleMoments):
        table = sample_table(problem.moments.radii, min(1024, max(64, len(problem.moments.radii) // 32)))
        smooth = replace(problem, moments=table)
    constant = _constant_number(smooth)
    span = math.log(smooth.largest / smooth.smallest)

    def sizes_at(free: Floats) -> Floats:
        exponents = np.concatenate((free, np.zeros((*free.shape[:-1], 1))), axis=-1)
        weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        shares = np.cumsum(weights, axis=-1) / weights.sum(axis=-1, keepdims=True)
        sizes = smooth.smallest * np.exp(span * shares)
        sizes[..., -1] = smooth.largest
        return np.minimum(sizes, smooth.largest)

    def cost_and_gradient(free: Floats) -> tuple[float, Floats]:
        steps = _DIFFERENCE * np.eye(len(free))
        costs = smooth.cost(sizes_at(np.vstack((free, free + steps, free - steps))))
        slopes = (costs[1 : 1 + len(free)] - costs[1 + len(free) :]) / (2.0 * _DIFFERENCE)
        return math.log(costs[0]), slopes / costs[0]

    def start_from(sizes: Floats) -> Floats:
        steps = np.diff(np.log(np.append(smooth.smallest, sizes)))
        logarithms = np.log(np.maximum(steps, 1e-6 * span))
        return logarithms[:-1] - logarithms[-1]

    known = {1: np.array([smooth.largest])}

    def rule(levels: int) -> Floats:
        if levels not in known:
            # Start from the best grid with one level less plus an almost empty level, so that no result is worse.
            fewer = np.append(smooth.smallest, rule(levels - 1))
            thin = np.insert(fewer[1:], -1, fewer[-1] - 1e-3 * (fewer[-1] - fewer[-2]))
            starts = [_linear(smooth)(levels), constant(levels), thin]
            found = [
                minimize(cost_and_gradient, start_from(start), method="BFGS", jac=True, options={"gtol": 1e-6})
                for start in starts
                if len(start) == levels and (np.diff(start) > 0.0).all()
            ]
            known[levels] = sizes_at(min(found, key=lambda one: one.fun).x)
        return np.unique(known[levels])

    return rule


_RULES: dict[str, Callable[[_Problem], Callable[[int], Floats]]] = {
    "linear": _linear,
    "exponential": _exponential,
    "constant": _constant_number,
    "optimal": _optimal,
}

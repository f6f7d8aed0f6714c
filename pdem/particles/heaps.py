"""Heaps: the slope of their flanks, by a line between the flat or rounded top and the foot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

from pdem.particles.top_view import largest_surface

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats
    from pdem.particles.top_view import TopView

SHARES = 0.2, 0.8
"""Fractions of the height above the lowest point between which the flank is fitted."""

LEVEL = 2.0
"""In mean diameters: a surface with a smaller height is level."""

UPRIGHT = 1.5
"""In mean diameters: a side that falls to its foot within a shorter distance is vertical, like a column's."""

MARGIN = 1.0
"""In mean diameters: closer to the edge of the surface, the sides of grains are visible, and are not fitted."""

_FEW = 12
_ROUNDS = 30
_POINTS_OF_GRAIN = 4.0
"""Points of the view that one grain covers: their heights are not independent."""


@dataclass(frozen=True)
class Flank:
    """The flank of a heap, as a straight line from its top to its foot.

    Attributes
    ----------
    angle, error : float
        Slope, and its standard error by the roughness of the surface [degrees]; NaN if there is no heap.
    residual : float
        Root mean square vertical distance of the surface from the line [m].
    top, foot : float
        Distances from the axis at which the line reaches the heights of top and foot [m]: for a cone, nearly 0 and the
        radius of the cone. Closer to the axis than `top`, the heap is flat.
    height : float
        Height of the top above the foot [m].
    axis : tuple of float
        Horizontal coordinates of the axis [m]; for a ridge only the coordinate across it has a meaning.
    grain : float
        Mean diameter of the grains [m].
    fault : str
        Reason why there is no angle; empty if there is one.
    """

    angle: float = math.nan
    error: float = math.nan
    residual: float = math.nan
    top: float = math.nan
    foot: float = math.nan
    height: float = math.nan
    axis: tuple[float, ...] = ()
    grain: float = math.nan
    fault: str = ""


def flank_of(
    positions: Floats,
    radii: Floats,
    *,
    axis: tuple[float, ...] | None = None,
    radius: float | None = None,
    along: int | None = None,
) -> Flank:
    """Return the flank of a heap about a vertical axis, or of a ridge.

    The surface in the view from above is fitted by a cone between 20 and 80 % of its height, with the same weight for
    each distance from the axis. The position of the axis is fitted as well, so that half a heap at a wall gives the
    same angle as a whole heap. Grains beyond a cliff (which fell from the table under the heap) do not count.

    Parameters
    ----------
    positions : (n, k + 1) array
        Centres of the grains at rest: k = 2 horizontal coordinates (1 in two dimensions), then the height [m].
    radii : (n,) array
        Radii [m].
    axis : tuple of k float, optional
        Horizontal coordinates of the axis [m]; by default they are fitted.
    radius : float, optional
        Distance from the axis beyond which the surface does not count [m].
    along : int, optional
        Horizontal coordinate along which a ridge extends.
    """
    if not len(positions):
        return Flank(fault="there is no grain")
    grain = 2.0 * float(radii.mean())
    view = largest_surface(np.asarray(positions, np.float64), np.asarray(radii, np.float64))
    kept = np.array([one for one in range(view.positions.shape[1]) if one != along])
    given = None if axis is None else np.array(axis, np.float64)[kept]
    view = view._replace(positions=view.positions[:, kept])
    middle = _middle(view) if given is None else given
    if radius is not None:
        view = view.where(np.linalg.norm(view.positions - middle, axis=1) <= radius)
    if len(view.heights) < _FEW:
        return Flank(grain=grain, fault="there are too few grains for a surface")
    low, high = np.quantile(view.heights, (0.02, 0.995))
    if high - low < LEVEL * grain:
        text = f"the surface is level within {(high - low) / grain:.1f} diameters of a grain"
        return Flank(height=float(high - low), grain=grain, fault=f"no heap: {text}")
    return _Cone(view, float(low), float(high), grain).fitted(middle, is_fixed=given is not None)


def _middle(view: TopView) -> Floats:
    """Return the middle of the upper half of a surface."""
    high = view.heights >= 0.5 * (view.heights.min() + view.heights.max())
    found: Floats = view.positions[high].mean(axis=0)
    return found


class _Cone:
    """Fits of a cone, or of both sides of a ridge, to a surface between a lowest and a highest height."""

    def __init__(self, view: TopView, low: float, high: float, grain: float) -> None:
        margin = min(MARGIN * grain, 0.5 * float(view.margins.max()))
        self._positions, self._heights, _ = view.where(view.margins >= margin)
        self._all = view.positions
        self._low, self._high, self._grain = low, high, grain
        self._ends = [low + share * (high - low) for share in SHARES]
        self._is_round = self._positions.shape[1] == 2

    def fitted(self, middle: Floats, *, is_fixed: bool) -> Flank:
        """Return the flank: fitted are the points where the cone itself is between both heights."""
        values = np.array([self._high, 0.5, *middle])
        free = 2 if is_fixed else len(values)
        chosen, found = self._between(self._heights), None
        for _ in range(_ROUNDS):
            if chosen.sum() < _FEW:
                return self._none("its side stands upright, as that of a column")
            found = self._fit(values, free, chosen)
            values = np.concatenate([found.x, values[free:]])
            before, chosen = chosen, self._between(self._height_of(values, self._positions))
            if np.count_nonzero(chosen != before) <= 0.002 * chosen.sum():
                break
        if values[1] <= 0.0 or chosen.sum() < _FEW:
            return self._none("its surface does not fall from a middle to all sides")
        if np.linalg.norm(self._all - values[2:], axis=1).min() > 2.0 * self._grain:
            return self._none("its surface is inclined to one side only")
        if self._high - self._low < UPRIGHT * self._grain * values[1]:
            return self._none("its side stands upright, as that of a column")
        return self._flank(values, chosen, self._error(found))

    def _none(self, why: str) -> Flank:
        return Flank(height=self._high - self._low, grain=self._grain, fault=f"no heap: {why}")

    def _between(self, heights: Floats) -> Booleans:
        return np.asarray((heights >= self._ends[0]) & (heights <= self._ends[1]))

    def _height_of(self, values: Floats, positions: Floats) -> Floats:
        away = np.linalg.norm(positions - values[2:], axis=1)
        found: Floats = values[0] - values[1] * away
        return found

    def _fit(self, values: Floats, free: int, chosen: Booleans) -> Any:
        """Fit the height of the tip, the slope, and the position of the axis unless it is fixed, to some points."""
        positions, heights, fixed = self._positions[chosen], self._heights[chosen], values[free:]
        away = np.linalg.norm(positions - values[2:], axis=1)
        weight = 1.0 / np.sqrt(np.maximum(away, self._grain)) if self._is_round else np.ones(len(heights))
        weight /= weight.mean() * self._grain

        def residuals(some: Floats) -> Floats:
            return weight * (self._height_of(np.concatenate([some, fixed]), positions) - heights)

        scale = [self._grain, 0.3, *[self._grain] * (free - 2)]
        return least_squares(residuals, values[:free], loss="soft_l1", f_scale=0.5, x_scale=scale)

    def _error(self, found: Any) -> float:
        """Return the standard error of the slope: grains are independent of each other, points of one grain are not."""
        freedom = max(len(found.fun) / _POINTS_OF_GRAIN - len(found.x), 1.0)
        variance = float(found.fun @ found.fun) / freedom
        return math.sqrt(variance * float(np.linalg.pinv(found.jac.T @ found.jac)[1, 1]))

    def _flank(self, values: Floats, chosen: Booleans, error: float) -> Flank:
        tip, slope = float(values[0]), float(values[1])
        off = self._heights[chosen] - self._height_of(values, self._positions[chosen])
        angle = math.atan(slope)
        return Flank(
            angle=math.degrees(angle), error=math.degrees(error * math.cos(angle) ** 2),
            residual=float(np.sqrt((off**2).mean())), top=max((tip - self._high) / slope, 0.0),
            foot=(tip - self._low) / slope, height=self._high - self._low, axis=tuple(values[2:].tolist()),
            grain=self._grain,
        )  # fmt: skip

"""Colour scales: limits at round numbers, units with prefixes, and the colour bar in a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
"""Prefixes of units by powers of ten."""

_WITH_PREFIX = ("m", "N", "Pa", "W", "J", "s", "N m", "m/s")
_LEAST, _MOST = 0.1, 1e4  # range of numbers without a prefix
_TICKS = 5
_PATCH = 0.05  # largest height of a class's patch
_NEAR_AN_END = 0.07  # fraction of the scale, near its ends, in which a tick would touch the number at the end
_LINE_COLOUR = "#2b3440"
_LEFT, _WIDTH = 0.89, 0.016
_PLACES = {1: ((0.25, 0.46),), 2: ((0.58, 0.3), (0.14, 0.3))}
"""Left edge and width of bars as fractions of the picture width; lower ends and heights of one bar, or of two."""
_STRIPS = 256
_OF_CLASSES = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb7733", "#999999",
)  # fmt: skip
"""Colours of classes that most eyes can distinguish; further classes repeat them."""


class Scale(NamedTuple):
    """Map from values to colours.

    Attributes
    ----------
    label : str
        Quantity, with its unit.
    colour_map : str
        A colour map of matplotlib.
    low, high : float
        Values at the ends of the scale.
    factor : float
        Factor from values to the displayed numbers.
    ticks : tuple of float
        Displayed numbers; the first and the last are at the ends. For classes, the indices of the displayed ones.
    names : tuple of str
        Names of classes, where values are indices of classes from 0 on; empty for other values.
    """

    label: str
    colour_map: str
    low: float
    high: float
    factor: float
    ticks: tuple[float, ...]
    names: tuple[str, ...] = ()

    def colours(self, values: Floats) -> NDArray[np.uint8]:
        """Return the colours (n, 3) of values (n,)."""
        from matplotlib import colormaps
        from matplotlib.colors import to_rgba_array

        if self.names:
            palette = (255.0 * to_rgba_array(_OF_CLASSES)[:, :3]).round().astype(np.uint8)
            classes: NDArray[np.uint8] = palette[np.rint(values).astype(np.int64) % len(palette)]
            return classes
        shares = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        found: NDArray[np.uint8] = colormaps[self.colour_map](shares, bytes=True)[:, :3]
        return found


def class_scale(name: str, names: Sequence[str], present: Sequence[float]) -> Scale:
    """Return the scale of a field with named classes, where values are class indices; shows the `present` ones."""
    return Scale(name.replace("_", " "), "", 0.0, max(len(names) - 1.0, 0.0), 1.0, tuple(present), tuple(names))


def scale_of(
    name: str, unit: str, colour_map: str, limits: tuple[float, float], *, exact: bool = False,
    whole: bool = False,
) -> Scale:  # fmt: skip
    """Return the scale of a field.

    Parameters
    ----------
    name, unit : str
        Name and unit of the field; the unit is ``"1"`` without dimension.
    colour_map : str
        A colour map of matplotlib.
    limits : tuple of float
        Smallest and largest value.
    exact : bool
        Whether the scale ends at the limits; otherwise it ends at the round numbers beyond them.
    whole : bool
        Whether values are integers.
    """
    low, high = limits
    factor, shown = prefixed(max(abs(low), abs(high)), unit)
    ticks = _ticks(low * factor, high * factor, exact=exact, whole=whole)
    if not exact:
        low, high = ticks[0] / factor, ticks[-1] / factor
    words = name.replace("_", " ")
    return Scale(f"{words} [{shown}]" if shown != "1" else words, colour_map, low, high, factor, tuple(ticks))


def prefixed(size: float, unit: str) -> tuple[float, str]:
    """Return the factor to a unit with which a number of this size is short, and this unit: 0.004 m become 4 mm."""
    if unit not in _WITH_PREFIX or not 0.0 < size < math.inf or _LEAST <= size < _MOST:
        return 1.0, unit
    largest = 0 if unit == "s" else max(PREFIXES)
    power = min(max(3 * math.floor(math.log10(1.25 * size) / 3.0), min(PREFIXES)), largest)
    return 10.0**-power, f"{PREFIXES[power]}{unit}"


def _ticks(low: float, high: float, *, exact: bool, whole: bool) -> list[float]:
    """Return round numbers from one end to the other; with `exact` the ends themselves are not rounded."""
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(nbins=_TICKS, steps=[1, 2, 2.5, 5, 10], integer=whole)
    found = [float(one) for one in locator.tick_values(low, high)]
    if not exact:
        return found
    near = _NEAR_AN_END * (high - low)
    return [low, *(one for one in found if low + near < one < high - near), high]


def add_bars(plotter: Any, scales: list[Scale], points: float) -> None:
    """Add the bars of one scale, or of two, at the right edge; `points` are pixels per pixel of a standard picture."""
    for scale, (begin, height) in zip(scales, _PLACES.get(len(scales), ()), strict=False):
        (_add_classes if scale.names else _add_numbers)(plotter, scale, (begin, height), points)
        _add_words(plotter, scale.label, (_LEFT + 0.5 * _WIDTH, begin + height + 0.045), 20 * points, to="middle")


def _add_numbers(plotter: Any, scale: Scale, place: tuple[float, float], points: float) -> None:
    """Add the bar of a scale with its numbers on the right."""
    low, high = scale.ticks[0], scale.ticks[-1]
    _add_strips(plotter, scale.colours(np.linspace(scale.low, scale.high, _STRIPS)), place)
    for tick in scale.ticks:
        at = place[0] + place[1] * (tick - low) / (high - low)
        _add_words(plotter, f"{tick:.4g}", (_LEFT + 1.6 * _WIDTH, at), 17 * points)


def _add_classes(plotter: Any, scale: Scale, place: tuple[float, float], points: float) -> None:
    """Add a patch for each class, the first one on top, with its name on the left, as space permits."""
    count = len(scale.ticks)
    each = min(place[1] / count, _PATCH)
    begin = place[0] + place[1] - count * each
    _add_strips(plotter, scale.colours(np.array(scale.ticks[::-1])), (begin, count * each))
    for row, number in enumerate(scale.ticks):
        at = begin + each * (count - row - 0.5)
        _add_words(plotter, scale.names[int(number)], (_LEFT - 0.6 * _WIDTH, at), 17 * points, to="right")


def _add_strips(plotter: Any, colours: NDArray[np.uint8], place: tuple[float, float]) -> None:
    """Add a bar of strips of some colours (n, 3); `place` has its lower end and height, as fractions of the height."""
    from pyvista import PolyData
    from vtkmodules.vtkRenderingCore import vtkActor2D, vtkCoordinate, vtkPolyDataMapper2D

    edges = place[0] + place[1] * np.linspace(0.0, 1.0, len(colours) + 1)
    corners = np.array([[x, y, 0.0] for y in edges for x in (_LEFT, _LEFT + _WIDTH)])
    first = 2 * np.arange(len(colours))
    strips = PolyData(
        corners, faces=np.column_stack((np.full(len(colours), 4), first, first + 1, first + 3, first + 2)).ravel()
    )
    strips.cell_data["colour"] = colours
    strips.set_active_scalars("colour", preference="cell")
    coordinate, mapper, actor = vtkCoordinate(), vtkPolyDataMapper2D(), vtkActor2D()
    coordinate.SetCoordinateSystemToNormalizedViewport()
    mapper.SetTransformCoordinate(coordinate)
    mapper.SetInputData(strips)
    mapper.SetScalarModeToUseCellData()
    actor.SetMapper(mapper)
    plotter.add_actor(actor)


def _add_words(
    plotter: Any, text: str, place: tuple[float, float], size: float, *, to: Literal["left", "middle", "right"] = "left"
) -> None:
    """Add a text at a position (fractions of width and height) that is its middle, or the middle of one of its ends."""
    actor = plotter.add_text(text, position=place, viewport=True, font_size=round(size), color=_LINE_COLOUR)
    style = actor.GetTextProperty()
    style.SetFontSize(round(size))
    style.SetVerticalJustificationToCentered()
    if to == "middle":
        style.SetJustificationToCentered()
    elif to == "right":
        style.SetJustificationToRight()

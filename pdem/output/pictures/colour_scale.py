"""Colour scales: limits at round numbers, units with prefixes, classes with names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
"""Prefixes of units by powers of ten."""

_WITH_PREFIX = ("m", "N", "Pa", "W", "J", "s", "N m", "m/s")
_BASES = {"kg": (1e3, "g"), "kg/s": (1e3, "g/s")}  # units of small masses: factor, and the unit that takes prefixes
_PER_MINUTE = {"rad/s": (30.0 / math.pi, "rpm")}
_LEAST, _MOST = 0.1, 1e4  # range of numbers without a prefix
_TICKS = 5
_NEAR_AN_END = 0.07  # fraction of the scale, near its ends, in which a tick would touch the number at the end
_OF_CLASSES = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb7733", "#999999",
)  # fmt: skip
"""Colours of classes that most eyes can distinguish; further classes repeat them. Labels leave the last one, grey, to
values without a label."""


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
    levels : tuple of float
        Values of the classes in ascending order, where values are not indices: few distinct sizes. Their colours are
        those of the colour map at equal distances.
    labels : tuple of float or None
        Labels in ascending order, where values are labels, such as ids of fragments; smaller values are no labels.
    """

    label: str
    colour_map: str
    low: float
    high: float
    factor: float
    ticks: tuple[float, ...]
    names: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    labels: tuple[float, ...] | None = None

    @property
    def shown_names(self) -> list[str]:
        """Names of the classes of the ticks."""
        return list(self.names) if self.levels else [self.names[int(tick)] for tick in self.ticks]

    def colours(self, values: Floats) -> NDArray[np.uint8]:
        """Return the colours (n, 3) of values (n,)."""
        from matplotlib import colormaps

        if self.labels is not None:
            place = np.searchsorted(self.labels, values, side="right") - 1
            return _colours_of_classes(np.where(place < 0, -1, place % (len(_OF_CLASSES) - 1)))
        if self.names and not self.levels:
            return _colours_of_classes(np.rint(values).astype(np.int64))
        if self.levels:
            middles = np.add(self.levels[1:], self.levels[:-1]) / 2.0
            shares = np.searchsorted(middles, values) / max(len(self.levels) - 1, 1)
        else:
            shares = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        found: NDArray[np.uint8] = colormaps[self.colour_map](shares, bytes=True)[:, :3]
        return found


def _colours_of_classes(classes: Integers) -> NDArray[np.uint8]:
    """Return the colours (n, 3) of classes (n,); -1 is the last colour."""
    from matplotlib.colors import to_rgba_array

    palette: NDArray[np.uint8] = (255.0 * to_rgba_array(_OF_CLASSES)[:, :3]).round().astype(np.uint8)
    return palette[classes % len(palette)]


def class_scale(name: str, names: Sequence[str], present: Sequence[float]) -> Scale:
    """Return the scale of a field with named classes, where values are class indices; shows the `present` ones."""
    return Scale(name.replace("_", " "), "", 0.0, max(len(names) - 1.0, 0.0), 1.0, tuple(present), tuple(names))


def label_scale(name: str, labels: Sequence[float]) -> Scale:
    """Return the scale of a field with some labels, in ascending order; it has no bar.

    Labels next to each other have different colours, and values below all labels are grey.
    """
    return Scale(name.replace("_", " "), "", 0.0, 1.0, 1.0, (), labels=tuple(labels))


def level_scale(name: str, unit: str, colour_map: str, levels: Sequence[float]) -> Scale:
    """Return the scale of a field with few distinct values, in ascending order: a class for each, from the largest."""
    factor, shown = prefixed(max(levels), unit)
    names = tuple(f"{factor * one:.4g} {shown}" if shown != "1" else f"{one:.4g}" for one in levels[::-1])
    label = name.replace("_", " ")
    return Scale(label, colour_map, levels[0], levels[-1], factor, tuple(levels[::-1]), names, tuple(levels))


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
    """Return the factor to a unit with which a number of this size is short, and this unit: 0.004 m become 4 mm.

    Small masses are in g, and rates of rotation in revolutions per minute (rpm).
    """
    if unit in _PER_MINUTE:
        return _PER_MINUTE[unit]
    if unit in _BASES and 0.0 < size < _LEAST:
        base, small = _BASES[unit]
        factor, shown = _with_prefix(size * base)
        return base * factor, f"{shown}{small}"
    if unit not in _WITH_PREFIX or not 0.0 < size < math.inf or _LEAST <= size < _MOST:
        return 1.0, unit
    factor, prefix = _with_prefix(size, 0 if unit == "s" else max(PREFIXES))
    return factor, f"{prefix}{unit}"


def _with_prefix(size: float, largest: int = 0) -> tuple[float, str]:
    """Return the factor to a unit with a prefix of at most 10^largest, and the prefix."""
    power = min(max(3 * math.floor(math.log10(1.25 * size) / 3.0), min(PREFIXES)), largest)
    return 10.0**-power, PREFIXES[power]


def _ticks(low: float, high: float, *, exact: bool, whole: bool) -> list[float]:
    """Return round numbers from one end to the other; with `exact` the ends themselves are not rounded."""
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(nbins=_TICKS, steps=[1, 2, 2.5, 5, 10], integer=whole)
    found = [float(one) for one in locator.tick_values(low, high)]
    if not exact:
        return found
    near = _NEAR_AN_END * (high - low)
    return [low, *(one for one in found if low + near < one < high - near), high]

"""Column names of tables from other programs: the quantity and unit that a name means, and checks of their order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pdem.foundation.number_rows import names_of
from pdem.foundation.texts import TextError, shown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNIT = re.compile(r"\s*(?:\[([^\]]*)\]|\(([^)]*)\))\s*$")
_LETTERS = re.compile(r"[^a-z0-9]")
_VECTORS = {
    "": ("", "p", "pos", "position", "coord", "coordinate", "coordinates", "c", "centre", "center", "point", "points"),
    "v": ("v", "vel", "velocity"),
    "w": ("w", "omega", "angvel", "angularvelocity"),
}  # fmt: skip
_NAMES = {
    **{
        stem + axis if first else axis + stem: f"{quantity}{axis}"
        for quantity, stems in _VECTORS.items()
        for stem in stems
        for axis in "xyz"
        for first in (True, False)
    },
    **{f"{stem}{place}": axis for stem in ("point", "points") for place, axis in enumerate("xyz")},
    **dict.fromkeys(("r", "rad", "radius", "radii"), "radius"),
    **dict.fromkeys(("d", "dia", "diam", "diameter"), "diameter"),
    **dict.fromkeys(("t", "time", "times"), "time"),
    **dict.fromkeys(("angle", "angles", "phi", "theta"), "angle"),
    **dict.fromkeys(("rate", "rates", "flow", "massrate", "massflow", "massflowrate"), "rate"),
    **dict.fromkeys(("load", "loads"), "load"),
}
_SI = {
    "rad": ("deg", "degree", "degrees", "\u00b0", "grad", "rev", "turns"),
    "rad/s": ("rpm", "rev/min", "1/min", "min-1", "deg/s", "\u00b0/s", "degrees/s"),
    "s": ("ms", "\u00b5s", "\u03bcs", "us", "ns", "min", "h", "hr", "hours", "minutes"),
    "m": ("mm", "cm", "dm", "km", "\u00b5m", "\u03bcm", "um", "nm", "in", "inch", "ft"),
    "m/s": ("mm/s", "cm/s", "km/h", "m/min", "mm/min", "ft/s"),
    "kg/s": ("g/s", "g/min", "kg/h", "kg/min", "kg/hr", "t/h", "t/hr"),
    "1/s": ("1/h",),
    "N": ("kn", "mn", "lbf", "kgf"),
}
_OTHER_UNITS = {unit: si for si, units in _SI.items() for unit in units}
_ENDINGS = ("deg", "degrees", "rpm", "ms", "mm", "cm", "um", "kn")
"""Units that may follow a name without brackets, as in ``angle_deg``."""


def meaning_of(name: str) -> str:
    """Return the quantity that a column name means, or an empty string for a name that pdem does not recognise.

    The quantity is ``x``, ``y``, ``z`` (with the prefix ``v`` for a velocity and ``w`` for an angular velocity),
    ``radius``, ``diameter``, ``time``, ``angle``, ``rate`` or ``load``.
    """
    name = _UNIT.sub("", name).lower()
    before, _, ending = name.rpartition("_")
    return _NAMES.get(_LETTERS.sub("", before if ending in _ENDINGS else name), "")


def comment_names(line: str) -> list[str]:
    """Return the column names in a comment line, or an empty list if a word in it is not a recognised column name."""
    names = names_of(line.strip().lstrip("#%/ ")) if line.strip().startswith(("#", "%", "//")) else []
    return names if all(map(meaning_of, names)) else []


def require_si(names: Sequence[str]) -> None:
    """Check that no column name carries a unit other than the SI unit.

    Raises
    ------
    TextError
        With the name of the column and the SI unit to convert it to.
    """
    for name in names:
        unit = _unit_of(name)
        if unit.lower() in _OTHER_UNITS:
            raise TextError(
                f"column {shown_text(name)} is in {unit}; numbers are in SI units, convert it to "
                f"{_OTHER_UNITS[unit.lower()]}"
            )


def require_order(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Check that the recognised column names of a file are in the order in which the columns are read.

    Parameters
    ----------
    names : sequence of str
        Column names of the file.
    wanted : sequence of str
        Quantities in the order in which they are read. Components of any vector are called ``x``, ``y`` and ``z``.

    Raises
    ------
    TextError
        With the name of the misplaced column and the expected order.
    """
    for place, name in enumerate(names[: len(wanted)]):
        meaning = meaning_of(name)
        meaning = meaning[-1] if meaning[-1:] in ("x", "y", "z") else meaning
        if meaning in wanted and wanted[place] != meaning:
            raise TextError(
                f"column {place + 1} is named {shown_text(name)}, and {wanted[place]} is read there; the columns are "
                f"{', '.join(wanted)}, in this order"
            )


def _unit_of(name: str) -> str:
    found = _UNIT.search(name)
    if found:
        return (found[1] or found[2] or "").strip()
    ending = name.rpartition("_")[2]
    return ending if ending.lower() in _ENDINGS else ""

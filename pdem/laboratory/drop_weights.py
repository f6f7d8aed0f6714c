"""Tables of drop-weight tests: particles of some sizes, each hit once with some energy, and how many broke."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.foundation.errors import InputError, name_hint
from pdem.foundation.number_rows import divider_of, finite_numbers, is_heading, names_of, rows_of
from pdem.foundation.texts import TextError, read_text, shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from pdem.foundation.array_types import Floats
    from pdem.foundation.number_rows import NumberRow

COLUMNS_OF_TESTS = "size", "energy", "broken", "tested"
"""Columns of a table."""

UNITS_OF_TESTS = {
    "size": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6},
    "energy": {"J/kg": 1.0, "kJ/kg": 1e3, "kWh/t": 3600.0},
    "broken": {"1": 1.0},
    "tested": {"1": 1.0},
}
"""Factors to SI units by the unit in the heading of a column."""

_HEADING = re.compile(r"\s*([^\[(]*?)\s*(?:[\[(]\s*([^\])]*?)\s*[\])])?\s*")
_LARGEST = 1.0
_FORM = "size [mm], energy [J/kg], broken, tested"


class DropWeights(NamedTuple):
    """Drop-weight tests: a row for each size and energy.

    Attributes
    ----------
    size : (n,) array
        Diameter of the particles [m].
    energy : (n,) array
        Energy of the impact over the mass of the particle [J/kg].
    broken, tested : (n,) arrays
        Number of particles that broke, and that were hit.
    """

    size: Floats
    energy: Floats
    broken: Floats
    tested: Floats

    @property
    def sizes(self) -> Floats:
        """The different sizes, rising [m]."""
        return np.unique(self.size)

    @property
    def conditions(self) -> int:
        """Number of different pairs of size and energy."""
        return len(np.unique(np.column_stack((self.size, self.energy)), axis=0))


def read_drop_weights(path: Path) -> DropWeights:
    """Read a table of drop-weight tests.

    Columns are divided by commas, semicolons or blanks, and have names in the first line, in any order: ``size [mm]``,
    ``energy [J/kg]``, ``broken``, ``tested``. Possible units are in `UNITS_OF_TESTS`; without a unit SI
    units apply. Further columns are ignored, and ``#`` begins a comment.

    Raises
    ------
    InputError
        With file and line, if the file cannot be read or a number is not possible.
    """
    try:
        rows = _rows(read_text(path))
    except TextError as error:
        raise InputError(f"{path}: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a table of drop-weight tests") from None
    try:
        numbers = np.array([values for _, values in rows], np.float64).reshape(-1, len(COLUMNS_OF_TESTS))
        return _checked(DropWeights(*numbers.T), [f"line {number}" for number, _ in rows])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def drop_weights_of(columns: Mapping[str, ArrayLike]) -> DropWeights:
    """Return a table from columns by name, in SI units.

    Raises
    ------
    InputError
        If a column is missing, columns have different lengths, or a number is not possible.
    """
    missing = [name for name in COLUMNS_OF_TESTS if name not in columns]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}; give {', '.join(COLUMNS_OF_TESTS)}")
    arrays = [np.atleast_1d(np.asarray(columns[name], np.float64)) for name in COLUMNS_OF_TESTS]
    if len({one.shape for one in arrays}) > 1 or arrays[0].ndim != 1:
        shapes = ", ".join(f"{name} {one.shape}" for name, one in zip(COLUMNS_OF_TESTS, arrays, strict=True))
        raise InputError(f"the columns have the shapes {shapes}; give one number for each row")
    return _checked(DropWeights(*arrays), [f"row {number}" for number in range(len(arrays[0]))])


def _rows(text: str) -> list[tuple[int, list[float]]]:
    """Return line numbers and the numbers of the four columns in SI units."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip() and line.strip()[0] != "#"), None)
    if first is None:
        raise TextError(f"has no rows; give a table with the columns {_FORM}")
    heading = lines[first]
    titles = names_of(heading)
    places = _places(titles, first + 1)
    widths, found = (len(titles),), list[tuple[int, list[float]]]()
    for row in rows_of("\n".join(lines[first + 1 :]), widths, first + 2, divider_of(heading)):
        numbers = _numbers(row, len(titles), [place for place, _ in places])
        found.append((row.number, [value * factor for value, (_, factor) in zip(numbers, places, strict=True)]))
    return found


def _places(titles: Sequence[str], line: int) -> list[tuple[int, float]]:
    """Return the place of each column in the lines, and its factor to SI units."""
    words = [match.groups() for title in titles if (match := _HEADING.fullmatch(title))]
    names = [str(name).lower() for name, _ in words]
    if not set(names) & set(COLUMNS_OF_TESTS):
        raise TextError(f"line {line}: {shown_text(', '.join(titles))} has no names of columns; begin with {_FORM}")
    found = []
    for name in COLUMNS_OF_TESTS:
        if names.count(name) != 1:
            fact = "is there twice" if name in names else f"is missing; {name_hint(name, names)}"
            raise TextError(f"line {line}: the column {name} {fact}; give {_FORM}")
        place = names.index(name)
        unit = words[place][1] or next(iter(UNITS_OF_TESTS[name]))
        if unit not in UNITS_OF_TESTS[name]:
            raise TextError(f"line {line}: the column {name} is in {unit}; give {' or '.join(UNITS_OF_TESTS[name])}")
        found.append((place, UNITS_OF_TESTS[name][unit]))
    return found


def _numbers(row: NumberRow, width: int, places: Sequence[int]) -> list[float]:
    """Return the numbers of a line at some places."""
    if is_heading(row) or len(row.fields) != width:
        raise TextError(f"line {row.number}: {shown_text(row.line)} has {len(row.fields)} columns, not {width} numbers")
    chosen = row._replace(fields=[row.fields[place] for place in places])
    return finite_numbers(chosen)


def _checked(table: DropWeights, names: Sequence[str]) -> DropWeights:
    """Return a table after checks of its numbers; `names` name its rows in messages."""
    _require_numbers(table, names)
    if len(names) < 2:
        fact = f"the table has {len(names) or 'no'} row{'s' * (not names)}"
        raise InputError(f"{fact}, which determines no spread; give two energies at least, better five or more")
    if table.conditions < 2:
        raise InputError(
            f"all rows have the size {table.size[0]:g} m and the energy {table.energy[0]:g} J/kg; give other energies"
        )
    if not table.broken.any() or (table.broken == table.tested).all():
        which, remedy = ("none", "higher") if not table.broken.any() else ("all", "lower")
        raise InputError(f"{which} of the particles broke, which determines no fracture energy; give {remedy} energies")
    if (largest := float(table.size.max())) > _LARGEST:
        raise InputError(f"sizes up to {largest:g} m are no sizes of particles; give m, or the heading size [mm]")
    return table


def _require_numbers(table: DropWeights, names: Sequence[str]) -> None:
    wrong = {
        "size": (~(table.size > 0.0), "give sizes above 0"),
        "energy": (~(table.energy > 0.0), "give energies above 0"),
        "tested": (~(table.tested >= 1.0) | (table.tested % 1.0 != 0.0), "give a whole number of at least 1"),
        "broken": (~(table.broken >= 0.0) | (table.broken % 1.0 != 0.0), "give a whole number of at least 0"),
    }
    for name, values in zip(COLUMNS_OF_TESTS, table, strict=True):
        for row in np.flatnonzero(~np.isfinite(values) | wrong[name][0]).tolist():
            raise InputError(f"{names[row]}: {name} is {values[row]:g}; {wrong[name][1]}")
    for row in np.flatnonzero(table.broken > table.tested).tolist():
        raise InputError(
            f"{names[row]}: {table.broken[row]:g} of {table.tested[row]:g} tested particles broke; "
            "broken is a number of particles, not more than tested"
        )

"""Search for the first differing number of two states: lowest particle id, in the column that is computed first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.features.registry import COMPARED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]
    Groups = Mapping[str, Columns]

_ORDER = (
    "material", "radius", "cluster", "liquid", "position", "image", "force", "torque", "velocity", "angular_velocity",
)  # fmt: skip
"""Columns of particles in the order in which a step computes them."""

_KEYS = {
    "particles": ("id",), "clusters": ("number",), "contacts": ("lower", "higher"), "wall_contacts": ("id",),
    "driven_walls": ("wall",), **{name: table.keys for name, table in COMPARED.items()},
}  # fmt: skip
_WORDS = {
    "particles": "particle", "clusters": "cluster", "contacts": "contact of particles", "wall_contacts": "particle",
    "driven_walls": "driven wall", **{name: table.row for name, table in COMPARED.items()},
}  # fmt: skip
_AXES = "xyz"


@dataclass(frozen=True)
class Entry:
    """A number that differs between two states.

    Attributes
    ----------
    body : str
        The body that has it, such as ``particle 7``.
    number : int
        Id of the body.
    column : str
        Column name, for vectors with the axis; empty if only one of the states has the body.
    a, b : Any
        Values in both states; None without a value.
    """

    body: str
    number: int
    column: str
    a: Any
    b: Any

    def __str__(self) -> str:
        """Return the entry in words."""
        if not self.column:
            return f"{self.body} is only in {'A' if self.b is None else 'B'}"
        return f"{self.body}, {self.column}: {self.a!r} in A, {self.b!r} in B{self._apart()}"

    def _apart(self) -> str:
        """Return in words the distance of two values in units of the last place."""
        if not (isinstance(self.a, float) and isinstance(self.b, float)):
            return ""
        if not (np.isfinite(self.a) and np.isfinite(self.b)):
            return ""
        places = [_place(value) for value in (self.a, self.b)]
        count = abs(places[0] - places[1])
        return f" (neighbouring numbers: {count} apart)" if count < 10**6 else ""


def _place(value: float) -> int:
    """Return the ordinal of a number in the sequence of all floating-point numbers, 0 for zero."""
    bits = int(np.float64(value).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1))


def first_entry(a: Groups, b: Groups) -> Entry | None:
    """Return the first differing number, None if the states agree."""
    return next(_entries(a, b), None)


def _entries(a: Groups, b: Groups) -> Iterator[Entry]:
    for group in (name for name in _KEYS if name in a and name in b):
        keys = [list(zip(*(one[group][key].tolist() for key in _KEYS[group]), strict=True)) for one in (a, b)]
        missing = sorted(set(keys[0]) ^ set(keys[1]))
        if missing:
            here = missing[0] in keys[0]
            yield Entry(_body(group, missing[0]), missing[0][0], "", here or None, not here or None)
        if keys[0] != keys[1] or not keys[0]:
            continue
        names = sorted(a[group], key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        for name in names:
            yield from _first_of_column(group, name, keys[0], (a[group][name], b[group][name]))


def _first_of_column(
    group: str, name: str, keys: list[tuple[int, ...]], both: tuple[NDArray[Any], NDArray[Any]]
) -> Iterator[Entry]:
    left, right = (np.ascontiguousarray(one).reshape(len(keys), -1) for one in both)
    bits = (left.view(f"u{left.itemsize}"), right.view(f"u{right.itemsize}")) if left.size else (left, right)
    rows, places = np.nonzero(bits[0] != bits[1])
    if len(rows):
        row, place = int(rows[0]), int(places[0])
        column = f"{name}_{_AXES[place]}" if left.shape[1] == len(_AXES) else name
        column = column if group in ("particles", "clusters") else f"{group}/{column}"
        yield Entry(_body(group, keys[row]), keys[row][0], column, left[row, place].item(), right[row, place].item())


def _body(group: str, key: tuple[int, ...]) -> str:
    return f"{_WORDS[group]} {' and '.join(map(str, key))}"

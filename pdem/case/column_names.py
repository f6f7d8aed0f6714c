"""Names of walls, sensors and the like that begin columns of the series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    Location: TypeAlias = tuple[str | int, ...]

NO_NAME = frozenset(',"\n[]')
"""Letters that names of columns cannot hold."""


def column_name_problems(name: str, where: Location, taken: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of a name that begins columns of the series; `taken` are other names, and whose they are."""
    if name in taken:
        yield Problem((*where, "name"), f"({name!r}) is taken by {taken[name]}; give each its own name")
    if set(name) & NO_NAME:
        yield Problem((*where, "name"), "names columns of the series; leave out commas, quotes and brackets")

"""Keys of a case file that had a different name in earlier versions of pdem.

Files, settings, sweeps and checkpoints with the earlier name stay valid. A case that has been read has the present name
only, and ``pdem check`` reports the earlier one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.case.messages import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

EARLIER_KEYS = {("output", "fields_every"): "snapshots_every"}
"""Present name of a key by section and earlier name."""


class PresentDocument(NamedTuple):
    """A parsed case in the present names.

    Attributes
    ----------
    document : dict
        The case; its sections with earlier names are copies.
    earlier : tuple of str
        One line for each earlier name in the file.
    problems : list of Problem
        Keys that the file has under both names.
    """

    document: dict[str, Any]
    earlier: tuple[str, ...]
    problems: list[Problem]


def in_present_names(document: dict[str, Any]) -> PresentDocument:
    """Return a parsed case in the present names; the given document stays as it is."""
    there = [(*way, new) for way, new in EARLIER_KEYS.items() if way[1] in _table(document, way[0])]
    tables = {section: dict(document[section]) for section, _, _ in there}
    problems = []
    for section, old, new in there:
        value = tables[section].pop(old)
        if new in tables[section]:
            problems.append(Problem((section, old), f"is the earlier name of {new}, which is also given; keep {new}"))
        tables[section].setdefault(new, value)
    lines = tuple(f"{section}.{old} is called {new} now; both names are understood" for section, old, new in there)
    return PresentDocument({**document, **tables}, lines, problems)


def as_written(problem: Problem, document: dict[str, Any]) -> Problem:
    """Return a problem of a case in the present names with the location that it has in the parsed file."""
    for (section, old), new in EARLIER_KEYS.items():
        table = _table(document, section)
        if problem.location[:2] == (section, new) and old in table and new not in table:
            return replace(problem, location=(section, old, *problem.location[2:]))
    return problem


def make_way(document: dict[str, Any], parts: Sequence[str]) -> None:
    """Remove a key from a case in the present names if a setting gives it by its earlier name, and so replaces it."""
    present = present_key(parts)
    if present != list(parts):
        _table(document, parts[0]).pop(present[1], None)


def present_key(parts: Sequence[str]) -> list[str]:
    """Return the parts of a key with its present name; a key without an earlier name stays as it is."""
    new = EARLIER_KEYS.get((parts[0], parts[1])) if len(parts) > 1 else None
    return [parts[0], new, *parts[2:]] if new else list(parts)


def _table(document: dict[str, Any], section: str) -> dict[str, Any]:
    """Return a section of a parsed case; empty if the case has no such table."""
    table = document.get(section)
    return table if isinstance(table, dict) else {}

"""Lines of examples with a key, for ``pdem explain``: the line of the key in a table, or all lines of a section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import BaseModel

_HEADER = re.compile(r"\[+([^\]]+)\]")
_STEP = re.compile(r"([\w-]+) = (\{)?|[{}]")
_LONGEST = 12


def is_named(owner: type[BaseModel], name: str) -> bool:
    """Return whether the user chooses the names of the entries of a section."""
    return get_origin(owner.model_fields[name].annotation) is dict


def example_of(fields: Sequence[tuple[type[BaseModel], str]], examples: Mapping[str, str]) -> list[str]:
    """Return the lines with a key from the first example that contains it; the list is empty if there is none.

    Parameters
    ----------
    fields : sequence of (type of BaseModel, str)
        Section and name of each part of the key, without names that the user chooses.
    examples : mapping of str to str
        Texts by their names in ``pdem new``.
    """
    names = [name for _, name in fields]
    chosen = sum(is_named(*field) for field in fields)
    for example, text in examples.items():
        for path, lines in _places(text):
            if _is_path(path, names, chosen):
                return [f"example, of pdem new {example}:\n" + "\n".join(f"  {line}" for line in lines)]
    return []


def _is_path(path: Sequence[str], names: Sequence[str], chosen: int) -> bool:
    """Return whether a path in a file matches a key, regardless of names that the user chooses."""
    if len(path) > len(names) + chosen:
        return False
    rest = iter(path)
    is_within = all(name in rest for name in names)
    ends_with = path[-1:] if chosen == 0 else path[-2:]
    return is_within and names[-1] in ends_with


def _places(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the path of each section and key of a file, with the lines to show."""
    lines = text.splitlines()
    header: list[str] = []
    for number, line in enumerate(lines):
        found = _HEADER.match(line)
        if found:
            header = found[1].replace('"', "").split(".")
            yield header, _section(lines[number:])
        else:
            yield from ((path, [line.strip()]) for path in _paths(header, line.split("#")[0]))


def _section(lines: Sequence[str]) -> list[str]:
    """Return the first lines of a section, up to the next one."""
    shown = [lines[0]]
    for line in lines[1:]:
        if not line.strip() or line.startswith(("[", "#")):
            return shown
        shown.append(line)
        if len(shown) == _LONGEST:
            return [*shown, "..."]
    return shown


def _paths(header: Sequence[str], line: str) -> Iterator[list[str]]:
    """Yield the path of each key in a line; inline tables are in braces."""
    tables: list[str] = []
    for step in _STEP.finditer(line):
        if step[1]:
            yield [*header, *(table for table in tables if table), step[1]]
        if step[2]:
            tables.append(step[1])
        elif step[0] == "{":
            tables.append("")  # an entry of a list
        elif step[0] == "}" and tables:
            tables.pop()

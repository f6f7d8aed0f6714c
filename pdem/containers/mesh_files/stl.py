"""STL files, binary and text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.mesh_files.raw_surface import RawSurface, groups_of
from pdem.foundation.number_rows import is_number, number_of, numbers_in
from pdem.foundation.texts import TextError, has_mark, shown_text, stand_in, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_HEADER, _FACET_BYTES = 84, 50
_RECORD = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_FACET = re.compile(
    r"\bfacet\b(?:\s+normal\b(?:\s+(?!outer\b)\S+){0,3})?\s+outer\s+loop\s+"
    r"((?:vertex\s+\S+\s+\S+\s+\S+\s+)++)end\s*loop\s+end\s*facet\b",
    re.IGNORECASE,
)
_SOLID = re.compile(r"(end\s*)?solid\b(.*)", re.IGNORECASE)
_WORDS = ("facet", "outer", "loop", "vertex", "endloop", "endfacet", "end", "normal")
_COMMENTS = ("#", "//")


class _Text(NamedTuple):
    """Contents of a text file.

    Attributes
    ----------
    facets : list of re.Match
        Match of each facet, with the corners as group 1.
    names : list of str
        Names of the solids.
    begun : list of int
        Number of facets before each solid.
    unknown : list of (int, str)
        Lines that are not part of an STL file, with their numbers.
    is_whole : bool
        Whether it ends with the end of a solid.
    """

    facets: list[re.Match[str]]
    names: list[str]
    begun: list[int]
    unknown: list[tuple[int, str]]
    is_whole: bool


def read_stl(path: Path) -> RawSurface:
    """Read an STL file, binary or text; several solids of a text file are its groups.

    The content determines whether the file is text, not its first word, which also occurs in binary files. Facets of a
    text file may have more than three corners.

    Raises
    ------
    ValueError
        If the file is truncated or not an STL file.
    """
    content = path.read_bytes()
    if problem := stand_in(content):
        raise TextError(problem)
    return _text(text_of(content)) if has_mark(content) or b"\0" not in content else _binary(content)


def _binary(content: bytes) -> RawSurface:
    """Return the triangles of a binary file; some programs write a count of 0, or further bytes at the end."""
    number = int.from_bytes(content[80:84], "little")
    notes: tuple[str, ...] = ()
    present, behind = divmod(len(content) - _HEADER, _FACET_BYTES)
    if number == 0 and present > 0 and behind == 0:
        number, notes = present, (f"its header counts no facets; all {present:,} that follow were read",)
    elif number == present and behind:
        notes = (f"{behind} bytes behind its {number:,} facets were left out",)
    if len(content) < _HEADER or number != present:
        raise ValueError(
            f"it has {len(content):,} bytes, and a binary STL of the {number:,} facets that its header counts has "
            f"{_HEADER + _FACET_BYTES * number:,}: it breaks off, or is no STL"
        )
    corners = np.frombuffer(content, _RECORD, number, _HEADER)["corners"].astype(np.float64)
    vertices = 3 * number
    return RawSurface(corners.reshape(-1, 3), np.arange(0, vertices + 1, 3), np.arange(vertices), notes=notes)


def _text(text: str) -> RawSurface:
    found = _parsed(text)
    if not found.is_whole:
        raise ValueError(
            f"it breaks off after {len(found.facets):,} facets: the end of solid "
            f"{shown_text((found.names or [''])[-1])} is missing; if it is whole, write endsolid at its end"
        )
    corners = "".join([facet[1] for facet in found.facets])
    try:
        vertices = numbers_in(corners.lower().replace("vertex", "")).reshape(-1, 3)
    except TextError:
        raise _wrong_number(text, found.facets) from None
    sides = np.array([facet[1].lower().count("vertex") for facet in found.facets], np.int64)
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sides)))
    part = np.searchsorted(found.begun, np.arange(len(sides)), side="right") - 1
    return RawSurface(
        vertices, start, np.arange(len(vertices)), groups_of(found.names, part), notes=_notes(sides, found.unknown)
    )  # fmt: skip


def _parsed(text: str) -> _Text:
    """Find the facets of a text, and check every line between them, so that no facet is missed."""
    found = _Text([], [], [], [], False)
    last = None
    place = 0
    for facet in _FACET.finditer(text):
        if not text[place : facet.start()].isspace():
            last = _read_between(text, place, facet.start(), found, last)
        if last is None:
            raise _no_solid(text, facet.start())
        found.facets.append(facet)
        place, last = facet.end(), "facet"
    last = _read_between(text, place, len(text), found, last)
    return found._replace(is_whole=last == "end")


def _read_between(text: str, first: int, behind: int, found: _Text, last: str | None) -> str | None:
    """Add the solids and the unknown lines between two facets; return the last keyword.

    Raises
    ------
    ValueError
        If a line belongs to an incomplete facet, or the file does not begin like an STL file.
    """
    for number, line in _lines_between(text, first, behind):
        solid = _SOLID.match(line)
        if solid:
            last = "end" if solid[1] else "solid"
            if not solid[1]:
                found.names.append(solid[2].strip())
                found.begun.append(len(found.facets))
        elif last is None:
            raise _no_solid(text, text.index(line, first))
        elif line.split()[0].lower() in _WORDS:
            raise _torn(list(_lines_between(text, first, behind)))
        elif line.split()[0].lower() != "color":
            found.unknown.append((number, line))
    return last


def _no_solid(text: str, place: int) -> ValueError:
    number, line = text.count("\n", 0, place) + 1, text[place:].split("\n", 1)[0]
    return ValueError(f'line {number} is {shown_text(line)}; an STL begins with "solid"')


def _torn(lines: Sequence[tuple[int, str]]) -> ValueError:
    """Return the error for an incomplete facet in these lines, with the line that causes it."""
    words = [line.lower().split() for _, line in lines]
    short = [place for place, line in enumerate(words) if line[0] == "vertex" and len(line) != 4]
    strange = [place for place, line in enumerate(words) if line[0] not in _WORDS and not _SOLID.match(lines[place][1])]
    number, line = lines[(short or strange or [0])[0]]
    return ValueError(
        f"line {number}: {shown_text(line)} is no part of a whole facet (normal, outer loop, vertices of three numbers "
        "each, endloop, endfacet)"
    )


def _lines_between(text: str, first: int, behind: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a part of a text with their numbers, without empty lines and comments."""
    number = text.count("\n", 0, first) + 1
    for place, line in enumerate(text[first:behind].split("\n"), number):
        if line.strip() and not line.strip().startswith(_COMMENTS):
            yield place, line.strip()


def _wrong_number(text: str, facets: Sequence[re.Match[str]]) -> ValueError:
    """Return the error for the first coordinate that is not a number."""
    for facet in facets:
        for word in re.finditer(r"\S+", facet[1]):
            if word[0].lower() != "vertex" and not is_number(word[0]):
                number = text.count("\n", 0, facet.start(1) + word.start()) + 1
                try:
                    number_of(word[0])
                except TextError as error:
                    return ValueError(f"line {number}: {error}")
    return ValueError("a vertex has no three numbers")


def _notes(sides: np.ndarray, unknown: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    notes = []
    if (sides != 3).any():
        notes.append(
            f"{int((sides != 3).sum()):,} facets have up to {int(sides.max())} corners, where STL has three; they were "
            "read as polygons"
        )
    if unknown:
        number, line = unknown[0]
        notes.append(
            f"{len(unknown):,} lines were not understood and left out (first: line {number}, {shown_text(line)})"
        )
    return tuple(notes)

"""Sections of numbers in Gmsh files, text or binary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.number_rows import numbers_in
from pdem.foundation.texts import has_mark, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats

_FORMAT = re.compile(
    rb"\s*(?:\$Comments\b.*?\$EndComments\s*)?\$MeshFormat[^\S\n]*\n\s*(\d+(?:\.\d+)?)\s+([01])\s+(\d+)[^\S\n]*\r?\n",
    re.DOTALL,
)
_SECTION = re.compile(rb"\$(\w+)[^\S\n]*\r?\n")
_NAME = re.compile(r'\s*(\d+)\s+(-?\d+)\s+"([^"]*)"')


def open_sections(path: Path) -> Sections | None:
    """Return the sections of a file, None if it is not a Gmsh file.

    Raises
    ------
    ValueError
        If the file is truncated.
    """
    content = path.read_bytes()
    if has_mark(content) or b"\0" not in content:
        content = text_of(content).encode()
    head = _FORMAT.match(content)
    return None if head is None else Sections(content, head)


class Sections:
    """The sections of a file, for reading one after the other.

    Parameters
    ----------
    content : bytes
        Content of the whole file.
    head : re.Match of bytes
        Match of the format's header.

    Attributes
    ----------
    version : str
        Version of the format.
    is_binary : bool
        Whether numbers are binary.
    """

    def __init__(self, content: bytes, head: re.Match[bytes]) -> None:
        self.version = head[1].decode()
        self._content, self.is_binary = content, head[2] == b"1"
        self._order, self._place = "<", head.end()
        size = int(head[3])
        if self.is_binary:
            one = content[head.end() : head.end() + 4]
            self._order = ">" if one == b"\0\0\0\1" else "<"
        if size not in (4, 8):
            raise ValueError(f"its numbers have {size} bytes, where Gmsh writes 4 or 8")
        self._kinds = {"int": "i4", "size": f"u{size}", "float": "f8"}
        self._numbers: Floats = np.zeros(0)
        self._sections = self._found()

    def _found(self) -> dict[str, tuple[int, int]]:
        """Return the bounds of each section; repetitions of a section are ignored."""
        sections: dict[str, tuple[int, int]] = {}
        while head := _SECTION.search(self._content, self._place):
            name = head[1].decode()
            mark = b"$End" + head[1]
            end = self._content.find(mark, head.end())
            if name.startswith("End"):
                self._place = head.end()
                continue
            if end < 0:
                raise ValueError(f"it breaks off: ${name} has no ${mark.decode()[1:]}")
            sections.setdefault(name, (head.end(), end))
            self._place = end + len(mark)
        return sections

    def begin(self, name: str) -> None:
        """Move to the start of a section."""
        if name not in self._sections:
            raise ValueError(f"it has no section ${name}")
        self._place, end = self._sections[name]
        if not self.is_binary:
            self._numbers = numbers_in(self._content[self._place : end].decode(errors="replace"))
            self._place = 0

    def has(self, name: str) -> bool:
        """Return whether there is such a section."""
        return name in self._sections

    def take(self, kind: str, count: int) -> NDArray[Any]:
        """Return the next numbers: of type ``int``, ``size`` or ``float``."""
        if count < 0:
            raise ValueError(f"it says to hold {count} numbers")
        if not self.is_binary:
            values = self._numbers[self._place : self._place + count]
            self._place += count
            left = count - len(values)
        else:
            dtype = np.dtype(self._order + self._kinds[kind])
            left = count - (len(self._content) - self._place) // dtype.itemsize
            values = np.frombuffer(self._content, dtype, 0 if left > 0 else count, self._place)
            self._place += count * dtype.itemsize
        if left > 0:
            raise ValueError(f"it breaks off: {left} of {count} numbers are missing")
        return values.astype(np.float64 if kind == "float" else np.int64)

    def record(self, fields: Sequence[tuple[str, int]], count: int) -> list[NDArray[Any]]:
        """Return columns of records with several types of numbers, shape (count, n) each."""
        if not self.is_binary:
            width = sum(number for _, number in fields)
            table = self.take("float", width * count).reshape(count, width)
            parts = np.split(table, np.cumsum([number for _, number in fields])[:-1], axis=1)
            return [
                part if kind == "float" else part.astype(np.int64)
                for part, (kind, _) in zip(parts, fields, strict=True)
            ]
        dtype = np.dtype(
            [(f"f{place}", self._order + self._kinds[kind], (number,)) for place, (kind, number) in enumerate(fields)]
        )
        missing = count * dtype.itemsize - (len(self._content) - self._place)
        if count < 0 or missing > 0:
            raise ValueError(f"it breaks off: {missing} bytes are missing")
        table = np.frombuffer(self._content, dtype, count, self._place)
        self._place += count * dtype.itemsize
        return [
            table[f"f{place}"].astype(np.float64 if kind == "float" else np.int64)
            for place, (kind, _) in enumerate(fields)
        ]

    def rest(self) -> list[int]:
        """Return the remaining integers of a text section."""
        return self.take("int", len(self._numbers) - self._place).tolist()

    def count(self) -> int:
        """Return the number in the next line, which is text even in binary files (version 2)."""
        if not self.is_binary:
            return int(self.take("int", 1)[0])
        end = self._content.find(b"\n", self._place)
        line, self._place = self._content[self._place : end].strip(), end + 1
        if not line.isdigit():
            raise ValueError("a section does not say how much follows")
        return int(line)

    def names(self) -> dict[int, str]:
        """Return the names of physical surfaces by their numbers."""
        first, end = self._sections.get("PhysicalNames", (0, 0))
        lines = text_of(self._content[first:end]).split("\n")
        found = [match for line in lines if (match := _NAME.match(line))]
        return {abs(int(match[2])): match[3] for match in found if match[1] == "2" and match[3]}

"""A section of a report: title, text, table, picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Section:
    """A section of a report.

    Attributes
    ----------
    title : str
        Heading.
    text : str
        Text above the table.
    head, rows : sequences of str
        Heading and rows of the table; empty without one.
    picture : bytes
        PNG; empty without one.
    """

    title: str
    text: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    picture: bytes = b""

    @property
    def name(self) -> str:
        """Name of the file of its picture, without suffix."""
        return "-".join(self.title.lower().replace(",", "").split())

    def plain(self) -> str:
        """Return the section as plain text with aligned columns."""
        table = [self.head, *self.rows] if self.head else []
        widths = [max(len(row[column]) for row in table) for column in range(len(self.head))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
        ]
        return "\n".join([self.title, *([self.text] if self.text else []), *lines])

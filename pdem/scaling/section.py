"""One part of a report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Section:
    """One part of a report.

    Attributes
    ----------
    title : str
        Of the part.
    text : str
        What a reader should know.
    head, rows : sequences of str
        A table; none where they are empty.
    picture : bytes
        PNG, or nothing.
    """

    title: str
    text: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    picture: bytes = b""

    @property
    def name(self) -> str:
        """Of its picture."""
        return "-".join(self.title.lower().replace(",", "").split())

    def plain(self) -> str:
        """Return it as text with aligned columns."""
        table = [self.head, *self.rows] if self.head else []
        widths = [max(len(row[column]) for row in table) for column in range(len(self.head))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
        ]
        return "\n".join([self.title, *([self.text] if self.text else []), *lines])

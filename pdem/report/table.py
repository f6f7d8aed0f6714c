"""Tables of text cells, and their output as aligned lines, Markdown, HTML or CSV."""

from __future__ import annotations

import csv
import html
import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def csv_texts(path: Path, head: Sequence[str]) -> NDArray[Any]:
    """Return the cells (n, columns) of a file of CSV with a head, as texts.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, or its head or the length of a row is different.
    """
    first, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    if tuple(first) != tuple(head):
        raise ValueError("the first line is another one")
    return np.array(rows, dtype=str).reshape(len(rows), len(head))


class Table(NamedTuple):
    """A table with an optional head.

    Attributes
    ----------
    head : sequence of str
        Column names; empty without a head.
    rows : sequence of sequences
        Cells of each row: strings, for CSV also numbers.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def lines(self) -> list[Sequence[Any]]:
        """The head, if there is one, followed by the rows."""
        return [*([self.head] if self.head else []), *self.rows]

    def text(self, left: int | None = 1, indent: str = "") -> str:
        """Return aligned text: the first `left` columns (None: all) flush left, the remaining columns flush right."""
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        turns = [str.ljust if left is None or k < left else str.rjust for k in range(len(widths))]
        lines = (map(lambda turn, cell, width: turn(cell, width), turns, line, widths) for line in self.lines)
        return "\n".join((indent + "  ".join(cells)).rstrip() for cells in lines)

    def markdown(self, align: str = "---") -> str:
        """Return a table with a head in Markdown; `align` is the alignment mark of every column."""
        lines = [self.head, [align] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)

    def html(self) -> str:
        """Return the table in HTML, with the cells escaped."""
        lines = [("th", self.head)] if self.head else []
        rows = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
            for tag, cells in [*lines, *(("td", row) for row in self.rows)]
        )
        return "<table>" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "</table>"

    def csv(self) -> str:
        """Return the table as CSV."""
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(self.lines)
        return text.getvalue()

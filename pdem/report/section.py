"""Sections of a report, and pages in HTML and Markdown with several sections."""

from __future__ import annotations

import html
from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; margin: 1em 0; font-size: 0.9em; }}
.table {{ overflow-x: auto; }}
th, td {{ padding: 0.25em 0.7em; text-align: right; border-bottom: 1px solid #ddd; }}
img {{ max-width: 100%; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


@dataclass
class ReportSection:
    """A section of a report.

    Attributes
    ----------
    title : str
        Heading.
    text : str
        Text above the table.
    head, rows : sequences of str
        Column names and rows of the table; empty without a table.
    picture : bytes
        PNG data; empty without a picture.
    """

    title: str
    text: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    picture: bytes = b""

    @property
    def name(self) -> str:
        """Name of the picture file, without suffix."""
        return "-".join(self.title.lower().replace(",", "").split())

    @property
    def table(self) -> Table:
        """The table of the section."""
        return Table(self.head, self.rows)

    def plain(self) -> str:
        """Return the section as plain text with aligned columns."""
        return "\n".join(filter(None, (self.title, self.text, self.table.text(0) if self.head else "")))

    def markdown(self) -> str:
        """Return the section in Markdown; it refers to its picture as ``NAME.png`` in the same folder."""
        picture = f"![{self.title}]({self.name}.png)" if self.picture else ""
        table = self.table.markdown("---:") if self.head else ""
        return "\n\n".join(filter(None, (f"## {self.title}", self.text, picture, table)))

    def html(self) -> str:
        """Return the section in HTML with the picture embedded."""
        title = html.escape(self.title)
        text = f"<p>{html.escape(self.text)}</p>" if self.text else ""
        image = png_image(self.picture, f'alt="{title}"')
        table = f'<div class="table">{self.table.html()}</div>' if self.head else ""
        return "\n".join(filter(None, (f"<h2>{title}</h2>", text, image, table)))


def png_image(picture: bytes, attributes: str) -> str:
    """Return an HTML element with an embedded PNG picture, an empty string without a picture."""
    return f'<img {attributes} src="data:image/png;base64,{b64encode(picture).decode()}">' if picture else ""


def html_page(title: str, sections: Sequence[ReportSection]) -> str:
    """Return an HTML page of sections with all pictures embedded."""
    return _PAGE.format(title=html.escape(title), body="\n".join(one.html() for one in sections))


def markdown_page(title: str, sections: Sequence[ReportSection]) -> str:
    """Return a page of sections in Markdown; pictures are files ``NAME.png`` in the same folder."""
    return "\n\n".join([f"# {title}", *(one.markdown() for one in sections)]) + "\n"

"""Tables and pictures for notebooks, as HTML."""

from __future__ import annotations

import html
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import PdemError
from pdem.report.section import png_image
from pdem.report.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SIZE = 640, 480
"""Width and height of a picture in pixels."""


def notebook_page(title: str, text: str, rows: Iterable[Sequence[str]], picture: bytes = b"") -> str:
    """Return a title, a line, a picture (PNG) if there is one, and a table; all texts are escaped."""
    image, table = png_image(picture, 'width="480"'), Table((), list(rows)).html()
    return f"<h4>{html.escape(title)}</h4><p>{html.escape(text)}</p>{image}{table}"


def picture_of(source: Path | str, time: float | None = None) -> bytes:
    """Return a picture of a folder's snapshot as PNG, by default the last one; empty if drawing fails. `time` is in s.

    Automatic output of a notebook must not raise errors: pyvista, a display, or snapshots may be missing.
    """
    from pdem.output.pictures.render import render

    with tempfile.TemporaryDirectory() as folder, suppress(PdemError, OSError, RuntimeError):
        (path,) = render(source, Path(folder) / "picture.png", time=time, size=SIZE)
        return path.read_bytes()
    return b""

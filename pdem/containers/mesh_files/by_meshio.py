"""Formats that meshio reads; its printed messages are captured, and it cannot end the process."""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.mesh_files.raw_surface import RawSurface, groups_of, rows_of_tables
from pdem.foundation.texts import has_mark, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Integers

_SURFACE = {"triangle", "quad", "polygon"}


def read_by_meshio(path: Path) -> RawSurface:
    """Read a surface.

    Raises
    ------
    ValueError
        If meshio cannot read the file; with the reason.
    """
    import meshio  # imported here, because the import is slow

    said = io.StringIO()
    try:
        with listening(said), plain_file(path) as plain:
            mesh = meshio.read(plain)
    except (Exception, SystemExit) as error:
        reason = first_line(said.getvalue()) or first_line(str(error)) or type(error).__name__
        raise ValueError(reason.replace(str(path), path.name)) from error
    if "cannot handle" in said.getvalue():
        raise ValueError(f"{first_line(said.getvalue())}; walls are triangles, quads and polygons: export those")
    if "not closed" in said.getvalue():
        raise ValueError(f"it breaks off: {first_line(said.getvalue())}")
    return _surface(mesh)


def _surface(mesh: Any) -> RawSurface:
    cells = [(block.type, np.asarray(block.data)) for block in mesh.cells]
    surface = [place for place, (kind, data) in enumerate(cells) if kind in _SURFACE and len(data)]
    others: dict[str, int] = {}
    for kind, data in cells:
        if kind not in _SURFACE and len(data):
            others[kind] = others.get(kind, 0) + len(data)
    start, loops = rows_of_tables([cells[place][1] for place in surface])
    points = np.asarray(mesh.points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise ValueError(f"its points have shape {points.shape}")
    return RawSurface(points, start, loops, _groups(mesh, surface), passed_over=tuple(others.items()))


def _groups(mesh: Any, surface: list[int]) -> dict[str, Integers]:
    """Return the facets of the physical groups, for formats that support groups."""
    tags = mesh.cell_data.get("gmsh:physical")
    if tags is None or len(tags) != len(mesh.cells) or not surface:
        return {}
    tag = np.concatenate([np.asarray(tags[place]) for place in surface]).astype(np.int64)
    names = {int(number): name for name, (number, dimension) in mesh.field_data.items() if dimension == 2}
    numbers = [int(number) for number in np.unique(tag) if number != 0]
    part = np.where(tag == 0, -1, np.searchsorted(numbers, tag))
    return groups_of([names.get(number, str(number)) for number in numbers], part)


@contextlib.contextmanager
def listening(said: io.StringIO) -> Iterator[None]:
    """Capture the printed messages of meshio, and ignore its warnings (text STL files make it overflow a header)."""
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    r"""Yield the path of a file in a form that libraries can read.

    Text is in UTF-8 without a byte order mark, and lines end in ``\n``. The path is the file itself if it has this form
    already, is binary, or is XML, which states its own encoding.
    """
    content = path.read_bytes()
    is_binary = b"\0" in content and not has_mark(content)
    plain = content if is_binary or content.lstrip().startswith(b"<") else text_of(content).encode()
    if plain.replace(b"\r\n", b"\n") == content.replace(b"\r\n", b"\n"):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(plain)
        yield copy


def first_line(text: str) -> str:
    """Return the first line of a text that is not empty, or an empty text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""

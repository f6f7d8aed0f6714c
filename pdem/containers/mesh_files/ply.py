"""PLY files, read with plyfile: meshio misses faces named vertex_index and faces with further properties."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.mesh_files.raw_surface import RawSurface, rows_of_tables
from pdem.foundation.texts import has_mark, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.foundation.array_types import Floats, Integers

_HEAD = 1 << 16
_END = b"end_header"
_NAMES = ("vertex_indices", "vertex_index")


def read_ply(path: Path) -> RawSurface:
    """Read the faces of a PLY file.

    Raises
    ------
    ValueError
        If the file has no vertices with coordinates, or is invalid.
    """
    with _plain(path) as plain:
        return _surface({element.name: element.data for element in _data(plain).elements})


def _surface(elements: dict[str, Any]) -> RawSurface:
    corner = elements.get("vertex")
    if corner is None or not {"x", "y", "z"} <= set(corner.dtype.names):
        raise ValueError("it has no element vertex with x, y and z")
    vertices = np.column_stack([corner[axis] for axis in "xyz"]).astype(np.float64)
    start, loops = _faces(elements["face"]) if len(elements.get("face", ())) else rows_of_tables([])
    others = {name: len(rows) for name, rows in elements.items() if name not in ("vertex", "face")}
    passed = tuple((name, count) for name, count in others.items() if count)
    return RawSurface(vertices, start, loops, passed_over=passed)


def _faces(faces: Any) -> tuple[Integers, Integers]:
    name = next((name for name in _NAMES if name in faces.dtype.names), None)
    if name is None:
        raise ValueError(f"its faces have no list {' or '.join(_NAMES)}, but {', '.join(faces.dtype.names)}")
    loops = faces[name]
    if loops.ndim == 2:
        return rows_of_tables([loops])
    sizes = np.fromiter(map(len, loops), dtype=np.int64, count=len(loops))
    return np.concatenate(([0], np.cumsum(sizes))), np.concatenate(loops).astype(np.int64)


def _data(path: Path) -> Any:
    """Read all faces as triangles, or as quads, which is fast; otherwise face by face."""
    from plyfile import PlyData

    for sides in (3, 4):
        known = {"face": dict.fromkeys(_NAMES, sides)}
        try:
            return PlyData.read(str(path), known_list_len=known)
        except Exception:  # different names, lists or sizes
            continue
    return PlyData.read(str(path), mmap=False)


@contextlib.contextmanager
def _plain(path: Path) -> Iterator[Path]:
    """Yield the path of a file without a byte order mark, and with only ASCII characters in its header."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    end = head.find(_END)
    if not has_mark(head) and head[: max(end, 0)].isascii():
        yield path
        return
    content = path.read_bytes()
    if has_mark(content) or b"\0" not in content:
        content = text_of(content).encode()
    end = max(content.find(_END), 0)
    content = content[:end].decode("ascii", "replace").replace("\ufffd", "?").encode() + content[end:]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(content)
        yield copy


def write_ply(path: Path, vertices: Floats, start: Integers, loops: Integers) -> None:
    """Write facets in compressed rows, binary, in double precision."""
    from plyfile import PlyData, PlyElement

    corner = np.zeros(len(vertices), dtype=[(axis, "f8") for axis in "xyz"])
    for number, axis in enumerate("xyz"):
        corner[axis] = vertices[:, number]
    faces = np.empty(len(start) - 1, dtype=[("vertex_indices", "O")])
    faces["vertex_indices"] = np.split(loops.astype(np.int32), start[1:-1])
    elements = [PlyElement.describe(corner, "vertex"), PlyElement.describe(faces, "face")]
    PlyData(elements, text=False, byte_order="<").write(str(path))

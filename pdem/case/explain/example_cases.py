"""Example cases of ``pdem new``: a commented file and its meshes."""

from __future__ import annotations

import math
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pdem.case.example_meshes import h2_meshes, mixer
from pdem.case.explain.example_texts import (
    example_groups,
    example_names,
    example_results,
    example_text,
    example_title,
    title_of,
)
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.foundation.files import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = (
    "example_files",
    "example_groups",
    "example_names",
    "example_results",
    "example_text",
    "example_title",
    "title_of",
    "write_example",
)

_SIDES = 24
_PIECES = 16
_RIDGES = 8
_PERIODS = 3
_BAR, _HOLE_PERIOD, _INCLINATION = 0.003, 0.014, 0.1
_SIEVE = ((-0.1555, 22), (-0.0505, 7))
"""First bar [m] and holes of the sieve along x and y."""


def write_example(name: str, folder: str | Path, before: Mapping[str, bytes] | None = None) -> dict[Path, bool]:
    """Write an example case and its meshes.

    Examples share meshes: an existing file of the same bytes is left unchanged.

    Parameters
    ----------
    name : str
        One of `example_names`.
    folder : path
        Folder for ``NAME.toml`` and its meshes; created if it does not exist.
    before : mapping of str to bytes, optional
        Further files of the example, by their names.

    Returns
    -------
    dict of Path to bool
        Files of the example, first the files of `before`, then the case; and whether each was written now.

    Raises
    ------
    CaseError
        If there is no such example, a file with one of these names has different content, or the folder cannot be
        written. In the first two cases nothing has been written.
    """
    text, folder = example_text(name), Path(folder)
    try:
        contents = {**(before or {}), **_contents(name, text)}
        wanted = {folder / file: content for file, content in contents.items()}
        present = {path: _content(path) for path in wanted}
        _refuse_other_content(present, wanted)
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in wanted.items():
            if present[path] is None:
                write_file(path, content)
    except OSError as error:
        raise CaseError(f"{folder}: cannot be written: {error.strerror}; name another folder") from None
    return {path: content is None for path, content in present.items()}


def example_files(name: str) -> list[str]:
    """Return the names of the files of an example: first the case, then its meshes.

    Raises
    ------
    CaseError
        If there is no such example.
    """
    text = example_text(name)
    return [f"{name}.toml", *(file for file in _MESHES if f'"{file}"' in text)]


def _contents(name: str, text: str) -> dict[str, bytes]:
    """Return the bytes of each file of an example, by its name; the case is the first."""
    case, *meshes = example_files(name)
    contents = {case: text.encode("utf-8")}
    with tempfile.TemporaryDirectory() as folder:
        for file in meshes:
            path = Path(folder) / file
            _MESHES[file]().write(path)
            contents[file] = path.read_bytes()
    return contents


def _content(path: Path) -> bytes | None:
    """Return the content of a file: empty for a folder, None if the path does not exist."""
    if path.is_file():
        return path.read_bytes()
    return b"" if path.exists() else None


def _refuse_other_content(present: dict[Path, bytes | None], wanted: dict[Path, bytes]) -> None:
    for path, content in present.items():
        if content is not None and content != wanted[path]:
            text = "exists already with other content and is not overwritten"
            raise CaseError(f"{path}: {text}; name another folder or remove it")


def _plate() -> Mesh:
    corners = [[-0.5, -0.5, 0.0], [5.5, -0.5, 0.0], [5.5, 0.5, 0.0], [-0.5, 0.5, 0.0]]
    return Mesh(corners, [[0, 1, 2, 3]])


def _tray() -> Mesh:
    side, low, high = 0.18, -0.1, -0.07
    square = [(-side, -side), (side, -side), (side, side), (-side, side)]
    vertices = [(x, y, z) for z in (low, high) for x, y in square]
    sides = [[(a + 1) % 4, a, a + 4, (a + 1) % 4 + 4] for a in range(4)]
    return Mesh(vertices, [[0, 1, 2, 3], *sides])


def _hopper() -> Mesh:
    """Return a cylinder on a cone; all facets are planar quads."""
    angles = [2.0 * math.pi * side / _SIDES for side in range(_SIDES)]
    profile = ((0.022, -0.03), (0.07, 0.04), (0.07, 0.29))
    rings = [[(r * exact_math.cos(a), r * exact_math.sin(a), z) for a in angles] for r, z in profile]
    facets = [
        [ring * _SIDES + a, ring * _SIDES + b, (ring + 1) * _SIDES + b, (ring + 1) * _SIDES + a]
        for ring in range(len(profile) - 1)
        for a, b in ((side, (side + 1) % _SIDES) for side in range(_SIDES))
    ]
    return Mesh(np.concatenate(rings), facets)


def _gate() -> Mesh:
    """Return a plate that closes the opening of the hopper."""
    side, height = 0.025, -0.03
    square = ((-side, -side), (side, -side), (side, side), (-side, side))
    return Mesh([(x, y, height) for x, y in square], [[0, 1, 2, 3]])


def _boundary() -> Mesh:
    """Return a long bar in pieces: facets not much larger than their distance from the particles are quick to check."""
    places = [1.6 * piece / _PIECES - 0.8 for piece in range(_PIECES + 1)]
    profile = ((-0.04, -0.02), (0.0, -0.02), (0.0, 0.02), (-0.04, 0.02))
    vertices = [(x, y, z) for x in places for y, z in profile]
    sides = [
        [4 * piece + a, 4 * piece + b, 4 * piece + 4 + b, 4 * piece + 4 + a]
        for piece in range(_PIECES)
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0))
    ]
    last = 4 * _PIECES
    return Mesh(vertices, [[3, 2, 1, 0], *sides, [last, last + 1, last + 2, last + 3]])


def _box() -> Mesh:
    """Return an open box for the piston."""
    side, low, high = 0.04, 0.0, 0.12
    square = [(-side, -side), (side, -side), (side, side), (-side, side)]
    vertices = [(x, y, z) for z in (low, high) for x, y in square]
    sides = [[(a + 1) % 4, a, a + 4, (a + 1) % 4 + 4] for a in range(4)]
    return Mesh(vertices, [[0, 1, 2, 3], *sides])


def _piston() -> Mesh:
    side, height = 0.0395, 0.085
    return Mesh(
        [(x, y, height) for x, y in ((-side, -side), (-side, side), (side, side), (side, -side))], [[0, 1, 2, 3]]
    )


def _blade() -> Mesh:
    """Return an upright plate above the bed of the rotor; when lowered, it is one diameter above the floor."""
    side, low, high = 0.024, 0.065, 0.115
    return Mesh([(-side, 0.0, low), (side, 0.0, low), (side, 0.0, high), (-side, 0.0, high)], [[0, 1, 2, 3]])


def _sieve() -> Mesh:
    """Return a sheet with square holes, inclined along x."""
    x, y = (
        [first + _HOLE_PERIOD * k + edge for k in range(holes + 1) for edge in (0.0, _BAR)] for first, holes in _SIEVE
    )
    vertices = [(a, b, -_INCLINATION * a) for a in x for b in y]
    facets = [
        [i * len(y) + j, (i + 1) * len(y) + j, (i + 1) * len(y) + j + 1, i * len(y) + j + 1]
        for i in range(len(x) - 1)
        for j in range(len(y) - 1)
        if i % 2 == 0 or j % 2 == 0  # a hole is between two bars in both directions
    ]
    return Mesh(vertices, facets)


def _ridges(base: float, crest: float) -> Mesh:
    """Return a plate of ridges across x for the shear box, from `base` to `crest` [m], beyond all its sides."""
    # periods on each side: travel of the plate plus largest radius
    number = 2 * _RIDGES * (2 * _PERIODS + 1)
    x = 0.08 * (np.arange(number + 1) / (2 * _RIDGES) - _PERIODS)
    z = np.where(np.arange(number + 1) % 2 == 0, base, crest)
    vertices = [(a, y, b) for a, b in zip(x.tolist(), z.tolist(), strict=True) for y in (-0.012, 0.062)]
    return Mesh(vertices, [[2 * k, 2 * k + 2, 2 * k + 3, 2 * k + 1] for k in range(number)])


_MESHES: dict[str, Callable[[], Mesh]] = {
    "plate.vtk": _plate,
    "tray.vtk": _tray,
    "hopper.vtk": _hopper,
    "gate.vtk": _gate,
    "boundary.vtk": _boundary,
    "h2_supports.vtk": h2_meshes.supports,
    "h2_edge_block.vtk": h2_meshes.edge_block,
    "h2_corner_block.vtk": h2_meshes.corner_block,
    "h2_holes.vtk": h2_meshes.holes,
    "h2_one_quad.vtk": h2_meshes.one_quad,
    "h2_triangles.vtk": h2_meshes.triangles_80,
    "h2_crease.vtk": h2_meshes.crease,
    "h2_tiles.vtk": h2_meshes.tiles,
    **{f"h2_tile_{number}.vtk": partial(h2_meshes.tile, number) for number in range(3)},
    "h2_drum.vtk": mixer.drum,
    "h2_rotor.vtk": mixer.rotor,
    "blade.vtk": _blade,
    "box.vtk": _box,
    "piston.vtk": _piston,
    "sieve.vtk": _sieve,
    "shear_lower.vtk": partial(_ridges, -0.002, 0.002),
    "shear_upper.vtk": partial(_ridges, 0.056, 0.052),
}

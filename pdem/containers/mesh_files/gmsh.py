"""Surfaces in Gmsh files of versions 2 and 4.1, text or binary: facets, also of files with volumes, and their groups.

Meshio reads other versions; it gives a facet a single physical group and needs consecutive node numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.mesh_files.gmsh_sections import Sections, open_sections
from pdem.containers.mesh_files.raw_surface import RawSurface, rows_of_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pdem.foundation.array_types import Booleans, Floats, Integers

_CELLS = {
    1: ("line", 2), 2: ("triangle", 3), 3: ("quad", 4), 4: ("tetra", 4), 5: ("hexahedron", 8), 6: ("wedge", 6),
    7: ("pyramid", 5), 8: ("line3", 3), 9: ("triangle6", 6), 10: ("quad9", 9), 11: ("tetra10", 10),
    12: ("hexahedron27", 27), 13: ("wedge18", 18), 14: ("pyramid14", 14), 15: ("vertex", 1), 16: ("quad8", 8),
    17: ("hexahedron20", 20), 18: ("wedge15", 15), 19: ("pyramid13", 13), 20: ("triangle9", 9), 21: ("triangle10", 10),
    23: ("triangle15", 15), 26: ("line4", 4), 27: ("line5", 5), 29: ("tetra20", 20), 30: ("tetra35", 35),
    36: ("quad16", 16), 37: ("quad25", 25), 92: ("hexahedron64", 64), 93: ("hexahedron125", 125),
}  # fmt: skip
"""Names of element types by their Gmsh numbers, with their numbers of nodes."""

_FACETS = ("triangle", "quad")

Nodes = tuple["Integers", "Floats"]
"""Numbers of the nodes, shape (n,), and their positions, shape (n, 3)."""


class GmshBlock(NamedTuple):
    """Elements of one type.

    Attributes
    ----------
    kind : str
        Name of the type in meshio.
    nodes : ndarray, shape (n, k)
        Node numbers of the elements in the file.
    groups : tuple of (int, ndarray)
        Physical groups, and the rows of their elements.
    """

    kind: str
    nodes: Integers
    groups: tuple[tuple[int, Integers], ...]


def read_gmsh(path: Path) -> RawSurface | None:
    """Read the triangles and quadrilaterals of a file; all other cells are skipped.

    A group without a name gets its number as name; a group with a name can be selected by its number as well.

    Returns
    -------
    RawSurface or None
        None for other versions of the format.

    Raises
    ------
    ValueError
        If the file is truncated or invalid.
    """
    file = open_sections(path)
    versions = {"2": _version_2, "4": _version_4, "4.0": _version_4, "4.1": _version_4}
    read = None if file is None else versions.get(file.version[:1] if file.version < "3" else file.version)
    if file is None or read is None:
        return None
    if file.has("ParametricNodes"):
        raise ValueError("its nodes have parameters ($ParametricNodes); save it with Mesh.SaveParametric = 0")
    nodes, blocks = read(file)
    return _surface(nodes, blocks, file.names())


def _surface(nodes: Nodes, blocks: Sequence[GmshBlock], names: dict[int, str]) -> RawSurface:
    facets = [block for block in blocks if block.kind in _FACETS]
    start, loops = rows_of_tables([block.nodes for block in facets])
    loops = _places(nodes[0], loops)
    members: dict[int, list[Integers]] = {}
    begin = 0
    for block in facets:
        for group, rows in block.groups:
            members.setdefault(abs(group), []).append(begin + rows)
        begin += len(block.nodes)
    members.pop(0, None)  # 0 means no group
    found = {group: np.concatenate(rows) for group, rows in sorted(members.items())}
    number, kept = _listed_once(start, loops, list(found.values()))
    groups, aliases = _named({group: number[rows] for group, rows in found.items()}, names)
    others: dict[str, int] = {}
    for block in blocks:
        if block.kind not in _FACETS:
            others[block.kind] = others.get(block.kind, 0) + len(block.nodes)
    sides = np.diff(start)
    return RawSurface(
        nodes[1], np.concatenate((np.zeros(1, np.int64), np.cumsum(sides[kept]))), loops[np.repeat(kept, sides)],
        groups, aliases, tuple(others.items()),
    )  # fmt: skip


def _named(found: dict[int, Integers], names: dict[int, str]) -> tuple[dict[str, Integers], dict[str, str]]:
    """Return the facets of each physical group by name, and the names of groups by their numbers."""
    groups: dict[str, Integers] = {}
    for group, rows in found.items():
        name = names.get(group, str(group))
        groups[name] = np.unique(np.concatenate((rows, groups.get(name, rows))))
    return groups, {str(one): names[one] for one in found if one in names and str(one) not in groups}


def _places(numbers: Integers, wanted: Integers) -> Integers:
    """Return the indices of the nodes with these numbers."""
    order = np.argsort(numbers, kind="stable")
    place = np.searchsorted(numbers[order], wanted).clip(max=max(len(numbers) - 1, 0))
    if len(wanted) and (not len(numbers) or (numbers[order[place]] != wanted).any()):
        missing = wanted[0] if not len(numbers) else wanted[numbers[order[place]] != wanted][0]
        raise ValueError(f"an element has the node {missing}, which is not among its nodes")
    return order[place]


def _listed_once(start: Integers, loops: Integers, groups: Sequence[Integers]) -> tuple[Integers, Booleans]:
    """Return the new index of each facet, and a mask of the facets to keep.

    Version 2 repeats a facet that is in two groups. Repetitions within one group are kept.
    """
    count, sides = len(start) - 1, np.diff(start)
    group = np.full(count, -1)
    for number, rows in enumerate(groups):
        group[rows] = number  # with several groups, as in version 4, the last one counts
    corners = np.full((count, max(sides.max(initial=3), 4)), -1)
    corners[np.repeat(np.arange(count), sides), np.arange(len(loops)) - np.repeat(start[:-1], sides)] = loops
    corners.sort(axis=1)
    _, first, back = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    same = first[back.reshape(-1)]
    kept = (same == np.arange(count)) | (group == group[same])
    same = np.where(kept, np.arange(count), same)
    return (np.cumsum(kept) - 1)[same], kept


def _version_2(file: Sections) -> tuple[Nodes, list[GmshBlock]]:
    """Return numbers and positions of the nodes, and the elements."""
    file.begin("Nodes")
    numbers, points = file.record([("int", 1), ("float", 3)], file.count())
    file.begin("Elements")
    runs: list[tuple[int, list[list[int]]]] = []
    for kind, rows in _rows_in_binary(file) if file.is_binary else _rows_in_text(file):
        if not runs or runs[-1][0] != kind:
            runs.append((kind, []))
        runs[-1][1].extend(rows)
    return (numbers.reshape(-1), points), [_block(kind, np.array(rows)) for kind, rows in runs]


def _block(kind: int, rows: Integers) -> GmshBlock:
    """Return elements from rows that have the physical group (0 for no group) and nodes."""
    groups = tuple((int(group), np.flatnonzero(rows[:, 0] == group)) for group in np.unique(rows[:, 0]))
    return GmshBlock(_CELLS[kind][0], rows[:, 1:], groups)


def _rows_in_binary(file: Sections) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield the type of several elements, and physical group and nodes of each."""
    left = file.count()
    while left > 0:
        kind, many, tags = file.take("int", 3).tolist()
        if many < 1 or tags < 0:
            raise ValueError("a block of its elements is empty")
        rows = file.take("int", many * (1 + tags + _nodes_of(kind))).reshape(many, -1).tolist()
        yield kind, [[row[1] if tags else 0, *row[1 + tags :]] for row in rows]
        left -= many


def _rows_in_text(file: Sections) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield the type of an element, and its physical group and nodes."""
    count = file.count()
    values = file.rest()
    place = 0
    for _ in range(count):
        if place + 3 > len(values):
            raise ValueError(f"it breaks off: one of its {count} elements is missing")
        tag, kind, tags = values[place : place + 3]
        first = place + 3 + max(tags, 0)
        place = first + _nodes_of(kind)
        if place > len(values):
            raise ValueError(f"it breaks off: nodes of element {tag} are missing")
        yield kind, [[values[first - tags] if tags > 0 else 0, *values[first:place]]]


def _version_4(file: Sections) -> tuple[Nodes, list[GmshBlock]]:
    """Return numbers and positions of the nodes, and the elements; for versions 4.0, which Gmsh calls 4, and 4.1."""
    is_first = file.version != "4.1"
    groups = _physical_groups(file, is_first)
    file.begin("Nodes")
    numbers, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for _ in range(file.take("size", 2 if is_first else 4).tolist()[0]):
        ends = file.take("int", 3).tolist()
        dimension, is_parametric, count = ends[1 if is_first else 0], ends[2], int(file.take("size", 1)[0])
        width = 3 + (dimension if is_parametric else 0)
        if is_first:
            number, place = file.record([("int", 1), ("float", width)], count)
        else:
            number = file.take("size", count)
            place = file.take("float", width * count).reshape(count, width)
        numbers.append(number.reshape(-1))
        points.append(place[:, :3])
    file.begin("Elements")
    blocks = []
    for _ in range(file.take("size", 2 if is_first else 4).tolist()[0]):
        one, other, kind = file.take("int", 3).tolist()
        entity = (other, one) if is_first else (one, other)
        count, nodes = int(file.take("size", 1)[0]), _nodes_of(kind)
        table = file.take("int" if is_first else "size", count * (1 + nodes)).reshape(count, 1 + nodes)
        own = tuple((group, np.arange(count)) for group in groups.get(entity, ()))
        blocks.append(GmshBlock(_CELLS[kind][0], table[:, 1:], own))
    return (np.concatenate(numbers), np.concatenate(points)), blocks


def _physical_groups(file: Sections, is_first: bool) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the physical groups of each entity, by dimension and number; includes parts of partitioned entities."""
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for section in ("Entities", "PartitionedEntities"):
        if not file.has(section):
            continue
        file.begin(section)
        is_part = section == "PartitionedEntities"
        if is_part:
            file.take("size", 1)
            file.take("int", 2 * int(file.take("size", 1)[0]))
        for dimension, count in enumerate(file.take("size", 4).tolist()):
            for _ in range(count):
                entity = int(file.take("int", 3 if is_part else 1)[0])
                if is_part:
                    file.take("int", int(file.take("size", 1)[0]))
                file.take("float", 6 if dimension or is_first else 3)
                found[dimension, entity] = tuple(file.take("int", int(file.take("size", 1)[0])).tolist())
                if dimension:
                    file.take("int", int(file.take("size", 1)[0]))
    return found


def _nodes_of(kind: int) -> int:
    if kind not in _CELLS:
        raise ValueError(f"it has elements of the kind {kind} of Gmsh, of which nothing is known")
    return _CELLS[kind][1]

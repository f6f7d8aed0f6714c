"""Files of Gmsh in all versions: a cube of triangles, with edges, points and tetrahedra beside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from helpers.odd_meshes import CORNERS, TRIANGLES

NUMBERS = [17, 5, 40, 8, 9, 100, 23, 3]
"""Numbers of the nodes: neither numbered through nor rising."""

NAMES = '$PhysicalNames\n4\n1 5 "wall"\n2 7 "lid of box"\n2 9 "wall"\n3 3 "wall"\n$EndPhysicalNames\n'
TETRAHEDRA = [(0, 1, 2, 4), (1, 2, 3, 7)]
SURFACES = [(1, TRIANGLES[:2], (7,)), (2, TRIANGLES[2:10], (9,)), (3, TRIANGLES[10:], (9, 11)), (4, [], ())]
"""Number, triangles and physical groups of each surface."""


class Way(NamedTuple):
    """How a file is written: its version, whether it is binary, the order of bytes, and the size of sizes."""

    version: str
    binary: bool = False
    order: str = "<"
    size: int = 8

    def numbers(self, kind: str, *values: float) -> bytes:
        """Return numbers as bytes or as text."""
        if not self.binary:
            return (" ".join(map(repr, values)) + "\n").encode() if values else b""
        dtype = {"int": "i4", "size": f"u{self.size}", "float": "f8"}[kind]
        return np.array(values, self.order + dtype).tobytes()


def section(name: str, content: bytes) -> bytes:
    return f"${name}\n".encode() + content + (b"" if content.endswith(b"\n") else b"\n") + f"$End{name}\n".encode()


def head(way: Way) -> bytes:
    one = np.array(1, way.order + "i4").tobytes() + b"\n" if way.binary else b""
    return section("MeshFormat", f"{way.version} {int(way.binary)} {way.size}\n".encode() + one)


def cube(way: Way, *, names: str = NAMES, parts: bool = False) -> bytes:
    """Return a file; `parts` says that its entities are those of a partition."""
    body = _version_2(way) if way.version.startswith("2") else _version_4(way, parts)
    return head(way) + names.encode() + body


def nodes(facet: tuple[int, ...]) -> list[int]:
    return [NUMBERS[corner] for corner in facet]


def _version_2(way: Way) -> bytes:
    """Elements of two groups are listed twice, as Gmsh does, and have numbers of their own."""
    places = b"".join(
        way.numbers("int", number) + way.numbers("float", *map(float, place))
        if way.binary
        else f"{number} {' '.join(map(repr, place.tolist()))}\n".encode()
        for number, place in zip(NUMBERS, CORNERS, strict=True)
    )
    rows = [(15, 0, 1, (0,)), (1, 5, 1, (0, 1)), (1, 5, 2, (1, 3))]
    rows += [(2, group, tag, facet) for tag, facets, groups in SURFACES for group in groups for facet in facets]
    rows += [(4, 3, 1, cell) for cell in TETRAHEDRA]
    elements = b""
    for number, (kind, group, entity, cell) in enumerate(rows, 1):
        if way.binary:
            elements += way.numbers("int", kind, 1, 2) + way.numbers("int", number, group, entity, *nodes(cell))
        else:
            elements += way.numbers("int", number, kind, 2, group, entity, *nodes(cell))
    return section("Nodes", b"8\n" + places) + section("Elements", f"{len(rows)}\n".encode() + elements)


def _entities(way: Way, parts: bool) -> bytes:
    """Points, curves, surfaces and volumes with their physical groups."""
    by_dimension = [[(1, ())], [(1, (5,))], [(tag, groups) for tag, _, groups in SURFACES], [(1, (3,))]]
    content = way.numbers("size", 3) + way.numbers("size", 1) + way.numbers("int", 1, 1) if parts else b""
    content += way.numbers("size", *map(len, by_dimension))
    for dimension, entities in enumerate(by_dimension):
        for tag, groups in entities:
            content += way.numbers("int", tag)
            if parts:
                content += way.numbers("int", dimension, tag) + way.numbers("size", 2) + way.numbers("int", 1, 2)
            content += way.numbers("float", *[0.0] * (3 if dimension == 0 and way.version == "4.1" else 6))
            content += way.numbers("size", len(groups)) + way.numbers("int", *groups)
            if dimension:
                content += way.numbers("size", 2) + way.numbers("int", 1, -2)
    return section("PartitionedEntities" if parts else "Entities", content)


def _version_4(way: Way, parts: bool) -> bytes:
    is_first = way.version != "4.1"
    places = way.numbers("size", 2, 8) if is_first else way.numbers("size", 2, 8, 3, 100)
    for dimension, some in ((0, range(3)), (2, range(3, 8))):  # the second one with two parameters
        places += way.numbers("int", *((1, dimension) if is_first else (dimension, 1)), int(dimension == 2))
        places += way.numbers("size", len(some))
        rows = [[*CORNERS[k].tolist(), *[0.25] * dimension] for k in some]
        if is_first:
            lines = [way.numbers("int", NUMBERS[k]).rstrip(b"\n") for k in some]
            if way.binary:
                lines = [way.numbers("int", NUMBERS[k]) for k in some]
            places += b"".join(
                line + (b"" if way.binary else b" ") + way.numbers("float", *row)
                for line, row in zip(lines, rows, strict=True)
            )
        else:
            places += b"".join(way.numbers("size", NUMBERS[k]) for k in some)
            places += b"".join(way.numbers("float", *row) for row in rows)
    blocks = [(0, 1, 15, [(0,)]), (1, 1, 1, [(0, 1), (1, 3)])]
    blocks += [(2, tag, 2, facets) for tag, facets, _ in SURFACES] + [(3, 1, 4, TETRAHEDRA)]
    count = sum(len(cells) for *_, cells in blocks)
    elements = way.numbers("size", *((len(blocks), count) if is_first else (len(blocks), count, 1, count)))
    number = 0
    for dimension, tag, kind, cells in blocks:
        elements += way.numbers("int", *((tag, dimension) if is_first else (dimension, tag)), kind)
        elements += way.numbers("size", len(cells))
        for cell in cells:
            number += 1
            elements += way.numbers("int" if is_first else "size", number, *nodes(cell))
    return _entities(way, parts) + section("Nodes", places) + section("Elements", elements)

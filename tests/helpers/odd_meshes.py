"""Files of a unit cube as programs write them, valid and not, and what is to be made of each."""

from __future__ import annotations

import itertools
import struct

import numpy as np

CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = [(a, *pair) for a, b, c, d in QUADS for pair in ((b, c), (c, d))]
NAME = "G\u00e4hnende Leere"


def stl(facets=TRIANGLES, *, name="cube", form="{:.6e}", normal="facet normal 0 0 0", end="endsolid cube", blank=" "):
    """Return a text STL; `blank` is between the numbers."""
    lines = [f"solid {name}".rstrip()]
    for facet in facets:
        corners = [f"   vertex{blank}{blank.join(form.format(x) for x in CORNERS[v])}" for v in facet]
        lines += [f" {normal}", "  outer loop", *corners, "  endloop", " endfacet"]
    return "\n".join([*lines, end]) + "\n"


def binary_stl(header=b"", *, count=12, attribute=0):
    """Return a binary STL that says to have so many facets."""
    facets = (struct.pack("<12fH", 0, 0, 0, *CORNERS[list(loop)].ravel(), attribute) for loop in TRIANGLES)
    return header.ljust(80)[:80] + struct.pack("<I", count) + b"".join(facets)


def face(facet, first=1, behind=""):
    """Return the line of a face of an OBJ file."""
    return "f " + " ".join(f"{corner + first}{behind}" for corner in facet) + "\n"


def ply(head="ply\n", *, form="ascii", places="float", lists="list uchar int vertex_indices", more=""):
    """Return a PLY file of text."""
    axes = "".join(f"property {places} {axis}\n" for axis in "xyz")
    body = "".join("{:g} {:g} {:g}\n".format(*corner) for corner in CORNERS)
    faces = "".join(f"{len(facet)} {' '.join(map(str, facet))}\n" for facet in TRIANGLES)
    elements = f"element vertex 8\n{axes}element face 12\nproperty {lists}\n"
    return f"{head}format {form} 1.0\n{more}{elements}end_header\n{body}{faces}"


def binary_ply(order, places, width, count):
    """Return a binary PLY file whose faces begin with a number of `width`."""
    sign, kind = {"little": "<", "big": ">"}[order], {"float": "f4", "double": "f8"}[places]
    head = ply(form=f"binary_{order}_endian", places=places, lists=f"list {width} {count} vertex_index")
    sizes, numbers = {"uchar": "u1", "int": "i4"}[width], {"int": "i4", "uint": "u4", "ushort": "u2"}[count]
    faces = b"".join(
        np.array(3, sign + sizes).tobytes() + np.array(facet, sign + numbers).tobytes() for facet in TRIANGLES
    )
    return head.partition("end_header\n")[0].encode() + b"end_header\n" + CORNERS.astype(sign + kind).tobytes() + faces


def vtk(kind="POLYDATA", *, facets=QUADS, cells="", types=(), title="a cube"):
    """Return a legacy VTK file of text."""
    points = "".join("{:g} {:g} {:g}\n".format(*corner) for corner in CORNERS)
    rows = "".join(f"{len(facet)} {' '.join(map(str, facet))}\n" for facet in facets) + cells
    sizes = f"{rows.count(chr(10))} {len(rows.split())}"
    word = {"POLYDATA": "POLYGONS", "UNSTRUCTURED_GRID": "CELLS"}[kind]
    numbers = f"CELL_TYPES {len(types)}\n{' '.join(map(str, types))}\n" if types else ""
    head = f"# vtk DataFile Version 3.0\n{title}\nASCII\nDATASET {kind}\n"
    return f"{head}POINTS 8 float\n{points}{word} {sizes}\n{rows}{numbers}"


TEXT = stl()
PLACES = "".join("v {:g} {:g} {:g}\n".format(*corner) for corner in CORNERS)
FACES = "".join(map(face, TRIANGLES))
OBJ = PLACES + FACES
INTERLEAVED = "".join(
    "".join("v {:g} {:g} {:g}\n".format(*CORNERS[v]) for v in facet) + "f -3 -2 -1\n" for facet in TRIANGLES
)
TETRA = "4 0 1 2 4\n"

RIGHT: dict[str, str | bytes] = {
    "plain.stl": TEXT,
    "crlf.stl": TEXT.replace("\n", "\r\n"),
    "cr.stl": TEXT.replace("\n", "\r"),
    "upper.stl": TEXT.upper(),
    "UPPER.STL": TEXT,
    "end-loop.stl": TEXT.replace("endloop", "end loop").replace("endfacet", "end facet"),
    "end-solid.stl": TEXT.replace("endsolid", "end solid"),
    "marked.stl": "\ufeff" + TEXT,
    "utf-16.stl": TEXT.encode("utf-16"),
    "utf-16-be.stl": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "empty-name.stl": stl(name="", end="endsolid"),
    "ascii-name.stl": stl(name="ASCII export vertex-cache"),
    "vertex-name.stl": stl(name="convex_vertex_part", end="endsolid convex_vertex_part"),
    "vertex-numbers-name.stl": stl(name="vertex 1 2 3"),
    "facet-name.stl": stl(name="facet normal outer loop", end="endsolid facet normal outer loop"),
    "latin.stl": stl(name=NAME).encode("latin-1"),
    "blank-first.stl": "\n\n" + TEXT,
    "comment-first.stl": "# made by hand\n" + TEXT + "// the end\n",
    "tabs.stl": stl(blank="\t"),
    "one-line.stl": " ".join(TEXT.split()) + "\n",
    "long-exponents.stl": TEXT.replace("e+00", "e+000"),
    "fortran.stl": TEXT.replace("e+00", "D+00"),
    "nan-normal.stl": stl(normal="facet normal -nan(ind) nan 1.#QNAN"),
    "no-normal.stl": stl(normal="facet"),
    "quads.stl": stl(QUADS),
    "no-last-newline.stl": TEXT.rstrip(),
    "colours.stl": TEXT.replace(" facet normal", " color 0.5 0.5 0.5\n facet normal"),
    "mit leerzeichen \u00fc\u00df.stl": TEXT,
    "binary.stl": binary_stl(),
    "binary-solid.stl": binary_stl(b"solid created by SolidWorks"),
    "binary-solid-behind.stl": binary_stl(b"solid created by SolidWorks") + b"\0\0",
    "binary-behind.stl": binary_stl(b"abc") + bytes(10),
    "binary-count-0.stl": binary_stl(b"streamed", count=0),
    "binary-colours.stl": binary_stl(b"COLOR=rgba", attribute=0x8421),
    "plain.obj": OBJ,
    "quads.obj": PLACES + "".join(map(face, QUADS)),
    "tabs.obj": OBJ.replace(" ", "\t"),
    "tab-behind-v.obj": OBJ.replace("v ", "v\t").replace("f ", "f\t \t"),
    "blanks.obj": OBJ.replace(" ", "   "),
    "indented.obj": "  " + OBJ.replace("\n", "\n\t"),
    "crlf.obj": OBJ.replace("\n", "\r\n"),
    "cr.obj": OBJ.replace("\n", "\r"),
    "marked.obj": "\ufeff" + OBJ,
    "utf-16.obj": OBJ.encode("utf-16"),
    "upper.obj": OBJ.upper(),
    "fortran.obj": PLACES.replace(" 1", " 1D0") + FACES,
    "negative-at-end.obj": PLACES + "".join(face(facet, -8) for facet in TRIANGLES),
    "negative-between.obj": INTERLEAVED,
    "colours.obj": PLACES.replace("\n", " 0.1 0.2 0.3\n") + FACES,
    "some-colours.obj": PLACES.replace("1\n", "1 0.1 0.2 0.3\n") + FACES,
    "weights.obj": PLACES.replace("\n", " 1.0\n") + FACES,
    "slashes.obj": PLACES + "vn 0 0 1\nvt 0 0\n" + "".join(face(facet, 1, "/1/1") for facet in TRIANGLES),
    "double-slashes.obj": PLACES + "vn 0 0 1\n" + "".join(face(facet, 1, "//1") for facet in TRIANGLES),
    "continued.obj": PLACES + FACES.replace("f 1 ", "f \\\n1 "),
    "continued-crlf.obj": (PLACES + FACES.replace("f 1 ", "f \\\n1 ")).replace("\n", "\r\n"),
    "comment-ends-in-backslash.obj": "# by C:\\CAD\\\n" + OBJ,
    "folder-ends-in-backslash.obj": "mtllib C:\\CAD\\\n" + OBJ,
    "faces-first.obj": FACES + PLACES,
    "lines-and-points.obj": OBJ + "l 1 2\np 1\n",
    "two-corners.obj": OBJ + "f 1 2\n",
    "remarks.obj": OBJ.replace("\n", " # remark\n"),
    "groups.obj": "mtllib a.mtl\n" + PLACES + "g lid\nusemtl x\ns off\n" + FACES[:80] + "g body side\n" + FACES[80:],
    "number-sign-in-name.obj": PLACES + "o part#1\n" + FACES,
    "free-form.obj": PLACES + "cstype bspline\ndeg 2\ncurv 0 1 1 2 3\nend\n" + FACES,
    "unknown.obj": "cube by nobody\n" + OBJ,
    "plain.ply": ply(),
    "marked.ply": "\ufeff" + ply(),
    "utf-16.ply": ply().encode("utf-16"),
    "crlf.ply": ply().replace("\n", "\r\n"),
    "cr.ply": ply().replace("\n", "\r"),
    "latin.ply": ply(more=f"comment {NAME}\n").encode("latin-1"),
    "utf-8.ply": ply(more=f"comment {NAME}\n"),
    "vertex-index.ply": ply(lists="list uint8 int32 vertex_index"),
    "double.ply": ply(places="double"),
    "edges.ply": ply().replace("end_header", "element edge 1\nproperty int a\nend_header") + "7\n",
    "little.ply": binary_ply("little", "float", "uchar", "int"),
    "big.ply": binary_ply("big", "double", "int", "uint"),
    "short.ply": binary_ply("little", "double", "uchar", "ushort"),
    "latin-binary.ply": binary_ply("little", "float", "uchar", "int").replace(b"1.0\n", b"1.0\ncomment \xe4\n", 1),
    "plain.vtk": vtk(),
    "marked.vtk": "\ufeff" + vtk(),
    "utf-16.vtk": vtk().encode("utf-16"),
    "crlf.vtk": vtk().replace("\n", "\r\n"),
    "cr.vtk": vtk().replace("\n", "\r"),
    "latin.vtk": vtk(title=NAME).encode("latin-1"),
    "fortran.vtk": vtk().replace("0 0 1\n", "0 0 1D0\n", 1),
    "grid.vtk": vtk("UNSTRUCTURED_GRID", types=[9] * 6),
    "marked-grid.vtk": "\ufeff" + vtk("UNSTRUCTURED_GRID", types=[7] * 6),
    "pixels.vtk": vtk("UNSTRUCTURED_GRID", facets=[(a, b, d, c) for a, b, c, d in QUADS], types=[8] * 6),
    "volumes.vtk": vtk("UNSTRUCTURED_GRID", types=[9] * 6 + [10], cells=TETRA),
    "strips.vtk": vtk("UNSTRUCTURED_GRID", facets=[(a, b, d, c) for a, b, c, d in QUADS], types=[6] * 6),
}  # fmt: skip
"""Files of all of the cube, by their names."""

TWICE = {
    "two-solids.stl": stl(name="a") + stl(name="b"),
    "same-names.stl": stl(name="a") + stl(name="a"),
    "no-end-between.stl": stl(name="a", end="") + stl(name="b"),
}
"""Files that have the cube twice."""

WRONG: dict[str, tuple[str | bytes, str]] = {
    "no-end.stl": (stl(end=""), 'it breaks off after 12 facets: the end of solid "cube" is missing; if it is whole'),
    "torn.stl": (TEXT[: len(TEXT) // 2], "it breaks off after 6 facets"),
    "no-number.stl": (TEXT.replace("1.000000e+00", "l.000000e+00", 1), 'line 5: "l.000000e+00" is not a number'),
    "two-numbers.stl": (stl(form="{:g}").replace("0 0 1\n", "0 1\n", 1), 'line 5: "vertex 0 1" is no part of a whole'),
    "word.stl": (TEXT.replace("outer", "oter", 1), 'line 3: "oter loop" is no part of a whole facet'),
    "decimal-commas.stl": (stl(form="{:.6f}").replace(".", ","), 'line 4: "0,000000" is not a number; decimals are'),
    "no-solid.stl": (TEXT.partition("\n")[2], 'line 1 is "facet normal 0 0 0"; an STL begins with'),
    "infinite.stl": (TEXT.replace("1.000000e+00", "inf"), "coordinates must be finite"),
    "binary-short.stl": (binary_stl(b"x")[:-20], "it has 664 bytes, and a binary STL of the 12 facets"),
    "binary-solid-short.stl": (binary_stl(b"solid x")[:-20], "it has 664 bytes, and a binary STL of the 12 facets"),
    "binary-more.stl": (binary_stl(count=11), "the 11 facets that its header counts has 634: it breaks off"),
    "binary-head.stl": (binary_stl()[:50] + b"\0", "it has 51 bytes"),
    "empty.stl": ("solid Empty\nendsolid Empty", "holds no facets"),
    "binary-empty.stl": (binary_stl(count=0)[:84], "holds no facets"),
    "page.stl": ("<!DOCTYPE html>\n<html><body>404: Not Found</body></html>\n", "is a web page (HTML) and"),
    "pointer.stl": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "'git lfs pull'"),
    "pointer.ply": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "'git lfs pull'"),
    "zero-based.obj": (INTERLEAVED.replace("f -3 -2 -1", "f 0 1 2"), 'vertex 0 of "f 0 1 2"; OBJ counts vertices from'),
    "out-of-range.obj": (OBJ + "f 1 2 99\n", 'vertex 99 of "f 1 2 99"; the file has 8 vertices'),
    "too-far-back.obj": (OBJ + "f 1 2 -9\n", "the file has 8 vertices, 8 of them before this line"),
    "real-index.obj": (OBJ.replace("f 1 ", "f 1.0 ", 1), 'line 9: "1.0" is no number of a vertex: they are whole'),
    "word-index.obj": (OBJ.replace("f 1 ", "f l ", 1), 'line 9: "l" is no number of a vertex'),
    "joined-lines.obj": (OBJ.replace("\nf 1 4", " g lid\nf 1 4", 1), 'line 9: "g" is no number of a vertex'),
    "decimal-commas.obj": (OBJ.replace("v 0 ", "v 0,5 "), 'line 1: "0,5" is not a number; decimals are written'),
    "two-numbers.obj": (OBJ.replace("v 0 0 0", "v 0 0"), 'line 1: "v 0 0" is no vertex: 3 coordinates are needed'),
    "compiled.obj": (b"L\1\4\0" + bytes(range(256)), "is no text"),
    "points.obj": (PLACES, "holds no facets"),
    "prose.obj": ("No mesh.\nNone at all.\n", '2 lines were not understood and left out (first: line 1, "no mesh.")'),
    "points.ply": (ply().replace("element face 12", "element face 0"), "holds no facets"),
    "no-z.ply": (ply().replace("property float z", "property float w"), "it has no element vertex with x, y and z"),
    "no-list.ply": (ply(lists="list uchar int corners"), "have no list vertex_indices or vertex_index, but corners"),
    "decimal-commas.ply": (ply().replace("0 0 1\n", "0 0 0,5\n", 1), "cannot be read"),
    "torn.ply": (ply()[:-20], "cannot be read"),
    "decimal-commas.vtk": (vtk().replace("0 0 1\n", "0 0 0,5\n", 1), '"0,5" is not a number; decimals are'),
    "torn.vtk": (vtk()[:-20], "it breaks off"),
    "volumes-alone.vtk": (vtk("UNSTRUCTURED_GRID", facets=[(0, 1, 2, 4)], types=[10]), "1 tetra cells; walls are"),
    "curved.vtk": (vtk("UNSTRUCTURED_GRID", facets=[(0, 1, 2, 3, 4, 5)], types=[22]), "1 triangle6 cells; facets"),
}  # fmt: skip
"""Files that are refused, and words of the message."""

SAID = {
    "quads.stl": "6 facets have up to 4 corners, where STL has three",
    "binary-solid-behind.stl": "2 bytes behind its 12 facets were left out",
    "binary-behind.stl": "10 bytes behind its 12 facets were left out",
    "binary-count-0.stl": "its header counts no facets; all 12 that follow were read",
    "unknown.obj": '1 lines were not understood and left out (first: line 1, "cube by nobody")',
    "free-form.obj": "4 lines of free-form curves and surfaces were left out",
    "lines-and-points.obj": "1 line cells of the file are no surface and were left out",
    "two-corners.obj": "1 facets have fewer than three distinct corners",
    "edges.ply": "1 edge cells of the file are no surface and were left out",
    "volumes.vtk": "1 tetra cells of the file are no surface and were left out",
}
"""What is told of files that are read."""

"""Surfaces in files of Gmsh: facets beside volumes, groups by name and number, all versions, text and binary."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.msh_files import NAMES, Way, cube, section
from helpers.odd_meshes import TRIANGLES
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import MeshError

WAYS = [
    *(Way(version) for version in ("2", "2.2", "4", "4.1")),
    *(Way(version, binary=True) for version in ("2.2", "4", "4.0", "4.1")),
    *(Way(version, binary=True, order=">") for version in ("2.2", "4", "4.1")),
    Way("4.1", binary=True, size=4),
]


def read(folder, content, group=None):
    path = folder / "cube.msh"
    path.write_bytes(content)
    return Mesh.read(path, group=group)


@pytest.mark.parametrize("way", WAYS)
def test_a_surface_is_read_beside_volumes(tmp_path, way):
    mesh = read(tmp_path, cube(way))
    report = mesh.report()
    assert (mesh.facet_count, report.area, report.volume, report.duplicated_facets) == (12, 6.0, 1.0, 0)
    assert sorted(report.passed_over) == [("line", 2), ("tetra", 2), ("vertex", 1)]
    assert report.groups == ("lid of box", "wall", "11")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("group", "facets"),
    [
        ("lid of box", TRIANGLES[:2]),
        ("7", TRIANGLES[:2]),
        ("wall", TRIANGLES[2:]),
        ("9", TRIANGLES[2:]),
        ("11", TRIANGLES[10:]),
    ],
)
def test_groups_are_read_by_name_and_number(tmp_path, way, group, facets):
    """Names of curves and volumes are others, though they may be the same."""
    mesh = read(tmp_path, cube(way), group)
    assert mesh.facet_count == len(facets)
    whole = read(tmp_path, cube(way))
    for facet, corners in enumerate(facets):
        first = TRIANGLES.index(corners)
        np.testing.assert_array_equal(
            np.sort(mesh.vertices[mesh.loop(facet)], axis=0), np.sort(whole.vertices[whole.loop(first)], axis=0)
        )


@pytest.mark.parametrize("way", WAYS)
def test_groups_without_names_have_their_numbers(tmp_path, way):
    assert read(tmp_path, cube(way, names="")).report().groups == ("7", "9", "11")
    assert read(tmp_path, cube(way, names=""), 7).facet_count == 2
    with pytest.raises(MeshError, match="no group '5'; give one of '7', '9', '11'"):
        read(tmp_path, cube(way, names=""), "5")
    names = NAMES.replace('2 9 "wall"', '2 9 "lid of box"')  # two numbers, one name
    assert read(tmp_path, cube(way, names=names), "lid of box").facet_count == 12
    names = NAMES.replace('2 9 "wall"', '2 9 "7"')  # a name that is the number of another
    assert read(tmp_path, cube(way, names=names), "7").facet_count == 10


def test_parts_of_a_partition_are_in_the_groups_of_their_parents(tmp_path):
    for way in (Way("4.1"), Way("4.1", binary=True)):
        assert read(tmp_path, cube(way, parts=True), "lid of box").facet_count == 2


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")])
@pytest.mark.parametrize("way", [Way("2.2"), Way("4.1")])
def test_text_of_windows_is_read(tmp_path, way, change):
    content = cube(way, names=NAMES.replace("lid of box", "Geh\u00e4use")).decode()
    for encoding in ("utf-8", "utf-16", "latin-1"):
        changed = change(content)
        if encoding == "latin-1":
            changed = changed.removeprefix("\ufeff")
        assert read(tmp_path, changed.encode(encoding), "Geh\u00e4use").facet_count == 2


def test_other_sections_and_comments_are_passed_over(tmp_path):
    for way in (Way("2.2"), Way("4.1", binary=True)):
        content = section("Comments", b"made by hand\n$Nodes are below\n") + cube(way)
        content += section("NodeData", b'1\n"T"\n1\n0.0\n3\n0\n1\n1\n3 5.0\n')
        assert read(tmp_path, content).facet_count == 12


@pytest.mark.parametrize("way", WAYS)
def test_torn_files_are_refused(tmp_path, way):
    whole = cube(way)
    for length in range(0, len(whole) - 12, max(len(whole) // 60, 1)):
        with pytest.raises(MeshError, match=r"cube\.msh: ") as caught:
            read(tmp_path, whole[:length])
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (cube(Way("2.2")).replace(b"3 1.0 1.0 1.0", b"4 1.0 1.0 1.0"), "an element has the node 3, which is not among"),
        (cube(Way("2.2")).replace(b"\n1 15 2", b"\n1 34 2"), "it has elements of the kind 34 of Gmsh"),
        (cube(Way("2.2")).replace(b"Nodes", b"ParametricNodes"), "save it with Mesh.SaveParametric = 0"),
        (cube(Way("4.1")).replace(b"$Elements", b"$Element"), r"\$Element has no \$EndElement|no section \$Elements"),
        (cube(Way("2.2")).replace(b"17 0.0 0.0", b"17 0,0 0.0"), '"0,0" is not a number; decimals are written'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(tmp_path, content, message):
    with pytest.raises(MeshError, match=message):
        read(tmp_path, content)


def test_curved_facets_and_volumes_alone_are_refused(tmp_path):
    text = cube(Way("2.2"), names="").decode()
    lines = text.split("\n")
    kept = [line for line in lines if len(line.split()) < 6 or line.split()[1] not in ("2", "4") or "." in line]
    only = [line for line in lines if len(line.split()) < 6 or line.split()[1] != "2" or "." in line]
    only[only.index("$Elements") + 1] = str(len(only) - only.index("$Elements") - 4)
    with pytest.raises(MeshError, match="holds 2 tetra cells; walls are surfaces: export those, too"):
        read(tmp_path, "\n".join(only).encode())
    kept[kept.index("$Elements") + 1] = str(len(kept) - kept.index("$Elements") - 3)
    kept.insert(kept.index("$EndElements"), "99 9 2 7 1 17 5 40 8 9 100")
    with pytest.raises(MeshError, match="holds 1 triangle6 cells; facets are planar"):
        read(tmp_path, "\n".join(kept).encode())

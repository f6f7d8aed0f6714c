"""Shapes in files as other programs write them are read as they are, and become clusters of a case."""

from __future__ import annotations

import io

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.clusters import cluster, document
from pdem.case.groups.shapes import shape_masses, shape_of
from pdem.containers.sphere_lists import read_spheres
from pdem.containers.sphere_union import union_of_spheres

GRAIN = np.array([
    [0.0021, -0.0004, 0.0, 0.0018], [-0.0007, 0.0009, 0.0003, 0.0021], [-0.0025, -0.0006, -0.0002, 0.0012],
    [0.00035, 0.0, 0.0016, 0.00094],
])  # fmt: skip


def numpy_text(table, **options):
    """Return what numpy's savetxt writes, as the Python versions of CLUMP and multisphere do."""
    text = io.StringIO()
    np.savetxt(text, table, delimiter=",", **options)
    return text.getvalue()


def vtk_text(table):
    """Return points with radii as multisphere writes them."""
    count = len(table)
    points = "".join(" ".join(map(str, row[:3].tolist())) + "\n" for row in table)
    cells = "".join(f"1 {number}\n" for number in range(count))
    radii = "".join(f"{radius}\n" for radius in table[:, 3].tolist())
    return (
        f"# vtk DataFile Version 3.0\nsphere centres\nASCII\nDATASET POLYDATA\nPOINTS {count} float\n{points}"
        f"VERTICES {count} {2 * count}\n{cells}POINT_DATA {count}\nSCALARS radius float 1\n"
        f"LOOKUP_TABLE default\n{radii}"
    )


def kratos_text(table, digits=6):
    """Return a cluster as the mesh converter of Kratos writes it: a stream of C++, names, blank lines, moments."""
    solid = union_of_spheres(table[:, :3], table[:, 3])
    moments = np.linalg.eigvalsh(solid.inertia) / solid.volume
    rows = "".join(" ".join(f"{value:.{digits}g}" for value in row) + "\n" for row in table)
    size = float(np.ptp(table[:, :3], axis=0).max() + 2.0 * table[:, 3].max())
    inertia = "".join(f"{value:.{digits}g}\n" for value in moments)
    return (
        '//\n//   Cluster Name: "grain"\n//   Author: Somebody Else\n//   Date:   2016-10-26\n//\n\n'
        f"Name\ngrain\n\nBegin centers_and_radii\n{rows}End centers_and_radii\n\n"
        f"Particle_center_and_diameter\n0 0 0 {size:.6g}\n\nSize\n{size:.6g}\n\nVolume\n{solid.volume:.{digits}g}\n\n"
        f"Inertia per unit mass\n{inertia}"
    )


def centred(table):
    """Return the spheres about the centre of mass, along the principal axes, as files of Kratos have them."""
    solid = union_of_spheres(table[:, :3], table[:, 3])
    axes = np.linalg.eigh(solid.inertia)[1]
    axes[:, 2] *= np.linalg.det(axes)
    return np.column_stack(((table[:, :3] - solid.centre) @ axes, table[:, 3]))


FILES = {
    "kratos.clu": lambda: kratos_text(centred(GRAIN), 12),
    "liggghts.txt": lambda: "".join("  ".join(f"{value:.12g}" for value in row) + "\n" for row in GRAIN),
    "multisphere.csv": lambda: numpy_text(GRAIN, header="x,y,z,radius", comments=""),
    "multisphere.vtk": lambda: vtk_text(GRAIN),
    "clump_python.txt": lambda: numpy_text(GRAIN),
    "clump_matlab.txt": lambda: "\r\n".join(",".join(f"{value:.15g}" for value in row) for row in GRAIN),
    "yade.txt": lambda: "#format x_y_z_r_matId\n" + "".join("\t".join(map(str, (*row, 0))) + "\n" for row in GRAIN),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_program_is_a_shape_as_it_is(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name]().encode())
    expected = union_of_spheres(GRAIN[:, :3], GRAIN[:, 3])
    case = pdem.Case.from_text(
        tomli_w.dumps(document([cluster("grain", (0.0, 0.0, 0.0))], {"grain": {"file": name}})), tmp_path
    )
    shape = shape_of(case, "grain")
    assert shape.solid.volume == pytest.approx(expected.volume, rel=1e-9)
    moments = np.linalg.eigvalsh(expected.inertia)
    np.testing.assert_allclose(shape.moments, moments, rtol=1e-8)
    np.testing.assert_allclose(np.sort(shape.radius), np.sort(GRAIN[:, 3]), rtol=1e-11)
    if name.endswith(".clu"):
        stated = shape_masses(case, "grain")["file"]
        np.testing.assert_allclose(np.diag(stated.inertia), moments, rtol=1e-8)


def test_a_name_in_an_older_encoding_does_no_harm(tmp_path):
    path = tmp_path / "grain.clu"
    path.write_bytes(kratos_text(GRAIN).replace("Somebody Else", "Joaqu\u00edn").encode("latin-1"))
    assert len(read_spheres(path).radius) == len(GRAIN)


SPHERES = st.lists(st.tuples(*[st.floats(-2.0, 2.0)] * 3, st.floats(0.1, 1.0)), min_size=1, max_size=12, unique=True)


@given(SPHERES, st.sampled_from([" ", "\t", ", ", ";"]), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=40, deadline=None)
def test_numbers_are_read_to_the_bit_however_they_are_divided(tmp_path_factory, spheres, divider, end):
    table = np.array(spheres)
    path = tmp_path_factory.mktemp("spheres") / "grain.txt"
    path.write_bytes(end.join(divider.join(map(repr, row)) for row in table.tolist()).encode())
    found = read_spheres(path)
    np.testing.assert_array_equal(np.column_stack((found.centre, found.radius)), table)


@given(SPHERES)
@settings(max_examples=25, deadline=None)
def test_mass_properties_are_those_of_lines_through_the_shape(spheres):
    """Counted independently: along a grid of lines the union is intervals, whose moments are sums of powers of ends."""
    table = np.array(spheres)
    found = union_of_spheres(table[:, :3], table[:, 3])
    volume, centre, inertia = moments_by_lines(table, 160)
    size = volume ** (1.0 / 3.0) + np.ptp(table[:, :3], axis=0).max()
    assert found.volume == pytest.approx(volume, rel=4e-3)
    np.testing.assert_allclose(found.centre, centre, atol=4e-3 * size)
    np.testing.assert_allclose(found.inertia, inertia, atol=1e-2 * np.trace(inertia))


def moments_by_lines(table, count):
    """Return volume, centre and inertia of a union by lines along z through the middles of cells of a grid."""
    lower = (table[:, :2] - table[:, 3:]).min(axis=0)
    width = ((table[:, :2] + table[:, 3:]).max(axis=0) - lower) / count
    x, y = (lower[axis] + width[axis] * (np.arange(count) + 0.5) for axis in range(2))
    x, y = (one.ravel() for one in np.meshgrid(x, y))
    square = table[:, 3] ** 2 - (x[:, None] - table[:, 0]) ** 2 - (y[:, None] - table[:, 1]) ** 2
    half = np.sqrt(np.maximum(square, 0.0))
    low = np.where(square > 0.0, table[:, 2] - half, np.inf)
    order = np.argsort(low, axis=1)
    low = np.take_along_axis(low, order, axis=1)
    high = np.take_along_axis(table[:, 2] + half, order, axis=1)
    reached, powers = np.full(len(x), -np.inf), np.zeros((3, len(x)))
    for begin, end in zip(low.T, high.T, strict=True):
        first, last = np.maximum(begin, reached), np.maximum(end, reached)
        some = np.isfinite(begin) & (last > first)
        for power in range(3):
            powers[power, some] += (last[some] ** (power + 1) - first[some] ** (power + 1)) / (power + 1)
        reached = np.where(some, last, reached)
    lengths, first, second = width[0] * width[1] * powers
    volume = lengths.sum()
    centre = np.array([(lengths * x).sum(), (lengths * y).sum(), first.sum()]) / volume
    products = np.array([
        [(lengths * x * x).sum(), (lengths * x * y).sum(), (first * x).sum()],
        [(lengths * x * y).sum(), (lengths * y * y).sum(), (first * y).sum()],
        [(first * x).sum(), (first * y).sum(), second.sum()],
    ])  # fmt: skip
    products -= volume * np.outer(centre, centre)
    return volume, centre, np.trace(products) * np.eye(3) - products


@given(st.floats(0.3, 3.0), st.floats(0.0, 1.0), st.tuples(*[st.floats(-1.0, 1.0)] * 3))
@settings(max_examples=60, deadline=None)
def test_two_spheres_that_overlap_are_two_balls_without_the_caps_that_they_share(ratio, share, direction):
    """Closed form: V = ball(1) + ball(r) - caps, with the plane of the caps at (d^2 + 1 - r^2) / 2d."""
    length = np.linalg.norm(direction)
    unit = np.array(direction) / length if length > 1e-3 else np.array((1.0, 0.0, 0.0))
    distance = abs(1.0 - ratio) + (0.02 + 0.96 * share) * (1.0 + ratio - abs(1.0 - ratio))
    plane = (distance**2 + 1.0 - ratio**2) / (2.0 * distance)
    volume, first, about = caps_together(ratio, distance, plane)
    found = union_of_spheres(np.stack((np.zeros(3), distance * unit)), np.array((1.0, ratio)))
    assert found.volume == pytest.approx(volume, rel=1e-12)
    np.testing.assert_allclose(found.centre, first / volume * unit, atol=1e-12 * (1.0 + distance))
    assert unit @ found.inertia @ unit == pytest.approx(about, rel=1e-11)


def caps_together(ratio, distance, plane):
    """Return volume, first moment along the line of both centres from the first, and moment of inertia about it.

    The slice at u has the square of its radius s = 1 - u^2 before the plane, and r^2 - (u - d)^2 behind it.
    """
    one, two = np.polynomial.Polynomial([1.0, 0.0, -1.0]), np.polynomial.Polynomial([ratio**2, 0.0, -1.0])
    along = np.polynomial.Polynomial([0.0, 1.0])

    def over(function, low, high):
        whole = function.integ()
        return np.pi * (whole(high) - whole(low))

    def parts(first, second):
        return over(first, -1.0, plane) + over(second, plane - distance, ratio)

    return parts(one, two), parts(one * along, two * (along + distance)), parts(one**2 / 2.0, two**2 / 2.0)

"""What can be wrong with the shapes of a case, and what is said of it; mass properties; initial clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import pdem
from helpers.cases import box
from helpers.clusters import ONE, PAIR, RADIUS, ROD, TETRAPOD, cluster, document
from pdem.case.groups.initial import initial_particles
from pdem.case.groups.shapes import shape_masses, shape_of
from pdem.foundation.errors import CaseError, InputError
from pdem.particles.clusters.quaternions import conjugate, product, rotated
from pdem.particles.clusters.shapes import random_orientations
from pdem.preflight.shape_preflight import shape_findings

HERTZ = {"law": "hertz-mindlin", "friction": 0.5, "restitution": 0.5}


def case_of(groups, shapes, folder=".", **more):
    return pdem.Case.from_text(tomli_w.dumps(document(groups, shapes, **more)), folder)


def error_of(groups, shapes, **more):
    with pytest.raises(CaseError) as caught:
        initial_particles(case_of(groups, shapes, **more))
    return str(caught.value)


FILL = {"count": 3, "lower": [-0.1] * 3, "upper": [0.1] * 3}
SPHERES = {"material": "grain", "radius": RADIUS, "fill": FILL}


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ({"spheres": []}, "shapes.rod.spheres"),
        ({"spheres": [[0.0, 0.0, 0.0, 0.0]]}, "shapes.rod.spheres[0][3]"),
        ({"spheres": [[0.0, 0.0, 0.0, -1e-3]]}, "must be greater than 0"),
        ({}, "needs exactly one of spheres and file, has none of them"),
        ({"spheres": ROD, "file": "rod.csv"}, "needs exactly one of spheres and file, has both"),
        ({"file": "stone.stl"}, "most_spheres: is missing; a mesh is filled with at most so many spheres"),
        ({"spheres": ROD, "most_spheres": 3}, "most_spheres = 3: fills a mesh"),
        ({"file": "nowhere.csv"}, "shapes.rod.file: nowhere.csv: cannot be read: No such file or directory"),
        ({"spheres": ROD, "mass_properties": "file"}, 'mass_properties = "file": the shape has none; there are union'),
        ({"spheres": ROD, "mass_properties": {"volume": 1e-9, "inertia": [1.0, 1.0, 3.0, 0.0, 0.0, 0.0]}},
         "belong to no body"),
        ({"spheres": ROD,
          "mass_properties": {"volume": 1e-9, "centre": [0.0, 0.0, 0.1], "inertia": [1.0] * 3 + [0.0] * 3}},
         "mass_properties: the centre of mass [0.0, 0.0, 0.1] m is outside the box around the spheres"),
        ({"spheres": [[math.nan, 0.0, 0.0, 1e-3]]}, "shapes.rod.spheres[0][0] = nan: must be a finite number"),
        ({"spheres": [[0.0, 0.0, 0.0]]}, "has too few entries, at least 4 are needed"),
        ({"spheres": ROD, "scale": 0.0}, "shapes.rod.scale = 0.0: must be greater than 0"),
        ({"spheres": ROD, "mass_properties": "mesh"}, 'mass_properties = "mesh": the shape has none'),
        ({"file": "."}, "cannot be read: Is a directory"),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_refused_with_its_key(shape, text):
    assert text in error_of([cluster("rod", (0, 0, 0))], {"rod": shape})


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (cluster("rode", (0, 0, 0)), "is no shape of the case; did you mean 'rod'?"),
        ({**SPHERES, "orientation": "aligned"}, "has no use: spheres look the same from all sides"),
        (cluster("rod", (0, 0, 0), orientation={"axis": [0.0, 0.0, 0.0], "angle": 3.0}), "has no direction"),
        ({"material": "grain", "shape": "rod", "file": "grains.npz"}, "for clusters give fill or positions"),
    ],
)
def test_a_wrong_use_of_a_shape_is_refused(group, text):
    assert text in error_of([group], {"rod": ROD})


def test_a_cluster_wider_than_half_a_periodic_side_is_refused():
    domain = {"lower": [0.0] * 3, "upper": [0.018, 1.0, 1.0], "periodic": [True, False, False]}
    text = error_of([cluster("rod", (0.01, 0.5, 0.5))], {"rod": ROD}, domain=domain)
    assert "less than two of the largest diameters (0.02 m): widen it" in text


def findings_of(*given, **more):
    return [str(one) for one in shape_findings(case_of(*given, **more)) if one.level != "info"]


def test_what_is_doubtful_about_a_shape_is_said_before_a_run():
    apart = [[0.0, 0.0, 0.0, RADIUS], [0.01, 0.0, 0.0, RADIUS]]
    hidden = [*PAIR, [RADIUS, 0.0, 0.0, 0.5 * RADIUS]]
    shapes = {"apart": apart, "hidden": hidden, "unused": ONE}
    found = findings_of([cluster("apart", (0, 0, 0)), cluster("hidden", (0, 0, 0.1))], shapes)
    assert any("shape apart: the shape is in 2 pieces" in one for one in found)
    assert any("shape hidden: 1 spheres are inside others (sphere 3)" in one for one in found)
    assert any("shape unused: no particles or insertions have it" in one for one in found)
    assert len(found) == 3


def test_a_shape_larger_than_the_domain_is_an_error():
    domain = {"lower": [-0.004] * 3, "upper": [0.004] * 3}
    (text,) = findings_of([cluster("rod", (0, 0, 0))], {"rod": ROD}, domain=domain)
    assert "reaches up to 0.005 m from its centre, and the domain is 0.008 m wide" in text


def test_mass_properties_of_a_file_of_kratos_or_of_its_union(tmp_path):
    (tmp_path / "two.clu").write_text(
        "Name\ntwo\nBegin centers_and_radii\n-0.5 0 0 1\n0.5 0 0 1\nEnd centers_and_radii\nVolume\n7.0\n"
        "Inertia per unit mass\n0.4\n0.8\n0.8\n"
    )
    for rule, volume, inertia in (("union", 2.25 * math.pi, 153.0 / 360.0), ("file", 7.0, 0.4)):
        shape = {"file": "two.clu", "scale": 1e-3, "mass_properties": rule}
        case = case_of([cluster("two", (0, 0, 0))], {"two": shape}, tmp_path)
        made = shape_of(case, "two")
        assert made.solid.volume == pytest.approx(1e-9 * volume, rel=1e-12)
        assert made.moments[0] / made.solid.volume == pytest.approx(1e-6 * inertia, rel=1e-12)
        assert list(shape_masses(case, "two")) == ["union", "sum", "file"]
    assert any("differs by" in one for one in findings_of([cluster("two", (0, 0, 0))], {"two": shape}, tmp_path))


def test_a_file_that_states_what_no_body_has_is_refused_where_that_shall_count(tmp_path):
    text = "Begin centers_and_radii\n-0.5 0 0 1\n0.5 0 0 1\nEnd centers_and_radii\n"
    text += "Volume\n7.0\nInertia\n0.4\n0.8\n1.9\n"
    (tmp_path / "two.clu").write_text(text)
    (tmp_path / "far.clu").write_text(text.replace("1.9", "0.8").replace("-0.5", "5.5").replace("0.5", "5.5"))
    for name, message in (
        ("two", "two.clu: Inertia: principal moments .* belong to no body"),
        ("far", "centre of mass .* is outside"),
    ):
        shape = {"file": f"{name}.clu", "scale": 1e-3, "mass_properties": "file"}
        with pytest.raises(CaseError, match=message):
            shape_of(case_of([cluster("two", (0, 0, 0))], {"two": shape}, tmp_path), "two")
        shape["mass_properties"] = "union"
        assert shape_of(case_of([cluster("two", (0, 0, 0))], {"two": shape}, tmp_path), "two").moments[0] > 0.0


def test_given_moments_that_no_body_has_are_told_as_they_were_given(tmp_path):
    path = tmp_path / "impossible.toml"
    mass = {"volume": 4e-9, "inertia": [1e-6, 1e-6, 3e-6, 0.0, 0.0, 0.0]}
    shapes = {"rod": {"spheres": ROD, "mass_properties": mass}}
    path.write_text(tomli_w.dumps(document([cluster("rod", (0, 0, 0))], shapes)))
    with pytest.raises(CaseError) as caught:
        pdem.Case.read(path)
    assert f"{path}: shapes.rod: mass_properties.inertia: principal moments" in str(caught.value)
    assert "1e-06, 1e-06 and 3e-06 m2" in str(caught.value)


def test_given_mass_properties_that_contradict_the_spheres_are_told():
    mass = {"volume": 1e-6, "inertia": [1e-6, 1e-6, 1e-6, 0.0, 0.0, 0.0]}
    found = findings_of([cluster("rod", (0, 0, 0))], {"rod": {"spheres": ROD, "mass_properties": mass}})
    assert any("the volume as given differs by" in one for one in found)
    assert any("the largest moment over mass as given differs by" in one for one in found)


def test_a_file_that_is_not_flat_is_refused_in_a_plane(tmp_path):
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3, "dimension": 2}
    (tmp_path / "flat.csv").write_text("x,y,z,r\n0,0,0.5,1\n1,0,0.5,1\n")
    (tmp_path / "tilted.csv").write_text("x,y,z,r\n0,0,0,1\n1,0,0.5,1\n")
    cases = [
        case_of([cluster("s", (0, 0, 0))], {"s": {"file": f"{name}.csv", "scale": 1e-3}}, tmp_path, domain=domain)
        for name in ("flat", "tilted")
    ]
    assert len(initial_particles(cases[0])["id"]) == 2
    with pytest.raises(CaseError, match=r"shapes.s: its spheres have z from 0 to 0.0005 m; in a case of dimension 2"):
        initial_particles(cases[1])


def test_a_mesh_is_filled_with_spheres_and_may_give_the_mass(tmp_path):
    box((0.0, 0.0, 0.0), (2.0, 1.0, 1.0)).write(tmp_path / "brick.ply")
    shape = {"file": "brick.ply", "scale": 1e-3, "most_spheres": 12, "mass_properties": "mesh"}
    made = shape_of(case_of([cluster("brick", (0, 0, 0))], {"brick": shape}, tmp_path), "brick")
    assert made.solid.volume == pytest.approx(2e-9, rel=1e-12)
    np.testing.assert_allclose(made.solid.centre, (1e-3, 5e-4, 5e-4), rtol=1e-9)
    assert 2 <= len(made.radius) <= 12


@given(st.integers(0, 2**32), st.integers(1, 3), st.floats(0.5, 3.0))
@settings(max_examples=15, deadline=None)
def test_a_fill_of_clusters_is_apart_whole_and_of_the_asked_size(seed, kinds, factor):
    """Volume-equivalent radii, members that are the turned and scaled shape, ids one after the other."""
    shapes = {"rod": ROD[3:6], "tetrapod": TETRAPOD, "pair": PAIR}
    names = list(shapes)[:kinds]
    groups = [
        {"material": "grain", "shape": name, "radius": factor * RADIUS, "fill": {**FILL, "count": 4, "seed": seed}}
        for name in names
    ]
    case = case_of([*groups, SPHERES], shapes)
    table = initial_particles(case)
    members = [len(shapes[name]) for name in names for _ in range(4)]
    assert table["id"].tolist() == list(range(sum(members) + 3))
    clusters = table.clusters
    assert clusters["number"].tolist() == (1 + np.cumsum(members) - members).tolist()
    for row, number in enumerate(clusters["number"]):
        shape = shape_of(case, names[clusters["shape"][row]])
        mine = np.flatnonzero(table["cluster"] == number)
        assert clusters["scale"][row] * shape.equivalent_radius == pytest.approx(factor * RADIUS, rel=1e-12)
        turn = Rotation.from_quat(clusters["orientation"][row], scalar_first=True)
        expected = clusters["position"][row] + clusters["scale"][row] * turn.apply(shape.offset)
        np.testing.assert_allclose(table["position"][mine], expected, atol=1e-15)
        np.testing.assert_allclose(table["radius"][mine], clusters["scale"][row] * shape.radius, rtol=1e-14)
    apart = np.linalg.norm(table["position"][:, None] - table["position"], axis=2)
    touching = apart < table["radius"][:, None] + table["radius"]
    same = (table["cluster"][:, None] == table["cluster"]) & (table["cluster"] > 0)
    assert not (touching & ~same & ~np.eye(len(apart), dtype=bool)).any()


def test_a_mass_of_clusters_is_met_to_half_a_particle():
    group = {"material": "grain", "shape": "pair", "fill": {"mass": 1e-3, "lower": [-0.1] * 3, "upper": [0.1] * 3}}
    table = initial_particles(case_of([group], {"pair": PAIR}))
    each = 1000.0 * 8.0 / 3.0 * math.pi * RADIUS**3
    assert abs(len(table.clusters["number"]) * each - 1e-3) <= 0.5 * each


def test_random_orientations_are_uniform_and_keyed_by_id():
    ids = np.arange(20000)
    found = random_orientations(5, ids, 3)
    np.testing.assert_allclose((found**2).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(found[100:200], random_orientations(5, ids[100:200], 3))
    axis = Rotation.from_quat(found, scalar_first=True).apply((1.0, 0.0, 0.0))
    np.testing.assert_allclose(axis.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(axis.T @ axis / len(ids), np.eye(3) / 3.0, atol=0.02)
    flat = random_orientations(5, ids, 2)
    assert not flat[:, 1:3].any()
    angle = Rotation.from_quat(flat, scalar_first=True).as_euler("zyx")[:, 0]
    assert np.histogram(angle, 8)[0].min() > 0.9 * len(ids) / 8


def test_a_product_of_quaternions_turns_by_the_second_and_then_by_the_first():
    first, second = Rotation.random(2, rng=1)
    both = product(first.as_quat(scalar_first=True), second.as_quat(scalar_first=True))
    expected = (first * second).as_matrix()
    np.testing.assert_allclose(Rotation.from_quat(both, scalar_first=True).as_matrix(), expected, atol=1e-14)


def test_vectors_are_rotated_with_bits_that_do_not_depend_on_how_many_there_are():
    rng = np.random.default_rng(7)
    turn, vector = Rotation.random(33, rng=2), rng.normal(size=(33, 3))
    quaternion = turn.as_quat(scalar_first=True)
    found = rotated(quaternion, vector)
    np.testing.assert_allclose(found, turn.apply(vector), atol=1e-14)
    np.testing.assert_allclose(rotated(conjugate(quaternion), found), vector, atol=1e-14)
    for count in (1, 2, 7):
        alone = [rotated(quaternion[at : at + count], vector[at : at + count]) for at in range(0, 33, count)]
        np.testing.assert_array_equal(np.concatenate(alone), found)
    assert rotated(np.zeros((0, 4)), np.zeros((0, 3))).shape == (0, 3)


def test_clusters_in_a_plane_turn_about_z_alone():
    flat = [[0.0, 0.0, 0.0, RADIUS], [RADIUS, 0.0, 0.0, RADIUS], [0.0, RADIUS, 0.0, RADIUS]]
    domain = {"lower": [-0.1, -0.1, -0.1], "upper": [0.1] * 3, "dimension": 2, "outside": "keep"}
    groups = [
        {"material": "grain", "shape": "corner", "positions": [[0.0, 0.0, 0.0]], "angular_velocity": [0.0, 0.0, 3.0]},
        {"material": "grain", "shape": "corner", "positions": [[0.006, 0.001, 0.0]], "velocity": [-0.2, 0.0, 0.0]},
    ]
    run = pdem.Simulation(case_of(groups, {"corner": flat}, domain=domain), threads=1)
    run.advance(20000)
    assert run.energies()["translation"] > 0.0
    np.testing.assert_array_equal(run.particles.position[:, 2], 0.0)
    np.testing.assert_array_equal(run.clusters.angular_momentum[:, :2], 0.0)
    assert abs(run.energies()["residual"]) < 1e-4 * run.measures().kinetic


def test_a_script_gives_single_spheres_beside_clusters_that_come_later_and_no_members(tmp_path):
    case = case_of([cluster("pair", (0, 0, 0.01))], {"pair": PAIR})
    sphere = {"id": [0], "material": [0], "radius": [RADIUS], "position": [[0.0, 0.0, 0.0]]}
    run = pdem.Simulation(case, particles=sphere, threads=1)
    run.advance(3)
    assert len(run.clusters) == 0
    assert len(run.particles) == 1
    whole = pdem.Simulation(case, threads=1).gather()
    with pytest.raises(InputError, match="single ones; make clusters by the case"):
        pdem.Simulation(case, particles=whole)


def test_pdem_check_shows_mass_properties_and_counts_clusters(tmp_path, capsys):
    from pdem.cli import main

    text = tomli_w.dumps(document([cluster("pair", (0, 0, 0.01))], {"pair": PAIR}))
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(SystemExit):
        main(["check", str(tmp_path / "case.toml"), "--set", "particles.0.velocity=[0, 0, 0.1]"])
    out = capsys.readouterr().out
    assert "shape pair:" in out
    assert "union" in out
    assert "sum of the spheres" in out
    assert out.rstrip().endswith("1 particle: 0 errors, 0 warnings")

"""Flexible particles: `[shapes.NAME]` with bonds between its spheres; mistakes are named with key, names and remedy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.straws import MORE, PLACES, RADIUS, SPHERES, bond_numbers, document, straw_case
from pdem.case.explain.keys import explain
from pdem.case.groups.initial import initial_particles
from pdem.case.timestep import automatic_step, step_limits
from pdem.features.bonds.bond_steps import BondNetwork, stable_step
from pdem.features.bonds.preflight import bond_findings
from pdem.features.bonds.selection import bonds_of_all
from pdem.features.bonds.shape_bonds import ShapeSpheres, joined_spheres
from pdem.foundation.errors import CaseError, InputError
from pdem.preflight.population import Population
from pdem.preflight.preflight import overlap_findings

STEM = document()["bonds"]["stem"]
ONE = [{"material": "straw", "shape": "straw", "positions": [[0.0, 0.0, 0.03]], "orientation": "aligned"}]
CLOSE = [[1.5 * RADIUS * k, 0.0, 0.0, RADIUS] for k in range(SPHERES)]
ROD = {"spheres": [[0.0, 0.0, 0.0, RADIUS], [RADIUS, 0.0, 0.0, RADIUS]]}


def straw(**keys):
    return {"straw": {"spheres": PLACES, "bonds": "stem", **keys}}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"shapes": straw(bonds="sten")}, 'shapes.straw.bonds = "sten": is no kind of bonds of the case; did you'),
        ({"bonds": {}}, "shapes.straw.bonds = \"stem\": is no kind of bonds of the case; add [bonds.stem]"),
        (
            {"bonds": {"stem": {**STEM, "between": "straw-straw", "gap": 1e-5}}},
            "joins other spheres as well, by bonds.stem.between; remove between and gap from that kind",
        ),
        ({"bonds": {"stem": {**STEM, "file": "pairs.csv"}}}, "by bonds.stem.file; remove file from that kind"),
        ({"bonds": {"stem": STEM, "glue": STEM}}, "bonds.glue: needs exactly one of between"),
        ({"bonds": {"stem": STEM, "glue": STEM}}, 'or a shape with bonds = "glue"'),
        ({"shapes": straw(spheres=PLACES[:1])}, "joins two spheres or more, and the shape has a single one"),
        ({"shapes": straw(spheres=[PLACES[0], PLACES[2]])}, "no bonds join spheres 1 to sphere 0"),
        ({"shapes": straw(links=[[0, 1], [1, 2], [3, 4]])}, "no bonds join spheres 3, 4 to sphere 0"),
        ({"shapes": straw(links=[[0, 1], [1, 5]])}, "links[1] = [1, 5]: names sphere 5, and the shape has the"),
        ({"shapes": straw(links=[[0, 1], [2, 2]])}, "joins a sphere with itself"),
        ({"shapes": straw(links=[[0, 1], [1, 0]])}, "joins the same spheres as links[0]"),
        ({"shapes": straw(links=[[0, -1]])}, "shapes.straw.links[0][1]"),
        (
            {"shapes": straw(spheres=CLOSE[:3], links=[[0, 1], [0, 2]])},
            "spheres 1 and 2 overlap without a bond, and would push each other apart",
        ),
        ({"shapes": straw(spheres=[PLACES[0], PLACES[0]])}, "spheres 0 and 1 have the same centre"),
        ({"shapes": straw(mass_properties="mesh")}, "each sphere of a flexible one has its own mass"),
        ({"shapes": {"straw": ROD, "rod": {**ROD, "links": [[0, 1]]}}, "bonds": {}}, "shapes.rod.links"),
        ({"bonds": {"stem": {**STEM, "radius": 1.5}}}, "is a share of the radius of the smaller sphere, at most 1"),
        (
            {"bonds": {"stem": {**STEM, "radius": {"metres": 0.0021}}}},
            "bonds.stem.radius = 0.0021 m is wider than the smallest sphere at its bonds, of 0.002 m",
        ),
        (
            {"insertions": [{**MORE, "radius": 0.002}], "bonds": {"stem": {**STEM, "radius": {"metres": 0.0019}}}},
            "insertions[0].shape",
        ),
        ({"particles": [{**ONE[0], "fixed": True}]}, "particles[0].fixed = true: fixes both ends of all bonds"),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, sections, said):
    with pytest.raises(CaseError) as error:
        straw_case(tmp_path, **sections)
    assert said in str(error.value)


def test_a_shape_in_a_file_is_checked_before_the_run(tmp_path):
    (tmp_path / "straw.csv").write_text("0 0 0 2e-3\n5e-3 0 0 2e-3\n")
    with pytest.raises(CaseError, match=r"shapes\.straw: no bonds join spheres 1 to sphere 0"):
        pdem.Simulation(straw_case(tmp_path, shapes={"straw": {"file": "straw.csv", "bonds": "stem"}}))


def test_bonds_do_not_join_rigid_clusters(tmp_path):
    """Neither by their material, nor by their ids."""
    particles = [{"material": "straw", "shape": "rod", "positions": [[0.0, 0.0, 0.05]]}]
    glue = {**STEM, "between": "straw-straw", "gap": 1e-5}
    with pytest.raises(CaseError, match=r"particles\[0\]\.shape .*is rigid already, and bonds\.glue joins"):
        straw_case(tmp_path, shapes={"rod": ROD}, bonds={"glue": glue}, particles=particles)
    (tmp_path / "pairs.csv").write_text("0,1\n")
    case = straw_case(tmp_path, shapes={"rod": ROD}, bonds={"glue": {**STEM, "file": "pairs.csv"}}, particles=particles)
    with pytest.raises(CaseError, match="joins particles 0 and 1, and rigid clusters have no bonds"):
        bonds_of_all(case, initial_particles(case))


def test_spheres_that_touch_are_joined():
    spheres = ShapeSpheres(
        np.array([[0.0, 0, 0], [0.004, 0, 0], [0.008 + 2e-9, 0, 0], [0.0121, 0, 0]]), np.full(4, RADIUS)
    )
    shape = straw_case().shapes["straw"]
    assert joined_spheres(shape, spheres).tolist() == [[0, 1], [1, 2]]
    linked = shape.model_copy(update={"links": ((3, 2), (1, 0))})
    assert joined_spheres(linked, spheres).tolist() == [[0, 1], [2, 3]]


@given(st.integers(2, 7), st.floats(0.5, 1.0), st.integers(1, 4), st.floats(0.5, 2.0))
@settings(deadline=None, max_examples=15)
def test_placed_straws_move_as_a_whole_and_are_without_strain(count, distance, straws, size):
    """Spheres have the velocities of a rigid body, consecutive ids and the mass of all spheres; bonds their length."""
    spheres = [[2.0 * distance * RADIUS * k, 0.0, 0.0, RADIUS] for k in range(count)]
    links = [[k, k + 1] for k in range(count - 1)] if distance == 1.0 else None
    shape = {"spheres": spheres, "bonds": "stem"} | ({"links": links} if links else {})
    group = {
        "material": "straw", "shape": "straw", "radius": size * RADIUS * count ** (1.0 / 3.0),
        "positions": [[0.0, 0.0, 0.01 + 0.02 * k] for k in range(straws)],
        "velocity": [0.5, 0.0, -1.0], "angular_velocity": [3.0, -2.0, 5.0],
    }  # fmt: skip
    case = straw_case(shapes={"straw": shape}, particles=[group])
    columns = initial_particles(case)
    assert columns["id"].tolist() == list(range(straws * count))
    assert (columns["cluster"] == 0).all()
    assert columns["flexible"].tolist() == np.repeat(1 + count * np.arange(straws), count).tolist()
    np.testing.assert_allclose(columns["radius"], size * RADIUS, rtol=1e-12)
    place = columns["position"].reshape(straws, count, 3)
    np.testing.assert_allclose(place.mean(axis=1), group["positions"], atol=1e-12)
    arm = (place - place.mean(axis=1, keepdims=True)).reshape(-1, 3)
    expected = np.array(group["velocity"]) + np.cross(group["angular_velocity"], arm)
    np.testing.assert_allclose(columns["velocity"], expected, atol=1e-9)
    np.testing.assert_allclose(columns["angular_velocity"], [group["angular_velocity"]] * len(arm), rtol=1e-9)
    pairs, bonds = bonds_of_all(case, columns)
    assert (pairs[:, 0] // count == pairs[:, 1] // count).all()
    np.testing.assert_allclose(bonds.length, 2.0 * distance * size * RADIUS * (pairs[:, 1] - pairs[:, 0]), rtol=1e-9)
    ends = {(0, k) for k in range(1, count) if distance * k <= 1.0 + 1e-9} if distance < 1.0 else {(0, 1)}
    assert {(0, b - a) for a, b in pairs.tolist()} == ends
    assert "no particles overlap" in str(next(overlap_findings(case, Population(columns))))


@given(st.lists(st.floats(-0.03, 0.03), min_size=2, max_size=2), st.integers(0, 1000), st.integers(2, 3))
@settings(deadline=None, max_examples=15)
def test_straws_across_periodic_sides_are_joined_by_images(place, seed, dimension):
    """Also in the plane, in which they stay."""
    height = 0.03 if dimension == 3 else 0.0
    domain = {"lower": [-0.03, -0.03, 0.0], "upper": [0.03, 0.03, 0.12], "periodic": [True, True, False]}
    group = {**ONE[0], "positions": [[*place, height]], "orientation": {"random": seed}}
    case = straw_case(domain={**domain, "dimension": dimension}, particles=[group], walls=[])
    columns = initial_particles(case)
    assert (np.abs(columns["position"][:, :2]) <= 0.03).all()
    assert dimension == 3 or not columns["position"][:, 2].any()
    pairs, bonds = bonds_of_all(case, columns)
    assert pairs.tolist() == [[k, k + 1] for k in range(SPHERES - 1)]
    np.testing.assert_allclose(bonds.length, 2.0 * RADIUS, rtol=1e-9)


def test_a_straw_moves_as_its_spheres_with_a_file_of_bonds(tmp_path):
    """The same bits as single spheres at the same places that a file joins."""
    group = {**ONE[0], "orientation": {"axis": [0, 1, 0], "angle": 40}, "angular_velocity": [0.0, 90.0, 300.0]}
    group["positions"] = [[0.0, 0.0, 0.012], [0.0, 0.01, 0.03]]
    case = straw_case(tmp_path, particles=[group])
    flexible = pdem.Simulation(case)
    given_ones = {name: column for name, column in initial_particles(case).items() if not name.startswith("flexible")}
    pairs = [(5 * k + i, 5 * k + i + 1) for k in range(2) for i in range(SPHERES - 1)]
    (tmp_path / "pairs.csv").write_text("".join(f"{a},{b}\n" for a, b in pairs))
    listed = straw_case(
        tmp_path, particles=[], shapes={}, bonds={"stem": {**STEM, "file": "pairs.csv"}},
    )  # fmt: skip
    single = pdem.Simulation(listed, particles=dict(given_ones))
    for run in (flexible, single):
        run.advance(1500)
    order = [np.argsort(run.particles.id) for run in (flexible, single)]
    for name in ("position", "velocity", "angular_velocity", "orientation"):
        one, other = (run.particles[name][rows] for run, rows in zip((flexible, single), order, strict=True))
        assert (one == other).all(), name
    energies = flexible.energies()
    assert energies == single.energies()
    assert energies["bond_energy"] > 1e-9
    assert energies["bond_damping"] > 1e-9
    assert abs(energies["residual"]) < 1e-5 * energies["translation"]


def test_straws_come_in_with_bonds_and_their_energy(tmp_path):
    """The inflow has the kinetic energy of all spheres, and the balance closes."""
    case = straw_case(tmp_path, insertions=[MORE])
    run = pdem.Simulation(case)
    run.advance(5)
    assert run.energies()["bond_energy"] < 1e-15
    run.advance(1600)
    came = run.insertions["more"].count
    assert came > 5
    assert run.particles.count == SPHERES * (12 + came)
    number = bond_numbers(run.bonds)
    assert (number == [[k, i, i + 1] for k in range(12 + came) for i in range(SPHERES - 1)]).all()
    energies = run.energies()
    mass = 700.0 * 4.0 / 3.0 * np.pi * RADIUS**3 * SPHERES
    assert run.insertions["more"].mass == pytest.approx(mass * came, rel=1e-12)
    assert energies["outflow"] < -0.5 * mass * came * 2.0**2  # and the energies of rotation and gravity
    assert abs(energies["residual"]) < 2e-4 * energies["translation"]
    assert energies["normal_damping"] > 0.0


def test_rigid_clusters_and_straws_are_in_one_run(tmp_path):
    """Each keeps to its kind; the balance closes while they touch."""
    rods = {"name": "rods", "material": "straw", "shape": "rod", "count_rate": 1000.0, "every": 0.002}
    rods |= {"region": MORE["region"], "velocity": [0.0, 0.0, -2.0]}
    group = {"material": "straw", "shape": "rod", "velocity": [0.0, 0.0, -2.0]}
    group["fill"] = {"count": 12, "lower": [-0.03, -0.03, 0.0], "upper": [0.03, 0.03, 0.05]}
    case = straw_case(
        tmp_path, insertions=[MORE, rods], shapes={**straw(), "rod": ROD},
        particles=[*document()["particles"], group],
    )  # fmt: skip
    run = pdem.Simulation(case)
    run.advance(1600)
    rigid = 12 + run.insertions["rods"].count
    assert rigid > 12
    assert len(run.clusters) == rigid
    own = run.particles
    assert (own.cluster > 0).sum() == 2 * rigid
    assert not (own.flexible[own.cluster > 0] > 0).any()
    assert (own.flexible > 0).sum() == own.count - 2 * rigid
    assert len(run.bonds["ids"]) * SPHERES == (SPHERES - 1) * (own.flexible > 0).sum()
    energies = run.energies()
    assert abs(energies["residual"]) < 2e-4 * energies["translation"]
    assert energies["sliding"] > 0.0


def test_scripts_insert_straws(tmp_path):
    case = straw_case(tmp_path, particles=ONE)
    run = pdem.Simulation(case)
    size = 1.1 * RADIUS * SPHERES ** (1.0 / 3.0)
    run.insert([[0.0, 0.01, 0.06]], size, "straw", shape="straw", orientation=[[1.0, 0.0, 0.0, 0.0]])
    run.advance(10)
    assert run.bonds["ids"].tolist() == [[k, k + 1] for k in (0, 1, 2, 3, 5, 6, 7, 8)]
    assert set(run.particles.flexible.tolist()) == {1, 6}
    other = straw_case(tmp_path, particles=ONE, shapes={**straw(), "rod": ROD})
    with pytest.raises(InputError, match="no particles of the case are rigid clusters"):
        pdem.Simulation(other).insert([[0, 0, 0.08]], size, "straw", shape="rod", orientation=[[1, 0, 0, 0]])
    columns = {**initial_particles(case)}
    with pytest.raises(InputError, match=r"particles\['flexible'\]: spheres given by a script are single"):
        pdem.Simulation(case, particles=columns)


def test_the_automatic_step_follows_from_one_straw(tmp_path):
    """It is exact for the smallest one, whether straws fill a region or are inserted."""
    sizes = {"distribution": "uniform", "min": 0.002, "max": 0.004}
    for sections in (
        {"particles": [{**document()["particles"][0], "radius": sizes}]},
        {"particles": [], "insertions": [{**MORE, "radius": sizes}]},
    ):
        case = straw_case(tmp_path, **sections)
        (limit,) = (one for one in step_limits(case) if one.name == "bond")
        group = {**ONE[0], "radius": 0.002}
        smallest = straw_case(tmp_path, particles=[group])
        columns = initial_particles(smallest)
        _, bonds = bonds_of_all(smallest, columns)
        radius = columns["radius"]
        mass = 700.0 * 4.0 / 3.0 * np.pi * radius**3
        rows = np.array([[k, k + 1] for k in range(SPHERES - 1)])
        branch = columns["position"][rows[:, 1]] - columns["position"][rows[:, 0]]
        network = BondNetwork(rows, branch, bonds.stiffness, bonds.damping, 1.0 / mass, 2.5 / (mass * radius**2))
        assert limit.time == pytest.approx(stable_step(network), rel=1e-4)
        assert "bonds.stem in shapes.straw" in limit.subject
        case.override('time.step="auto"')
        assert automatic_step(case) == pytest.approx(0.1 * limit.time)


def test_findings_count_straws_and_their_bonds(tmp_path):
    def findings(case):
        return [str(one) for one in bond_findings(case, Population(initial_particles(case)), 5e-6)]

    lines = findings(straw_case(tmp_path, insertions=[MORE]))
    assert (
        "info: shape straw: flexible: bonds.stem joins its 5 spheres by 4 bonds; 12 particles at the start, more by "
        "insertion more"
    ) in lines
    assert any("48 join 60 spheres" in line for line in lines)
    lines = findings(straw_case(tmp_path, particles=[], insertions=[MORE]))
    assert any("0 particles at the start" in line for line in lines)
    assert any("longest stable step" in line for line in lines)


def test_keys_of_flexible_shapes_are_explained():
    assert "each particle is flexible" in explain("shapes.NAME.bonds")
    assert "the pairs of spheres that are joined" in explain("shapes.NAME.links")

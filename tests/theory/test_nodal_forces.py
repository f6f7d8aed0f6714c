"""Forces on the nodes and facets of walls: hand-computed cases, sums, torques, and what snapshots hold."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains, box, make_case, simulate
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.surface import surface_of
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.snapshot_files import WALL_FILE
from pdem.run.simulation import Simulation

RADIUS = 0.1
METHODS = pytest.mark.parametrize("method", ["h2", "signed"])
ANGLES = 2 * np.pi * np.arange(5) / 5
PENTAGON = np.column_stack((np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES))
STICKY = {"friction": 0.5, "restitution": 0.5, "rolling_friction": 0.02}


def pressed(tmp_path, mesh, centres, method, radius=RADIUS, **options):
    grains = Grains(centres, radius)
    return simulate(tmp_path, grains, walls=({"mesh": mesh},), detection={"walls": method}, **options)


@METHODS
@pytest.mark.parametrize(
    ("vertices", "centre", "weights"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0.2, 0.3], [0.5, 0.2, 0.3]),  # eqs. 26-27
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [0.5, -0.03], [0.5, 0.5, 0.0]),  # beside an edge, eq. 30
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [-0.03, -0.03], [1.0, 0.0, 0.0]),  # beyond a vertex
        ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [0.25, 0.5], [0.375, 0.125, 0.125, 0.375]),  # eqs. 28-29
        ([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]], [2.0, 0.25], [0.0, 0.75, 0.25, 0.0]),  # on an edge
        (PENTAGON, [0.0, 0.0], [0.2] * 5),  # eq. 32
        (PENTAGON, 0.75 * PENTAGON[0, :2] + 0.25 * PENTAGON[1, :2], [0.75, 0.25, 0.0, 0.0, 0.0]),
    ],
)
def test_one_sphere_on_one_facet(tmp_path, method, vertices, centre, weights):
    mesh = Mesh(vertices, [list(range(len(vertices)))])
    simulation = pressed(tmp_path, mesh, [[*centre, 0.9 * RADIUS]], method)
    on = simulation.nodal_forces()["wall0"]
    force = simulation.wall_loads()["wall0"]["force"]
    assert force[2] < 0.0
    np.testing.assert_allclose(on["force"], np.outer(weights, force), atol=1e-12 * -force[2])
    np.testing.assert_allclose(on["facet_force"], [force], rtol=1e-15)
    push = np.linalg.norm(force)  # the contact's own normal, which leans where the sphere is beside an edge
    np.testing.assert_allclose(on["pressure"], push / mesh.facet_areas, rtol=1e-12)
    np.testing.assert_array_equal(on["vertices"], mesh.vertices)


def rough_sheet(generator, triangles=True):
    """Return a bumpy sheet over the unit square, and spheres that press into it a little."""
    count = 8
    x, y = (one.ravel() for one in np.meshgrid(*[np.linspace(0, 1, count + 1)] * 2))
    height = 0.02 * generator.uniform(size=len(x)) if triangles else 0.2 * x
    at = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    loops = [[k, k + 1, k + count + 2, k + count + 1] for k in at]
    if triangles:
        loops = [[loop[0], *loop[k : k + 2]] for loop in loops for k in (1, 2)]
    sheet = Mesh(np.column_stack((x, y, height)), [loops[k] for k in generator.permutation(len(loops))])
    places = np.stack(np.meshgrid(*[np.linspace(0.1, 0.9, 5)] * 2), -1).reshape(-1, 2)
    places = places + generator.uniform(-0.02, 0.02, places.shape)
    level = 0.2 * places[:, 0] if not triangles else 0.01
    return sheet, np.column_stack((places, level + 0.05 + generator.uniform(-5e-3, 0, len(places))))


@METHODS
@pytest.mark.parametrize("seed", range(4))
def test_sums_of_nodes_and_facets_are_the_walls_load(tmp_path, method, seed):
    generator = np.random.default_rng(seed)
    sheet, centres = rough_sheet(generator, seed % 2 == 0)
    simulation = pressed(tmp_path, sheet, centres, method, 0.06, law=STICKY, materials=None, gravity=(3.0, 1.0, -9.0))
    simulation.advance(4)
    assert simulation.measures().wall_contacts > 10
    on, load = simulation.nodal_forces()["wall0"], simulation.wall_loads()["wall0"]
    size = np.abs(load["force"]).max()
    for name in ("force", "facet_force", "body_force"):
        np.testing.assert_allclose(on[name].sum(axis=0), load["force"], rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(on["body_torque"].sum(axis=0), load["torque"], rtol=0, atol=1e-12 * size)
    assert on["sliding_power"].min() >= 0.0
    assert on["sliding_power"].sum() > 0.0
    assert (on["pressure"] >= 0.0).all()
    if method == "signed":  # the features of a patch may be of facets where it does not push itself
        return
    touched = np.unique(sheet.facet_vertices.reshape(sheet.facet_count, -1)[on["pressure"] > 0])
    assert set(np.flatnonzero(np.abs(on["force"]).sum(axis=1))) <= set(touched)


@pytest.mark.parametrize("seed", range(4))
def test_nodal_forces_of_normal_contacts_have_the_walls_torque(tmp_path, seed):
    """Weights reproduce the contact point, so the moment of the nodal forces is that of the contact force."""
    generator = np.random.default_rng(seed)
    sheet, centres = rough_sheet(generator)
    turn = {"rotation": {"rate": 2.0, "axis": [0.0, 1.0, 0.0], "centre": [0.3, 0.2, 0.1]}}
    grains = Grains(centres, 0.06)
    simulation = simulate(tmp_path, grains, walls=({"mesh": sheet, **turn},), gravity=(0.0, 0.0, -9.0))
    simulation.advance(4)
    on, load = simulation.nodal_forces()["wall0"], simulation.wall_loads()["wall0"]
    assert np.abs(on["vertices"] - sheet.vertices).max() > 0.0  # it has moved
    torque = np.cross(on["vertices"] - [0.3, 0.2, 0.1], on["force"]).sum(axis=0)
    np.testing.assert_allclose(torque, load["torque"], rtol=0, atol=1e-11 * np.abs(load["force"]).max())


def test_signed_loads_are_given_for_the_nodes_of_the_users_mesh(tmp_path):
    """Facets in another order, turned round, given twice, and a hanging node: loads find their nodes."""
    junction = Mesh(
        [[9, 9, 9], [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0.5, 0], [2, 0, 0], [2, 0.5, 0], [2, 1, 0]],
        [[1, 2, 3, 4], [2, 6, 7, 5], [5, 3, 8, 7], [1, 4, 3, 2]],
    )
    simulation = pressed(tmp_path, junction, [[1.0, 0.25, 0.09], [0.25, 0.75, 0.09]], "signed")
    on, load = simulation.nodal_forces()["wall0"], simulation.wall_loads()["wall0"]
    assert len(on["force"]) == 9
    np.testing.assert_allclose(on["force"].sum(axis=0), load["force"], rtol=1e-14)
    np.testing.assert_allclose(np.cross(on["vertices"], on["force"]).sum(axis=0), load["torque"], rtol=1e-12)
    assert on["facet_force"][3].tolist() == [0.0] * 3  # repeats facet 0
    assert on["body"].tolist() == [0, 0, 0, -1]
    single = load["force"][2] / 2
    # one half way between nodes 2 and 5; the other on the square, whose straight corner 5 has no share
    np.testing.assert_allclose(on["force"][[2, 5], 2], [0.5625 * single, 0.5 * single])
    assert on["force"][0].tolist() == [0.0] * 3


@METHODS
def test_bodies_of_a_wall_and_several_walls(tmp_path, method):
    low, high = box([0, 0, 0], [1, 1, 1]), box([3, 0, 0], [4, 1, 1])
    both = join_meshes([low, high])
    pair = Mesh.from_loops(both.vertices, both.facet_start, both.facet_vertices)
    floor = Mesh([[-5, -5, -1], [5, -5, -1], [5, 5, -1], [-5, 5, -1]], [[0, 1, 2, 3]])
    centres = [[0.5, 0.5, 1.09], [3.5, 0.5, 1.08], [-1.0, 0.0, -0.93], [3.2, 0.2, 1.09]]
    walls = {"mesh": floor}, {"mesh": pair, "translation": {"velocity": [0.0, 0.0, 0.5]}}
    simulation = simulate(tmp_path, Grains(centres, RADIUS), walls=walls, detection={"walls": method})
    on, load = simulation.nodal_forces(), simulation.wall_loads()
    assert [len(one["body_force"]) for one in on.values()] == [1, 2]
    assert sorted(on["wall1"]["body"].tolist()) == [0] * 6 + [1] * 6
    body = on["wall1"]["body"]
    for number in (0, 1):
        facets = body == number
        np.testing.assert_allclose(on["wall1"]["facet_force"][facets].sum(axis=0), on["wall1"]["body_force"][number])
    first = np.argsort([on["wall1"]["vertices"][pair.loop(int(np.argmax(body == k)))][0, 0] for k in (0, 1)])
    push = -on["wall1"]["body_force"][first, 2]
    assert push[1] > 2.5 * push[0] > 0.0  # one sphere on the first; one deeper and one as deep on the other
    for name, one in on.items():
        for what in ("force", "torque", "power"):
            np.testing.assert_allclose(one[f"body_{what}"].sum(axis=0), load[name][what], rtol=1e-12, atol=1e-9)
    assert load["wall1"]["power"] > 0.0


@METHODS
def test_snapshots_hold_what_the_simulation_says(tmp_path, method):
    sheet, centres = rough_sheet(np.random.default_rng(0))
    case = make_case(
        tmp_path, Grains(centres, 0.06), walls=({"mesh": sheet},), law=STICKY, end=1e-3,
        gravity=(3.0, 0.0, -9.0), detection={"walls": method},
    )  # fmt: skip
    case.override(f'output.folder="{tmp_path / "out"}"')
    simulation = Simulation(case, threads=1, meshes=[sheet])
    from pdem.run.run import run

    run(simulation, quiet=True)
    path = tmp_path / "out" / WALL_FILE
    assert len(vtkhdf.read_times(path)) > 2
    last, on = vtkhdf.read_step(path), simulation.nodal_forces()["wall0"]
    facet = last.cell_data["facet"]
    np.testing.assert_array_equal(last.cell_data["force"], on["facet_force"][facet])
    np.testing.assert_array_equal(last.cell_data["pressure"], on["pressure"][facet])
    np.testing.assert_array_equal(last.cell_data["sliding_power"], on["sliding_power"][facet])
    node = surface_of(sheet).vertex_origin if method == "signed" else np.arange(sheet.vertex_count)
    np.testing.assert_array_equal(last.point_data["force"], on["force"][node])
    np.testing.assert_array_equal(last.points, sheet.vertices[node])
    load = simulation.wall_loads()["wall0"]
    for name in ("force", "torque", "power"):
        np.testing.assert_array_equal(last.step_data[name][0], load[name])
        np.testing.assert_array_equal(last.step_data[f"body_{name}"], on[f"body_{name}"])
    first = vtkhdf.read_step(path, 0)
    assert not np.array_equal(first.cell_data["force"], last.cell_data["force"])
    assert first.cell_data["force"].shape == last.cell_data["force"].shape == (sheet.facet_count, 3)


def test_loads_are_found_anew_after_particles_have_come(tmp_path):
    sheet, centres = rough_sheet(np.random.default_rng(1))
    simulation = pressed(tmp_path, sheet, centres, "h2", 0.06, law=STICKY, gravity=(0.0, 0.0, -9.0))
    simulation.advance(4)
    before, nodes = simulation.wall_loads()["wall0"], simulation.nodal_forces()["wall0"]["force"]
    for number in range(30):
        simulation.insert([[100.0, 0.0, 1.0 + number]], 0.06, "grain")
    np.testing.assert_allclose(simulation.wall_loads()["wall0"]["force"], before["force"], rtol=0.05)
    assert np.abs(simulation.nodal_forces()["wall0"]["force"] - nodes).max() < 0.05 * np.abs(nodes).max()

"""Motion by the signed contact sum: energy kept over creases, none from friction, rings that hold, loads and ledger."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from helpers.cases import Grains, box, simulate, total_energy
from helpers.surfaces import subdivided
from pdem.containers.meshes.mesh import Mesh

R = 1.0
SOFT = {"density": 1.0, "youngs_modulus": 2e3, "poisson_ratio": 0.2}
"""Overlaps of some percent, so that creases matter."""

MASS = 4.0 / 3.0 * math.pi
DURATION = 2.868 * (MASS**2 / (R * (2e3 / 0.96) ** 2)) ** 0.2
"""Of an impact at 1 m/s."""


def grid(x, y, z):
    """Return the triangles of a grid of points."""
    n, m = x.shape
    first = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    halves = [(first, first + 1, first + m + 1), (first, first + m + 1, first + m)]
    return Mesh(np.column_stack((x.ravel(), y.ravel(), z.ravel())), np.vstack([np.column_stack(h) for h in halves]))


def drum(sides, radius=1.9, half=60.0):
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    x, y = np.meshgrid(radius * np.cos(angle), [-half, half])
    return grid(x, y, np.tile(radius * np.sin(angle), (2, 1)))


def valley(degrees, half=60.0):
    slope = math.radians(0.5 * degrees)
    x, y = np.meshgrid([-20.0 * math.cos(slope), 0.0, 20.0 * math.cos(slope)], [-half, half])
    return grid(x, y, np.abs(x) * math.tan(slope))


def bowl(seed, count=14, half=6.0):
    """Rough terrain that keeps what falls into it; slopes of neighbours differ by some ten degrees."""
    generator = np.random.default_rng(seed)
    width = 2.0 * half / count
    x, y = np.meshgrid(*[np.linspace(-half, half, count + 1)] * 2)
    x, y = (one + generator.uniform(-0.2, 0.2, one.shape) * width for one in (x, y))
    return grid(x, y, 0.06 * (x**2 + y**2) + generator.uniform(0.0, 0.25, x.shape) * width)


def cone(sides, degrees, inner, outer):
    """A funnel without its tip, of walls that rise by `degrees`; at 0 a plate with a round hole."""
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    radius, angle = np.meshgrid([inner, outer], angle, indexing="ij")
    height = (radius - inner) * math.tan(math.radians(degrees))
    return grid(radius * np.cos(angle), radius * np.sin(angle), height)


def apart(folder, items, step, **options):
    """Simulate one sphere per item (mesh, place, velocity), far from each other."""
    shifts = [np.array([200.0 * k, 0.0, 0.0]) for k in range(len(items))]
    walls = [
        Mesh(item[0].vertices + s, item[0].facet_vertices.reshape(-1, 3)) for item, s in zip(items, shifts, strict=True)
    ]
    position = [s + item[1] for item, s in zip(items, shifts, strict=True)]
    grains = Grains(position, R, [item[2] for item in items], options.pop("spin", (0.0, 0.0, 0.0)))
    return simulate(
        folder, grains, materials={"grain": SOFT, "steel": {}}, walls=tuple({"mesh": w} for w in walls), step=step,
        detection={"walls": options.pop("method", "signed")}, largest_overlap=1.0, lower=[-1e5] * 3,
        upper=[1e5] * 3, **options,
    )  # fmt: skip


def wells():
    """Drums of 6 to 48 sides, valleys of 5 to 100 degrees, rough terrains."""
    items = [(drum(sides), (0.05, 0.0, 0.1), (0.6, 0.0, 0.8)) for sides in (6, 12, 24, 48)]
    for degrees in (5.0, 10.0, 40.0, 100.0):
        height = 1.2 / math.cos(math.radians(0.5 * degrees))
        items.append((valley(degrees), (0.03, 0.0, height), (0.0, 0.0, 0.0)))
    return items + [(bowl(seed), (0.1, -0.1, 2.2), (0.05, 0.05, 0.0)) for seed in (1, 2, 3, 4)]


def test_elastic_spheres_keep_their_energy_over_a_hundred_bounces(tmp_path):
    run = apart(tmp_path, wells(), DURATION / 90.0, gravity=(0.0, 0.0, -2.0))
    first = total_energy(run.energies())
    count = len(wells())
    touched, bounces, worst = np.zeros(count, bool), np.zeros(count, int), 0.0
    while bounces.mean() < 100:
        for _ in range(25):
            run.advance(40)
            touches = np.zeros(count, bool)
            touches[run.system.contacts.walls.elastic_state()[0]] = True
            bounces += touched & ~touches
            touched = touches
        worst = max(worst, abs(total_energy(run.energies()) / first - 1.0))
    print("\ndrift", worst, "steps", run.step, "bounces", bounces, run.measures().largest_overlap)
    assert worst < 1e-4
    assert bounces.min() > 60


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_impacts_into_creases_with_friction_never_gain_energy(tmp_path, restitution):
    """At all angles, along and across valleys and in pits of a terrain, with spin."""
    items, spins = [], []
    generator = np.random.default_rng(5)
    for degrees in (5.0, 20.0, 60.0, 110.0):
        slope = math.radians(0.5 * degrees)
        for angle in np.radians([0.0, 20.0, 45.0, 70.0, 85.0]):
            for turn in (0.0, 1.0):
                way = np.array([math.sin(angle) * turn, math.sin(angle) * (1.0 - turn), -math.cos(angle)])
                x = generator.uniform(-0.2, 0.2)
                height = (1.05 + abs(x) * math.sin(slope)) / math.cos(slope)
                items.append((valley(degrees), (x, 0.0, height), way))
                spins.append(generator.uniform(-1.0, 1.0, 3))
    items += [(bowl(seed), (0.0, 0.0, 2.2), (0.5, 0.3, -1.0)) for seed in range(8)]
    spins += [(0.5, -1.0, 0.3)] * 8
    run = apart(
        tmp_path, items, DURATION / 60.0, spin=spins,
        law={"friction": 0.5, "restitution": restitution, "rolling_friction": 0.01},
    )  # fmt: skip
    before = energies_of(run)
    run.advance(60 * 14)
    gain = energies_of(run) / before - 1.0
    energies = run.energies()
    print("\nlargest gain", gain.max(), "residual", energies["residual"] / before.sum(), energies)
    assert gain.max() < 1e-3
    assert min(energies[name] for name in ("normal_damping", "sliding", "rolling")) >= -1e-4 * before.sum()
    assert abs(energies["residual"]) < 2e-3 * before.sum()


def energies_of(run):
    held = run.gather()
    moving = 0.5 * MASS * (held["velocity"] ** 2).sum(axis=1)
    return moving + 0.2 * MASS * (held["angular_velocity"] ** 2).sum(axis=1)


@pytest.mark.parametrize("sides", [6, 96])
def test_a_sphere_does_not_fall_through_a_ring(tmp_path, sides):
    """A round hole and funnels narrower than the sphere: all of the ring within reach at once."""
    items = [
        (cone(sides, degrees, inner, 9.0), (offset, 0.0, 1.5), (0.0, 0.0, 0.0))
        for degrees, inner in ((0.0, 0.8), (30.0, 0.45), (60.0, 0.8))
        for offset in (0.0, 0.03)
    ]
    run = apart(tmp_path, items, DURATION / 40.0, gravity=(0.0, 0.0, -2.0), law={"friction": 0.3, "restitution": 0.3})
    run.advance(4000)
    held = run.gather()
    print("\nheights", held["position"][:, 2], np.abs(held["velocity"]).max())
    assert (held["position"][:, 2] > 0.4).all()
    assert np.abs(held["velocity"]).max() < 0.1


def test_one_history_goes_on_over_a_shallow_crease(tmp_path):
    """A sphere dragged through a valley of 4 degrees: one contact, whose friction changes less the finer the step."""
    changes = []
    for parts in (40, 160):
        run = apart(
            tmp_path, [(valley(4.0), (-0.3, 0.0, 1.0), (0.4, 0.05, 0.0))], DURATION / parts,
            gravity=(0.0, 0.0, -60.0), law={"friction": 0.6, "restitution": 0.2},
        )  # fmt: skip
        run.advance(parts // 2)
        friction = []
        while run.gather()["position"][0, 0] < 0.1:
            run.advance(1)
            assert run.system.contacts.walls.count == 1
            friction.append(run.system.contacts.walls.records(run.system.particles).history[:3, 0].copy())
        changes.append(np.linalg.norm(np.diff(friction, axis=0), axis=1).max() / np.abs(friction).max())
    print("\nlargest change of friction in a step", changes)
    assert changes[1] < 0.3 * changes[0] < 0.1


def test_loads_on_walls_are_what_the_particles_feel_and_the_ledger_closes(tmp_path):
    """In a turning drum of 24 sides with friction, two threads or one: the same bits, and minus the forces."""
    runs = []
    for threads in (1, 2):
        generator = np.random.default_rng(2)
        place = [(x, 2.1 * y, z) for x in (-1.2, 1.2) for y in range(4) for z in (-1.2, 1.2)]
        run = simulate(
            tmp_path, Grains(np.array(place) + generator.uniform(-0.05, 0.05, (16, 3)), R),
            materials={"grain": SOFT, "steel": {}}, threads=threads,
            walls=({"mesh": drum(24, 3.6, 40.0), "rotation": {"rate": 1.0, "axis": [0.0, 1.0, 0.0]}},),
            law={"friction": 0.5, "restitution": 0.5}, gravity=(0.0, 0.0, -5.0), step=DURATION / 60.0,
            detection={"walls": "signed"}, largest_overlap=1.0,
        )  # fmt: skip
        run.advance(2500)
        runs.append(run)
    one, two = runs
    assert one.gather()["position"].tobytes() == two.gather()["position"].tobytes()
    loads = one.system.contacts.walls.loads().values()
    assert loads == two.system.contacts.walls.loads().values()
    total = one.system.contacts.walls.total[:, :3].sum(axis=0)
    felt = np.array([loads[f"0.{name}"] for name in ("fx", "fy", "fz")])
    energies = one.energies()
    lost = energies["normal_damping"] + energies["sliding"]
    print("\nloads", felt, "residual / lost", energies["residual"] / lost, "work", energies["wall_work"])
    np.testing.assert_allclose(felt, -total, atol=1e-9 * np.abs(felt).max())
    assert energies["wall_work"] > 0.0
    assert abs(energies["residual"]) < 0.01 * lost


def layers(count):
    """Return a square of 16 m by 4 m: one quad for 0, else triangles of `count` columns."""
    if count == 0:
        return Mesh([[-2, -2, 0], [14, -2, 0], [14, 2, 0], [-2, 2, 0]], [[0, 1, 2, 3]])
    x, y = np.meshgrid(np.linspace(-2.0, 14.0, count + 1), np.linspace(-2.0, 2.0, max(count // 4, 1) + 1))
    return grid(x, y, 0.0 * x)


def fan():
    """Needles about a point on the way, and a strip behind them whose nodes hang."""
    angle = np.linspace(0.0, 2.0 * np.pi, 65)[:-1]  # the square's corners are among them
    rim = np.column_stack((np.cos(angle), np.sin(angle)))
    rim *= 2.0 / np.abs(rim).max(axis=1, keepdims=True)
    points = np.vstack(([[0.0, 0.0]], rim, [[2.0, -2.0], [14.0, -2.0], [14.0, 2.0], [2.0, 2.0]]))
    return Mesh(points, [*([0, 1 + k, 1 + (k + 1) % 64] for k in range(64)), [65, 66, 67, 68]])


def test_the_path_of_a_rolling_sphere_does_not_depend_on_the_triangulation(tmp_path):
    """One quad, 2 to 200,000 triangles (far below the indentation), needles, hanging nodes, shuffled and turned."""
    generator = np.random.default_rng(4)
    turn = Rotation.from_rotvec([0.3, -0.5, 0.7]).as_matrix()
    fine = layers(80)
    order = generator.permutation(fine.facet_count)
    loops = fine.facet_vertices.reshape(-1, 3)[order]
    loops[::2] = loops[::2, ::-1]
    shuffled = Mesh(fine.vertices, np.vstack((loops, loops[:7])))
    meshes = [layers(0), layers(1), layers(12), layers(64), layers(640), fan(), fine, shuffled]
    ends = []
    for mesh in meshes:
        tilted = Mesh(mesh.vertices @ turn.T, [mesh.loop(k) for k in range(mesh.facet_count)])
        run = simulate(
            tmp_path, Grains([turn @ [1.5, 0.03, 0.97]], R, [turn @ [1.0, 0.3, -0.4]], [turn @ [0.2, -0.5, 1.0]]),
            materials={"grain": SOFT, "steel": {}}, walls=({"mesh": tilted},), step=DURATION / 30.0,
            law={"friction": 0.4, "restitution": 0.6, "rolling_friction": 0.01}, gravity=turn @ [0.0, 0.0, -60.0],
            detection={"walls": "signed", "skin": 0.1}, largest_overlap=1.0,
        )  # fmt: skip
        run.advance(400)
        held = run.gather()
        ends.append(np.concatenate([held[n][0] @ turn for n in ("position", "velocity", "angular_velocity")]))
    apart = [np.abs(end - ends[0]).max() for end in ends]
    print("\ntriangles", [m.facet_count for m in meshes], "apart", apart, ends[0][:3])
    assert max(apart) < 1e-10
    assert ends[-1].tobytes() == ends[-2].tobytes()
    assert ends[0][0] > 2.03  # its centre has passed the hanging nodes


def room():
    """The inside of a box, of quads."""
    return box([-2.0] * 3, [2.0] * 3)


ROOMS = [(lambda: drum(12, half=4.0), -0.3), (room, -0.3), (lambda: bowl(3, 8), 1.5)]


@pytest.mark.parametrize(("surface", "height"), ROOMS, ids=["drum", "box", "terrain"])
def test_paths_over_creases_do_not_depend_on_the_triangulation(tmp_path, surface, height):
    """With friction and spin, over facets cut up at random: hanging nodes, needles, turned and repeated ones."""
    coarse, ends, touched = surface(), [], []
    generator = np.random.default_rng(11)
    for number in range(4):
        vertices, loops = coarse.vertices, [coarse.loop(k) for k in range(coarse.facet_count)]
        if number:
            vertices, loops = subdivided(generator, vertices, loops, 0.4 * number - 0.2, number + 1)
            loops = [loop[:: generator.choice([1, -1])] for loop in loops]
            loops = [loops[k] for k in (*generator.permutation(len(loops)), 0, 1)]
        run = simulate(
            tmp_path, Grains([[0.2, 0.1, height]], 1.0, [[1.5, 0.4, -3.0]], [[0.5, 2.0, 1.0]]),
            materials={"grain": SOFT, "steel": {}}, walls=({"mesh": Mesh(vertices, loops)},), step=DURATION / 30.0,
            law={"friction": 0.4, "restitution": 0.6}, gravity=[0.0, 0.0, -20.0],
            detection={"walls": "signed", "skin": 0.1}, largest_overlap=1.0,
        )  # fmt: skip
        path = []
        for _ in range(30):
            run.advance(20)
            held = run.gather()
            path.append(np.concatenate([held[n][0] for n in ("position", "velocity", "angular_velocity")]))
            touched.append(run.measures().wall_contacts)
        ends.append(np.array(path))
    apart = [np.abs(end - ends[0]).max() for end in ends]
    print("\napart", apart, "facets", len(loops), ends[0][-1, :3])
    assert max(apart) < 1e-9
    assert max(touched) > 0

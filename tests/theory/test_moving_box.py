"""Boxes that deform beside closed forms: lattices, free flight, energy, images, and what must not matter."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

from helpers.cases import Grains, state_of
from helpers.moving_boxes import MIXED, PERIOD, ROUGH, SHEAR, SMOOTH, STEP, R, gas, isotropic, moving_case
from pdem.foundation.errors import BlowUpError, CaseError, InputError
from pdem.run.simulation import Simulation

AXES = "xyz"


def flow_of(deformation):
    """Return the gradient of the velocity of a deformation."""
    flow = np.diag([deformation.get(axis, {"strain_rate": 0.0})["strain_rate"] for axis in AXES])
    if "shear" in deformation:
        shear = deformation["shear"]
        flow[AXES.index(shear["velocity_along"]), AXES.index(shear["gradient_along"])] = shear["rate"]
    return flow


HERTZ = 4.0 / 3.0 * 1e7 / (2.0 * 0.96)
DEFORMATIONS = [
    isotropic(-2.0),
    {"x": {"strain_rate": -4.0}},
    {"shear": {"velocity_along": "y", "gradient_along": "z", "rate": 6.0}},
    {"y": {"strain_rate": -2.0}, "z": {"strain_rate": 1.0}, "shear": {**SHEAR, "rate": -5.0}},
]


@pytest.mark.parametrize("deformation", DEFORMATIONS)
def test_a_lattice_deforms_as_its_box(tmp_path, deformation):
    """Each sphere of a face-centred lattice stays where the others balance it: its stress is that of the neighbours."""
    side, count = PERIOD / 4, 4
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 0.5
    cells = np.stack(np.meshgrid(*[np.arange(count)] * 3), axis=-1).reshape(-1, 1, 3)
    radius = 0.51 * side / math.sqrt(2.0)
    case = moving_case(tmp_path, Grains(side * (cells + cell + 0.2).reshape(-1, 3), radius), deformation, law=SMOOTH)
    run = Simulation(case)
    ways = np.array([w for w in np.stack(np.meshgrid(*[(-1, 0, 1)] * 3), -1).reshape(-1, 3) if abs(w).sum() == 2])
    at_begin = -(PERIOD**3) * (run.stress().total * flow_of(deformation)).sum()
    for _ in range(3):
        run.advance(100)
        change = expm(run.time * flow_of(deformation))
        branch = 0.5 * side * ways @ change.T
        length = np.linalg.norm(branch, axis=1)
        force = HERTZ * math.sqrt(0.5 * radius) * np.maximum(2.0 * radius - length, 0.0) ** 1.5
        volume = side**3 * np.linalg.det(change)
        expected = 2.0 * np.einsum("k,ki,kj->ij", force / length, branch, branch) / volume
        found = run.stress()
        np.testing.assert_allclose(found.contact, expected, rtol=2e-5, atol=2e-5 * expected.max())
        assert np.abs(found.kinetic).max() < 1e-9 * expected.max()
        energies, stored = (run.energies(), 6 * 256 * 0.4 * (force / np.maximum(2 * radius - length, 1e-30) ** 1.5)[0])
        each = (np.maximum(2.0 * radius - length, 0.0) ** 2.5).mean()
        assert energies["elastic"] == pytest.approx(stored * each, rel=1e-6)
        # a force has acted for half a step when it is known, and its work counts for the whole step
        gained = energies["elastic"] - stored * (2.0 * radius - side / math.sqrt(2.0)) ** 2.5
        assert energies["box_work"] == pytest.approx(gained, rel=0.02)
        power = -64.0 * volume * (found.total * flow_of(deformation)).sum()
        ahead = 0.5 * STEP * (power - at_begin)
        assert energies["residual"] + ahead == pytest.approx(0.0, abs=2e-4 * abs(energies["box_work"]))


def test_a_free_grain_flies_straight_on_in_space(tmp_path):
    """Relative to the box it loses or wins the momentum of the gradient: exactly that of a gas without collisions."""
    velocity = np.array([1.0, -2.0, 3.0])
    group = Grains([[0.03, 0.05, 0.08]], R, velocity)
    for deformation in (isotropic(-3.0), {"x": {"strain_rate": -3.0}, "y": {"strain_rate": 2.0}}, {"shear": SHEAR}):
        run = Simulation(moving_case(tmp_path, group, deformation))
        before = run.energies()["translation"]
        run.advance(3000)
        change = expm(-run.time * flow_of(deformation))
        expected = change @ velocity
        own = run.system.constants.own_velocity(run.particles.position, run.particles.velocity)[0]
        np.testing.assert_allclose(own, expected, rtol=3e-4)
        energies = run.energies()
        assert energies["translation"] == pytest.approx(before * (expected**2).sum() / 14.0, rel=5e-4)
        assert abs(energies["residual"]) < 5e-4 * max(before, energies["translation"])


def test_a_gas_without_losses_keeps_its_entropy(tmp_path):
    """Of an isotropic compression, hard spheres nearly: the temperature follows from the pressure at each density.

    dT / T = -2/3 Z dV / V with Carnahan and Starling's compressibility Z.
    """
    run = Simulation(moving_case(tmp_path, gas(1, speed=0.2), isotropic(-0.8), law=SMOOTH))
    solid = 216 * 4.0 / 3.0 * math.pi * R**3

    def compressibility(fraction):
        return (1.0 + fraction + fraction**2 - fraction**3) / (1.0 - fraction) ** 3

    run.advance(1000)  # collisions have begun
    energies = run.energies()
    thermal, volume = energies["translation"] + energies["elastic"], run.system.box.moving.volume(1000, 3)
    for _ in range(40):
        run.advance(125)
        now = run.system.box.moving.volume(run.step, 3)
        fraction = solid / math.sqrt(now * volume)
        thermal *= (now / volume) ** (-2.0 / 3.0 * compressibility(fraction))
        volume = now
    energies = run.energies()
    assert energies["translation"] + energies["elastic"] == pytest.approx(thermal, rel=0.04)
    assert energies["box_work"] > 0.2 * thermal


@pytest.mark.parametrize("deformation", [isotropic(-6.0), {"shear": SHEAR}, MIXED])
@pytest.mark.parametrize("law", [SMOOTH, ROUGH])
def test_the_box_delivers_what_grains_store_and_lose(tmp_path, deformation, law):
    """The balance closes but for the error of a step, which becomes less with it."""
    residuals = []
    for parts in (1, 4):
        case = moving_case(tmp_path, gas(2, sizes=True), deformation, law=law, step=STEP / parts)
        run = Simulation(case)
        run.advance(600 * parts)
        energies = run.energies()
        assert abs(energies["box_work"]) > 0.02 * energies["translation"]
        residuals.append(abs(energies["residual"]) / abs(energies["box_work"]))
    assert residuals[0] < 5e-3
    assert residuals[1] < max(0.6 * residuals[0], 3e-4)


def test_the_work_of_the_box_is_that_of_the_stress(tmp_path):
    """Contact and kinetic stress times the rates, added up from outside while grains collide."""
    run = Simulation(moving_case(tmp_path, gas(3), MIXED, more={"output": {"stress": True}}))
    run.advance(100)
    begin, done = run.energies()["box_work"], 0.0
    for _ in range(400):
        run.advance(1)
        volume = run.system.box.moving.volume(run.step, 3)
        done -= STEP * volume * (run.stress().total * run.system.box.moving.gradient_at(run.step)).sum()
    assert run.energies()["box_work"] - begin == pytest.approx(done, rel=2e-3)


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_it_does_not_matter_where_the_sides_are(tmp_path, deformation):
    """A crowd that lies otherwise in its box moves in the same way: friction and damping know how images move."""
    group, shift = gas(4, sizes=True), np.array([0.04, 0.07, 0.11])
    runs = [Simulation(moving_case(tmp_path, group, deformation))]
    there = Grains((group.position + shift) % PERIOD, group.radius, group.velocity, group.spin)
    runs.append(Simulation(moving_case(tmp_path, there, deformation)))
    for run in runs:
        run.advance(150)
    one, other = (run.gather() for run in runs)
    assert runs[0].measures().pair_contacts > 8
    order = np.argsort(one["id"])
    flow = flow_of(deformation)
    # the centre that rests is elsewhere in the crowd: it is carried along as a whole, and its velocity with it
    moved = other["position"] - one["position"] - expm(150 * STEP * flow) @ shift
    shape = runs[0].system.constants.shape
    assert np.abs(shape.nearest(moved)[order]).max() < 2e-4 * R
    np.testing.assert_allclose(one["angular_velocity"], other["angular_velocity"], atol=5e-3)
    energies = [run.energies() for run in runs]
    for name in ("translation", "rotation", "sliding", "normal_damping", "box_work"):
        assert energies[0][name] == pytest.approx(energies[1][name], rel=2e-4, abs=1e-6), name


def turned(group, order, signs):
    """Return a crowd with other axes: positions about the centre of the box, velocities and spins."""

    def of(vectors, factors):
        return np.asarray(vectors)[:, order] * factors

    spins = np.array(signs) * (np.prod(signs) * (1 if list(order) in ([0, 1, 2], [1, 2, 0], [2, 0, 1]) else -1))
    place = of(group.position - 0.5 * PERIOD, signs) + 0.5 * PERIOD
    return Grains(place, group.radius, of(group.velocity, signs), of(group.spin, spins))


@pytest.mark.parametrize(
    ("order", "signs", "deformation"),
    [
        ([1, 0, 2], [1, 1, 1], {"shear": {**SHEAR, "velocity_along": "y", "gradient_along": "x"}}),
        ([0, 1, 2], [-1, 1, 1], {"shear": {**SHEAR, "rate": -SHEAR["rate"]}}),
        ([0, 1, 2], [-1, -1, -1], {"shear": SHEAR}),
        ([2, 0, 1], [1, 1, 1], {"shear": {**SHEAR, "velocity_along": "y", "gradient_along": "z"}}),
    ],
)
def test_mirror_images_and_turned_boxes_do_the_same(tmp_path, order, signs, deformation):
    group = gas(5, sizes=True)
    run = Simulation(moving_case(tmp_path, group, {"shear": SHEAR}))
    image = Simulation(moving_case(tmp_path, turned(group, order, signs), deformation))
    run.advance(120), image.advance(120)
    one, other = run.stress().total, image.stress().total
    expected = one[np.ix_(order, order)] * np.outer(signs, signs)
    np.testing.assert_allclose(other, expected, rtol=1e-5, atol=1e-5 * np.abs(one).max())
    for name, value in run.energies().items():
        if name != "residual":
            assert image.energies()[name] == pytest.approx(value, rel=1e-6, abs=1e-9), name


@pytest.mark.parametrize("skin", [0.0, 0.05, 0.5])
def test_neither_skins_nor_restarts_matter(tmp_path, skin):
    case = moving_case(tmp_path, gas(6, sizes=True), MIXED)
    whole = Simulation(case)
    whole.advance(317)
    state = state_of(whole)
    whole.advance(100)
    other = moving_case(tmp_path, gas(6, sizes=True), MIXED, detection={"skin": skin})
    again = Simulation(other, state=state)
    again.advance(100)
    one, two = whole.gather(), again.gather()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name], name)
    assert whole.energies()["box_work"] == again.energies()["box_work"]
    assert again.system.lists.detections > 1


def test_boxes_that_do_not_deform_have_the_bits_they_had(tmp_path):
    """With rates of zero nothing moves otherwise than without any deformation."""
    runs = [
        Simulation(moving_case(tmp_path, gas(7, sizes=True), deformation))
        for deformation in (None, {}, {"x": {"strain_rate": 0.0}})
    ]
    for run in runs:
        run.advance(200)
    for name in ("position", "velocity", "angular_velocity"):
        for run in runs[1:]:
            np.testing.assert_allclose(run.gather()[name], runs[0].gather()[name], rtol=1e-6, atol=1e-7)
    assert runs[1].energies()["box_work"] == 0.0


def test_stages_compress_to_a_solid_fraction_and_then_shear(tmp_path):
    until = {"quantity": "solid_fraction", "above": 0.3, "every": 10 * STEP}
    stages = [
        {"name": "filling", "until": until, "deformation": isotropic(-5.0)},
        {"name": "shearing", "end": 300 * STEP, "deformation": {"shear": SHEAR}},
        {"name": "resting", "deformation": {}},
    ]
    run = Simulation(moving_case(tmp_path, gas(8), None, more={"stages": stages}))
    solid = 216 * 4.0 / 3.0 * math.pi * R**3
    assert solid / PERIOD**3 < 0.28
    run.advance(2000)
    states = run.system.stages.states
    box = run.system.box.moving
    assert [one.outcome for one in states] == [2, 1, 0]
    assert states[0].value == pytest.approx(0.3, rel=2e-3)
    expected = -math.log(0.3 / (solid / PERIOD**3)) / 3.0
    np.testing.assert_allclose(box.strain(run.step), np.full(3, expected), rtol=0.02)
    assert box.at(run.step).shear == pytest.approx(300 * STEP * SHEAR["rate"], rel=1e-6)
    assert not box.gradient_at(run.step).any()
    assert abs(run.energies()["residual"]) < 5e-3 * run.energies()["box_work"]


def test_walls_may_stand_in_the_box(tmp_path):
    """Between two plates grains are pressed together from the sides; rough plates hold them back."""
    group = gas(9)
    walls = tuple(
        {"shape": "plane", "point": [0.0, 0.0, z], "normal": [0.0, 0.0, n]} for z, n in ((0.0, 1.0), (PERIOD, -1.0))
    )
    deformation = {"x": {"strain_rate": -6.0}, "shear": {"velocity_along": "y", "gradient_along": "x", "rate": 20.0}}
    for skin in ("auto", 0.05):
        run = Simulation(
            moving_case(
                tmp_path, group, deformation, walls=walls, periodic=[True, True, False], detection={"skin": skin}
            )
        )
        run.advance(600)
        energies = run.energies()
        assert run.measures().wall_contacts > 3
        assert abs(energies["residual"]) < 3e-3 * energies["box_work"]
        if skin == "auto":
            expected = run.gather()
    np.testing.assert_array_equal(run.gather()["position"], expected["position"])


def test_rigid_clusters_move_with_the_box(tmp_path):
    """The box moves their centres; what it delivers is stored and lost."""
    dumbbell = {"spheres": [[0.0, 0.0, 0.0, 0.006], [0.008, 0.0, 0.0, 0.004]]}
    more = {
        "shapes": {"dumbbell": dumbbell},
        "particles": [
            {
                "material": "grain", "shape": "dumbbell", "orientation": "random",
                "fill": {"arrangement": "cubic", "count": 216, "seed": 1}, "velocity": {"random": 1.0, "seed": 2},
            }
        ],
    }  # fmt: skip
    residuals = []
    for deformation in (isotropic(-8.0), MIXED):
        run = Simulation(moving_case(tmp_path, None, deformation, more=more))
        run.advance(600)
        energies = run.energies()
        assert run.measures().pair_contacts > 4
        assert energies["box_work"] > 0.05 * energies["translation"]
        residuals.append(abs(energies["residual"]) / energies["box_work"])
    assert max(residuals) < 5e-3


def test_own_forces_know_velocities_relative_to_the_box(tmp_path):
    """A drag takes the motion relative to the box away, wherever a grain is; its work closes the balance."""
    drag = {"kind": "drag", "linear": 2.0}
    run = Simulation(moving_case(tmp_path, gas(10), {"shear": SHEAR}, more={"forces": [drag]}))
    run.advance(400)
    energies = run.energies()
    assert energies["own_forces"] < 0.0
    assert abs(energies["residual"]) < 2e-3 * abs(energies["own_forces"])
    flow = run.system.box.moving.gradient_at(run.step)
    own = run.particles.velocity - (run.particles.position - 0.5 * PERIOD) @ flow.T
    assert np.abs(own).max() < 0.2 * np.abs(run.particles.velocity).max()


def test_a_box_that_becomes_too_small_stops_the_run(tmp_path):
    group = Grains([[0.03, 0.03, 0.03]], R)
    run = Simulation(moving_case(tmp_path, group, {"y": {"strain_rate": -100.0}}))
    with pytest.raises(BlowUpError, match=r"m long along y, less than two of the largest diameters \(0\.04 m\)"):
        run.advance(2000)


def test_a_compression_beyond_reason_stops_the_run(tmp_path):
    run = Simulation(moving_case(tmp_path, gas(11, speed=0.0), isotropic(-20.0)))
    with pytest.raises(BlowUpError, match="in a box that has strained by"):
        run.advance(2000)


@pytest.mark.parametrize(
    ("deformation", "options", "match"),
    [
        (
            {"x": {"strain_rate": -1.0}},
            {"periodic": [False, True, True]},
            "deforms along x, and the box is not periodic",
        ),
        ({"shear": SHEAR}, {"periodic": [True, False, True]}, r"gradient_along = \"y\": shears along y, and the box"),
        ({"shear": {**SHEAR, "gradient_along": "x"}}, {}, "must be another axis than velocity_along"),
        ({"w": {}}, {}, "domain.deformation.w: is not a key; allowed: x, y, z"),
        ({"shear": SHEAR}, {"detection": {"method": "nbs"}}, 'take "hgrid" or "linked-cell"'),
        ({"z": {"strain_rate": 1.0}}, {"gravity": [0.0, 0.0, -9.81]}, "the box deforms along z, where particles would"),
        ({"mean_stress": 10.0}, {"gravity": [0.0, 0.0, -9.81]}, "the box deforms along z, where"),
        ({"x": {"strain": 1.0}}, {}, "strain_rate"),
    ],
)
def test_what_cannot_deform_is_refused(tmp_path, deformation, options, match):
    with pytest.raises(CaseError, match=match):
        moving_case(tmp_path, gas(1), deformation, **options)


def test_particles_cannot_be_inserted_into_a_box_that_deforms(tmp_path):
    run = Simulation(moving_case(tmp_path, gas(1), {"shear": SHEAR}))
    with pytest.raises(InputError, match="cannot be inserted into a box that deforms"):
        run.insert([[0.0, 0.0, 0.0]], R, "grain")


def test_written_positions_are_wrapped_with_the_velocity_of_their_image(tmp_path):
    """Who is put across the gradient axis is the image in the box, and moves as that does."""
    runs = [Simulation(moving_case(tmp_path, gas(12), {"shear": SHEAR})) for _ in range(2)]
    for run in runs:
        run.advance(50)
    vectors = runs[1].system.constants.shape.vectors
    speeds = runs[1].system.box.moving.image_velocities(50)
    runs[1].particles.position[:] += vectors[1] - vectors[2]
    runs[1].particles.velocity[:] += speeds[1] - speeds[2]
    for run in runs:
        run.rebuild_lists()
        run.advance(50)
    np.testing.assert_allclose(runs[0].gather()["position"], runs[1].gather()["position"], atol=1e-9)

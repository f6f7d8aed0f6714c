"""The loops over contacts are vector code, and right, with the instructions of any x86 processor.

A change that makes them scalar costs more than half of their speed.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

import pdem
from helpers.crowds import LAW, MOTION, OPEN, PARAMETERS, crowd, fixed_of, near_pairs
from pdem.case.groups.initial import initial_particles
from pdem.contact.law.dissipation import ENDED
from pdem.contact.pairs import evaluate
from pdem.contact.pairs.arguments import NO_WALLS, kick_of
from pdem.contact.pairs.contacts import PairContacts
from pdem.contact.pairs.history_kernels import CHUNK
from pdem.contact.pairs.layout import BLOCK
from pdem.contact.walls.due_facets import TILE
from pdem.contact.walls.evaluate import wall_kernel
from pdem.contact.walls.search import SEEN, search_kernel
from pdem.contact.walls.stages import WALL_COLUMNS
from pdem.engine.clusters.steps import contact_parameters
from pdem.numerics.kernels import plain
from pdem.numerics.simd.threshold_filter import DUE_LANES
from pdem.numerics.sums import ExactSums

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]

WIDE = llvmlite.binding.get_host_cpu_features().get("avx2", False)
PROCESSORS = {"this one": {}, "SSE2": {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}}
if WIDE:
    PROCESSORS["AVX2"] = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+sse4.2"}

EVALUATE = """
import importlib, pickle, sys
import numba
room, name = sys.argv[1:]
law, arguments = pickle.load(sys.stdin.buffer)
kernel = getattr(importlib.import_module(room), name)(law)
options = {name: value for name, value in kernel.targetoptions.items() if name not in ("nopython", "cache")}
fresh = numba.njit(**options)(kernel.py_func)
fresh(*arguments)
pickle.dump((arguments, next(iter(fresh.inspect_asm().values()))), sys.stdout.buffer)
"""


def named(kernel, arguments):
    """Return the arguments of a kernel by name, with the names of the fields of those that are tuples."""
    parameters = inspect.signature(kernel.py_func).parameters
    return {
        name: getattr(sys.modules[kernel.py_func.__module__], parameter.annotation)(*value)
        if isinstance(value, tuple)
        else value
        for (name, parameter), value in zip(parameters.items(), arguments, strict=True)
    }


def on_processors(names, maker, law, arguments, folder):
    """Return what `evaluated` does for some of `PROCESSORS`, by name; two are compiled for at a time."""
    with ThreadPoolExecutor(2) as pool:
        done = {
            name: pool.submit(evaluated, maker, (law, arguments), PROCESSORS[name], folder / name) for name in names
        }
    return {name: one.result() for name, one in done.items()}


def evaluated(maker, arguments, environment, folder):
    """Compile for a processor, evaluate contacts once, and return what the arguments are then, and the machine code."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-c", EVALUATE, maker.__module__, maker.__name__],
        input=pickle.dumps(arguments), capture_output=True, check=True, cwd=ROOT,
        env=inherited | environment | {"PDEM_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return pickle.loads(done.stdout)


@pytest.fixture(scope="module")
def contacts():
    """Return the arguments of the kernel for contacts of a crowd that have lasted for a step."""
    particles, lists, ended = crowd(11, 500, 0), PairContacts(LAW), ExactSums(ENDED)
    lists.take_candidates(near_pairs(particles), particles, ended)
    kick, given = kick_of(NO_WALLS, 2e-4, MOTION, fixed_of(particles)), []
    with pytest.MonkeyPatch.context() as monkeypatch:
        kernel = evaluate.pair_kernel(LAW)

        def noted(*arguments):
            given[:] = copy.deepcopy(arguments)
            return kernel(*arguments)

        monkeypatch.setattr(lists, "kernel", noted)
        for _ in range(2):
            particles.column("position")[:500] += 1e-3 * particles.column("velocity")[:500]
            lists.begin(particles, PARAMETERS.density, packed=False)
            lists.evaluate(False, particles, OPEN, PARAMETERS, ended, kick)
    assert lists.count > CHUNK
    return given


@pytest.mark.parametrize(
    "names",
    [pytest.param(("this one",), id="this one"), pytest.param(tuple(PROCESSORS), id="all", marks=pytest.mark.slow)],
)
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 instructions")
def test_contact_loops_are_vector_code_without_gathers_and_right_on_any_processor(contacts, tmp_path, names):
    usual = copy.deepcopy(contacts)
    evaluate.pair_kernel(LAW)(*usual)
    found = {"as it runs": named(evaluate.pair_kernel(LAW), usual)}
    for name, (after, code) in on_processors(names, evaluate.pair_kernel, LAW, contacts, tmp_path).items():
        assert not re.findall(r"gather[dq]|scatter[dq]pd", code), name
        if WIDE and name != "SSE2":
            # four at a time; of two, as in SSE2, the compiler expects nothing where coefficients come one by one
            assert len(re.findall(r"vsqrtpd.*%[yz]mm", code)) >= 8, name
            assert len(re.findall(r"vdivpd.*%[yz]mm", code)) >= 7, name
        found[name] = named(evaluate.pair_kernel(LAW), after)
    for bundle, column in (
        ("particles", "force"), ("particles", "torque"), ("particles", "velocity"), ("contacts", "forces"),
        ("particles", "angular_velocity"), ("contacts", "history"),
    ):  # fmt: skip
        assert_same(*(getattr(after[bundle], column) for after in found.values()))


def assert_same(one, *others):
    """Compare numbers, most of which are finite: an overlap that is not known is minus infinity."""
    known = np.isfinite(one)
    assert known.mean() > 0.9
    for other in others:
        np.testing.assert_array_equal(np.isfinite(other), known)
        np.testing.assert_allclose(other[known], one[known], rtol=1e-9, atol=1e-9 * np.abs(one[known]).max())


ON_PLATES = """
[time]
step = 1e-6
end = 1e-3
[domain]
lower = [0.0, 0.0, -0.01]
upper = [0.032, 0.032, 0.01]
periodic = [true, true, false]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.steel]
[materials.rubber]
[interactions.grain-grain]
friction = 0.5
restitution = 0.3
[interactions.grain-steel]
friction = 0.3
restitution = 0.6
rolling_friction = 0.1
[interactions.grain-rubber]
friction = 0.8
restitution = 0.3
[[walls]]
mesh = "left"
material = "steel"
[[walls]]
mesh = "right"
material = "rubber"
rotation = {rate = 3.0, axis = [0.5, 1.0, 2.0], centre = [0.01, 0.02, 0.0]}
[[particles]]
material = "grain"
radius = 1e-3
fill = {arrangement = "hexagonal", count = 150, gap = 0.08, jitter = 1.0, lower = [0.0, 0.0, 0.0], upper = [0.032, 0.032, 0.004]}
velocity = {random = 0.1, seed = 1}
"""  # noqa: E501


def plate(left, right):
    """Return a horizontal square of two triangles at height 0."""
    corners = np.array([[left, 0.0, 0.0], [right, 0.0, 0.0], [right, 0.032, 0.0], [left, 0.032, 0.0]])
    return pdem.Mesh(corners, [[0, 1, 2], [0, 2, 3]])


@pytest.fixture(scope="module")
def wall_contacts():
    """Return law and arguments of the kernels for contacts with two plates that have lasted for a step."""
    meshes, given = [plate(0.0, 0.016), plate(0.016, 0.032)], {}
    case = pdem.Case.from_text(ON_PLATES)
    particles = initial_particles(case, meshes)
    lowest = particles["position"][:, 2] < 1.5e-3
    particles["position"][lowest, 2] = 0.99e-3
    simulation = pdem.Simulation(case, threads=1, meshes=meshes, particles=particles)
    walls = simulation.system.contacts.walls
    kernels = {"find_kernel": search_kernel(walls.law), "law_kernel": wall_kernel(walls.law)}
    simulation.advance(1)
    system, packed = simulation.system, simulation.system.contacts.pairs.packed(simulation.particles.count)

    def noted(name):
        def call(*arguments):
            given[name] = copy.deepcopy(arguments)
            return kernels[name](*arguments)

        return call

    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in kernels:
            monkeypatch.setattr(walls, name, noted(name))
        walls.evaluate(packed, contact_parameters(system), system.contacts.ended_energies)
    assert walls.count > 2 * BLOCK
    return walls.law, given["find_kernel"], given["law_kernel"]


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 instructions")
def test_wall_contacts_are_vector_code_and_right_on_any_processor(wall_contacts, tmp_path):
    found, (law, _, contacts) = {}, wall_contacts
    for name, (after, code) in on_processors(PROCESSORS, wall_kernel, law, contacts, tmp_path).items():
        if WIDE and name != "SSE2":
            assert len(re.findall(r"vsqrtpd.*%[yz]mm", code)) >= 7, name  # six of the law, one before it
            assert len(re.findall(r"vdivpd.*%[yz]mm", code)) >= 9, name  # five, and four
        found[name] = named(wall_kernel(law), after)
    for bundle, column in (("work", "force"), ("work", "total"), ("now", "history")):
        assert_same(*(getattr(after[bundle], column) for after in found.values()))


@pytest.mark.parametrize("workers", [2, 3, 7])
@pytest.mark.parametrize("first", [0, 1, 5])
def test_wall_contacts_have_the_same_bits_wherever_they_stand_in_a_block(wall_contacts, workers, first):
    """Other workers, and other particles before them, put contacts into other lanes of other vectors."""
    found, (law, sought, evaluated) = [], wall_contacts
    find, evaluate_law = search_kernel(law), wall_kernel(law)
    motion = named(evaluate_law, evaluated)["motion"]
    for many, begin in ((1, 0), (workers, first)):
        given = named(find, copy.deepcopy(sought))
        near, work = given["near"], given["work"]
        count = len(near.near)
        room = len(work.force) + 8 * (count + many)
        rows = len(work.real) // work.seen.shape[1] * many  # of facets, for each worker its own
        given["tally"] = np.zeros((rows, given["tally"].shape[1]), np.int32)
        given["work"] = work._replace(
            real=np.zeros((rows, work.real.shape[1])), integer=np.zeros((rows, work.integer.shape[1]), np.int64),
            seen=np.zeros((SEEN, many), np.int64), history=np.zeros(many * law.columns * BLOCK),
            columns=np.zeros(many * WALL_COLUMNS), bound=np.zeros(rows),
            tested=np.zeros(room + DUE_LANES * many, np.int64),
            listed=np.zeros(room + DUE_LANES * many, np.int32),
            **{name: np.zeros(many * TILE, np.int32) for name in ("active", "until")},
            **{name: np.zeros(room, np.int32) for name in ("row", "particle", "owner")},
        )  # fmt: skip
        given["near"] = near._replace(
            near=near.near[begin:].copy(), start=near.start[begin : count + 1].copy(), end=near.end[begin:].copy(),
            crosses=near.crosses[begin:].copy(),
        )  # fmt: skip
        for name in ("now", "before"):
            given[name] = given[name]._replace(counts=given[name].counts[begin:].copy())
        find(*plain(*given.values()))
        del given["tally"]
        evaluate_law(*plain(*(given.get(name, motion) for name in named(evaluate_law, evaluated))))
        left = first if begin == 0 else 0
        begun = given["near"].start[left]
        found.append((
            given["work"].total[1 + left : count + 1 - (first - left)], given["work"].force[begun:],
            given["now"].history[given["now"].width * (begun + 1) :], given["now"].counts[left : count - begin],
        ))  # fmt: skip
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)

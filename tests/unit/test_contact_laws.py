"""Contact laws of parts, and those that users write: layouts, keys, mistakes, and the same bits as a built-in law."""

from __future__ import annotations

import math
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import pdem
from helpers.cases import GRAIN, USUAL, Grains, make_case, quad, simulate, state_of
from helpers.sticky import sticky_case, sticky_law
from pdem.case.laws import law_of
from pdem.contact.law.models import LAWS
from pdem.foundation.errors import CaseError, InputError

pytestmark = [pytest.mark.compiles, pytest.mark.shares_law("sticky")]

ROOT = Path(__file__).resolve().parents[2]
CROWD = np.random.default_rng(4)
PLACES = np.stack(np.meshgrid(*(np.arange(3) * 1.9e-3,) * 3), axis=-1).reshape(-1, 3) + CROWD.uniform(
    0.0, 1e-4, (27, 3)
)
GRAINS = Grains(PLACES, 1e-3, CROWD.normal(0.0, 0.1, (27, 3)), CROWD.normal(0.0, 20.0, (27, 3)))


WATER = {"model": "liquid-bridge", "surface_tension": 0.07, "contact_angle": 30.0}


def case_with(folder, **law):
    return make_case(folder, GRAINS, law={**USUAL, **law}, step=1e-6)


def names(law):
    return [column.name for column in law.history]


def test_a_law_has_the_columns_of_its_parts_and_no_others(tmp_path):
    base = ["overlap", "normal_force", "velocity_x", "velocity_y", "velocity_z"]
    force = [f"tangential_force_{axis}" for axis in "xyz"]
    torque = [f"rolling_torque_{axis}" for axis in "xyz"]
    accounts = ["normal_damping", "tangential", "sliding"]
    assert names(law_of(case_with(tmp_path))) == [*base, *force, *accounts]
    assert names(law_of(case_with(tmp_path, friction=0.0))) == [*base, "normal_damping"]
    assert names(law_of(case_with(tmp_path, rolling_friction=0.1))) == [*base, *force, *accounts, "rolling"]
    spring = law_of(case_with(tmp_path, rolling={"model": "spring", "friction": 0.1}))
    assert names(spring) == [*base, *force, *torque, *accounts, "rolling_spring", "rolling"]
    case = case_with(tmp_path)
    case.override("output.energies=false")
    assert names(law_of(case)) == [*base, *force]


def test_both_ways_to_say_constant_torque_are_one(tmp_path):
    short = law_of(case_with(tmp_path, rolling_friction=0.1))
    long = law_of(case_with(tmp_path, rolling={"model": "constant-torque", "friction": 0.1}))
    assert short == long
    assert hash(short) == hash(long)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"law": "hertz-mindln"}, 'is no contact law; did you mean "hertz-mindlin"?'),
        ({"law": "JKR"}, 'is no contact law; it is a model of adhesion: give adhesion = {model = "jkr", ...} beside'),
        ({"law": "python:laws.py"}, 'must be "python:FILE.py:NAME"'),
        ({"rolling": {"friction": 0.1}}, "rolling.model: is missing"),
        ({"rolling": {"model": "sprung", "friction": 0.1}}, 'must be one of "constant-torque", "spring", "sds"'),
        ({"rolling": {"model": "spring"}}, "rolling.friction: is missing"),
        ({"rolling": {"model": "spring", "friction": -0.1}}, "must be at least 0"),
        ({"rolling": {"model": "spring", "friction": 0.1, "dampng": 1.0}}, "did you mean 'damping'?"),
        ({"rolling": {"model": "spring", "friction": 0.1, "damping": 1.5}}, "must be at most 1"),
        ({"rolling": {"model": "spring", "friction": 0.1, "stiffness": "hard"}}, 'must be one of "ai", "tangential"'),
        ({"rolling": {"model": "spring", "friction": "high"}}, "must be a number"),
        ({"rolling": {"model": "spring", "friction": 0.1}, "rolling_friction": 0.1}, "not allowed together"),
        ({"adhesion": {"model": "jkr"}}, "work_of_adhesion: is missing"),
        ({"adhesion": {"model": "jkr", "work_of_adhesion": 0.0}}, "must be greater than 0"),
        (
            {"adhesion": {"model": "jkr", "work_of_adhesion": 0.1}, "law": "linear", "normal_stiffness": 1e3},
            'it goes with law = "hertz-mindlin"',
        ),
        ({"adhesion": {"model": "dmt", "work_of_adhesion": -0.1}}, "must be greater than 0"),
        ({"adhesion": {"model": "linear"}}, "cohesion_energy_density: is missing"),
        (
            {"adhesion": {"model": "linear", "cohesion_energy_density": 1e3, "area": "sjkr2"}},
            'must be one of "lens", "double"',
        ),
        ({"adhesion": {**WATER, "contact_angle": 90.0, "volume": 1e-12}}, "contact_angle = 90.0: must be below 90"),
        ({"adhesion": {**WATER, "surface_tension": -0.07, "volume": 1e-12}}, "must be greater than 0"),
        ({"adhesion": WATER}, "must have one of volume, relative_volume, carried_volume"),
        ({"adhesion": {**WATER, "volume": 1e-12, "relative_volume": 0.01}}, "and only one"),
        ({"adhesion": {**WATER, "volume": 0.0}}, "must be greater than 0"),
        ({"normal_stiffness": 1e4}, 'belongs to law = "linear"'),
        ({"law": "linear"}, "normal_stiffness: is missing"),
        ({"stiffnes": 1.0}, "is not a key"),
    ],
)
def test_wrong_keys_are_named_with_what_is_allowed(tmp_path, keys, said):
    with pytest.raises(CaseError) as raised:
        case_with(tmp_path, **keys)
    assert said in str(raised.value)


MINE = """
import math
import pdem

RATIO = 2.0 / 7.0

def normal(overlap, radius, c):
    return c.stiffness * overlap, c.stiffness

def energy(overlap, radius, c):
    return 0.5 * c.stiffness * overlap * overlap

spring = pdem.contact_law(
    normal=normal, energy=energy, power=1.0, tangential="spring", coefficients={"stiffness": "N/m"}
)
"""


def write(folder, text, name="laws.py"):
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")


def run_of(folder, law, steps=80, walls=True):
    given = ({"mesh": quad(0.1, -1.02e-3)},) if walls else ()
    run = simulate(folder, GRAINS, law={**USUAL, **law}, step=2e-6, gravity=(0.0, 0.0, -9.81), walls=given)
    run.advance(steps)
    return run


def test_a_law_from_a_file_gives_the_bits_of_the_built_in_one(tmp_path):
    """The same arithmetic, compiled the same way: contacts between particles and with walls, and the ledger."""
    write(tmp_path, MINE)
    built_in = run_of(tmp_path, {"law": "linear", "normal_stiffness": 2e3})
    mine = run_of(tmp_path, {"law": "python:laws.py:spring", "stiffness": 2e3})
    measured = mine.measures()
    assert measured.pair_contacts > 1
    assert measured.wall_contacts > 0
    for name in ("position", "velocity", "angular_velocity", "force", "torque"):
        assert mine.gather()[name].tobytes() == built_in.gather()[name].tobytes(), name
    for name, value in built_in.energies().items():
        assert mine.energies()[name] == pytest.approx(value, rel=1e-12, abs=1e-20), name


def test_a_law_made_in_a_script_is_known_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("pdem.contact.law.models.LAWS", LAWS)
    pdem.contact_law(
        "in-a-test", normal=lambda overlap, radius, c: (c.k * overlap, c.k), power=1.0, coefficients={"k": "N/m"}
    )
    try:
        case = case_with(tmp_path, law="in-a-test", k=1e3)
        assert law_of(case).elastics[0][0].model == "<lambda>"
        with pytest.raises(CaseError, match="k: is missing"):
            case_with(tmp_path, law="in-a-test")
    finally:
        del LAWS["in-a-test"]


EXAMPLES = re.findall(r"```python\n(# laws.py\n.*?)```", (ROOT / "docs/contact-laws.md").read_text(), re.DOTALL)
"""The laws of the documentation: with a normal force, with a torque that remembers, with adhesion."""


def test_the_normal_force_of_the_documentation(tmp_path):
    write(tmp_path, EXAMPLES[0])
    case = case_with(tmp_path, law="python:laws.py:stiffening", stiffness=1e4, hardening=5.0)
    normal = law_of(case).elastics[0][0]
    force, stiffness = normal.elastic(1e-5, 1e-3, SimpleNamespace(stiffness=1e4, hardening=5.0))
    assert force == pytest.approx(1e4 * 1e-5 * (1.0 + 5.0 * 0.01))
    assert stiffness == pytest.approx(1e4 * (1.0 + 10.0 * 0.01))


UPRIGHT = {"law": "python:upright.py:held_upright", "k": 1e-9, "friction": 0.0, "restitution": 0.5}
CLAY = {"law": "python:clay.py:clay", "k1": 1e3, "k2": 4e3, "friction": 0.3, "restitution": 1.0}


def on_plate(folder, grain, **options):
    """Return a run of a grain on a plate, which it meets by one of two laws; both are compiled as one."""
    write(folder, EXAMPLES[1], "upright.py")
    write(folder, EXAMPLES[3], "clay.py")
    return simulate(
        folder, grain, law=UPRIGHT, interactions={"clay-clay": CLAY, "clay-steel": CLAY}, walls=({"mesh": quad()},),
        materials={"grain": GRAIN, "clay": GRAIN, "steel": {}}, lower=(-1,) * 3, upper=(1,) * 3, **options,
    )  # fmt: skip


def test_a_torque_with_a_memory_of_its_own(tmp_path):
    """A sphere on a plate oscillates with sqrt(k / I) about the contact, without friction about its centre."""
    radius, k = 1e-3, UPRIGHT["k"]
    inertia = 0.4 * GRAIN["density"] * 4.0 / 3.0 * math.pi * radius**5
    grain = Grains([[0.0, 0.0, radius - 1e-7]], radius, (0.0,) * 3, (1.0, 0.0, 0.0))
    run = on_plate(tmp_path, grain, step=2e-6, gravity=(0.0, 0.0, -9.81))
    quarter = 0.5 * math.pi * math.sqrt(inertia / k)
    run.advance(round(quarter / 2e-6))
    assert abs(run.gather()["angular_velocity"][0, 0]) < 5e-3
    energies = run.energies()
    assert energies["rolling_spring"] == pytest.approx(0.5 * inertia, rel=1e-2)
    assert abs(energies["residual"]) < 1e-2 * 0.5 * inertia
    assert state_of(run)["wall_contacts"]["rolling_history"].shape == (1, 3)


def test_a_normal_force_with_a_memory_rebounds_by_its_stiffnesses(tmp_path):
    """From a plate, by sqrt(k1 / k2), with what is lost in the ledger; pressed again less deep it is elastic."""
    radius, k1, k2, speed = 1e-3, CLAY["k1"], CLAY["k2"], 0.1
    mass = GRAIN["density"] * 4.0 / 3.0 * math.pi * radius**3
    deepest = speed * math.sqrt(mass / k1)
    grain = Grains([[0.0, 0.0, radius]], radius, (0.0, 0.0, -speed), material="clay")
    run = on_plate(tmp_path, grain, step=1e-7)
    run.advance(round(0.5 * math.pi * deepest / speed / 1e-7) + 10)
    remembered = state_of(run)["wall_contacts"]["normal_history_most"]
    np.testing.assert_allclose(remembered, deepest, rtol=1e-4)
    run.advance(4000)
    assert run.gather()["velocity"][0, 2] == pytest.approx(speed * math.sqrt(k1 / k2), rel=1e-3)
    energies = run.energies()
    assert energies["plastic"] == pytest.approx(0.5 * mass * speed**2 * (1.0 - k1 / k2), rel=1e-3)
    assert abs(energies["residual"]) < 1e-3 * energies["plastic"]


BAD = {
    "no file": (None, "law", "cannot be read: No such file"),
    "syntax": ("def f(:\n    pass\n", "law", "line 1: invalid syntax"),
    "fails when read": ("import pdem\nx = 1 / 0\n", "law", "line 2: ZeroDivisionError"),
    "no such name": ("import pdem\nlow = pdem.contact_law()\n", "law", "did you mean 'low'?"),
    "no law": ("law = 3\n", "law", "is a int, no contact law"),
    "too few values": (
        "import pdem\ndef f(overlap, radius, c):\n    return overlap\nlaw = pdem.contact_law(normal=f)\n", "law",
        "it has to return the force and the stiffness, two numbers",
    ),
    "not finite": (
        "import pdem\ndef f(overlap, radius, c):\n    return 1e308 * 10.0, 1.0\nlaw = pdem.contact_law(normal=f)\n",
        "law", "it has to be finite",
    ),
    "unknown coefficient": (
        "import pdem\ndef f(overlap, radius, c):\n    return c.stif * overlap, 1.0\nlaw = pdem.contact_law(normal=f)\n",
        "law", "line 3: AttributeError",
    ),
    "a pull without its work": (
        "import pdem\ndef f(overlap, radius, c):\n    return 0.1\nlaw = pdem.contact_law(adhesion=f)\n", "law",
        "it has to return the pull and its work, two numbers",
    ),
    "a memory without its energy": (
        "import pdem\ndef f(overlap, radius, c, history):\n    return overlap, 1.0, history, 0.0\n"
        'law = pdem.contact_law(normal=f, history={"normal": ("a",)})\n', "law", "what can be got back [J]",
    ),
    "a memory that shrinks": (
        "import pdem\ndef f(overlap, radius, c, history):\n    return overlap, 1.0, (), 0.0\n"
        "def g(overlap, radius, c, history):\n    return 0.0\n"
        'law = pdem.contact_law(normal=f, energy=g, history={"normal": ("a",)})\n', "law",
        "four things: the force, the stiffness, the new history, a tuple of one number, and the energy lost",
    ),
    "a memory and adhesion": (
        "import pdem\ndef f(overlap, radius, c, history):\n    return overlap, 1.0, history, 0.0\n"
        "def g(overlap, radius, c, history):\n    return 0.0\n"
        "def pull(overlap, radius, c):\n    return 0.0, 0.0\n"
        'law = pdem.contact_law(normal=f, energy=g, adhesion=pull, history={"normal": ("a",)})\n', "law",
        "let the normal force pull",
    ),
    "does not compile": (
        "import os\nimport pdem\ndef f(overlap, radius, c):\n    return overlap * os.getpid(), 1.0\n"
        "law = pdem.contact_law(normal=f)\n", "law", "line 4: cannot be compiled",
    ),
    "too few arguments": (
        "import pdem\ndef f(overlap):\n    return 1.0, 1.0\nlaw = pdem.contact_law(normal=f)\n", "law",
        "takes 1 arguments",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_mistakes_in_a_file_are_told_before_the_first_step(tmp_path, kind):
    text, name, said = BAD[kind]
    if text is not None:
        write(tmp_path, text)
    case = case_with(tmp_path, law=f"python:laws.py:{name}")
    with pytest.raises(CaseError) as raised:
        law_of(case)
    message = str(raised.value)
    assert said in message
    assert "laws.py" in message
    assert "interactions.grain-grain" in message


def test_keys_of_a_law_in_a_file_are_checked(tmp_path):
    write(tmp_path, MINE)
    for keys, said in (({}, "stiffness: is missing"), ({"stiffness": 1.0, "stifness": 2.0}, "is not a key")):
        case = case_with(tmp_path, law="python:laws.py:spring", **keys)
        with pytest.raises(CaseError, match=said):
            law_of(case)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"normal": "herz"}, "did you mean 'hertz'?"),
        ({"normal": 3}, "give a plain function of 3 arguments"),
        ({"power": 2.0}, "it is 1.5 or 1.0"),
        ({"roling": None}, "did you mean 'rolling'?"),
        ({"adhesion": 0.1}, "adhesion of a contact law is 0.1"),
        ({"adhesion": lambda overlap, radius: (0.0, 0.0)}, "as adhesion of a contact law it is given 3"),
        ({"gap": lambda radius, c: 0.0}, "gap of a contact law without adhesion"),
        ({"coefficients": {"a b": "N"}}, "is no name"),
        ({"history": {"roling": ("x",)}}, "did you mean 'rolling'?"),
    ],
)
def test_arguments_of_a_law_are_checked(arguments, said):
    with pytest.raises(InputError) as raised:
        pdem.contact_law(**arguments)
    assert said in str(raised.value)


def part_of(rows, **options):
    """Return some of `GRAINS` as a group of its own."""
    return Grains(PLACES[rows], 1e-3, GRAINS.velocity[rows], GRAINS.spin[rows], **options)


STICKY = sticky_case(
    jkr=sticky_law("jkr", restitution=0.5),
    wet=sticky_law("wet", restitution=0.5, relative_volume=None, carried_volume=0.03),
)
STICKING = part_of(slice(0, 14), material="jkr"), part_of(slice(14, 27), material="wet", liquid=0.02)


@pytest.mark.parametrize(
    ("groups", "options", "walls"),
    [
        pytest.param((GRAINS,), {"law": USUAL}, True, id="usual"),
        pytest.param(STICKING, STICKY, False, id="sticky", marks=pytest.mark.slow),
        pytest.param(STICKING, STICKY, True, id="sticky-walls", marks=pytest.mark.slow),
    ],
)
def test_the_motion_is_the_same_without_the_ledger(tmp_path, groups, options, walls):
    """The parts of the law are the same for walls, whose kernels take the longest to compile."""
    meshes, found = [quad(0.1, -1.02e-3)] if walls else [], []
    for energies in ("true", "false"):
        case = make_case(
            tmp_path, *groups, step=2e-6, gravity=(0.0, 0.0, -9.81),
            walls=tuple({"mesh": mesh} for mesh in meshes), **options,
        )  # fmt: skip
        case.override(f"output.energies={energies}")
        run = pdem.Simulation(case, threads=1, meshes=meshes)
        run.advance(80 if walls else 50)  # without walls all grains are apart after 70
        found.append(run)
    with_ledger, without = found
    assert with_ledger.measures().pair_contacts > 1
    for name, column in with_ledger.gather().items():
        assert column.tobytes() == without.gather()[name].tobytes(), name
    energies = without.energies()
    assert "residual" not in energies
    for name, value in energies.items():
        assert value == with_ledger.energies()[name]

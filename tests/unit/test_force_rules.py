"""`[[forces]]` and `simulation.force`: mistakes are named, findings warn, and nothing is lost on a restart."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.cases import GRAIN, Grains, simulate, state_of
from pdem.case.explain.keys import explain
from pdem.case.input_files import input_files
from pdem.features.external_forces.preflight import force_findings
from pdem.foundation.errors import BlowUpError, CaseError, InputError

MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * 1e-9
BASE = {
    "time": {"step": 1e-4, "end": 0.01},
    "domain": {"lower": [-1.0] * 3, "upper": [1.0] * 3},
    "materials": {"grain": GRAIN},
    "interactions": {"grain-grain": {"friction": 0.0, "restitution": 1.0}},
    "particles": [{"material": "grain", "radius": 1e-3, "positions": [[0.0] * 3, [0.05, 0.0, 0.0]]}],
}


def case_with(folder, *forces):
    document = {**BASE, "output": {"folder": str(folder / "out")}, "forces": list(forces)}
    return pdem.Case.from_text(tomli_w.dumps(document), folder)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"kind": "unifrom"}, "is no kind of force; did you mean 'uniform'?"),
        ({"kind": "python:forces.py"}, 'must be "python:FILE.py:NAME"'),
        ({"kind": "python:forces.py:f", "linear": 1.0}, 'belongs to kind = "drag"'),
        ({"kind": "uniform"}, "needs exactly one of force (N) and acceleration"),
        ({"kind": "uniform", "force": [0.0] * 3, "acceleration": [0.0] * 3}, "needs exactly one of force"),
        ({"kind": "uniform", "force": [0.0, 1.0]}, "forces[0].force"),
        ({"kind": "drag"}, "needs linear (kg/s), quadratic (kg/m) or both, or else viscosity"),
        ({"kind": "drag", "linear": 1.0, "viscosity": 1.0}, "or else viscosity"),
        ({"kind": "drag", "linear": 1.0, "density": 1.0}, "goes with viscosity, not with linear"),
        ({"kind": "drag", "linear": -1.0}, "greater than 0"),
        ({"kind": "drag", "linear": 1.0, "acceleration": [1.0, 0.0, 0.0]}, 'belongs to kind = "uniform"'),
        ({"kind": "drag", "linear": 1.0, "material": "grian"}, "did you mean 'grain'?"),
        ({"kind": "drag", "linear": 1.0, "start": 2.0, "end": 1.0}, "must be after start (2 s)"),
        ({"kind": "drag", "linear": 1e-30}, "beyond all reason"),
        (
            {"kind": "drag", "linear": 1.0, "region": {"lower": [0.0] * 3, "upper": [-1.0] * 3}},
            "must be greater than lower",
        ),
        ({"kind": "array", "force": [0.0, 0.0, 1.0]}, 'belongs to kind = "uniform"'),
        ({"kind": "array", "material": "grain"}, 'forces[0].material = "grain": belongs to other kinds'),
        ({"kind": "array", "start": 0.5}, "a script gives the force of each particle"),
        ({"kind": "drag", "liner": 1.0}, "did you mean 'linear'?"),
    ],
)  # fmt: skip
def test_wrong_keys_are_named(tmp_path, keys, said):
    with pytest.raises(CaseError) as caught:
        case_with(tmp_path, keys)
    assert said in str(caught.value)


def test_there_is_one_array_of_forces(tmp_path):
    with pytest.raises(CaseError, match=r'forces\[2\].kind = "array": is there already'):
        case_with(tmp_path, {"kind": "array"}, {"kind": "drag", "linear": 1.0}, {"kind": "array"})
    case = case_with(tmp_path, {"kind": "drag", "linear": 1e-9}, {"kind": "array"})
    found = list(force_findings(case, 1e-4))
    assert [(one.level, one.subject) for one in found] == [("info", "forces[1]")]
    assert "simulation.set_external_force" in found[0].message


BAD = {
    "no file": (None, "cannot be read: No such file"),
    "no such function": ("def winds(t, x, v, r, m, i):\n    return x\n", "has no wind; did you mean 'winds'?"),
    "no function": ("wind = 3\n", "a force is a int; give a plain function"),
    "syntax": ("def wind(\n", "line 1: "),
    "fails": ("def wind(t, x, v, r, m, i):\n    return x[3], 0.0, 0.0\n", "wind, line 2: IndexError"),
    "too few arguments": ("def wind(t, x):\n    return x\n", "TypeError"),
    "two numbers": ("def wind(t, x, v, r, m, i):\n    return 0.0, 1.0\n", "it has to return the force (x, y, z) in N"),
    "not finite": ("def wind(t, x, v, r, m, i):\n    return 0.0, 0.0, 1e308 * 10.0\n", "it has to be finite there"),
    "no machine code": (
        "def wind(t, x, v, r, m, i):\n    return 0.0, 0.0, 0.0 * len(frozenset((1, 2)))\n",
        "cannot be compiled",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_functions_that_do_not_do_are_named_with_their_line(tmp_path, name):
    text, said = BAD[name]
    if text is not None:
        (tmp_path / "forces.py").write_text(text)
    case = case_with(tmp_path, {"kind": "python:forces.py:wind"})
    with pytest.raises(CaseError) as caught:
        pdem.Simulation(case)
    assert said in str(caught.value)
    assert 'forces[0].kind = "python:forces.py:wind"' in str(caught.value)


SWIRL = """
import math

def turned(x, y, rate):
    return -rate * y, rate * x

def swirl(time, position, velocity, radius, mass, id):
    x, y, z = position
    ux, uy = turned(x, y, 2.0)
    c = 6.0 * math.pi * 1e-3 * radius
    return c * (ux - velocity[0]), c * (uy - velocity[1]), -c * velocity[2]
"""


def test_a_function_of_a_file_moves_as_the_same_by_script(tmp_path):
    """With a function that it calls; the file is one of those that all nodes have to see."""
    (tmp_path / "forces.py").write_text(SWIRL)
    case = case_with(tmp_path, {"kind": "python:forces.py:swirl"})
    assert input_files(case) == {"forces[0].kind": tmp_path / "forces.py"}
    assert pdem.Case.from_text(case.to_toml(), tmp_path).forces == case.forces
    variables = {}
    exec(compile(SWIRL, str(tmp_path / "forces.py"), "exec"), variables)
    by_file, by_script = pdem.Simulation(case), pdem.Simulation(case_with(tmp_path))
    by_script.force(variables["swirl"])
    for run in (by_file, by_script):
        run.advance(50)
    for name, column in by_file.gather().items():
        assert column.tobytes() == by_script.gather()[name].tobytes(), name
    assert by_file.energies() == by_script.energies()
    assert by_file.gather()["velocity"][1, 1] > 0.0


def test_a_changed_function_is_another_one(tmp_path):
    """Machine code is found by what a function does, not by its name; numbers that it refers to count."""
    speeds = []
    for pull in (1.0, 2.0):
        text = f"PULL = {pull}\n\ndef f(t, x, v, r, m, i):\n    return PULL * m, 0.0, 0.0\n"
        (tmp_path / f"at{pull}").mkdir()
        (tmp_path / f"at{pull}" / "forces.py").write_text(text)
        run = pdem.Simulation(case_with(tmp_path / f"at{pull}", {"kind": "python:forces.py:f"}))
        run.advance(10)
        speeds.append(run.gather()["velocity"][0, 0])
    assert speeds == pytest.approx([1e-3, 2e-3])


def finding(folder, **keys):
    case = case_with(folder, {"kind": "drag", **keys})
    return list(force_findings(case, 1e-4))


def test_a_step_too_long_for_a_drag_is_found(tmp_path):
    assert not finding(tmp_path, linear=0.1 * MASS / 1e-4)
    (warning,) = finding(tmp_path, linear=1.0 * MASS / 1e-4)
    assert warning.level == "warning"
    assert "is 1; above 0.2 it is inaccurate: time.step = 1e-05 or less" in warning.message
    (error,) = finding(tmp_path, linear=5.0 * MASS / 1e-4)
    assert error.level == "error"
    assert "above 4 velocities grow" in error.message
    (error,) = finding(tmp_path, viscosity=5.0 * MASS / 1e-4 / (6.0 * math.pi * 1e-3))
    assert error.level == "error"
    (late,) = finding(tmp_path, linear=1e-9, start=1.0)
    assert "it never acts" in late.message


def blows(time, position, velocity, radius, mass, id):
    return mass / (position[0] - 0.05), 0.0, 0.0


def test_a_force_that_is_not_finite_ends_the_run_and_names_the_particle(tmp_path):
    run = pdem.Simulation(case_with(tmp_path))
    run.force(blows)
    with pytest.raises(BlowUpError, match=r"the own force on particle 1 at \(0.05, 0, 0\) m.*test_force_rules"):
        run.run()


def pull(time, position, velocity, radius, mass, id):
    return 0.5 * mass, 0.0, 0.0


def push(time, position, velocity, radius, mass, id):
    return -0.5 * mass, 0.0, 0.0


def test_a_script_gives_its_forces_again_when_it_continues(tmp_path):
    """Others, or none, are refused before the first step; then bits are those of a run through."""
    grains = Grains([[0.0] * 3, [0.1, 0.0, 0.0]], 1e-3)
    through, first = (simulate(tmp_path, grains, step=1e-4) for _ in range(2))
    for run in (through, first):
        run.force(pull)
        run.advance(20)
    state = state_of(first)
    through.advance(30)
    again = simulate(tmp_path, grains, step=1e-4, state=state)
    with pytest.raises(InputError, match="had 1 own force of its script, and 0 of them are given"):
        again.advance(1)
    again.force(push)
    with pytest.raises(InputError, match="other functions than those of the run"):
        again.advance(1)
    again = simulate(tmp_path, grains, step=1e-4, state=state)
    again.force(pull)
    again.advance(30)
    expected, found = state_of(through), state_of(again)
    for group, columns in expected.items():
        for name, column in columns.items():
            np.testing.assert_array_equal(found[group][name], column, f"{group} {name}")
    assert again.energies()["own_forces"] == through.energies()["own_forces"] > 0.0


def test_arguments_of_a_script_are_checked(tmp_path):
    run = pdem.Simulation(case_with(tmp_path))
    with pytest.raises(InputError, match="give a plain function"):
        run.force(3)
    with pytest.raises(InputError, match="no material 'grian'; did you mean 'grain'"):
        run.force(pull, material="grian")
    assert "own_forces" not in run.energies()
    run.force(pull, material="grain")
    run.advance(10)
    assert run.energies()["own_forces"] == pytest.approx(2 * 0.5 * MASS * (0.5 * 1e-3) ** 2, rel=1e-9)


def test_forces_are_explained():
    text = explain("forces")
    for one in ("[[forces]]", "acceleration", "viscosity", "fluid_velocity"):
        assert one in text
    assert "python:FILE.py:NAME" in explain("forces.kind")
    assert "Schiller and Naumann" in explain("forces.density")
    assert textwrap.dedent(explain("forces.linear")).count("kg/s") == 1

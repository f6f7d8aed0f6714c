"""What `pdem compile` builds is all that runs need, on any number of ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pdem.case.model import Case
from pdem.cli import main
from pdem.simulation import warm
from rank_harness.parent import mpirun

ROOT = Path(__file__).resolve().parents[2]

# Machine code that a process holds after `exercise`, which is what `pdem compile` calls, and after runs: whether it was
# compiled or found on disk does not matter.
PROGRAM = """
import sys
from numba.core.dispatcher import Dispatcher
from pdem.case.model import Case
from pdem.cli import main
from pdem.simulation.warm import exercise

def held():
    modules = [module for name, module in sys.modules.items() if name.startswith(("pdem", "decomposition"))]
    kernels = {one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
    return {(one.py_func.__qualname__, str(types)) for one in kernels for types in one.overloads}

exercise(Case.read(sys.argv[1]))
built = held()
for command in (["run", sys.argv[1]], ["restart", "out", "--set", "time.end=0.0012"]):
    try:
        main([*command[:2], *sys.argv[2:], *command[2:]])
    except SystemExit as end:
        assert not end.code, end.code
missing = sorted(held() - built)
assert len(built) > (40 if case.walls else 20), "this test no longer sees the kernels"
assert not missing, missing
"""
PISTON = (
    "particles[0].fill.count=60", "domain.gravity=[0.0, 0.0, -200.0]", "detection.skin=0.0", "time.end=0.001",
)  # fmt: skip
BOX = ("particles[0].fill={count=60, seed=7}", "detection.skin=0.0", "time.end=0.001")  # no walls
HOPPER = ("particles[0].fill.count=60", "detection.skin=0.0", "time.end=0.001")


@pytest.mark.parametrize(
    ("name", "settings", "ranks"), [("piston", PISTON, 1), ("hopper", HOPPER, 2), ("box", BOX, 2)]
)
def test_nothing_is_left_to_compile(tmp_path, monkeypatch, name, settings, ranks):
    monkeypatch.chdir(tmp_path)
    if name == "box":
        shutil.copy(ROOT / "cases" / "polydisperse_box.toml", f"{name}.toml")
    else:
        assert CliRunner().invoke(main, ["new", name]).exit_code == 0
    rest = ["output.folder=out", "output.checkpoint_every=0.001", "decomposition.balance=always"]
    changes = [word for setting in (*settings, *rest) for word in ("--set", setting)]
    launcher = [mpirun(), "-n", str(ranks)] if ranks > 1 else []
    done = subprocess.run(
        [*launcher, sys.executable, "-c", PROGRAM, f"{name}.toml", "--quiet", *changes],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_walls_are_left_out_where_a_case_has_none(monkeypatch):
    called, marked = [], set()
    monkeypatch.setattr(warm, "_run", lambda case, meshes, threads: called.append(len(case.walls)))
    monkeypatch.setattr(warm, "is_marked", marked.__contains__)
    case = Case.read(ROOT / "cases" / "polydisperse_box.toml")
    warm.exercise(case)
    assert called == [0]
    warm.exercise()
    assert called[1:] == [len(warm._case("hgrid", walled=True).walls), 0]
    assert warm.tag(case) != warm.tag()
    marked.add(warm.tag())  # once all kernels are there nothing is missing
    assert warm.tag(case) == warm.tag()

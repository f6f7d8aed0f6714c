"""What `pdem compile` builds is all that runs need, on any number of ranks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from pdem.case.model import Case
from pdem.cli import main
from pdem.foundation.machine import available_cores
from pdem.run.kernels import helper_process, precompile
from pdem.run.simulation import Simulation
from rank_harness.parent import mpirun

ROOT = Path(__file__).resolve().parents[2]

# Machine code that a process holds after `compile_kernels`, which is what `pdem compile` calls, and after runs: whether
# it was compiled or found on disk does not matter.
HELD = """
import json, sys
from numba.core.dispatcher import Dispatcher
from pdem.case.model import Case
from pdem.cli import main
from pdem.numerics.kernel_factory import made
from pdem.run.kernels.precompile import _Laws
from pdem.run.simulation import Simulation
from pdem.run.kernels import precompile

def compile_kernels(case=None):
    precompile.compile_kernels(Simulation, case)

def compile_wall_kernels():
    precompile.compile_wall_kernels(*_Laws.of(None))

def held():
    modules = [module for name, module in sys.modules.items() if name.startswith(("pdem", "decomposition"))]
    kernels = {one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
    kernels |= {*made}
    return {(one.py_func.__qualname__.partition("[")[0], str(types)) for one in kernels for types in one.overloads}
"""
PROGRAM = (
    HELD
    + """
from decomposition.mpi import node_first, start_world
case, world = Case.read(sys.argv[1]), start_world()
for word, setting in zip(sys.argv, sys.argv[1:]):
    if word == "--set":
        case.override(setting)
# one rank first, as a run does: or each compiled all of it
node_first(world and world.communicator, lambda: compile_kernels(case))
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
)
PISTON = (
    "particles[0].fill.count=60", "domain.gravity=[0.0, 0.0, -200.0]", "detection.skin=0.0", "time.end=0.001",
)  # fmt: skip
BOX = (  # no walls, no ledger; the law is one that another test needs as well
    "particles[0].fill={count=60, seed=7}", "detection.skin=0.0", "time.end=0.001", "output.energies=false",
    "interactions.grain-grain.rolling_friction=0.0", "particles[0].radius.min=0.003",
)  # fmt: skip
HOPPER = ("particles[0].fill.count=60", "detection.skin=0.0", "time.end=0.001")


@pytest.mark.parametrize(
    ("name", "settings", "ranks"),
    [
        ("piston", PISTON, 1),
        pytest.param("hopper", HOPPER, 2, marks=pytest.mark.slow),
        pytest.param("box", BOX, 2, marks=pytest.mark.slow),
    ],
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


@pytest.fixture
def calls(monkeypatch):
    """Return the numbers of walls of the cases that `compile_kernels` runs, and the marks that it finds and leaves."""
    called, marked = [], set()
    monkeypatch.setattr(precompile, "_run", lambda make, case, meshes, threads: called.append(len(case.walls)))
    monkeypatch.setattr(precompile, "is_marked", marked.__contains__)
    monkeypatch.setattr(precompile, "mark", marked.add)
    return called, marked


def test_walls_are_left_out_where_a_case_has_none(monkeypatch, calls):
    called, marked = calls
    monkeypatch.setattr(precompile, "HelperProcess", NoHelper)
    case = Case.read(ROOT / "cases" / "polydisperse_box.toml")
    precompile.compile_kernels(Simulation, case)
    assert called == [0]
    assert not marked
    precompile.compile_kernels(Simulation)
    assert called[1:] == [0, len(precompile._case(precompile._Laws.of(None), "hgrid", walled=True).walls)]
    case.override("interactions.grain-grain.rolling_friction=0.0")  # the law of a case that is not known
    assert precompile.kernel_tag(case) != precompile.kernel_tag()
    marked.add(precompile.kernel_tag())  # once all kernels are there nothing is missing
    assert precompile.kernel_tag(case) == precompile.kernel_tag()


class NoHelper:
    """Notes whether one would have been started."""

    needed: ClassVar[list[bool]] = []

    def __init__(self, function, arguments, *, needed):
        assert function is precompile.compile_wall_kernels
        self.needed.append(needed)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def wait(self):
        pass


def test_a_machine_that_has_the_kernels_of_walls_starts_no_helper(monkeypatch, calls):
    monkeypatch.setattr(precompile, "HelperProcess", NoHelper)
    NoHelper.needed.clear()
    for _ in range(2):
        precompile.compile_kernels(Simulation)
    assert NoHelper.needed == [True, False]


def test_all_is_called_where_the_helper_fails(monkeypatch, calls):
    def missing():
        pass

    missing.__module__, missing.__qualname__ = precompile.__name__, "missing"
    monkeypatch.setattr(precompile, "compile_wall_kernels", missing)  # the helper has no such function
    monkeypatch.setattr(helper_process, "available_cores", lambda: 2)
    with pytest.warns(RuntimeWarning, match="cannot import name 'missing'"):
        precompile.compile_kernels(Simulation)
    assert calls[0] == [0, len(precompile._case(precompile._Laws.of(None), "hgrid", walled=True).walls)]


def test_the_helper_compiles_nothing_in_vain():
    show = HELD + "\nglobals()[sys.argv[1]]()\nprint(json.dumps(sorted(held())))"
    helped, built = (
        {tuple(kernel) for kernel in json.loads(run(["-c", show, name], os.environ).stdout)}
        for name in ("compile_wall_kernels", "compile_kernels")
    )
    assert {"evaluate_walls", "visit", "_share", "add_driven_loads", "_find_owners"} <= {name for name, _ in helped}
    assert not {"evaluate_pairs", "search", "drift"} & {name for name, _ in helped}
    assert len(built) > 60 > len(helped) > 20, "this test no longer sees the kernels"
    assert not helped - built


# Imported by every Python that finds it: writes what numba compiles, process by process.
NOTES = """
import atexit, json, os
from numba.core import event
compiled = []
class Notes(event.Listener):
    def on_start(self, one):
        pass
    def on_end(self, one):
        kernel = one.data["dispatcher"].py_func
        if kernel.__module__.startswith(("pdem", "decomposition")):
            compiled.append((kernel.__module__, kernel.__qualname__, str(one.data["args"])))
def write():
    with open(f"{os.environ['NOTES']}/{os.getpid()}.json", "w") as file:
        json.dump(compiled, file)
event.register("numba:compile", Notes())
atexit.register(write)
"""


def run(arguments, environment):
    done = subprocess.run(
        [sys.executable, *arguments], env={**environment, "PYTHONPATH": environment.get("PYTHONPATH", str(ROOT))},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.skipif(available_cores() < 2, reason="a helper is started where there are two cores")
def test_a_cold_machine_compiles_every_kernel_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sitecustomize.py").write_text(NOTES)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | {
        "PDEM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "NOTES": str(tmp_path),
    }  # fmt: skip

    def compiled(*arguments):
        run(["-m", "pdem", *arguments], environment)
        notes = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
        for path in tmp_path.glob("*.json"):
            path.unlink()
        return [{tuple(kernel) for kernel in one} for one in notes]

    first, second = compiled("compile")
    assert min(len(first), len(second)) > 40
    assert not first & second
    assert compiled("new", "piston")
    settings = [word for setting in PISTON for word in ("--set", setting)]
    assert compiled("run", "piston.toml", "--quiet", *settings) == [set()]

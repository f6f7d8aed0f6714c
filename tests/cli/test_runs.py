"""Whole runs through the command line: round trip, ranks, signals, and what help costs."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pdem.cli import main
from rank_harness.parent import mpirun

ROOT = Path(__file__).resolve().parents[2]
PDEM = [sys.executable, "-m", "pdem"]


def start(*arguments, folder, launcher=()):
    return subprocess.Popen(
        [*launcher, *PDEM, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def pdem(*arguments, folder, launcher=()):
    process = start(*arguments, folder=folder, launcher=launcher)
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    assert pdem("new", "two_spheres", folder=folder)[0] == 0
    return folder


def test_help_loads_no_kernels(tmp_path):
    code = (
        "import sys, pdem.cli\n"
        "try: pdem.cli.main(['run', '--help'])\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'numba', 'h5py', 'mpi4py', 'pydantic', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)


LOADED = """
import sys
from pdem.cli import main
try:
    main(["run", "bouncing_sphere.toml", "--quiet", "--overwrite", "--set", "time.end=0.001"])
except SystemExit as end:
    assert not end.code
print(*{name for name in sys.modules if name in sys.argv[1:]})
"""
LATE = (
    "scipy.spatial", "scipy.sparse", "scipy.special", "scipy.linalg", "scipy.optimize", "numpy.f2py", "meshio",
    "plyfile", "rich", "mpi4py", "matplotlib", "numba.np.linalg", "numba.np.arraymath",
)  # fmt: skip


def test_a_run_with_compiled_kernels_loads_only_what_it_needs(tmp_path):
    """A start takes as long as what it imports: scipy, meshio and what numba's compiler knows took half a second."""
    assert pdem("new", "bouncing_sphere", folder=tmp_path)[0] == 0
    command = [sys.executable, "-c", LOADED, *LATE]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for _ in range(2):  # the first run may have to compile
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def inside(*arguments):
    """Run a command in this process, where the kernels are loaded already."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stdout, result.stderr


def test_run_restart_compare(example, monkeypatch):
    """A run, and one that was stopped half way and continued, end in the same bits."""
    monkeypatch.chdir(example)
    rarely = ["--set", "output.snapshots_every=0.01", "--set", "output.series_every=0.01"]
    first = ["--set", "time.end=0.05", "--set", "output.checkpoint_every=0.02"]
    whole = ["--set", 'output.folder="whole"', *first]
    code, output, errors = inside("run", "two_spheres.toml", *whole, *rarely)
    assert code == 0, errors
    assert "particle-steps/s" in output
    assert "residual" in output
    half = ["--set", 'output.folder="parts"', "--set", "time.end=0.04"]
    assert inside("run", "two_spheres.toml", *half, *rarely, "--quiet")[:2] == (0, "")
    code, _, errors = inside("restart", "parts", "--set", "time.end=0.05")
    assert code == 0, errors
    code, output, _ = inside("compare", "whole", "parts")
    assert code == 0, output
    assert output.startswith("equal: the same bits in ")
    assert "2 particles" in output
    code, output, _ = inside("compare", min(Path("whole").glob("checkpoint-*.h5")), "parts")
    assert code == 1
    assert "particles/position" in output
    code, _, errors = inside("restart", "parts")
    assert code == 0
    assert "has reached its end" in errors
    code, _, errors = inside("restart", "parts", "--set", "time.step=1e-6")
    assert code == 2
    assert "keeps its time step" in errors


def test_a_run_and_its_continuation_are_traced(example, monkeypatch):
    monkeypatch.chdir(example)
    first = ["--set", "time.end=0.02", "--set", "output.folder=traced", "--quiet"]
    few = ["--trace-steps", "4", "--trace"]
    code, _, errors = inside("run", "two_spheres.toml", *first, *few, "none/trace.json")
    assert code == 2
    assert "none/trace.json: the trace cannot be written (No such file" in errors
    assert inside("run", "two_spheres.toml", *first, *few, "first.json")[0] == 0
    code, _, errors = inside("restart", "traced", "--set", "time.end=0.03", *few, "second.json", "--quiet")
    assert code == 0, errors
    steps = []
    for name in ("first.json", "second.json"):
        found = json.loads(Path(name).read_text())["traceEvents"]
        steps.append([event["args"]["step"] for event in found if event.get("cat") == "step"])
    assert steps[0] == [1, 2, 3, 4]
    assert steps[1] == list(range(steps[1][0], steps[1][0] + 4))
    assert steps[1][0] > 100


def test_a_restart_passes_over_a_torn_checkpoint(example, monkeypatch):
    monkeypatch.chdir(example)
    settings = ["time.end=0.04", "output.checkpoint_every=0.02", "output.folder=torn", "output.snapshots_every=0.02"]
    code, _, errors = inside("run", "two_spheres.toml", *(word for one in settings for word in ("--set", one)))
    assert code == 0, errors
    *_, newest = sorted(Path("torn").glob("checkpoint-*.h5"))
    whole = newest.read_bytes()
    Path("whole.h5").write_bytes(whole)
    newest.write_bytes(whole[: len(whole) // 2])
    code, _, errors = inside("restart", "torn", "--quiet")
    assert code == 0, errors
    assert f"pdem: warning: {newest}: checkpoint is torn" in errors
    assert inside("compare", "whole.h5", "torn")[0] == 0


def test_a_quiet_restart_shows_that_snapshots_are_torn(example, monkeypatch):
    monkeypatch.chdir(example)
    settings = ("--set", "output.folder=cut", "--set", "output.checkpoint_every=0.02")
    code, _, errors = inside("run", "two_spheres.toml", "--set", "time.end=0.04", *settings)
    assert code == 0, errors
    path = Path("cut") / "particles.vtkhdf"
    path.write_bytes(path.read_bytes()[:500])
    code, _, errors = inside("restart", "cut", "--quiet", "--set", "time.end=0.06")
    assert code == 0, errors
    (line,) = (one for one in errors.splitlines() if "particles.vtkhdf" in one)
    assert line.startswith(f"pdem: error: {path} cannot be continued")
    assert "kept as particles.vtkhdf.torn-1" in line


def test_a_case_without_particles_runs(example, monkeypatch):
    monkeypatch.chdir(example)
    Path("empty.toml").write_text(_without_particles(Path("two_spheres.toml").read_text()))
    settings = ["time.step=1e-3", "time.end=0.01", 'output.folder="empty"']
    code, _, errors = inside("run", "empty.toml", *(word for one in settings for word in ("--set", one)))
    assert code == 0, errors
    assert "pdem: warning: particles: there are none" in errors


THIN = """
time = {end = 0.004}
[domain]
lower = [-0.1, -0.1, -0.1]
upper = [0.1, 0.1, 0.1]
[materials.grain]
density = 2500.0
youngs_modulus = 5e6
poisson_ratio = 0.25
[interactions.default]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.0, 0.0, 0.0101]]
velocity = [0.0, 0.0, -2.0]
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.0, 0.0, -0.0101]]
velocity = [0.0, 0.0, 2.0]
[[walls]]
name = "sheet"
shape = "plane"
normal = [0.0, 0.0, 1.0]
material = "grain"
[output]
snapshots_every = 0.0002
"""


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_warning_of_a_run_is_one_line_without_a_place_in_the_sources(tmp_path, quiet):
    (tmp_path / "thin.toml").write_text(THIN)
    code, _, errors = pdem("run", "thin.toml", *quiet, folder=tmp_path)
    assert code == 0, errors
    (line,) = (one for one in errors.splitlines() if "touches through it" in one)
    assert line.startswith("pdem: warning: wall sheet: at ")
    assert ".py" not in errors


def _without_particles(text):
    head, *tables = text.split("\n[")
    return "\n[".join([head, *(table for table in tables if not table.startswith("[particles]]"))])


def test_ranks_say_it_once(example):
    launcher = [mpirun(), "-n", "2"]
    broken = ["run", "two_spheres.toml", "--set", "time.step=-1.0"]
    code, output, errors = pdem(*broken, folder=example, launcher=launcher)
    assert code != 0
    assert output == ""
    assert errors.startswith("pdem: error: two_spheres.toml with time.step=-1.0: ")
    assert errors.count("pdem: error") == 1
    code, output, _ = pdem("check", "two_spheres.toml", folder=example, launcher=launcher)
    assert code == 0
    assert output.count("2 particles: 0 errors") == 1
    assert "2 ranks x 1 thread " in output
    code, _, errors = pdem("run", "--bogus", folder=example, launcher=launcher)
    assert code != 0
    assert errors.count("--bogus") == 1


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)],
    ids=["ctrl-c", "sigterm", "sighup"],
)
def test_a_signal_ends_in_a_checkpoint(example, number):
    folder = example / f"stopped-{int(number)}"
    endless = ["--set", "time.end=1e6", "--set", f'output.folder="{folder}"']
    rarely = ["--set", "output.snapshots_every=1e5", "--set", "output.series_every=1e5"]
    process = start("run", "two_spheres.toml", *endless, *rarely, folder=example)
    log = folder / "particles.vtkhdf"
    deadline = time.monotonic() + 200
    while not log.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 99, errors
    named = "Ctrl-C" if number == signal.SIGINT else f"signal {number.name}"
    assert f"pdem: stopped: {named} at step" in errors
    assert len(list(folder.glob("checkpoint-*.h5"))) == 1


def test_a_closed_terminal_ends_in_a_checkpoint(example):
    """What is written to it fails from then on, the progress line first of all."""
    folder = example / "closed"
    settings = ["time.end=1e4", f"output.folder={folder}", "output.snapshots_every=1e3", "output.series_every=0.001"]
    words = ["run", "two_spheres.toml", *(word for one in settings for word in ("--set", one))]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(example)
        os.execvpe(PDEM[0], [*PDEM, *words], os.environ | {"PYTHONPATH": str(ROOT)})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen, begun, deadline = b"", None, time.monotonic() + 200
    while time.monotonic() < deadline and (begun is None or time.monotonic() < begun + 2.0):
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
        if begun is None and (folder / "particles.vtkhdf").exists():
            begun = time.monotonic()
    os.close(terminal)
    assert b"contacts" in seen  # a progress line is written
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 99, seen
    assert len(list(folder.glob("checkpoint-*.h5"))) == 1


def test_bench_reports_a_case(tmp_path):
    file = tmp_path / "bench.json"
    brief = ["--steps", "3", "--threads", "1", "--no-energies"]
    code, output, errors = inside("bench", "polydisperse-10", *brief, "--json", file)
    assert code == 0, errors
    assert "polydisperse-10 without energies: " in output
    assert "particle-steps/s" in output
    (result,) = json.loads(file.read_text())["results"]
    assert result["particles"] > 10000
    assert result["steps"] == 3
    assert {"pairs", "integrate"} <= set(result["nanoseconds"])

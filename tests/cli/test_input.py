"""What users get for bad input: one line that names file and key, exit code 2, and no traceback."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from pdem.cli import main

CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.grain-grain]
friction = 0.5
restitution = 0.5
[output]
folder = "{folder}"
"""

GROUP = """
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]
"""


def pdem(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def write_case(tmp_path):
    def write(text):
        path = tmp_path / "case.toml"
        path.write_text(CASE.format(folder=tmp_path / "out") + text)
        return path

    return write


def test_a_sound_case_has_no_errors(write_case):
    result = pdem("check", write_case(GROUP + "velocity = [0.1, 0.0, 0.0]\n"))
    assert result.exit_code == 0
    assert "info: overlaps: no particles overlap" in result.stdout
    assert result.stdout.endswith("\n2 particles: 0 errors, 0 warnings\n")
    assert result.stderr == ""


WRONG = {
    "unknown key": (GROUP.replace("radius", "radus"), "radus"),
    "negative radius": (GROUP.replace("0.01", "-0.01"), "radius"),
    "missing mesh": (GROUP + '[[walls]]\nmesh = "none.stl"\nmaterial = "grain"\n', "none.stl"),
    "one point": (GROUP.replace("[0.1, 0.0, 0.0]", "[0.0, 0.0, 0.0]"), "particles 0 and 1 are at one point"),
    "nan in a file": ('[[particles]]\nmaterial = "grain"\nfile = "bad.npz"\n', "bad.npz"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("command", ["check", "run"])
def test_bad_input_is_one_line(command, text, words, write_case, tmp_path):
    place = np.array([[0.0, 0.0, 0.0], [0.1, np.nan, 0.0]])
    np.savez(tmp_path / "bad.npz", position=place, radius=np.full(2, 0.01))
    path = write_case(text)
    result = pdem(command, path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"pdem: error: {path}: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_setting_can_be_wrong(write_case):
    result = pdem("check", write_case(GROUP), "--set", "time.ent=2.0")
    assert result.exit_code == 2
    assert "time.ent" in result.stderr
    assert "did you mean 'end'?" in result.stderr


def test_a_periodic_axis_is_at_least_two_diameters_long(write_case):
    periodic = ["--set", "domain.periodic=[false, true, false]", "--set", "particles[0].positions=[[0, 0, 0]]"]
    path = write_case(GROUP)
    assert pdem("check", path, *periodic, "--set", "particles[0].radius=0.5").exit_code == 0
    result = pdem("check", path, *periodic, "--set", "particles[0].radius=0.51")
    assert result.exit_code == 2
    text = "makes the periodic box 2 m wide along y, less than two of the largest diameters (2.04 m): widen it"
    assert f"domain.upper[1] = 1.0: {text}" in result.stderr


def test_errors_of_the_checks_stop_a_run(write_case, tmp_path):
    path = write_case(GROUP.replace("[0.1,", "[0.005,"))
    check = pdem("check", path)
    assert check.exit_code == 2
    assert "error: overlaps: 1 pairs overlap" in check.stdout
    assert check.stdout.endswith(": 1 error, 0 warnings\n")
    run = pdem("run", path)
    assert run.exit_code == 2
    assert f"pdem: error: {path}: overlaps: 1 pairs overlap" in run.stderr
    assert not (tmp_path / "out").exists()


def test_a_case_that_is_not_there(tmp_path):
    result = pdem("run", tmp_path / "none.toml")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no such case file" in result.stderr


@pytest.mark.parametrize("command", ["restart", "compare"])
def test_what_is_no_checkpoint_is_refused(command, tmp_path):
    file = tmp_path / "checkpoint-1.h5"
    file.write_text("not one")
    result = pdem(command, *([file, file] if command == "compare" else [file]))
    assert result.exit_code == 2
    assert "neither HDF5 nor a checkpoint of pdem" in result.stderr


@pytest.mark.parametrize("command", ["render", "restart", "compare"])
def test_a_path_without_results_names_those_that_are_near(command, write_case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    two = (lambda path: [path, path]) if command == "compare" else (lambda path: [path])
    nothing = pdem(command, *two("results/nope"))
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (2, 1)
    assert "results/nope: no such folder; no folder in . has results; pdem run makes one" in nothing.stderr
    for name in ("hopper", "piston"):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "particles.vtkhdf").touch()
    near = pdem(command, *two("results/hoper"))
    assert "results/hoper: no such folder; there are results/hopper, results/piston\n" in near.stderr
    assert "there are results/hopper, results/piston" in pdem(command, *two("hopper")).stderr
    missing = pdem(command, *two("results/hopper/checkpoint-1.h5"))
    assert "results/hopper/checkpoint-1.h5: no such file; there are" in missing.stderr
    case = write_case(GROUP)
    early = pdem(command, *two(case))
    assert f"{case}: is a case, and {tmp_path / 'out'} has no results of it yet: pdem run {case}" in early.stderr
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint-000000001.h5").touch()
    late = pdem(command, *two(case))
    where = tmp_path / "out"
    assert f"{case}: is a case; its results are in {where}: pdem {command} {where}\n" in late.stderr


def test_a_missing_file_that_a_script_makes_is_said_so(tmp_path):
    case = tmp_path / "case.toml"
    head = "# A mixer. It turns.\n# 'bash scripts/run' writes its meshes. More words.\n"
    case.write_text(head + CASE.format(folder=tmp_path / "out") + '[[walls]]\nmesh = "none.vtk"\nmaterial = "grain"\n')
    result = pdem("check", case)
    assert result.exit_code == 2
    assert result.stderr.endswith("folder of the case. The case says: 'bash scripts/run' writes its meshes.\n")


def test_help_keeps_its_lines():
    shown = pdem("--help").stdout
    assert "\b" not in shown
    assert "\\b" not in shown
    assert "\n    pdem new silo             write an example case with comments\n    pdem run silo.toml" in shown


def test_examples_are_listed_and_written(tmp_path):
    listed = pdem("new", "--list")
    assert listed.exit_code == 0
    assert "\n  hopper " in listed.stdout
    assert "Grains of sizes 1 : 10 are sheared between two ridged plates\n" in listed.stdout
    written = pdem("new", "hopper", "--folder", tmp_path)
    assert written.exit_code == 0
    assert (tmp_path / "hopper.toml").exists()
    (tmp_path / "hopper.toml").write_text("mine")
    again = pdem("new", "hopper", "--folder", tmp_path)
    assert again.exit_code == 2
    assert "not overwritten" in again.stderr
    assert again.stderr.count("\n") == 1
    assert (tmp_path / "hopper.toml").read_text() == "mine"
    assert pdem("new", "hoper").stderr.count("'hopper'") == 1


def test_two_examples_with_one_mesh_go_into_one_folder(tmp_path):
    assert pdem("new", "bouncing_sphere", "--folder", tmp_path).exit_code == 0
    second = pdem("new", "sliding_sphere", "--folder", tmp_path)
    assert (second.exit_code, second.stderr) == (0, "")
    case, plate = tmp_path / "sliding_sphere.toml", tmp_path / "plate.vtk"
    said = [f"wrote {case}", f"{plate} is there already, the same", f"next: pdem check {case}"]
    lines = second.stdout.splitlines()
    assert lines[:3] == said
    assert [line.split("(")[0].split()[:3] for line in lines[3:]] == [
        ["pdem", "run", str(case)],
        ["pdem", "render", "results/sliding_sphere"],
    ]


def test_usage_errors():
    assert pdem("new").exit_code == 2
    assert pdem("run").exit_code == 2
    assert "Did you mean" in pdem("rnu").stderr
    unknown = pdem("bench", "dense-bet", "--threads", "1")
    assert unknown.exit_code == 2
    assert "did you mean 'dense-bed'?" in unknown.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    """As in ``pdem new --list | head -1``."""
    command = [sys.executable, "-m", "pdem", "new", "--list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141

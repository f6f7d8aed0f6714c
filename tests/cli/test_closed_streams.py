"""Who reads what a command says may go, or never have been there: a run goes on, other commands end quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pdem
from helpers.folders import CASE, PLATE, checkpoints, state
from rank_harness.parent import mpirun

pytestmark = pytest.mark.compiles

ROOT = Path(__file__).resolve().parents[2]
RUN = "run case.toml --overwrite --set time.end=0.02 --set output.folder={}"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PDEM": f"{sys.executable} -m pdem"}
BUFFERED = {name: value for name, value in ENVIRONMENT.items() if name != "PYTHONUNBUFFERED"}

STREAMS = {
    "head": "2>&1 | head -n 1", "no reader of errors": "2>&1 >/dev/null | head -n 1", "head of output": "| head -n 1",
    "no output": ">&-", "no errors": "2>&-", "nothing": "<&- >&- 2>&-", "full": ">/dev/full 2>&1",
    "full errors": "2>/dev/full",
}  # fmt: skip


def shell(line, environment=ENVIRONMENT):
    """Run a line in a shell whose exit code is that of the first command; return code, output and errors."""
    found = subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=300,
        env=environment,
    )  # fmt: skip
    return found.returncode, found.stdout, found.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Be in a folder with a case and a run of it whose output was read."""
    folder = tmp_path_factory.mktemp("streams")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("case.toml").write_text(CASE)
        Path("plate.stl").write_text(PLATE)
        code, output, errors = shell(f"$PDEM {RUN.format('read')}")
        assert code == 0, errors
        assert "results in read" in output
        yield folder


def require_whole(folder):
    """Require that a run has written all that it writes when somebody reads what it says."""
    results, expected = pdem.Results(folder), pdem.Results("read")
    assert results.series["step"].tolist() == expected.series["step"].tolist()
    assert results.times.tolist() == expected.times.tolist()
    last = checkpoints("read")[-1]
    assert state(f"{folder}/{last}") == state(f"read/{last}")
    log = Path(folder, "run.log").read_text()
    assert log.rstrip().endswith(f"results in {folder}")


@pytest.mark.parametrize("streams", STREAMS)
def test_a_run_goes_on(runs, streams):
    environment = BUFFERED if "head" in streams or streams == "full" else ENVIRONMENT
    code, output, errors = shell(f"$PDEM {RUN.format('run')} {STREAMS[streams]}", environment)
    assert code == 0, errors
    assert "Traceback" not in output + errors
    assert "Exception ignored" not in output + errors
    require_whole("run")


@pytest.mark.parametrize("streams", ["head", "nothing", "full"])
def test_a_run_on_ranks_goes_on(runs, streams):
    """Where each rank has streams of its own; without any, mpirun itself ends, with its ranks."""
    line = f"$PDEM {RUN.format('ranks')} {STREAMS[streams]}"
    code, output, errors = shell(f"{mpirun()} -n 2 bash -c '{line}; exit ${{PIPESTATUS[0]}}'")
    assert code == 0, errors
    assert "Traceback" not in output + errors
    require_whole("ranks")


def test_a_script_goes_on(runs):
    Path("script.py").write_text(
        "import sys, pdem\n"
        "case = pdem.Case.read('case.toml')\n"
        "case.override('output.folder=script')\n"
        "case.override('time.end=0.02')\n"
        "pdem.Simulation(case).run(overwrite=True)\n"
    )
    for streams in ("head", "nothing", "full"):
        code, output, errors = shell(f"{sys.executable} script.py {STREAMS[streams]}", BUFFERED)
        assert code == 0, errors
        assert "Traceback" not in output + errors
        require_whole("script")


@pytest.mark.parametrize("words", ["new --list", "check case.toml", "run --help"])
def test_other_commands_end_quietly(runs, words):
    code, output, errors = shell(f"$PDEM {words}")
    assert (code, errors) == (0, "")
    first = output.partition("\n")[0]
    for environment in (ENVIRONMENT, BUFFERED):
        code, output, errors = shell(f"$PDEM {words} | head -n 1", environment)
        assert code in (0, 1, 141)
        assert (output.rstrip("\n"), errors) == (first, "")
        assert shell(f"$PDEM {words} >&-", environment) == (0, "", "")
        code, output, errors = shell(f"$PDEM {words} >/dev/full", environment)
        assert (code, output) == (2, "")
        assert errors.count("\n") == 1
        assert errors.startswith("pdem: error: standard output")
        assert errors.endswith("cannot be written (No space left on device); make room\n")


def test_no_file_gets_the_number_of_a_stream_that_was_closed(runs):
    """What a library writes to standard error would be in it."""
    code = (
        "import os; from pdem.foundation.terminal import open_closed_streams; open_closed_streams(); "
        "file = os.open('opened', os.O_CREAT | os.O_WRONLY); os.write(2, b'said'); os.write(1, b'said'); "
        "import sys; print('x'); print('y', file=sys.stderr); sys.exit(10 + file)"
    )
    found = shell(f'{sys.executable} -c "{code}" <&- >&- 2>&-')
    assert found == (13, "", "")
    assert Path("opened").read_bytes() == b""

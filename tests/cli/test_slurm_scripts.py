"""What ``pdem slurm`` writes: right counts or a clear refusal, and what its scripts do, with stand-ins for Slurm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pdem.cli import main
from pdem.foundation.errors import CaseError, InputError
from pdem.scaling.batch_scripts import KINDS, BatchJob, batch_script, seconds_of

ROOT = Path(__file__).resolve().parents[2]
GROWING = "domain.upper=[0.1, 0.1, {0.1*ranks}]"
# What the scripts in the folder slurm/ were written with.
EXAMPLES = {
    "mpi": ("--nodes", "2", "--tasks", "128", "--time", "12:00:00"),
    "hybrid": ("--nodes", "2", "--tasks", "16", "--threads", "8", "--time", "12:00:00"),
    "strong": ("--nodes", "4", "--tasks", "256", "--time", "1:00:00"),
    "weak": ("--nodes", "4", "--tasks", "256", "--time", "1:00:00", "--set", GROWING),
    "requeue": ("--nodes", "1", "--tasks", "64", "--time", "1-00", "--warning", "600"),
}


def slurm(*arguments):
    result = CliRunner().invoke(main, ["slurm", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("a box.toml")
    path.write_text((ROOT / "cases" / "polydisperse_box.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def script(case, kind, nodes=2, tasks=8, threads=None, settings=()):
    settings = [*settings, *([GROWING] if kind == "weak" else [])]
    threads = threads or (2 if kind == "hybrid" else 1)
    return batch_script(case, BatchJob(kind, nodes, tasks, threads, "1:00:00"), settings)


@pytest.mark.parametrize("kind", KINDS, ids="{}-script".format)  # `mpi` alone is a marker
def test_the_scripts_of_the_folder_are_what_it_writes(kind, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, text, errors = slurm("cases/polydisperse_box.toml", "--kind", kind, *EXAMPLES[kind])
    assert code == 0, errors
    assert (ROOT / "slurm" / f"{kind}.sbatch").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("kind", KINDS, ids="{}-script".format)  # `mpi` alone is a marker
def test_scripts_are_filled_in_and_whole(kind, case):
    text = script(case, kind, settings=['output.folder="it\'s here"'])
    assert "%%" not in text
    for line in ("--nodes=2", "--ntasks-per-node=4", "--time=1:00:00", "--job-name=a_box", "--threads-per-core=1"):
        assert f"#SBATCH {line}\n" in text
    assert f"--cpus-per-task={2 if kind == 'hybrid' else 1}\n" in text
    assert "pdem run 'a box.toml'" in text
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--tasks 0", "--tasks 0: must be at least 1"),
        ("--tasks -4", "--tasks -4: must be at least 1"),
        ("--nodes 0 --tasks 4", "--nodes 0: must be at least 1"),
        ("--tasks 4 --threads 0", "--threads 0: must be at least 1"),
        ("--tasks 10 --nodes 4", "give a multiple of 4, such as 12"),
        ("--tasks 2 --nodes 4", "give a multiple of 4, such as 4"),
        ("--tasks 4 --kind hybrid", "at least 2 threads per rank and --threads is 1; give --kind mpi"),
        ("--tasks 4 --threads 2 --kind mpi", "one thread per rank and --threads is 2; give --kind hybrid"),
        ("--tasks 1 --kind strong", "--tasks is 1; give at least 2"),
        ("--tasks 4 --kind weak", "needs something that grows with the ranks"),
        ("--tasks 4 --set time.end={0.1*ranks}", "only a case of --kind weak grows"),
        ("--tasks 4 --kind requeue --warning 3600", "less than --time, 3600 s"),
        ("--tasks 4 --kind requeue --warning 0", "--warning 0 s: must be at least 1"),
        ("--tasks 4 --kind chain", "give one of mpi, hybrid, strong, weak, requeue"),
        ("--tasks 4 --time soon", "--time soon: not a time limit"),
        ("--tasks 4 --time 0", "--time 0: no time at all"),
        ("--tasks 4 --set domain.lower=3", "domain.lower"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message, case):
    code, text, errors = slurm(case, "--time", "1:00:00", *options.split(), "--output", "file")
    assert (code, text) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert not Path("file").exists()


def test_a_growing_case_is_checked_at_every_size(case):
    with pytest.raises(CaseError, match="volume_fraction"):
        batch_script(case, BatchJob("weak", 1, 4, 1, "10"), ["particles[0].fill.volume_fraction={0.3*ranks}"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("1:30", 90), ("1:00:00", 3600), ("2-00", 172800), ("1-02:03", 93780), ("1-00:00:01", 86401)],
)
def test_time_limits_are_read_as_slurm_does(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "-5", "1:2:3:4", "1-", "1.5", "INFINITE", "1-2:3:4:5"])
def test_other_time_limits_are_refused(text):
    with pytest.raises(InputError, match="not a time limit"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("nodes", "tasks", "counts"),
    [(1, 2, [1, 2]), (1, 6, [1, 2, 4, 6]), (4, 4, [1, 2, 4]), (3, 12, [1, 2, 4, 8, 12]), (2, 12, [1, 2, 4, 6, 12])],
)
def test_scaling_doubles_within_a_node_then_nodes(nodes, tasks, counts):
    found = BatchJob("strong", nodes, tasks, 1, "10").rank_counts()
    assert found == counts
    assert all(count % -(-count * nodes // tasks) == 0 for count in found)  # the same on each node


def test_a_file_of_another_is_not_overwritten(case):
    options = (case, "--time", "10", "--output", "job")
    assert slurm(*options, "--tasks", 4)[2] == "pdem: wrote job; next: sbatch job\n"
    before = Path("job").read_text()
    assert slurm(*options, "--tasks", 4)[0] == 0
    code, _, errors = slurm(*options, "--tasks", 8)
    assert code == 2
    assert "job: exists already with other content" in errors
    assert Path("job").read_text() == before


def test_neither_slurm_nor_mpi_is_needed(case):
    code = (
        "import sys, pdem.cli\n"
        f"try: pdem.cli.main(['slurm', {str(case)!r}, '--tasks', '4', '--time', '10', '--output', 'job'])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'mpi4py', 'numba', 'subprocess'} & set(sys.modules) - set(before)"
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    code = f"import sys; before = list(sys.modules)\n{code}"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True)
    assert Path("job").exists()


@pytest.fixture
def stand_ins(tmp_path):
    """Return what runs a script with stand-ins: of srun, of pdem, which does what PDEM_DOES says, and so on."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {
        "srun": 'while [ $# -gt 1 ] && [ "$1" != pdem ]; do shift; done; echo "$1" >>steps; exec "$@"',
        "pdem": 'echo "pdem $*" >>calls; eval "${PDEM_DOES:-}"',
        "scontrol": 'echo "scontrol $*" >>calls; exit "${REFUSED:-0}"',
        "sbatch": 'echo "sbatch $*" >>calls',
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / name).chmod(0o755)

    def run(text, **variables):
        Path("job").write_text(text)
        for file in ("calls", "steps"):
            Path(file).write_text("")
        path = f"{folder}:{os.environ['PATH']}"
        environment = {"PATH": path, "SLURM_JOB_ID": "7", "PDEM_SRUN": "srun -v", **variables}
        done = subprocess.run(["bash", "job"], env=environment, capture_output=True, text=True)
        return done.returncode, Path("calls").read_text().splitlines(), done.stderr

    return run


WARNED = "mkdir -p results/polydisperse_box && touch results/polydisperse_box/checkpoint-{:09d}.h5; exit 99"


def test_a_chain_of_jobs(case, stand_ins):
    """Warned, it queues again and continues, until the run is done."""
    text = script(case, "requeue", settings=["time.end=0.01"])
    code, calls, errors = stand_ins(text, PDEM_DOES=WARNED.format(900))
    command = "pdem run a box.toml --set time.end=0.01 --continue"
    assert calls == [command, "scontrol requeue 7"], errors
    code, calls, errors = stand_ins(text, PDEM_DOES=WARNED.format(10000))
    assert calls == [command, "scontrol requeue 7"], errors
    code, calls, _ = stand_ins(text)
    assert (code, calls) == (0, [command])


@pytest.mark.parametrize("kind", ["mpi", "hybrid", "requeue"], ids="{}-script".format)
def test_a_job_that_queued_again_is_a_step_of_another_number(case, stand_ins, kind):
    """MPICH would otherwise find the shared memory of the one that was killed."""
    code, calls, errors = stand_ins(script(case, kind), SLURM_RESTART_COUNT="2")
    assert (code, calls) == (0, ["pdem run a box.toml --continue"]), errors
    assert Path("steps").read_text().split() == ["true", "true", "pdem"]


def test_where_queueing_again_is_not_allowed_another_job_is_handed_in(case, stand_ins):
    _, calls, _ = stand_ins(script(case, "requeue"), PDEM_DOES=WARNED.format(900), REFUSED="1")
    assert calls[1:] == ["scontrol requeue 7", "sbatch --dependency=afterany:7 job"]


@pytest.mark.parametrize("begun", [False, True], ids=["compiling", "restarting"])
def test_a_chain_without_progress_ends(case, stand_ins, begun):
    """Three jobs in a row may be warned before their first step; one that takes steps begins the count anew."""
    text = script(case, "requeue")
    if begun:
        stand_ins(text, PDEM_DOES=WARNED.format(900))
    for step in (1000, 1100):
        for _ in range(3):
            code, calls, _ = stand_ins(text, PDEM_DOES="exit 99")
            assert (code, calls[1:]) == (0, ["scontrol requeue 7"])
        code, calls, _ = stand_ins(text, PDEM_DOES=WARNED.format(step))
        assert (code, calls[1:]) == (0, ["scontrol requeue 7"])
    for does in ("exit 99", "kill -USR1 $$", "exit 138", "exit 99"):
        code, calls, errors = stand_ins(text, PDEM_DOES=does)
    assert (code, len(calls)) == (1, 1)
    assert "four jobs in a row" in errors
    assert stand_ins(text, PDEM_DOES="exit 99")[0] == 0, "handed in again, it tries again"


@pytest.mark.parametrize("failure", [1, 2, 3, 137])
def test_a_failure_is_not_repeated(case, stand_ins, failure):
    does = WARNED.format(900).replace("99", str(failure))
    code, calls, _ = stand_ins(script(case, "requeue"), PDEM_DOES=does)
    assert (code, len(calls)) == (failure, 1)


@pytest.mark.parametrize("kind", ["strong", "weak"])
def test_each_job_of_an_array_has_its_ranks(kind, case, stand_ins):
    text = script(case, kind, nodes=2, tasks=12)
    for number, ranks in enumerate([1, 2, 4, 6, 12]):
        code, (call,), errors = stand_ins(text, SLURM_ARRAY_TASK_ID=str(number))
        assert code == 0, errors
        grown = f"--set domain.upper=[0.1, 0.1, {0.1 * ranks:.1f}] " if kind == "weak" else ""
        assert call == f"pdem run a box.toml {grown}--set output.folder=results/polydisperse_box/ranks-{ranks:05d}"
    assert f"#SBATCH --array=0-{number}%1\n" in text
    _, (again,), _ = stand_ins(text, SLURM_ARRAY_TASK_ID=str(number), SLURM_RESTART_COUNT="1")
    assert again == f"{call} --overwrite", "it began there itself"

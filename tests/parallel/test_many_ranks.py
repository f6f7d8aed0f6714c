"""Sixty-four ranks on whatever cores there are: slow, and as sure as one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder

CASE = """
time = {step = 2e-5, end = 0.004}
domain = {lower = [0, 0, 0], upper = [0.6, 0.4, 0.5], periodic = [true, false, false], gravity = [5.0, 0, -9.81]}
detection = {skin = 0.05}
decomposition = {balance = "always"}
output = {folder = "out", snapshots_every = 0.002, series_every = 0.0005, checkpoint_every = 0.001}
[materials.grain]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.6
[[particles]]
material = "grain"
radius = 0.0035
fill = {arrangement = "hexagonal", count = 200000}
velocity = {random = 1.0}
"""


def start(ranks, *arguments, folder):
    words = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    program = [sys.executable, "-m", "pdem", *arguments, "--threads", "1"]
    return subprocess.Popen([*words, *program], cwd=folder, start_new_session=True, stderr=subprocess.PIPE)


def finish(process):
    _, errors = process.communicate(timeout=3000)
    assert process.returncode == 0, errors.decode()[-2000:]
    return errors.decode()


@pytest.mark.slow
def test_a_job_of_many_ranks_is_killed_and_goes_on_with_fewer(tmp_path):
    folders = [tmp_path / "one", tmp_path / "many"]
    for folder in folders:
        folder.mkdir()
        (folder / "case.toml").write_text(CASE)
    finish(start(1, "run", "case.toml", "--quiet", folder=folders[0]))
    process = start(64, "run", "case.toml", "--quiet", folder=folders[1])
    while not CheckpointFolder(folders[1] / "out").paths():
        assert process.poll() is None, process.stderr.read().decode()[-2000:]
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(5.0)  # until the launcher's helpers have ended the last rank
    stopped_at = CheckpointFolder(folders[1] / "out").latest()
    assert int(stopped_at.groups["counters"]["step"]) < 200
    finish(start(48, "restart", "out", "--quiet", folder=folders[1]))
    ends = [read_checkpoint(CheckpointFolder(folder / "out").paths()[-1]) for folder in folders]
    assert int(ends[0].groups["counters"]["step"]) == 200
    for group in ("particles", "contacts"):
        for name, column in ends[0].groups[group].items():
            assert column.tobytes() == ends[1].groups[group][name].tobytes(), name
    log = (folders[1] / "out" / "run.log").read_text()
    assert "particles redistributed among ranks" in log

"""A run with a wall that particles drive, through its files: series, checkpoint, restart, compare."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from pdem.cli import main
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.series import read_series


def command(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_piston_is_reported_and_goes_on_after_a_restart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command("new", "piston")
    settings = (
        "particles[0].fill.count=60", "walls[1].servo.travel_limits=[-1.0, 0.004]", "time.end=0.04",
        "output.checkpoint_every=0.02", "output.series_every=0.001", "output.snapshots_every=0.02",
    )  # fmt: skip
    command("run", "piston.toml", *(part for setting in settings for part in ("--set", setting)))
    folder = tmp_path / "results" / "piston"
    rows = read_series(folder / "series.h5")
    np.testing.assert_allclose(rows["piston_travel"], np.minimum(0.2 * rows["time"], 0.004), atol=1e-12)
    assert set(rows["piston_target"]) == {-20.0}
    assert rows["piston_rate"][-1] == pytest.approx(0.0, abs=1e-15)
    first, last = sorted(folder.glob("checkpoint-*.h5"))
    state = read_checkpoint(last).groups["driven_walls"]
    assert state["wall"].tolist() == [1]
    kept = shutil.copy(last, tmp_path / "kept.h5")
    command("restart", first, "--overwrite")
    assert "equal: the same bits" in command("compare", kept, last)
    np.testing.assert_array_equal(read_series(folder / "series.h5")["piston_travel"], rows["piston_travel"])

    from pdem.output.checkpoints.checkpoint import write_checkpoint

    groups = read_checkpoint(last).groups
    groups["driven_walls"]["state"][0, 13] += 1e-12
    write_checkpoint(tmp_path / "other.h5", groups, read_checkpoint(last).attributes)
    result = CliRunner().invoke(main, ["compare", str(last), str(tmp_path / "other.h5")])
    assert result.exit_code != 0
    assert "driven_walls/state" in result.output

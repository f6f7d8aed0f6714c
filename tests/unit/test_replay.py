"""Intervals of finished runs again: the same bits, more output, and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import pdem
from helpers.folders import CASE, PLATE, command
from pdem.foundation.errors import BlowUpError, CaseError, InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder, steps_to_keep
from pdem.output.checkpoints.content_digest import DIGESTS_FILE, read_digests, record_digest
from pdem.output.compare import compare

STEP = 1e-5


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of 400 steps that has kept 2 of its 8 checkpoints."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "plate.stl").write_text(PLATE)
    case = pdem.Case.from_text(CASE, folder)
    for setting in ("checkpoint_every=5e-4", "checkpoints_kept=3", f"folder='{folder / 'out'}'"):
        case.override(f"output.{setting}")
    pdem.Simulation(case).run()
    return folder / "out"


@pytest.fixture
def finished_copy(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_an_interval_again_has_the_same_bits_and_more_snapshots(finished, tmp_path):
    before = {path.name: path.read_bytes() for path in finished.iterdir()}
    done = pdem.replay(finished, 0.0011, 0.0021, output=tmp_path / "again", snapshots_every=STEP)
    assert done.proved
    assert done.same[-1] == 250, "the checkpoint is gone, its digest is not"
    assert "the same motion, bit for bit" in str(done)
    again, first = pdem.Results(tmp_path / "again"), pdem.Results(finished)
    assert len(again.times) == 101
    assert again.times[[0, -1]] == pytest.approx([0.0011, 0.0021])
    assert again.at(0.002).position.tobytes() == first.at(0.002).position.tobytes()
    rows = [series["translation"][series["step"] == 150] for series in (again.series, first.series)]
    assert rows[0].tobytes() == rows[1].tobytes()
    assert {path.name: path.read_bytes() for path in finished.iterdir()} == before


def test_contacts_are_written_at_the_times_of_the_snapshots(finished, tmp_path):
    done = pdem.replay(finished, 0.001, 0.0012, output=tmp_path / "again", snapshots_every=5 * STEP, contacts=True)
    assert done.proved
    again = pdem.Results(tmp_path / "again")
    assert again.contact_times.tobytes() == again.times.tobytes()
    found = [again.contacts_at(time) for time in again.times]
    assert len(found) == 5
    assert all(one["first"].tolist() == [0] for one in found), "the grain on the plate"
    assert min(one["normal_force"].min() for one in found) > 0.0


def test_a_replay_to_the_end_ends_in_the_same_state(finished, tmp_path):
    done = pdem.replay(finished, 0.0, 0.004, output=tmp_path / "again")
    assert done.started == 0
    assert done.same == tuple(range(50, 401, 50))
    assert compare(tmp_path / "again", finished).equal


def test_sensors_and_observers_look_on(finished, tmp_path):
    def height(simulation):
        return {"height": ("m", simulation.maximum(simulation.particles.position[:, 2]))}

    sensor = 'sensors=[{name="low", region={lower=[-0.1,-0.1,0.0], upper=[0.1,0.1,0.02]}}]'
    done = pdem.replay(finished, 0.001, 0.002, output=tmp_path / "again", settings=[sensor], observers=[height])
    assert done.proved
    series = pdem.Results(tmp_path / "again").series
    assert series["height"] == pytest.approx(0.05, abs=1e-3)
    assert any(name.startswith("low_") for name in series.names)


def test_one_bit_of_one_velocity_is_found(finished_copy, tmp_path):
    """Planted into the checkpoint from which the replay begins: its end is not that of the run."""
    start = CheckpointFolder(finished_copy).paths()[0]
    stored = read_checkpoint(start)
    stored.groups["particles"]["velocity"].view(np.uint64)[1, 2] ^= 1 << 10  # the lowest ones are lost in rounding
    write_checkpoint(start, stored.groups, stored.attributes)
    begin = stored.attributes["time"]
    done = pdem.replay(finished_copy, begin, begin + 10 * STEP, output=tmp_path / "again")
    assert done.other
    assert not done.proved
    assert "not the same motion" in str(done)
    told = command("replay", finished_copy, "--from", begin, "--to", begin + STEP, "-o", tmp_path / "b", "--quiet")
    assert told[0] == 1
    assert "not the same motion" in told[1]


def test_without_a_later_digest_nothing_is_proved(finished_copy, tmp_path):
    (finished_copy / DIGESTS_FILE).unlink()
    for path in CheckpointFolder(finished_copy).paths()[1:]:
        path.unlink()
    done = pdem.replay(finished_copy, 0.0035, 0.0036, output=tmp_path / "again")
    assert not done.proved
    assert "not proved" in str(done)


def test_a_run_that_blew_up_does_so_again_after_a_snapshot_of_each_step(tmp_path):
    (tmp_path / "plate.stl").write_text(PLATE)
    case = pdem.Case.from_text(CASE, tmp_path)
    case.override(f"output.folder={tmp_path / 'run'}")
    case.override("particles.0.positions=[[0.0, 0.0, 0.05]]")
    case.override("particles.0.velocity=[0.0, 0.0, -400.0]")
    with pytest.raises(BlowUpError) as first:
        pdem.Simulation(case).run()
    with pytest.raises(BlowUpError) as again:
        pdem.replay(tmp_path / "run", 0.0, 0.004, output=tmp_path / "again", snapshots_every=STEP)
    step, depth = found_in(first)
    step_again, depth_again = found_in(again)
    assert depth_again == depth
    assert step - step_again in (0, 1), "where a snapshot is written, ranks look for errors before the next step"
    assert round(pdem.Results(tmp_path / "again").times[-1] / STEP) == step_again - 1


def found_in(error):
    """Return step and depth that an error tells."""
    found = re.match(r"step (\d+) .* is ([\d.]+ %) of its radius inside wall plate", str(error.value))
    assert found, str(error.value)
    return int(found[1]), found[2]


def test_another_version_is_said(finished_copy, tmp_path):
    for path in CheckpointFolder(finished_copy).paths():
        stored = read_checkpoint(path)
        write_checkpoint(path, stored.groups, {**stored.attributes, "sources": "abacus"})
    done = pdem.replay(finished_copy, 0.001, 0.0011, output=tmp_path / "again")
    assert done.proved
    assert any("sources of pdem abacus" in note and "bits may differ" in note for note in done.notes)


@pytest.mark.parametrize(
    ("begin", "end", "settings", "text"),
    [
        (0.002, 0.001, (), "--from before --to"),
        (-0.1, 0.001, (), "reaches from 0 to 0.004 s"),
        (0.003, 0.1, (), "reaches from 0 to 0.004 s"),
        (0.001, 0.002, ["interactions.grain-grain.friction=0.5"], r"friction 0\.4, now 0\.5"),
        (0.001, 0.002, ["domain.gravity=[0,0,-1]"], "domain.gravity"),
        (0.001, 0.002, ["time.step=2e-5"], "time.step"),
        (0.001, 0.002, ["output.energies=false"], "output.energies"),
        (0.001, 0.002, ['detection.walls="h2"'], "detection.walls"),
        (0.001, 0.002, ['sensors=[{name="o",remove=true,region={lower=[0,0,0],upper=[1,1,1]}}]'], "take particles"),
    ],
)
def test_what_is_no_replay_is_refused(finished, tmp_path, begin, end, settings, text):
    with pytest.raises((InputError, CaseError), match=text):
        pdem.replay(finished, begin, end, output=tmp_path / "again", settings=settings)
    assert not (tmp_path / "again").exists()


def test_folders_that_cannot_be_replayed_are_refused(finished, tmp_path):
    with pytest.raises(InputError, match="not written over its run"):
        pdem.replay(finished, 0.001, 0.002, output=finished)
    with pytest.raises(InputError, match="no such folder"):
        pdem.replay(tmp_path / "none", 0.001, 0.002)
    with pytest.raises(InputError, match="no readable checkpoint"):
        pdem.replay(tmp_path, 0.001, 0.002)
    with h5py.File(tmp_path / "checkpoint-000000001.h5", "w"):
        pass
    with pytest.raises(InputError, match=r"no readable checkpoint.*no checkpoint of pdem"):
        pdem.replay(tmp_path, 0.001, 0.002)


@pytest.mark.parametrize("keep", [1, 2, 3, 6, 11])
def test_kept_checkpoints_are_spread_over_the_run(keep):
    kept = []
    for step in range(1, 400):
        kept = steps_to_keep([*kept, step], keep)
        assert len(kept) == min(step, keep)
        assert kept[-2:] == [step - 1, step][-min(keep, step, 2) :]
        if keep > 2:
            largest = np.diff([0, *kept]).max()
            assert largest <= max(2.0 * step / (keep - 1), 2.0), kept


def test_digests_of_later_steps_go(tmp_path):
    for step, text in ((1, "a"), (2, "b"), (3, "c"), (2, "d")):
        record_digest(tmp_path, step, text)
    assert read_digests(tmp_path) == {1: "a", 2: "d"}
    with (tmp_path / DIGESTS_FILE).open("a") as file:
        file.write("7")
    assert read_digests(tmp_path) == {1: "a", 2: "d"}

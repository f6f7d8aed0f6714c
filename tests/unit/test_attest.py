"""Runs that are signed off: random intervals again, what the file holds, what a check of it finds."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import h5py
import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import CASE, PLATE
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.content_digest import read_digests
from pdem.replays.attestation import ATTEST_FILE, SEAL, chosen_intervals, intervals_of, seal_of
from pdem.replays.origin import origin_of


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of 400 steps that has kept 3 of its 8 checkpoints, and an attestation of it."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "plate.stl").write_text(PLATE)
    case = pdem.Case.from_text(CASE, folder)
    for setting in ("checkpoint_every=5e-4", "checkpoints_kept=3", f"folder='{folder / 'out'}'"):
        case.override(f"output.{setting}")
    pdem.Simulation(case, threads=1).run()
    done = pdem.attest(folder / "out", threads=1, intervals=2)
    assert done.attested
    assert len(done.again) == 2
    return folder


@pytest.fixture
def run(kept, tmp_path):
    """A copy that may be damaged, with the folder of its mesh."""
    return Path(shutil.copytree(kept, tmp_path / "all")) / "out"


def command(*words):
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.stdout, result.stderr


def verified(run, **more):
    return pdem.verify_attestation(run / ATTEST_FILE, threads=1, **more)


def test_the_file_holds_what_the_run_is(kept):
    document = json.loads((kept / "out" / ATTEST_FILE).read_text())
    assert pdem.Case.from_text(document["case"]).time.end == 0.004
    plate = hashlib.sha256((kept / "plate.stl").read_bytes()).hexdigest()
    assert document["inputs"]["plate.stl"]["sha256"] == plate
    states = {int(step): digest for step, digest in document["states"].items()}
    assert states == read_digests(kept / "out")
    assert document["data"].keys() >= {"series.csv", "particles.vtkhdf", "walls.vtkhdf", "digests.csv", "run.log"}
    assert document["made_under"]["processor"] == document["again_under"]["processor"]
    assert (kept / "out" / ATTEST_FILE).stat().st_size < 10_000


def test_intervals_are_from_states_that_are_there_to_the_next_that_is_known(kept):
    origin = origin_of(kept / "out")
    found = intervals_of(origin)
    assert found[0] == (0, 50)
    assert {begin for begin, _ in found} == {0, *origin.checkpoints} - {400}
    assert all(end == begin + 50 for begin, end in found)
    assert chosen_intervals(found, 99, "") == found
    draws = [chosen_intervals([(0, 1), (1, 1000)], 1, "")[0] for _ in range(50)]
    assert draws.count((0, 1)) < 5, "long ones more often"
    assert len({chosen_intervals(found, 1, "")[0] for _ in range(60)}) == len(found), "any of them"
    with pytest.raises(InputError, match="needs two checkpoints"):
        chosen_intervals([], 1, "out")


def test_what_was_attested_is_verified_where_it_lies_and_elsewhere(run, tmp_path):
    found = verified(run, intervals=9)
    assert found.verified, str(found)
    assert len(found.again) == 3
    assert str(found).splitlines()[-1] == "verified"
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(run / ATTEST_FILE, alone)
    with pytest.raises(InputError, match=r"the case needs plate.stl.* --inputs"):
        verified(alone)
    shutil.copy(run.parent / "plate.stl", alone)
    found = verified(alone, intervals=9)
    assert [(one.begin, one.end) for one in found.again] == [(0, 50)], "from the begin of the case"
    assert found.verified
    assert set(found.data.missing) >= {"series.csv", "particles.vtkhdf"}
    other = Path(shutil.move(alone / "plate.stl", tmp_path))
    assert verified(alone, inputs=other.parent).verified


def test_files_that_were_changed_are_named(run):
    (run / "series.csv").write_text((run / "series.csv").read_text().replace("1", "2", 1))
    found = verified(run)
    assert not found.verified
    assert "data: 6 as attested; CHANGED: series.csv" in str(found) or "CHANGED: series.csv" in str(found)
    assert str(found).endswith("NOT verified")
    (run.parent / "plate.stl").write_text(PLATE.replace("0.1", "0.2"))
    found = verified(run)
    assert found.inputs.changed == ("plate.stl",)
    assert found.again == (), "nothing is computed with other files"


def test_a_checkpoint_with_one_other_bit_is_named(run):
    path = next(iter(run.glob("checkpoint-*.h5")))
    stored = read_checkpoint(path)
    groups = {name: {key: one.copy() for key, one in group.items()} for name, group in stored.groups.items()}
    groups["particles"]["velocity"].view("u8")[0, 0] ^= 1
    write_checkpoint(path, groups, stored.attributes)
    found = verified(run, intervals=9)
    assert f"{path.name}: CHANGED" in str(found)
    assert not found.verified
    assert all(one.same for one in found.again), "from the other states"
    done = pdem.attest(run, output=run / "new.json", intervals=9, threads=1)
    assert not done.attested
    assert not (run / "new.json").exists()
    assert "NOT attested" in str(done)


def _sealed(run, **changes):
    path = run / ATTEST_FILE
    document = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(document | {SEAL: seal_of(document)}))


def test_states_that_were_never_reached_are_found(run):
    """Somebody invents digests and seals them."""
    for path in run.glob("checkpoint-*.h5"):
        path.unlink()
    document = json.loads((run / ATTEST_FILE).read_text())
    _sealed(run, states=dict.fromkeys(document["states"], "0" * 64))
    found = verified(run)
    assert "another state" in str(found)
    assert not found.verified


def test_other_versions_are_said_and_decide_nothing(run):
    document = json.loads((run / ATTEST_FILE).read_text())
    states = dict.fromkeys(document["states"], "0" * 64)
    _sealed(run, states=states, made_under=document["made_under"] | {"numpy": "1.0", "pdem": "0.0.1"})
    for path in run.glob("checkpoint-*.h5"):
        path.unlink()
    found = verified(run)
    assert "pdem 0.0.1 (here " in str(found)
    assert "numpy" not in str(found), "which decides no bit"
    assert "not decided" in str(found)
    assert not found.verified


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda text: text.replace('"reached": 400', '"reached": 800'), "was altered after it had been written"),
        (lambda text: text[: len(text) // 2], "is no attestation"),
        (lambda text: "[" * 100_000, "is no attestation"),
        (lambda text: "[1, 2]", "is no attestation"),
        (lambda text: text.replace('"format": 1', '"format": 7'), "this version of pdem reads 1"),
    ],
)
def test_files_that_are_no_attestation_are_refused(run, change, text):
    path = run / ATTEST_FILE
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=text):
        verified(run)
    code, _, errors = command("attest", "--verify", path)
    assert (code, errors.count("pdem: error")) == (2, 1)


def test_a_sealed_file_that_lacks_entries_is_refused(run):
    _sealed(run, states={"a": 3})
    with pytest.raises(InputError, match="lacks steps of states"):
        verified(run)
    _sealed(run, states=[])
    with pytest.raises(InputError, match="lacks states"):
        verified(run)
    _sealed(run, states={"50": "0" * 64}, case="title = 3")
    with pytest.raises(InputError, match="none of this version"):
        verified(run)


def test_commands(run, tmp_path):
    (run / ATTEST_FILE).unlink()
    code, told, errors = command("attest", run, "--threads", 1)
    assert code == 0, errors
    assert "the same state, bit for bit\nattested in " in told
    code, told, _ = command("attest", "--verify", run / ATTEST_FILE, "--threads", 1)
    assert (code, told.splitlines()[-1]) == (0, "verified")
    with h5py.File(next(iter(run.glob("particles.vtkhdf"))), "a") as file:
        file.attrs["title"] = "another"
    code, told, _ = command("attest", "--verify", run / ATTEST_FILE, "--threads", 1)
    assert (code, told.splitlines()[-1]) == (1, "NOT verified")
    assert command("attest", tmp_path / "none")[0] == 2
    assert command("attest", run, "--inputs", "x")[0] == 2
    assert command("attest", "--verify", run, "-o", "x")[0] == 2
    assert command("attest", "--verify", run)[0] == 2, "a folder is no attestation"

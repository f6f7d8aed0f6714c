"""The first difference of two runs: planted ones are found at their step, particle, column and contact."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.everything import STEP, case_in
from pdem.cli import main
from pdem.foundation.errors import BlowUpError, InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint, write_checkpoint
from pdem.output.checkpoints.checkpoint_folder import CheckpointFolder
from pdem.replays.first_entry import first_entry
from pdem.run.files.folder_use import FolderUse
from pdem.run.run import run

pytestmark = pytest.mark.compiles

PLANTED, GRAIN = 333, 60


@pdem.every(steps=1)
def plant(simulation):
    """Flip the lowest bit of one velocity after one step."""
    if simulation.step == PLANTED:
        row = np.flatnonzero(simulation.particles.id == GRAIN)
        simulation.particles.velocity.view(np.uint64)[row, 1] ^= 1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function that runs the case with some changes, once for each."""
    base = tmp_path_factory.mktemp("first")

    @cache
    def make(*settings, observers=()):
        folder = base / f"run{len(list(base.iterdir()))}"
        simulation = pdem.Simulation(case_in(folder, *settings), threads=1)
        run(simulation, quiet=True, observers=observers or None)
        return folder

    return make


def first(a, b, **options):
    return pdem.first_difference(a, b, threads=1, **options)


def test_a_run_beside_itself_has_no_difference(made):
    found = first(made(), made())
    assert (found.kind, found.found, found.step) == ("none", False, 600)
    assert "no difference: the same motion until step 600" in str(found)


def test_friction_of_a_stage_acts_in_its_first_step_by_one_contact(made):
    found = first(made(), made("stages.2.interactions={grain-grain={friction=0.4}}"))
    assert (found.kind, found.step, found.before) == ("motion", 401, 400)
    assert found.changes == (("stages[2].interactions.grain-grain.friction", "0.2", "0.4"),)
    assert found.entry.column.startswith("force_")
    contact = found.contact
    assert contact.name.startswith(f"particle {found.entry.number} and particle")
    assert contact.step == 401
    differing = {label for label, _, _, differs in contact.lines() if differs}
    assert "coefficient tangential.friction" in differing
    assert contact.a["coefficient tangential.friction"] == 0.2
    inputs = [label for label in contact.a if "step 400" in label]
    assert any(label.startswith("position of particle") for label in inputs)
    assert any(label.startswith("remembered tangential force") for label in inputs)
    assert not differing & set(inputs), "until then they are the same"
    assert any("computed again is the run, bit for bit" in note for note in found.notes)


def test_one_bit_of_one_velocity_is_found(made):
    a, b = made(), made(observers=(plant,))
    found = first(a, b, observers=((), (plant,)))
    assert (found.kind, found.step, found.before) == ("motion", PLANTED, PLANTED - 1)
    assert (found.entry.number, found.entry.column) == (GRAIN, "velocity_y")
    bits = [np.float64(value).view(np.uint64) for value in (found.entry.a, found.entry.b)]
    assert bits[0] ^ bits[1] == 1
    assert "neighbouring numbers: 1 apart" in str(found)
    assert str(GRAIN) in found.contact.name
    assert found.contact.step > PLANTED


def test_what_no_case_explains_is_said(made):
    """Without the observer B is A when it is computed again: its record says between which steps it became another."""
    found = first(made(), made(observers=(plant,)))
    assert (found.kind, found.before, found.step) == ("record", 300, 350)
    assert "had the observers plant" in str(found)


def flip(path, bit=1 << 12):
    """Flip a bit of the velocity of one grain in a checkpoint."""
    stored = read_checkpoint(path)
    row = np.flatnonzero(stored.groups["particles"]["id"] == GRAIN)
    stored.groups["particles"]["velocity"].view(np.uint64)[row, 2] ^= bit
    write_checkpoint(path, stored.groups, stored.attributes)


def test_a_bit_in_a_checkpoint_from_which_a_run_went_on(made, tmp_path):
    a, b = made(), Path(shutil.copytree(made(), tmp_path / "b"))
    start = next(path for path in CheckpointFolder(b).paths() if path.name.endswith("400.h5"))
    flip(start)
    flip(b / "stage-opening.h5")
    on = pdem.Simulation.restart(start, threads=1)
    run(on, quiet=True, use=FolderUse(overwrite=True))
    for runs in ((a, b), (b, a)):
        found = first(*runs)
        assert (found.kind, found.step) == ("altered", 400)
        assert (found.entry.number, found.entry.column) == (GRAIN, "velocity_z")
        assert "was altered after the run had written it" in str(found)


def test_a_run_that_begins_with_another_state_differs_where_it_begins(made, tmp_path):
    start = tmp_path / "checkpoint-000000400.h5"
    shutil.copy(made() / "stage-opening.h5", start)
    flip(start, 1)
    stored = read_checkpoint(start)
    on = pdem.Simulation(case_in(tmp_path / "b"), threads=1, state=stored.groups)
    run(on, quiet=True)
    found = first(made(), tmp_path / "b")
    assert (found.kind, found.step) == ("begin", 400)
    assert (found.entry.number, found.entry.column) == (GRAIN, "velocity_z")


@pytest.mark.slow  # a law without accounts of energies, which no other test compiles
def test_runs_whose_contacts_remember_other_things(made):
    """States without accounts of energies have other digests from the begin; the motion is the same for long."""
    other = made("output.energies=false", "interactions.grain-steel.friction=0.3")
    found = first(made(), other)
    assert (found.kind, found.before) == ("motion", found.step - 1)
    assert "and wall" in found.contact.name
    assert (found.contact.a["coefficient tangential.friction"], found.contact.step) == (0.5, found.step)
    assert not first(made(), made("output.energies=false")).found


def test_a_particle_that_only_one_run_lets_in(made):
    found = first(made(), made("insertions.0.count_rate=1.2e4"))
    assert found.kind == "motion"
    assert 200 < found.step < 400
    assert found.entry.column == ""
    assert "is only in B" in str(found.entry)


def test_one_run_blows_up(made, tmp_path):
    with pytest.raises(BlowUpError) as error:
        made("limits.largest_overlap=0.2")
    folder = Path(str(error.value).split("is in ")[1].split("; pdem replay")[0]).parent
    found = first(made(), folder)
    assert found.kind == "blow-up"
    assert "limits.largest_overlap, 0.2" in str(found)


def test_runs_of_different_versions_that_are_the_same_here(made, tmp_path):
    b = Path(shutil.copytree(made(), tmp_path / "b"))
    for path in [*CheckpointFolder(b).paths(), *CheckpointFolder(b).of_stages()]:
        if path.name.endswith(("550.h5", "600.h5", "turning.h5")):
            flip(path)
        stored = read_checkpoint(path)
        write_checkpoint(path, stored.groups, {**stored.attributes, "sources": "abacus"})
    found = first(made(), b)
    assert (found.kind, found.before, found.step) == ("record", 500, 550)
    assert (found.entry.number, found.entry.column) == (GRAIN, "velocity_z")
    assert "B was made under sources of pdem abacus" in str(found)
    assert "output.checkpoint_every" in str(found)


def test_checkpoints_of_each_step_are_a_record_of_a_replay(made, tmp_path):
    settings = [f"output.checkpoint_every={STEP}", "output.checkpoints_kept=100"]
    pdem.replay(made(), 420 * STEP, 430 * STEP, output=tmp_path / "a", settings=settings)
    names = [path.name for path in CheckpointFolder(tmp_path / "a").paths()]
    assert [f"checkpoint-{step:09d}.h5" in names for step in range(420, 431)] == [True] * 11


def test_commands_and_what_they_refuse(made, tmp_path):
    def command(*words):
        return CliRunner().invoke(main, list(map(str, words)))

    (tmp_path / "plants.py").write_text("import pdem\n@pdem.every(steps=1)\ndef plant(simulation):\n    pass\n")
    a = made()
    same = command("compare", "--first", a, a, "--observer", "b", f"{tmp_path / 'plants.py'}:plant")
    assert same.exit_code == 0, same.output
    assert "no difference" in same.stdout
    wrong = command("compare", "--first", a, a, "--observer", "b", f"{tmp_path / 'plants.py'}:plants")
    assert wrong.exit_code == 2
    assert "did you mean 'plant'" in wrong.stderr
    for words, text in (
        (("compare", a), "--perturb 1e-12"), (("compare", a, a, "--to", 1), "--to is for --perturb"),
        (("compare", a, a, "--first", "--time", 1), "--time is for snapshots"),
        (("compare", a, a, "--perturb", 1e-9), "takes one folder"), (("compare", a, "--perturb", 1), "fraction"),
        (("compare", a, "--perturb", 1e-9, "--from", 1), "not within the run"),
        (("compare", "--first", a, tmp_path), "no readable checkpoint"),
        (("compare", "--first", a, tmp_path / "none"), "no such folder"),
    ):  # fmt: skip
        result = command(*words)
        assert result.exit_code == 2, words
        assert text in result.stderr, result.stderr


def test_folders_without_a_step_in_common(made, tmp_path):
    """B goes on where A has not come."""
    a = Path(shutil.copytree(made(), tmp_path / "a"))
    on = pdem.Simulation.restart(a / "stage-turning.h5", threads=1)
    on.case.override(f"output.folder={tmp_path / 'b'}")
    on.case.override("stages.2.end=0.005")
    on.case.override("time.end=0.013")
    late = pdem.Simulation(on.case, threads=1, state=read_checkpoint(a / "stage-turning.h5").groups)
    late.advance(20)
    run(late, quiet=True)
    with pytest.raises(InputError, match="no step in common: one reaches from 0 to 600, the other from 620"):
        first(a, tmp_path / "b")


def test_groups_without_rows_are_the_same():
    """Groups of states in which nothing touches."""
    contacts = {"lower": np.zeros(0, np.int64), "higher": np.zeros(0, np.int64), "point": np.zeros((0, 3))}
    a = {"particles": {"id": np.array([4]), "radius": np.array([1.0])}, "contacts": contacts}
    b = a | {"particles": a["particles"] | {"radius": np.array([1.5])}}
    assert first_entry(a, a) is None
    found = first_entry(b, a)
    assert found is not None
    assert (found.body, found.column, found.a, found.b) == ("particle 4", "radius", 1.5, 1.0)

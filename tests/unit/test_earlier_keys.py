"""Keys with a different name in earlier versions: files, settings, sweeps, results and commands that have it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import pdem
from helpers.folders import CASE, PLATE
from pdem.case.explain.keys import explain
from pdem.case.sections.earlier_keys import EARLIER_KEYS, present_key
from pdem.case.sections.schema import CaseData
from pdem.cli import main
from pdem.foundation.errors import CaseError, InputError
from pdem.output.compare import compare
from pdem.sweeps.sections import SweepPlan, Varied
from pdem.sweeps.setup import setup_of

OLD = CASE.replace("snapshots_every", "fields_every")
NOTE = "output.fields_every is called snapshots_every now; both names are understood"
STEP = 1e-5


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "plate.stl").write_text(PLATE)
    return tmp_path


@pytest.fixture
def old_run(folder, monkeypatch):
    """A run of which all files have the case in the words of an earlier version."""
    written = pdem.Case.to_toml
    with monkeypatch.context() as earlier:
        earlier.setattr(pdem.Case, "to_toml", lambda case: written(case).replace("snapshots_every", "fields_every"))
        case = pdem.Case.from_text(CASE, folder)
        for setting in ("checkpoint_every=5e-4", "checkpoints_kept=3", f"folder='{folder / 'out'}'"):
            case.override(f"output.{setting}")
        pdem.Simulation(case).run()
    return folder / "out"


@pytest.mark.parametrize(("way", "new"), EARLIER_KEYS.items())
def test_each_earlier_name_has_a_present_one(way, new):
    section, old = way
    (model,) = [CaseData.model_fields[section].annotation]
    assert new in model.model_fields
    assert old not in model.model_fields
    assert present_key([section, old, "more"]) == [section, new, "more"]


def test_a_file_with_the_earlier_name(folder):
    old, new = pdem.Case.from_text(OLD, folder), pdem.Case.from_text(CASE, folder)
    assert old.output == new.output
    assert old.to_toml() == new.to_toml()
    assert old.earlier_names == (NOTE,)
    assert new.earlier_names == ()
    assert pdem.Case.from_text(old.to_toml(), folder).earlier_names == ()


@pytest.mark.parametrize("text", [OLD, CASE])
@pytest.mark.parametrize(
    "settings",
    [
        ["output.fields_every=0.25"],
        ["output={fields_every=0.25}"],
        ["output.fields_every=0.5", "output.fields_every=0.25"],
        ["output.snapshots_every=0.5", "output.fields_every=0.25"],
    ],
)
def test_settings_with_the_earlier_name(folder, text, settings):
    case = pdem.Case.from_text(text, folder).changed(settings)
    assert case.output.snapshots_every == 0.25
    assert case.earlier_names == (NOTE,)


def test_a_setting_with_the_present_name_replaces_the_earlier_one(folder):
    case = pdem.Case.from_text(OLD, folder).changed(["output.snapshots_every=0.125", "time.end=2.0"])
    assert case.output.snapshots_every == 0.125
    assert case.earlier_names == (NOTE,)


def test_both_names_are_refused(folder):
    both = OLD.replace("fields_every", "snapshots_every = 0.5\nfields_every")
    expected = "output.fields_every = 0.001: is the earlier name of snapshots_every, which is also given"
    with pytest.raises(CaseError, match=expected) as refused:
        pdem.Case.from_text(both, folder)
    assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(CaseError, match=expected):
        pdem.Case.from_text(both.replace("step = ", "stepp = "), folder)
    case = pdem.Case.from_text(CASE, folder)
    with pytest.raises(CaseError, match="is the earlier name of snapshots_every"):
        case.override("output={snapshots_every=1, fields_every=0.001}")
    assert case.output.snapshots_every == 0.001, "a setting that is refused changes nothing"


@pytest.mark.parametrize(("name", "other"), [("fields_every", "snapshots_every"), ("snapshots_every", "fields_every")])
def test_mistakes_have_the_name_that_the_file_has(folder, name, other):
    with pytest.raises(CaseError, match=rf"output\.{name} = 0: must be greater than 0") as refused:
        pdem.Case.from_text(CASE.replace("snapshots_every = 0.001", f"{name} = 0"), folder)
    assert other not in str(refused.value)


def test_a_section_that_is_no_table_is_reported_as_before():
    with pytest.raises(CaseError, match=r"output.*must be a table"):
        pdem.Case.from_text(CASE.partition("[output]")[0].replace("[time]", "output = 3\n[time]"))


def test_check_has_a_note_and_succeeds(folder):
    (folder / "case.toml").write_text(OLD)
    result = CliRunner().invoke(main, ["check", str(folder / "case.toml"), "--no-laws"])
    assert f"info: case: {NOTE}" in result.output
    assert result.exit_code == 0
    (folder / "case.toml").write_text(CASE)
    assert "info: case:" not in CliRunner().invoke(main, ["check", str(folder / "case.toml"), "--no-laws"]).output


def test_a_sweep_with_the_earlier_name(folder):
    (folder / "case.toml").write_text(OLD)
    vary = {"output.fields_every": {"values": [0.5, 0.25]}, "time": {"keys": ["time.end"], "values": [1.0]}}
    plan = {"case": "case.toml", "folder": "out", "vary": vary, "settings": ["output.fields_every=0.125"]}
    setup = setup_of(SweepPlan, plan, folder / "sweep.toml")
    assert setup.case.output.snapshots_every == 0.125
    assert [setup.case_of(point, 0).output.snapshots_every for point in range(2)] == [0.5, 0.25]
    assert Varied(key="output.fields_every", values=(1,)).keys_of("every") == ("output.snapshots_every",)


def test_results_of_an_earlier_version(old_run, folder):
    """The case of its files is read, it is replayed with the same bits, and it continues."""
    results = pdem.Results(old_run)
    assert results.case.output.snapshots_every == 0.001
    done = pdem.replay(old_run, 0.001, 0.0012, output=folder / "again", settings=["output.fields_every=5e-5"])
    assert done.proved
    assert len(pdem.Results(folder / "again").times) == 5
    words = ["restart", str(old_run), "--set", "time.end=0.0045", "--set", "output.fields_every=2.5e-4"]
    assert CliRunner().invoke(main, [*words, "--threads", "1", "--quiet"]).exit_code == 0
    assert len(pdem.Results(old_run).times) == 7
    assert pdem.Results(old_run).times[-1] == pytest.approx(0.0045)


def test_replay_accepts_the_earlier_name_of_its_interval(old_run, folder):
    with pytest.warns(FutureWarning, match="fields_every is called snapshots_every now"):
        pdem.replay(old_run, 0.001, 0.0012, output=folder / "old", fields_every=STEP)
    pdem.replay(old_run, 0.001, 0.0012, output=folder / "new", snapshots_every=STEP)
    assert compare(folder / "old", folder / "new").equal
    with pytest.raises(InputError, match="fields_every is the earlier name of snapshots_every"):
        pdem.replay(old_run, 0.001, 0.0012, fields_every=STEP, snapshots_every=STEP)


def test_the_command_replay_accepts_the_earlier_option(old_run, folder):
    words = ["replay", str(old_run), "--from", "0.001", "--to", "0.0012", "--threads", "1", "-o", str(folder / "again")]
    both = CliRunner().invoke(main, [*words, "--fields-every", "1e-5", "--snapshots-every", "1e-5"])
    assert both.exit_code == 2
    assert "--fields-every is the earlier name of --snapshots-every: give --snapshots-every alone" in " ".join(
        both.output.split()
    )
    assert CliRunner().invoke(main, [*words, "--fields-every", "1e-5"]).exit_code == 0
    assert len(pdem.Results(folder / "again").times) == 21
    assert "--fields-every" not in CliRunner().invoke(main, ["replay", "--help"]).output


def test_explain_knows_the_earlier_name():
    head, _, text = explain("output.fields_every").partition("\n")
    assert head == "output.fields_every is called output.snapshots_every now"
    assert text == explain("output.snapshots_every").partition("\n")[2]
    assert "did you mean snapshots_every?" in explain("fields_every")


def test_hints_lead_to_the_present_name(folder):
    with pytest.raises(CaseError, match=r"time\.fields_every.*did you mean output\.snapshots_every\?"):
        pdem.Case.from_text(CASE.replace("[time]", "[time]\nfields_every = 1.0"), folder)
    with pytest.raises(CaseError, match=r"fields_every is not a key; did you mean output\.snapshots_every"):
        pdem.Case.from_text(CASE, folder).override("fields_every=1.0")

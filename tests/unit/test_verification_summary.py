"""What `pdem verify` writes: pages, one table of all, and the same for programs."""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module

import pytest
from click.testing import CliRunner

from pdem.foundation.errors import InputError
from pdem.verification import summary
from pdem.verification.study import FindingTable, Study, StudyFinding, at_most
from validation import studies

command = import_module("pdem.cli.verify")  # the package has the command of this name
FINDINGS = [
    StudyFinding("height [m]", 1.02, 1.0, 0.05),
    StudyFinding("lost", 3.0, 0.0, 0.0),
    StudyFinding("angle [deg]", 0.2, 0.0, 0.0, margin=0.3),
    at_most("residual", 0.5, 1.0),
    StudyFinding("time of a step [ns]", 12.0),
]


def kept(findings=FINDINGS, name="one"):
    study = Study(name, "A study", lambda _: iter(()), "group", "somebody", {"radius": "1 | 2 mm"})
    found = summary.Kept.of(study, False, 2)
    found.add(FindingTable("First", "theory", list(findings), "A remark."))
    found.seconds = 75.0
    return found


@pytest.mark.parametrize(
    ("finding", "passed", "strain", "text"),
    [
        (FINDINGS[0], True, 0.4, "+2.00 %"),
        (FINDINGS[1], False, 4.0, "+3"),
        (FINDINGS[2], True, 2.0 / 3.0, "+0.2"),
        (FINDINGS[3], True, 0.5, ""),
        (StudyFinding("x", 1.0, 1.0, 0.0), True, 0.0, "+0.00 %"),
        (StudyFinding("x", 1.1, 1.0, 0.05, margin=0.02), False, 0.1 / 0.07, "+0.1"),
        (at_most("x", 2.0, 1.0), False, 2.0, ""),
        (at_most("x", 0.0, 0.0), True, 0.0, ""),
    ],
)
def test_findings_are_judged(finding, passed, strain, text):
    assert finding.passed is passed
    assert summary.strain(finding) == pytest.approx(strain)
    assert summary.deviation(finding) == text


@pytest.mark.parametrize(
    ("seconds", "shown", "end"),
    [
        (0.02, "0.1", "0.1 s"),
        (0.33, "0.3", "0.3 s"),
        (9.96, "10", "10 s"),
        (75.0, "75", "75 s"),
        (300.0, "300", "5 min"),
    ],
)
def test_no_study_takes_no_time(seconds, shown, end):
    one = kept()
    one.seconds = seconds
    assert summary._rows(one)[-1][-1] == shown
    assert f"took {end} on 2 threads" in summary.page(one)


def test_pages_and_summaries_are_written_and_read_back(tmp_path):
    first, other = kept(), kept(FINDINGS[:1], "other")
    for one in (first, other, other):
        files = summary.write(one, tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in files] == ["other/index.md", "summary.json", "summary.md"]
    found = summary.read(tmp_path)
    assert list(found) == ["one", "other"]
    assert found["one"] == first
    assert (found["one"].failed, found["other"].failed) == (1, 0)
    page = (tmp_path / "one" / "index.md").read_text(encoding="utf-8")
    for text in ("# A study", "somebody", "| radius | 1 \\| 2 mm |", "A remark.", "| OFF |", "took 75 s on 2 threads"):
        assert text in page
    assert "[one](one/index.md)" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    lines = summary.table_text([first, other]).splitlines()
    assert lines[0].split() == ["case", "quantity", "expected", "computed", "deviation", "time", "[s]"]
    assert "lost" in lines[1]
    assert "OFF" in lines[1]
    assert lines[2].split() == ["other", "height", "[m]", "1", "1.02", "+2.00", "%", "ok", "75"]
    numbers = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert numbers["one"]["tables"][0]["findings"][4] == {"name": "time of a step [ns]", "computed": 12.0}


@pytest.mark.parametrize("text", ["", "[]", '{"one": {"nam": 1}}', '{"one": 3}', "{"])
def test_a_broken_summary_is_refused_with_its_name(text, tmp_path):
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(InputError, match=r"summary\.json: is no summary of pdem verify"):
        summary.read(tmp_path)
    assert (tmp_path / "summary.json").read_text() == text


def failing(_):
    yield FindingTable("Before", "theory", [StudyFinding("x", 1.0, 1.0, 0.1)])
    raise InputError("the moon is missing; bring it")


def fine(notebook):
    with notebook.plot("line") as axes:
        axes.plot([0.0, 1.0])
    yield FindingTable("Fine", "theory", [StudyFinding("y", math.pi, 3.0, 0.1)])


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs the command on two studies, and its exit code and output."""
    monkeypatch.setattr(
        studies, "STUDIES", (Study("bad", "Bad", failing, "both"), Study("good", "Good", fine, "both", "theory"))
    )
    monkeypatch.setattr(command, "load_kernels", lambda *_: False)
    monkeypatch.setattr(command, "collective", lambda work, _: work(None, 1))

    def call(*arguments):
        result = CliRunner().invoke(
            command.verify, [*arguments, "--folder", str(tmp_path / "out")], standalone_mode=False
        )
        if result.exception:
            raise result.exception
        return result.return_value, result.output

    return call


def test_a_study_that_cannot_run_does_not_stop_the_others(run, tmp_path):
    code, text = run()
    assert code == 1
    assert "bad: the moon is missing" in text
    assert "ok" in [line for line in text.splitlines() if line.startswith("good")][-1].split()
    found = summary.read(tmp_path / "out")
    assert found["bad"].trouble == "the moon is missing; bring it"
    assert found["bad"].failed == 1
    assert found["good"].plots == ["line.png"]
    assert (tmp_path / "out" / "good" / "line.png").exists()
    assert run("good")[0] == 0
    assert run("both")[0] == 1


def test_names_and_groups_are_checked(run):
    assert "both      good" in run("--list")[1]
    with pytest.raises(InputError, match="'god' is no study; did you mean 'good'"):
        run("god")


def test_long_studies_need_to_be_asked_for(run, monkeypatch):
    monkeypatch.setattr(studies, "STUDIES", (*studies.STUDIES, Study("far", "Far", fine, "both", long=True)))
    code, text = run("good", "far")
    assert code == 0
    assert "far: only with --full" in text
    assert not [line for line in text.splitlines() if line.startswith("far  ")]
    assert "far: Far" in run("far", "--full")[1]
    assert "--full  Far" in run("--list")[1]


def test_without_matplotlib_it_says_what_to_install_before_any_work(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"plots need matplotlib.*pip install '\w+\[render\]'"):
        run("good")

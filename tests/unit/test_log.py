"""The log, the progress line and the end table say what they should, where they should."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from pdem.foundation.errors import CheckpointError
from pdem.output import log, progress, summary
from pdem.output.log import TABLE_COLUMNS, RunLog, environment, header, table_heading, table_row
from pdem.output.progress import Progress

VALUES = {
    "step": 10_000,
    "time": 0.02,
    "particles": 1_000_000,
    "contacts_per_particle": 4.912,
    "largest_overlap": 0.008,
    "kinetic_energy": 0.3114,
    "ledger_residual": float("nan"),
    "steps_per_second_per_core": 3.21e6,
    "seconds_left": 72.0,
}


def test_run_log_holds_header_table_and_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunLog(tmp_path / "new") as run_log:
        run_log.text(header("mixer.toml", 2, 8, ["bisection  100 particles"]))
        run_log.row(VALUES)
        run_log.row(VALUES)
        run_log.warning("the time step is long")
        logging.getLogger("pdem.elsewhere").warning("seen too")
    lines = (tmp_path / "new" / "run.log").read_text().splitlines()
    assert "mixer.toml" in lines[0]
    assert "2 ranks x 4 threads" in lines[0]
    assert f"numpy {environment()['numpy']}" in lines[1]
    assert lines[3] == "bisection  100 particles"
    assert lines.count(table_heading()) == 1
    assert lines.count(table_row(VALUES)) == 2
    assert lines[-2].endswith("warning: the time step is long")
    error = capsys.readouterr().err
    assert error == "pdem: warning: the time step is long\npdem: warning: seen too\n"


def test_quiet_runs_show_errors_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunLog(tmp_path, console=False) as run_log:
        run_log.warning("the time step is long")
        logging.getLogger("pdem.output").error("a file is torn")
        assert capsys.readouterr().err == "pdem: error: a file is torn\n"
        run_log.show_warnings()
        run_log.warning("seen now")
    assert capsys.readouterr().err == "pdem: warning: seen now\n"
    assert "the time step is long" in (tmp_path / "run.log").read_text()


def test_run_log_continues_or_begins_anew(tmp_path: Path) -> None:
    for resume, expected in ((False, ["one"]), (True, ["one", "one"]), (False, ["one"])):
        with RunLog(tmp_path, resume=resume) as run_log:
            run_log.text("one")
        assert (tmp_path / "run.log").read_text().splitlines() == expected
    logging.getLogger("pdem").warning("nobody listens")
    assert "nobody" not in (tmp_path / "run.log").read_text()


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"run\.log.*choose another output\.folder"):
        RunLog(tmp_path / "file")


def test_table_columns_line_up_and_absent_values_are_dashes() -> None:
    line = table_row(VALUES)
    assert len(line) == len(table_heading()) == sum(column.width for column in TABLE_COLUMNS)
    cells = line.split("  ")
    assert "1,000,000" in line
    assert "0.80 %" in line
    assert "01:12" in line
    assert "nan" in line
    assert [cell.strip() for cell in cells].count("-") == 3
    assert set(table_row({}).split()) == {"-"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def show(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, enabled: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    with Progress(0.25, 0.5, enabled=enabled) as line:
        line.update(0.375, 4.9, 0.008, 0.31, 1.23e7)
        line.update(0.5, 5.1, 0.009, 0.29, 1.2e7)
        line.update(0.5000001, 5.1, 0.009, 0.29, 1.2e7)
    return stream.getvalue()


def test_progress_shows_fraction_time_and_health(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show(monkeypatch, Terminal())
    for text in ("100%", "0.5/0.5 s", "left", "contacts 5.10", "overlap 0.90 %", "0.29 J", "12 million"):
        assert text in shown
    assert shown.endswith("\n")


def lines_of(monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[str]:
    """Return the lines of a run of 100 updates, each so long after the other."""
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("pdem.output.progress.clock.monotonic", lambda: now[0])
    with Progress(0.0, 2.0) as line:
        for step in range(1, 101):
            now[0] += seconds
            line.update(0.02 * step, 4.9, 0.008, 0.31, 1.23e7, step)
    return stream.getvalue().splitlines()


def test_progress_off_a_terminal_is_a_line_at_each_twentieth(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(monkeypatch, 3.0)
    assert len(lines) == 20
    said = "pdem:  15 %, 0.3 of 2 s, step 15, 12.3 million particle-steps/s, kinetic 0.31 J, left 04:15"
    assert lines[2] == said
    assert lines[-1].startswith("pdem: 100 %, 2 of 2 s, step 100, ")
    assert len(show(monkeypatch, io.StringIO()).splitlines()) == 2
    assert show(monkeypatch, io.StringIO(), enabled=False) == ""


def test_lines_come_neither_too_often_nor_too_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds apart in a short run, but with its end; ten minutes at most in a long one."""
    assert [line[6:10] for line in lines_of(monkeypatch, 1.0)] == [
        "  5 ", " 15 ", " 25 ", " 35 ", " 45 ", " 55 ", " 65 ", " 75 ", " 85 ", " 95 ", "100 ",
    ]  # fmt: skip
    assert len(lines_of(monkeypatch, 0.01)) == 2
    assert len(lines_of(monkeypatch, 400.0)) == 60


def test_progress_is_silent_when_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(monkeypatch, Terminal(), enabled=False) == ""


def test_status_has_a_short_form() -> None:
    wide, short = (progress.status_text(4.9, 0.008, 0.31, 1.23e7, wide) for wide in (True, False))
    assert wide == "contacts 4.90, overlap 0.80 %, kinetic 0.31 J, 12.3 million particle-steps/s"
    assert short == "contacts 4.90, overlap 0.80 %, 0.31 J, 12.3 Mps/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "00:00"),
        (72.4, "01:12"),
        (3599.6, "1:00:00"),
        (7322, "2:02:02"),
        (86400 * 3 + 3600 * 4, "3d 04h"),
        (float("inf"), "?"),
        (float("nan"), "?"),
        (-1, "?"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert summary.duration(seconds) == text


def test_phase_table_gives_extremes_and_shares() -> None:
    times = {"wall": summary.OverRanks(1.0, 1.0, 1.0), "pair": summary.OverRanks(2.0, 3.0, 4.0)}
    table = summary.phase_table(times).splitlines()
    assert table[1].split() == ["pair", "2.000", "3.000", "4.000", "75.0"]
    assert table[2].split() == ["wall", "1.000", "1.000", "1.000", "25.0"]
    assert table[3].split() == ["total", "4.000"]
    idle = {"pair": summary.OverRanks(0.0, 0.0, 0.0)}
    assert summary.phase_table(idle).splitlines()[1].split()[-1] == "0.0"


def test_end_report_holds_all_parts() -> None:
    report = summary.end_report(
        {"pair": summary.OverRanks(1.0, 1.0, 1.0)},
        2e7,
        2.0,
        2,
        summary.EnergyReport({"kinetic": 1.0, "gravity_work": -4.0, "heat": 1e3}, 1e-12, ("heat",)),
        ["missed-contact builds = 0"],
    )
    assert "10 million particle-steps/s, 5 million per thread on 2 threads, 00:02 in all" in report
    assert "gravity work" in report
    assert "1.000000e-12  (2.5e-13 of the largest)" in report
    assert report.endswith("missed-contact builds = 0")
    assert summary.throughput(0, 0.0, 1) == "no steps were taken"


def test_environment_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_PACKAGES", ("numpy", "surely-not-there"))
    assert environment()["surely-not-there"] == "not installed"
    assert environment()["cpu"]


def test_the_last_line_comes_where_the_last_step_ends_short_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(0.0, 1.0) as line:
        line.update(0.99998, 4.9, 0.008, 0.31, 1.23e7, 41296)
    assert stream.getvalue().startswith("pdem: 100 %, 1 of 1 s, step 41296, ")

"""Kept results of the benchmark: what is compared with what, and what is refused."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from pdem.benchmark.earlier_results import comparison_lines, document_of, keep, read_result_files
from pdem.cli import main
from pdem.foundation.errors import InputError

pytestmark = pytest.mark.compiles

HERE = {"pdem": "1.2.0", "cpu": "A cpu", "processor": "a-type", "processor_features": "sse2"}


def result(rate, name="dense-bed"):
    return {"name": name, "rate": rate, "rates": [0.9 * rate, rate, 1.1 * rate]}


def limits(factor, name="dense-bed"):
    speed = {"bandwidth": 1e10, "multiply_adds": 2e10, "divisions": 1e9, "square_roots": 8e8}
    return {"name": name, "kind": "limits", "speed": {key: factor * value for key, value in speed.items()}}


def detection(nanoseconds, ratio=10.0):
    return {
        "name": "detection", "method": "hgrid", "particles": 100000, "ratio": ratio, "threads": 1,
        "nanoseconds": nanoseconds,
    }  # fmt: skip


def document(*results, date="2026-01-01T12:00:00+00:00", ranks=1, threads=1, **environment):
    return {
        **document_of({**HERE, **environment}, "pdem bench", ranks, threads, results), "date": date
    }  # fmt: skip


def test_kept_results_come_back(tmp_path):
    folder = tmp_path / "new" / "folder"
    assert read_result_files(folder) == []
    first = keep(folder, document(result(2e6), date="2026-01-02T12:00:00+00:00"))
    second = keep(folder, document(result(1e6), date="2026-01-02T12:00:01+02:00", pdem="1.10.0"))
    assert first.name == "1.2.0_2026-01-02_120000_1x1.json"
    assert [one.path for one in read_result_files(folder)] == [second, first]  # by time, not by name
    assert read_result_files(folder)[1].document["results"] == [result(2e6)]


def test_the_newest_of_the_same_machine_is_compared(tmp_path):
    day = "2026-01-0{}T12:00:00+00:00".format
    for kept in (
        document(result(4e6), date=day(1)),
        document(result(2e6), date=day(2)),
        document(result(9e6, "mixer"), date=day(3)),
        document(result(1e9), date=day(4), processor="another-type"),
        document(result(1e9), date=day(5), ranks=2),
        document(result(1e9), date=day(6), threads=2),
        document({**result(1e9), "peer": "lammps"}, date=day(7)),
    ):
        keep(tmp_path, kept)
    now = document(result(3e6), result(8e6, "mixer"), result(1e6, "new"), limits(1.0), pdem="1.3.0")
    lines = list(comparison_lines(now, read_result_files(tmp_path)))
    assert lines == [
        "dense-bed: 1.50 times as fast as pdem 1.2.0 of 2026-01-02 (1.2.0_2026-01-02_120000_1x1.json)",
        "mixer: 0.89 times as fast as pdem 1.2.0 of 2026-01-03 (1.2.0_2026-01-03_120000_1x1.json)",
    ]


def test_regressions_and_the_machine_are_told_apart(tmp_path):
    keep(tmp_path, document(result(3e6), limits(1.0), detection(300.0), detection(100.0, 1.0)))
    slow, listed, _ = comparison_lines(
        document(result(1.5e6), limits(0.8), detection(400.0), detection(100.0, 1.0)), read_result_files(tmp_path)
    )
    assert slow.endswith(
        "slower in all parts; the machine itself: bandwidth 0.80, multiply adds 0.80, divisions 0.80, square roots 0.80"
    )
    assert listed.startswith("detection by hgrid, 100000 particles, 10 ratio, 1 threads: 0.75 times as fast")
    (similar,) = comparison_lines(document(result(2.9e6)), read_result_files(tmp_path))
    assert "slower" not in similar


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": 2}', '{"format": 1, "date": "yesterday"}'])
def test_other_files_are_named(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(InputError, match=r"other\.json: holds no results of pdem bench \(.*\); move it out"):
        read_result_files(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written .*name another file or folder"):
        keep(tmp_path / "file", document())


def test_the_command_keeps_and_compares(tmp_path, monkeypatch):
    monkeypatch.setattr("pdem.benchmark.measure.WARM_UP_STEPS", 3)
    monkeypatch.setattr("pdem.benchmark.cases.FLOWING_STEPS", 3)
    arguments = ["bench", "hopper", "--steps", "3", "--threads", "1", "--keep", str(tmp_path / "kept")]
    outputs = []
    for _ in range(2):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.stderr
        outputs.append(done.stdout)
        for path in (tmp_path / "kept").glob("0*"):
            shutil.move(path, path.with_name(f"kept-{path.name}"))
    assert "times as fast as" not in outputs[0]
    assert "hopper: " in outputs[1].splitlines()[-2]
    assert "times as fast as pdem" in outputs[1]
    kept = json.loads(next((tmp_path / "kept").iterdir()).read_text())
    assert kept["command"] == "pdem bench hopper --steps 3 --threads 1"
    assert {"processor", "cpu", "numba", "sources"} <= set(kept["environment"])
    assert str(tmp_path) not in json.dumps(kept)

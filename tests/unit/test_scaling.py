"""Scaling without ranks: results read back, reports, starts, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from pdem.benchmark import launch
from pdem.benchmark.cases import Start, scaled_case
from pdem.foundation.errors import InputError, LaunchError
from pdem.report.section import html_page, markdown_page
from pdem.scaling.comparison import PARTS, comparison
from pdem.scaling.measure import FORMAT, GROUPS
from pdem.scaling.report import _other_sizes, measured_sections, write_report
from pdem.scaling.results import prepare_folder, read_results, run_file, with_measured_ranks
from pdem.scaling.starts import load_start, require_size


def write_run(folder, ranks, seconds, repeat=0, threads=1, weak=False, **changes):
    """Write the result of an invented run: 1000 particles per rank if it is weak."""
    rank = [1] * ranks
    particles = 1000 * (ranks if weak else 1)
    run = {
        "format": FORMAT, "case": "bed <1>", "weak": weak, "ranks": ranks, "threads": threads, "steps": 10,
        "warm_up": 5, "seconds_per_step": seconds, "particles": particles, "pair_contacts": 2000,
        "wall_contacts": 100, "imbalance": 1.25, "radii": [0.001, 0.01],
        "output_seconds": {"min": 0.25, "mean": 0.375, "max": 0.5},
        "phases": {group: {"min": 0.1 * seconds, "mean": 0.2 * seconds, "max": 0.3 * seconds} for group in GROUPS},
        "start": {}, "end": {"owned": [[400, 100]] * ranks, "ghosts": [[50, 30]] * ranks, "sends": rank,
        "receives": rank, "sent": [7200] * ranks, "received": [7200] * ranks},
        "environment": {"pdem": "1", "cpu": "a processor"}, "detections_per_1000_steps": 12.0, "divisions": 0,
    }  # fmt: skip
    path = run_file(folder, ranks, threads, repeat)
    path.write_text(json.dumps({**run, **changes}))
    return path


@pytest.fixture
def measured(tmp_path):
    for ranks, times in ((1, (4.0, 5.0, 9.0)), (2, (2.0, 2.5, 3.0)), (4, (2.0, 2.0, 2.0))):
        for repeat, seconds in enumerate(times):
            write_run(tmp_path, ranks, seconds, repeat)
    return tmp_path


def test_repeats_are_joined_by_their_median(measured):
    results = read_results(measured)
    assert [(point.ranks, point.time) for point in results.points] == [(1, 5.0), (2, 2.5), (4, 2.0)]
    assert [results.speed_up(point) for point in results.points] == [1.0, 2.0, 2.5]
    assert [results.efficiency(point) for point in results.points] == [1.0, 1.0, 0.625]
    two = results.points[1]
    assert two.seconds == (2.0, 2.5, 3.0)
    assert two.ghosts == (0.1, 0.06)
    assert two.phases["compute"]["mean"] == 0.5  # of the median repeat
    assert two.contacts == 4.1


def test_a_case_that_grows_is_as_fast_as_its_rate(tmp_path):
    for ranks, seconds in ((1, 1.0), (2, 1.0), (4, 2.0)):
        write_run(tmp_path, ranks, seconds, weak=True)
    results = read_results(tmp_path)
    assert [results.speed_up(point) for point in results.points] == [1.0, 2.0, 2.0]
    assert [results.efficiency(point) for point in results.points] == [1.0, 1.0, 0.5]


def test_threads_count_as_cores(tmp_path):
    write_run(tmp_path, 1, 4.0)
    write_run(tmp_path, 2, 1.25, threads=2)
    results = read_results(tmp_path)
    assert results.speed_up(results.points[1]) == 3.2
    assert results.efficiency(results.points[1]) == 0.8


def test_what_is_no_result_is_named(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        read_results(tmp_path / "nothing")
    with pytest.raises(InputError, match="holds no results"):
        read_results(tmp_path)
    path = write_run(tmp_path, 1, 1.0)
    path.write_text(path.read_text()[:-50])
    with pytest.raises(InputError, match=rf"{path.name}: is no result"):
        read_results(tmp_path)
    write_run(tmp_path, 1, 1.0, format=99)
    with pytest.raises(InputError, match="format 99"):
        read_results(tmp_path)
    document = json.loads(write_run(tmp_path, 1, 1.0).read_text())
    del document["phases"]
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="no 'phases'"):
        read_results(tmp_path)
    write_run(tmp_path, 1, 0.0)
    with pytest.raises(InputError, match="not a positive time"):
        read_results(tmp_path)
    write_run(tmp_path, 1, 1.0)
    write_run(tmp_path, 2, 1.0, case="another")
    with pytest.raises(InputError, match="cannot be compared"):
        read_results(tmp_path)


def test_a_folder_holds_one_kind_of_runs(tmp_path):
    prepare_folder(tmp_path / "a", {"case": "x", "steps": 3})
    prepare_folder(tmp_path / "a", {"case": "x", "steps": 3})
    with pytest.raises(InputError, match="another kind"):
        prepare_folder(tmp_path / "a", {"case": "x", "steps": 4})


def test_a_report_says_it_in_text_html_and_markdown(measured):
    sections = measured_sections(read_results(measured), None, plots=True)
    page = html_page("Scaling of bed <1>", sections)
    assert "bed &lt;1&gt;" in page
    assert page.count("data:image/png;base64,") == 2
    assert "<td>2.50</td><td>62.5</td>" in page
    assert "http" not in page  # one file that needs no other
    text = markdown_page("Scaling", sections)
    assert "| 4 | 1 | 1000 | 2000 | 0 | 2.50 | 62.5 |" in text
    paths = write_report(measured, "report", "Scaling", sections)
    assert {path.name for path in paths} == {"report.html", "report.md", "speed.png", "phases.png"}
    assert all(path.stat().st_size for path in paths)
    assert "2.50" in sections[0].plain()


def test_launchers_are_checked(monkeypatch):
    assert launch.check_launcher(f"{sys.executable} -n {{ranks}}")[1:] == ["-n", "{ranks}"]
    with pytest.raises(InputError, match="where the number of ranks goes"):
        launch.check_launcher(f"{sys.executable} -n 4")
    with pytest.raises(InputError, match="quotation"):
        launch.check_launcher("mpirun -n {ranks} '")
    with pytest.raises(LaunchError, match="no program no-such-program"):
        launch.check_launcher("no-such-program {ranks}")
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(InputError, match="leave mpirun away"):
        launch.require_no_launcher()


def test_all_combinations_come_in_turn():
    assert list(launch.combinations([1, 2], [1, 3], 2)) == [
        (1, 1, 0), (1, 3, 0), (2, 1, 0), (2, 3, 0), (1, 1, 1), (1, 3, 1), (2, 1, 1), (2, 3, 1),
    ]  # fmt: skip


def test_a_run_that_fails_says_why():
    seen = []

    def start(command, **options):
        seen.append((command, options["env"]["PDEM_THREADS"]))
        return subprocess.CompletedProcess(command, 3, "", "it blew up\n")

    with pytest.raises(LaunchError, match=r"2 ranks x 4 threads ended with exit code 3(.|\n)*it blew up"):
        launch.run_on_ranks(["mpirun", "-n", "{ranks}"], 2, 4, ["scaling", "measure"], start)
    assert seen[0][0][:3] == ["mpirun", "-n", "2"]
    assert seen[0][0][-2:] == ["--threads", "4"]
    assert seen[0][1] == "4"


def test_only_known_cases_grow():
    growing = ["domain.upper=[0.1, {0.1*ranks}, 1]"]
    require_size("dense-bed", (), True)
    require_size("case.toml", growing, True)
    require_size("case.toml", ["time.step=1e-6"], False)
    for name in ("mixer", "dense-bed-100k", "case.toml", "detection"):
        with pytest.raises(InputError, match="cannot be enlarged"):
            require_size(name, ["time.step=1e-6"], True)
    for name in ("dense-bed", "run/checkpoint.h5"):
        with pytest.raises(InputError, match="cannot be enlarged"):
            require_size(name, growing, True)
    with pytest.raises(InputError, match="only with --weak"):
        require_size("case.toml", growing, False)


def test_a_bed_grows_by_tiles():
    """Particles, and contacts across the periodic sides, as often as there are tiles."""
    ids = np.arange(3)
    position = np.array([[0.0005, 0.01, 0.001], [0.0315, 0.01, 0.001], [0.02, 0.02, 0.001]])
    state = {
        "particles": {"id": ids, "position": position},
        "contacts": {"lower": ids[:1], "higher": ids[1:2], "history": np.zeros((1, 3))},
        "wall_contacts": {"id": ids, "facet": ids},
        "counters": {"next_id": np.array(3), "step": np.array(5)},
    }
    large = scaled_case("dense-bed", 6, Start(None, [], state=state))
    assert large.case.domain.upper[:2] == pytest.approx((3 * 0.032, 2 * 0.032))
    assert large.state is not None
    place = dict(zip(large.state["particles"]["id"], large.state["particles"]["position"], strict=True))
    assert len(place) == 18
    pairs = large.state["contacts"]
    assert len(pairs["lower"]) == 6
    for lower, higher in zip(pairs["lower"], pairs["higher"], strict=True):
        apart = place[lower] - place[higher]
        apart[:2] -= np.rint(apart[:2] / [0.096, 0.064]) * [0.096, 0.064]
        np.testing.assert_allclose(np.abs(apart), [0.001, 0.0, 0.0], atol=1e-12)
    floor = large.meshes[0].vertices
    assert floor[:, 0].max() > 0.096


def planned(case="bed <1>", weak=False, threads=1):
    parts = dict.fromkeys(PARTS, 0.0) | {"compute": 1.0, "agree": 0.25}
    rows = [{"ranks": count, "seconds_per_step": 2.0, "parts": parts, "ghosts_per_particle": 0.3, "speed_up": 2.0,
             "efficiency": 1.0, "imbalance": 1.0} for count in (2, 4, 64)]  # fmt: skip
    return {"case": case, "weak": weak, "threads": threads, "rows": rows}


def test_predicted_stands_beside_measured(measured):
    results = read_results(measured)
    assert comparison(results, None) is None
    found = comparison(results, planned())
    two, four = found.rows  # a plan of 64 ranks has nothing beside it
    assert two[:5] == ["2", "1", "2500", "2000", "0.80"]
    assert two[5] == "500, 1e+03"
    assert two[7] == "1.5e+03, 250"
    assert two[8] == "0.16, 0.3"
    assert four[4] == "1.00"
    for other in (planned("another"), planned(weak=True)):
        section = comparison(results, other)
        assert "nothing to compare" in section.text
        assert not section.rows
    assert "No measured ranks" in comparison(results, planned(threads=3)).text
    sections = measured_sections(results, planned(), plots=True)
    assert [one.title for one in sections][-1] == "Predicted and measured"
    assert sections[0].picture != measured_sections(results, planned("another"), plots=True)[0].picture


def test_measured_ranks_are_planned_as_well(measured, tmp_path):
    assert with_measured_ranks(measured, "bed <1>", False, 1, [4, 16]) == [1, 2, 4, 16]
    for case, weak, threads in (("another", False, 1), ("bed <1>", True, 1), ("bed <1>", False, 2)):
        assert with_measured_ranks(measured, case, weak, threads, [16]) == [16]
    assert with_measured_ranks(tmp_path / "nothing", "a", False, 1, [16]) == [16]


@pytest.mark.parametrize("name", ["nosuch", "models"])
def test_a_name_that_is_neither_a_file_nor_a_case_lists_the_cases(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"neither a file nor a case of the benchmark; .*dense-bed") as caught:
        load_start(name)
    assert "detection" not in str(caught.value)


def test_a_near_name_is_proposed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="did you mean 'dense-bed'"):
        load_start("densebed")


def test_a_rehearsal_says_where_whole_copies_are_other_numbers_than_asked_for():
    row = {"asked": 10, "particles": 8192, "copies": 1, "ranks": 64}
    near = {"asked": 8000, "particles": 8192, "copies": 1, "ranks": 2}
    assert _other_sizes({"rows": [near, {"ranks": 1, "particles": 5}]}) == ""
    text = _other_sizes({"rows": [near, row]})
    assert "whole copies of the case, of 8192 particles each" in text
    assert text.endswith("Particles on ranks: 8192 in place of 10 on 64.")

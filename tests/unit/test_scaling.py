"""Scaling without ranks: results read back, reports, what a plan predicts, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from decomposition.cuts import cut
from decomposition.layers import extents_by_level, may_meet
from decomposition.plan import _candidates, divide, extents_by_rank
from pdem.cli import main
from pdem.foundation.errors import InputError, LaunchError
from pdem.scaling.measure import FORMAT, GROUPS
from pdem.scaling.plan import plan
from pdem.scaling.predict import Costs, Network, Work, predict
from pdem.scaling.report import html_page, markdown, measured_sections, plan_sections, write_report
from pdem.scaling.results import claim_folder, read_plan, read_results, run_file
from pdem.scaling.starts import load_start, require_enlargeable
from pdem.simulation import launch
from pdem.simulation.bench_cases import Prepared, scaled_case


def write_run(folder, ranks, seconds, repeat=0, threads=1, weak=False, **changes):
    """Write the result of an invented run: 1000 particles per rank if it is weak."""
    rank = [1] * ranks
    particles = 1000 * (ranks if weak else 1)
    run = {
        "format": FORMAT, "case": "bed <1>", "weak": weak, "ranks": ranks, "threads": threads, "steps": 10,
        "warm_up": 5, "seconds_per_step": seconds, "particles": particles, "pair_contacts": 2000,
        "wall_contacts": 100, "imbalance": 1.25, "radii": [0.001, 0.01], "output_seconds": {"max": 0.5},
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
    claim_folder(tmp_path / "a", {"case": "x", "steps": 3})
    claim_folder(tmp_path / "a", {"case": "x", "steps": 3})
    with pytest.raises(InputError, match="another kind"):
        claim_folder(tmp_path / "a", {"case": "x", "steps": 4})


def test_a_report_says_it_in_text_html_and_markdown(measured):
    sections = measured_sections(read_results(measured), None, plots=True)
    page = html_page("Scaling of bed <1>", sections)
    assert "bed &lt;1&gt;" in page
    assert page.count("data:image/png;base64,") == 2
    assert "<td>2.50</td><td>62.5</td>" in page
    assert "http" not in page  # one file that needs no other
    text = markdown("Scaling", sections)
    assert "| 4 | 1 | 1000 | 2000 | 0 | 2.50 | 62.5 |" in text
    paths = write_report(measured, "report", "Scaling", sections)
    assert {path.name for path in paths} == {"report.html", "report.md", "speed.png", "phases.png"}
    assert all(path.stat().st_size for path in paths)
    assert "2.50" in sections[0].plain()


COSTS = Costs(1, 10, 4e-3, 8e-3, 2e-3, 1e-3, 0.01, 0.0, 0.0, 0.0)


def cloud(seed, count):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.0, 1.0, (count, 3)), np.full(count, 0.02)


def divided(ranks, position, radius, **options):
    return divide(ranks, position, radius, 1.2 * radius, radius.max(keepdims=True), np.zeros(3), **options)


def near_pairs(position, radius):
    apart = np.linalg.norm(position[:, None] - position[None], axis=2)
    first, second = np.nonzero(apart <= 2.4 * radius[0])
    return first[first < second], second[first < second]


def test_one_rank_is_predicted_as_measured():
    position, radius = cloud(1, 500)
    work = Work(*near_pairs(position, radius), np.arange(500) % 3)
    found = predict(divided(1, position, radius), work, COSTS, Network())
    assert found["seconds_per_step"] == pytest.approx(COSTS.alone, rel=1e-12)
    assert found["efficiency"] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 7, 64])
def test_a_step_is_the_sum_of_its_parts(ranks):
    """Without a network only pairs on both sides, copies in the search and the slowest rank cost anything."""
    position, radius = cloud(2, 500)
    work = Work(*near_pairs(position, radius), np.zeros(500, np.int64))
    division = divided(ranks, position, radius)
    free = predict(division, work, COSTS, Network(0.0, 1e300))
    assert sum(free["parts"].values()) == pytest.approx(free["seconds_per_step"], rel=1e-12)
    pairs = work.by_rank(division)[0]
    crossing = np.count_nonzero(division.owner[work.first] != division.owner[work.second])
    assert pairs.sum() == len(work.first) + crossing
    compute = COSTS.particle + COSTS.wall + COSTS.pair * pairs.sum() / len(work.first)
    assert free["parts"]["compute"] * ranks == pytest.approx(compute, rel=1e-12)
    assert free["efficiency"] < 1.0
    slow = predict(division, work, COSTS, Network(1e-3, 1e300))
    least = division.sends.max() * 1e-3 + np.ceil(np.log2(ranks)) * 1e-3
    assert slow["seconds_per_step"] >= least
    narrow = predict(division, work, COSTS, Network(0.0, 1.0))
    assert narrow["seconds_per_step"] >= 72 * division.sent.sum(axis=1).max()


@pytest.mark.parametrize("seed", range(8))
def test_ranks_that_may_meet_are_found(seed):
    """The tree of extents against all pairs of ranks; some own nothing."""
    rng = np.random.default_rng(seed)
    count, ranks, levels = int(rng.choice([3, 30, 400])), int(rng.integers(2, 60)), 3
    position, reach = rng.uniform(0.0, 1.0, (count, 3)), 10 ** rng.uniform(-3, -1, count)
    level = rng.integers(0, levels, count)
    period = rng.choice([0.0, 1.0], 3)
    owner = cut(position, ranks).owners(position)
    extents = extents_by_rank(ranks, levels, owner, position, reach, level)
    for rank in range(ranks):
        mine = owner == rank
        expected = extents_by_level(position[mine], reach[mine], level[mine], levels)
        np.testing.assert_array_equal(extents[rank], expected)
    near = np.array([may_meet(one, extents[:, -1], period) for one in extents[:, -1]])
    np.fill_diagonal(near, False)
    found = np.zeros_like(near)
    found[_candidates(extents[:, -1], period)] = True
    assert not np.any(near & ~found)
    assert not np.any(np.diag(found))


def test_many_more_ranks_than_one_can_loop_over():
    """16,384 ranks of a few particles each: in seconds, and a few tens of neighbours."""
    position, radius = cloud(3, 40_000)
    division = divided(16_384, position, 0.2 * radius)
    assert division.owned.sum() == 40_000
    assert division.sent.sum() == division.ghosts.sum() > 0
    assert division.sends.max() < 60


def test_numbers_of_ranks_below_one_are_refused(tmp_path):
    for wrong in ("0", "2,0", "-1", "two", "1,,2", "1.5"):
        outcome = CliRunner().invoke(main, ["scaling", "plan", "case.toml", "--ranks", wrong])
        assert outcome.exit_code == 2
        assert "at least 1" in outcome.output
    with pytest.raises(InputError, match="at least 1"):
        plan("case", Prepared(None, []), [4, 0], Network(), 1, 0, 0)


def test_networks_that_cannot_be_are_refused():
    for wrong in ((-1.0, 1.0), (float("nan"), 1.0), (0.0, 0.0), (0.0, float("inf"))):
        with pytest.raises(InputError, match="network"):
            Network(*wrong)


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
        launch.run_once(["mpirun", "-n", "{ranks}"], 2, 4, ["scaling", "measure"], start)
    assert seen[0][0][:3] == ["mpirun", "-n", "2"]
    assert seen[0][0][-2:] == ["--threads", "4"]
    assert seen[0][1] == "4"


def test_only_known_cases_grow():
    require_enlargeable("dense-bed")
    for name in ("mixer", "dense-bed-100k", "case.toml", "detection"):
        with pytest.raises(InputError, match="cannot be enlarged"):
            require_enlargeable(name)


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
    large = scaled_case("dense-bed", 6, Prepared(None, [], state=state))
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


CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.05, 0.05, 0.05]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
restitution = 0.8
friction = 0.5
[[particles]]
material = "grain"
radius = 0.001
fill = {count = 400}
"""


def test_a_plan_of_a_case_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    document = plan(str(path), load_start(str(path)), [1, 3, 500], Network(), 1, 5, 2)
    assert [row["ranks"] for row in document["rows"]] == [1, 3, 500]
    assert document["rows"][2]["owned"]["min"] == 0.0
    assert document["rows"][0]["ghosts_per_particle"] == 0.0
    sections = plan_sections(document, plots=True)
    assert len(sections) == 2
    assert "Network: 2 us per message, 1 GB/s for each rank" in sections[1].text
    (tmp_path / "plan.json").write_text(json.dumps(document))
    assert read_plan(tmp_path) == document
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(InputError, match="is no plan"):
        read_plan(tmp_path)


def test_a_plan_without_time_only_counts(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    arguments = [
        "scaling",
        "plan",
        str(path),
        "--ranks",
        "2",
        "--steps",
        "0",
        "--output",
        str(tmp_path / "out"),
    ]
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 0, outcome.output
    assert "Plan, counted" in outcome.output
    assert "predicted" not in outcome.output
    assert json.loads((tmp_path / "out" / "plan.json").read_text())["costs"] is None


def test_a_plan_needs_particles(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE[: CASE.index("[[particles]]")])
    with pytest.raises(InputError, match="no particles"):
        plan("case", load_start(str(path)), [2], Network(), 1, 0, 0)

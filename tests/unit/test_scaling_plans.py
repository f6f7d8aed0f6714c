"""Plans: what ranks own, copy and reach, the time of a step that is predicted from it, and what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.planning.network import Network
from benchmarks.planning.plan import plan
from benchmarks.planning.predict import Costs, WorkCounts, predict
from benchmarks.planning.rank_cost import RankCost
from benchmarks.planning.rank_counts import Grains, _candidates, divide, extents_by_rank
from decomposition.bisection import cut
from decomposition.layers import extents_of_levels, may_meet, with_levels_below
from decomposition.repeats import Repeats
from pdem.benchmark.cases import Start
from pdem.cli import main
from pdem.containers.box_shape import BoxShape
from pdem.containers.exchange import Traffic
from pdem.foundation.errors import InputError
from pdem.scaling.report import plan_sections
from pdem.scaling.results import read_plan
from pdem.scaling.starts import load_start

COSTS = Costs(1, 10, 4e-3, 8e-3, 2e-3, 1e-3, 0.01, 0.0, 0.0)


def cloud(seed, count):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.0, 1.0, (count, 3)), np.full(count, 0.02)


def divided(ranks, position, radius, **options):
    grains = Grains.single(position, radius, 1.2 * radius)
    return divide(ranks, grains, radius.max(keepdims=True), BoxShape.upright(np.zeros(3), np.zeros(3)), **options)


def near_pairs(position, radius):
    apart = np.linalg.norm(position[:, None] - position[None], axis=2)
    first, second = np.nonzero(apart <= 2.4 * radius[0])
    return first[first < second], second[first < second]


def test_one_rank_is_predicted_as_measured():
    position, radius = cloud(1, 500)
    work = WorkCounts(*near_pairs(position, radius), np.arange(500) % 3)
    found = predict(divided(1, position, radius), work, COSTS, Network())
    assert found["seconds_per_step"] == pytest.approx(COSTS.one_rank, rel=1e-12)
    assert found["efficiency"] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("ranks", [2, 7, 64])
def test_a_step_is_the_sum_of_its_parts(ranks):
    """Without a network only pairs on both sides, copies in the search and the slowest rank cost anything."""
    position, radius = cloud(2, 500)
    work = WorkCounts(*near_pairs(position, radius), np.zeros(500, np.int64))
    division = divided(ranks, position, radius)
    free = predict(division, work, COSTS, Network(0.0, 0.0, 1e300))
    assert sum(free["parts"].values()) == pytest.approx(free["seconds_per_step"], rel=1e-12)
    within, across, _ = work.by_rank(division)
    pairs = within + across
    crossing = np.count_nonzero(division.owner[work.first] != division.owner[work.second])
    assert pairs.sum() == len(work.first) + crossing
    compute = COSTS.particle + COSTS.wall + COSTS.pair * pairs.sum() / len(work.first)
    assert free["parts"]["compute"] * ranks == pytest.approx(compute, rel=1e-12)
    assert free["efficiency"] < 1.0
    slow = predict(division, work, COSTS, Network(0.0, 1e-3, 1e300))
    assert slow["seconds_per_step"] >= division.sends.max() * 1e-3
    distant = predict(division, work, COSTS, Network(1.0, 0.0, 1e300))
    assert distant["parts"]["agree"] == np.ceil(np.log2(ranks)) + (ranks == 7)
    narrow = predict(division, work, COSTS, Network(0.0, 0.0, 1.0))
    assert narrow["seconds_per_step"] >= 72 * division.sent.sum(axis=1).max()


@pytest.mark.parametrize("ranks", [2, 7])
def test_messages_travel_behind_contacts_that_need_no_ghosts(ranks):
    """A network that is just fast enough costs nothing; half as fast it costs what the slowest rank still waits."""
    position, radius = cloud(2, 500)
    work = WorkCounts(*near_pairs(position, radius), np.arange(500) % 3)
    division = divided(ranks, position, radius)
    within, _, facets = work.by_rank(division)
    early = COSTS.pair * within / len(work.first) + COSTS.wall * facets / facets.sum()
    most = np.maximum(division.sent_bytes, division.received_bytes)
    enough = float((most / early).max())
    free = predict(division, work, COSTS, Network(0.0, 0.0, 1e300))
    hidden = predict(division, work, COSTS, Network(0.0, 0.0, enough))
    assert hidden["parts"]["exchange"] == free["parts"]["exchange"] == 0.0
    slow = predict(division, work, COSTS, Network(0.0, 0.0, 0.5 * enough))
    waits = np.maximum(2.0 * most / enough - early, 0.0)
    assert slow["parts"]["exchange"] == pytest.approx(waits.mean(), rel=1e-12)
    assert slow["parts"]["exchange"] > 0.0


def test_what_messages_cost_the_processor_is_not_hidden():
    network = Network(5e-6, 2e-6, 1e9)
    assert network.delay(8, 4e5, 1e-3) == pytest.approx(16e-6)
    assert network.delay(8, 4e5, 1e-4) == pytest.approx(321e-6)
    assert network.delay(0, 0, 0.0) == 0.0
    cost = RankCost(0, 1000, 300, 8, Traffic(8, 7, 300_000, 400_000), 1.2e-3, 3e-4, 1e-2, 0)
    assert cost.seconds(0.0, network) == pytest.approx(1.2e-3 + 16e-6 + 1.05e-4)
    assert cost.seconds(0.01, network) == pytest.approx(1.321e-3 + 0.01 * (1e-2 + 4 * (8 * 2e-6 + 5e-6)))


@pytest.mark.parametrize(("ranks", "rounds"), [(1, 0), (2, 1), (3, 3), (4, 2), (48, 7), (1024, 10)])
def test_an_all_reduce_takes_a_latency_for_each_doubling(ranks, rounds):
    """As many rounds as a simulation of recursive doubling needs until every rank has what all have."""
    assert Network(1.0).all_reduce(ranks) == rounds
    power = 1 << (ranks.bit_length() - 1)
    has = [{rank, rank + power} & set(range(ranks)) for rank in range(power)]
    needed = 2 * (ranks > power)
    while any(len(each) < ranks for each in has):
        away = 1 << (needed - 2 * (ranks > power))
        has = [each | has[rank ^ away] for rank, each in enumerate(has)]
        needed += 1
    assert needed == rounds


def test_help_names_the_network_that_is_assumed():
    text = CliRunner().invoke(main, ["scaling", "plan", "--help"]).output
    for name, value in asdict(Network()).items():
        assert f"--{name}" in text
        assert f"by default {value:g}" in " ".join(text.split())


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
        each = extents_of_levels(position[mine], reach[mine], level[mine], levels)
        expected = with_levels_below(each)
        np.testing.assert_array_equal(extents[rank], expected)
    near = np.array([may_meet(one, extents[:, -1], Repeats.upright(period)) for one in extents[:, -1]])
    np.fill_diagonal(near, False)
    found = np.zeros_like(near)
    found[_candidates(extents[:, -1], BoxShape.upright(np.zeros(3), period))] = True
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
        plan("case", Start(None, []), [4, 0], Network(), 1, 0, 0)


def test_networks_that_cannot_be_are_refused():
    for wrong in ((-1.0,), (float("nan"),), (0.0, -1.0), (0.0, 0.0, 0.0), (0.0, 0.0, float("inf"))):
        with pytest.raises(InputError, match="network"):
            Network(*wrong)


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
    assert "Network: 2 us for a message, 1 us of a processor, 1 GB/s for each rank." in sections[1].text
    (tmp_path / "plan.json").write_text(json.dumps(document))
    assert read_plan(tmp_path) == document
    (tmp_path / "plan.json").write_text("{}")
    with pytest.raises(InputError, match="is no plan"):
        read_plan(tmp_path)


GROWING = ["domain.upper=[{0.05*ranks}, 0.05, 0.05]", "particles.0.fill.count={400*ranks}"]


def test_a_plan_of_a_case_that_grows(tmp_path):
    """Costs grow with the work: on one rank it is what was measured, and each rank has the same to do."""
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    out = tmp_path / "out"
    settings = [word for text in GROWING for word in ("--set", text)]
    words = ["scaling", "plan", str(path), "--ranks", "1,4", "--weak", "--steps", "5", "--warm-up", "2", *settings]
    outcome = CliRunner().invoke(main, [*words, "--latency", "0", "--output", str(out)])
    assert outcome.exit_code == 0, outcome.output
    document = json.loads((out / "plan.json").read_text())
    one, four = document["rows"]
    assert document["weak"]
    assert (one["particles"], four["particles"]) == (400, 1600)
    assert four["owned"] == {"min": 400.0, "mean": 400.0, "max": 400.0}
    assert one["efficiency"] == pytest.approx(1.0, rel=1e-12)
    assert four["parts"]["compute"] == pytest.approx(one["parts"]["compute"], rel=0.3)
    assert "more with the ranks" in outcome.output
    refused = CliRunner().invoke(main, [*words[:4], "100000000", *words[5:]])
    assert refused.exit_code == 2
    assert "do not fit into the memory" in refused.output


def test_costs_grow_with_the_work():
    some = WorkCounts(np.zeros(10, np.int64), np.zeros(10, np.int64), np.full(5, 2))
    more = WorkCounts(np.zeros(40, np.int64), np.zeros(40, np.int64), np.full(10, 3))
    costs = COSTS.for_work(some, more)
    assert (costs.particle, costs.pair, costs.wall, costs.detect) == (8e-3, 32e-3, 6e-3, 2e-3)
    assert COSTS.for_work(some, some) == COSTS


@pytest.mark.parametrize("seed", range(4))
def test_facets_that_ranks_may_reach_are_counted_once(seed):
    rng = np.random.default_rng(seed)
    position, radius = cloud(seed, 200)
    particle, facet = rng.integers(0, 200, 900), rng.integers(0, 60, 900)
    division = divided(7, position, radius)
    none = np.zeros(0, np.int64)
    work = WorkCounts(none, none, np.bincount(particle, minlength=200), (particle, facet))
    expected = [len(set(facet[division.owner[particle] == rank])) for rank in range(7)]
    assert work.facets_by_rank(division).tolist() == expected
    assert WorkCounts(none, none, none).facets_by_rank(division) is None


def test_a_plan_without_time_only_counts(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(CASE)
    arguments = ["scaling", "plan", str(path), "--ranks", "2", "--steps", "0", "--output", str(tmp_path / "out")]
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

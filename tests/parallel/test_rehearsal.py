"""A rank that is made alone has what it would have in a run on all ranks."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from benchmarks.planning.network import Network
from benchmarks.planning.plan import columns_of
from benchmarks.planning.rehearsal import Rehearsal, _with_clusters, rehearse
from benchmarks.planning.tiled_walls import walls_near
from benchmarks.planning.tiling import Tiling, copies_along
from decomposition.exchange import RankExchange
from decomposition.mpi import describe
from decomposition.partitioners import PARTITIONERS
from helpers.clusters import crowd
from pdem.benchmark.cases import Start
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.exchange import Alone
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.particles import Particles
from pdem.engine.phases import Phases
from pdem.engine.state import initial_groups
from pdem.engine.step import rebuild_lists
from pdem.foundation.errors import InputError
from pdem.run.simulation import Simulation

CASE = """
time = {step = 1e-5, end = 1.0}
domain = {lower = [0, 0, 0], upper = [0.05, 0.04, 0.05], periodic = PERIODIC, gravity = [0, 0, -9.81]}
[materials.grain]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.6
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3, min = 0.0008, max = MAX}
fill = {volume_fraction = 0.2}
"""


def start_of(largest=0.0015, periodic="[true, true, false]"):
    case = Case.from_text(CASE.replace("MAX", str(largest)).replace("PERIODIC", periodic))
    return Start(case, [], initial_particles(case))


def test_a_tiling_is_the_whole_in_pieces():
    start = start_of()
    lower, length = np.zeros(3), np.array([0.05, 0.04, 0.05])
    tiling = Tiling(columns_of(start), lower, length, (3, 2, 1))
    whole, home = tiling.within(tiling.lower, tiling.upper, [False] * 3)
    assert len(whole["id"]) == tiling.count == 6 * len(start.particles["id"])
    assert len(np.unique(whole["id"])) == tiling.count
    np.testing.assert_array_equal(home, whole["position"])
    around, home = tiling.within(tiling.lower - 0.01, tiling.upper + 0.01, [True, True, False])
    rows = np.argsort(whole["id"])[np.searchsorted(np.sort(whole["id"]), around["id"])]
    np.testing.assert_allclose(home, whole["position"][rows], atol=1e-15)
    shift = (around["position"] - home) / (tiling.upper - tiling.lower)
    np.testing.assert_allclose(shift, np.rint(shift), atol=1e-12)
    assert set(np.rint(shift[:, 2]).tolist()) == {0.0}
    assert set(np.rint(shift[:, 0]).tolist()) == {-1.0, 0.0, 1.0}
    assert (tiling.sample(7).reshape(6, 7, 3).std(axis=(0, 1)) > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_particles_of_a_box_are_counted_without_them(seed):
    start = start_of()
    tiling = Tiling(columns_of(start), np.zeros(3), np.array([0.05, 0.04, 0.05]), (3, 2, 1))
    ends = np.sort(np.random.default_rng(seed).uniform(tiling.lower - 0.01, tiling.upper + 0.01, (2, 3)), axis=0)
    whole, _ = tiling.within(tiling.lower, tiling.upper, [False] * 3)
    inside = ((whole["position"] >= ends[0]) & (whole["position"] < ends[1])).all(axis=1)
    assert tiling.count_in(ends.reshape(-1)) == np.count_nonzero(inside) > 0
    assert tiling.count_in(np.concatenate((tiling.lower, tiling.upper))) == tiling.count


def test_copies_make_a_box_like_a_cube():
    assert copies_along(64, np.ones(3), [True] * 3) == (4, 4, 4)
    assert copies_along(64, np.array([4.0, 1.0, 1.0]), [True, True, False]) == (4, 16, 1)
    assert copies_along(1, np.ones(3), [True] * 3) == (1, 1, 1)
    for tiles in (7, 100, 120_000):
        assert np.prod(copies_along(tiles, np.array([1.0, 1.3, 0.7]), [True, True, False])) == pytest.approx(
            tiles, rel=0.2
        )


@pytest.mark.ranks(8, timeout=240)
@pytest.mark.parametrize("largest", [0.0015, 0.006])
def test_made_ranks_own_copy_and_send_what_real_ones_do(ranks, largest, communicator):
    """But for a few copies: what is far away on the other side of a neighbour is not made, and may widen its extent."""
    start = start_of(largest, "[true, true, true]")
    rehearsal = Rehearsal("case", start, 1, 1, 0)
    tiling = rehearsal.tiling(8.0 * len(start.particles["id"]))
    skins = rehearsal.skins()
    exchange = RankExchange(describe(communicator, 1), tiling.lower, tiling.upper, rehearsal.periodic)
    whole, _ = tiling.within(tiling.lower, tiling.upper, [False] * 3)
    mine = exchange.rank == 0
    exchange.divide(whole["position"] if mine else whole["position"][:0])
    own = exchange.owners(whole["position"]) == exchange.rank
    particles = Particles({name: column[own] for name, column in whole.items()})
    exchange.make_ghosts(particles, lambda radius, velocity, _: skins.reach(radius, velocity), skins.radii)
    cut = PARTITIONERS[start.case.decomposition.method](tiling.lower, tiling.upper)
    parts = cut(whole["position"], ranks)
    timed = rehearsal.rank(tiling, parts, exchange.rank, skins)
    require_as_made(timed, particles, exchange.traffic())


def require_as_made(timed, particles, traffic):
    """Require that a rank that is made has what a real one has, but for a few copies."""
    timed.time(1)
    made = timed.cost()
    assert made.owned == particles.count
    assert made.ghosts == pytest.approx(particles.ghosts, rel=0.05)
    assert made.traffic.sent == pytest.approx(traffic.sent, rel=0.05)
    assert made.traffic.received == pytest.approx(traffic.received, rel=0.05)
    assert made.traffic.sends == traffic.sends
    assert made.traffic.receives == traffic.receives


@pytest.mark.ranks(2, 3, slow=(4,), timeout=400)
@pytest.mark.parametrize("method", ["bisection", "slabs"])
def test_made_ranks_have_the_clusters_of_real_ones(ranks, method, communicator):
    """Members and states, against a run of the large system, whose clusters span cuts and periodic sides."""
    case = crowd(method)
    meshes = read_walls(case)
    start = Start(case, meshes, initial_particles(case, meshes))
    rehearsal = Rehearsal("case", start, 1, 1, 0)
    tiling = rehearsal.tiling(6.0 * len(start.particles["id"]))
    assert tiling.tiles == 6
    large = rehearsal._case_of(tiling)
    whole = _with_clusters(tiling, rehearsal._particles_in(tiling, tiling.lower, tiling.upper))
    assert len(whole["id"]) == tiling.count
    state = dict(initial_groups(whole, Alone()))
    skins = rehearsal.skins()
    simulation = Simulation(large, communicator, threads=1, state=state if communicator.rank == 0 else None)
    system = simulation.system
    system.lists.skins.fraction, system.lists.skins.speeds = skins.fraction, skins.speeds
    rebuild_lists(system, (system.contacts.pair_records(), system.contacts.wall_records()), Phases())
    timed = rehearsal.rank(tiling, system.exchange._parts, communicator.rank, skins)
    copies = system.clusters.table.ghosts
    assert copies > 0
    assert timed._system.clusters.table.count == system.clusters.table.count
    assert timed._system.clusters.table.ghosts == pytest.approx(copies, rel=0.05)
    number, made = system.clusters.table.number, timed._system.clusters.table
    both = np.intersect1d(number, made.number)
    np.testing.assert_allclose(
        made.states[made.rows_of(both)], system.clusters.table.states[system.clusters.table.rows_of(both)], atol=1e-12
    )
    require_as_made(timed, system.particles, system.exchange.traffic())


@pytest.mark.parametrize("beside", [0, 1])
def test_few_ranks_have_no_more_ghosts_than_they_would(beside):
    """One rank has none, though all axes are periodic; of two each has the other at both ends."""
    start = start_of(periodic="[true, true, true]")
    rehearsal = Rehearsal("case", start, 1, 5, 2, beside)
    number = len(start.particles["id"])
    one, two = rehearse(rehearsal, [1, 2], Network(), per_rank=float(number), made=2)["rows"]
    assert (one["owned"], one["ghosts"], one["neighbours"], one["bytes_per_step"]) == (number, 0, 0, 0)
    assert two["neighbours"] == 1
    assert 0 < two["ghosts"] < two["owned"]
    assert one["delay"] == 0.0
    assert two["delay"] == pytest.approx(1e-6 + max(0.0, 2e-6 + two["messages"] - two["early"]))
    for row in (one, two):
        assert 0.0 < row["early"] < row["work"]
    assert not multiprocessing.active_children()


def test_processes_beside_have_one_thread():
    with pytest.raises(InputError, match="2 threads and 1 processes beside"):
        Rehearsal("case", start_of(), 2, 5, 2, 1)


def test_a_billion_particles_are_rehearsed_without_them():
    rehearsal = Rehearsal("case", start_of(), 1, 4, 2)
    document = rehearse(rehearsal, [32768], Network(), total=1e9, made=2)
    row = document["rows"][0]
    assert row["particles"] == pytest.approx(1e9, rel=0.01)
    assert row["owned"] == pytest.approx(row["particles"] / 32768, abs=16)
    assert row["memory"] < 1.5e9
    assert row["seconds_per_step"] > 0.0
    assert row["neighbours"] >= 2


def test_cases_of_which_copies_are_no_larger_system_are_refused():
    with pytest.raises(InputError, match="no axis of its domain is periodic"):
        Rehearsal("case", start_of(periodic="[false, false, false]"), 1, 1, 0)
    start = start_of()
    empty = {name: column[:0] for name, column in start.particles.items()}
    with pytest.raises(InputError, match="has no particles at its beginning"):
        Rehearsal("case", Start(start.case, [], empty), 1, 1, 0)


BRIDGES = """adhesion = {model = "liquid-bridge", surface_tension = 0.07, contact_angle = 20.0, carried_volume = 0.03}
"""


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("gravity = ", "deformation = {x = {strain_rate = 1.0}}, gravity = ", "its box deforms"),
        ("restitution = 0.6\n", f"restitution = 0.6\n{BRIDGES}", "its particles carry liquid"),
    ],
)
def test_what_no_rank_can_do_alone_is_refused_with_what_to_do_instead(before, after, reason):
    text = CASE.replace("MAX", "0.0015").replace("PERIODIC", "[true, true, true]")
    case = Case.from_text(text.replace(before, after))
    start = Start(case, [], initial_particles(case))
    with pytest.raises(InputError, match=rf"^case: {reason}.*; measure it by pdem scaling run$"):
        Rehearsal("case", start, 1, 1, 0)


def with_wall(wall, periodic="[true, true, false]"):
    text = CASE.replace("MAX", "0.0015").replace("PERIODIC", periodic)
    case = Case.from_text(
        text + f"[materials.steel]\n[interactions.grain-steel]\nfriction = 0.1\nrestitution = 0.5\n[[walls]]\n{wall}"
    )
    meshes = read_walls(case)
    return Start(case, meshes, initial_particles(start_of().case))


FLOOR = 'shape = "plane"\nmaterial = "steel"\npoint = [0, 0, 0]\nnormal = [0, 0, 1]\n'
BOULDER = 'shape = "box"\nmaterial = "steel"\nlower = [0.01, 0.01, 0.06]\nupper = [0.03, 0.02, 0.065]\n'
SERVO = "servo = {axis = [0, 0, 1], force = -1.0, largest_rate = 0.1}"
DRUM = """shape = "cylinder"
material = "steel"
centre = [0.025, 0.02, 0.025]
axis = [1, 0, 0]
length = 0.054
radius = 0.1
caps = "none"
"""


@pytest.mark.parametrize(
    ("wall", "periodic", "reason"),
    [
        (FLOOR + SERVO, "[true, true, false]", "is moved by its load"),
        (BOULDER + "body = {mass = 1.0}", "[true, true, false]", "is moved by its load"),
        (DRUM + "rotation = {axis = [1, 0, 0], rate = 1.0}", "[true, true, false]", "turns about an axis"),
        (DRUM + "rotation = {axis = [1, 0, 0], rate = 1.0}", "[true, false, false]", None),
        (DRUM + "translation = {velocity = [0, 1.0, 0]}", "[true, true, false]", "moves along y, where"),
        (FLOOR + "translation = {velocity = [0, 1.0, 0]}", "[true, true, false]", None),
        (FLOOR + "translation = {velocity = [0, 0, -0.1]}", "[true, true, false]", None),
    ],
)
def test_walls_that_each_copy_would_move_by_itself_are_refused(wall, periodic, reason):
    start = with_wall(wall, periodic)
    if reason is None:
        assert Rehearsal("case", start, 1, 1, 0).periodic[0]
        return
    with pytest.raises(InputError, match=rf"walls\[0\] {reason}"):
        Rehearsal("case", start, 1, 1, 0)


def test_walls_are_copied_with_their_tiles_or_go_on():
    """A sheet within the box, a floor without ends, and a drum that reaches beyond the sides by a radius."""
    sheet = Mesh([[0.01, 0.01, 0.0], [0.02, 0.01, 0.0], [0.02, 0.02, 0.0], [0.01, 0.02, 0.0]], [[0, 1, 2, 3]])
    floor, drum = with_wall(FLOOR), with_wall(DRUM)
    tiling = Tiling(columns_of(floor), np.zeros(3), np.array([0.05, 0.04, 0.05]), (6, 5, 1))
    low, high, periodic = np.array([0.04, 0.04, 0.0]), np.array([0.16, 0.05, 0.05]), [True, True, False]
    (copies,) = walls_near(drum.case, [sheet], tiling, low, high, periodic)
    assert copies.facet_count == 4
    assert np.unique(copies.vertices[:, 0]).tolist() == pytest.approx([0.01, 0.02, 0.06, 0.07, 0.11, 0.12, 0.16, 0.17])
    (whole,) = walls_near(floor.case, floor.meshes, tiling, low, high, periodic)
    assert whole.facet_count == 1
    assert (whole.vertices.min(axis=0)[:2] < low[:2]).all()
    assert (whole.vertices.max(axis=0)[:2] > high[:2]).all()
    (tube,) = walls_near(drum.case, drum.meshes, tiling, low, high, periodic)
    assert tube.facet_count == drum.meshes[0].facet_count
    assert (tube.vertices[:, 0].min(), tube.vertices[:, 0].max()) == pytest.approx((-0.002, 0.202))

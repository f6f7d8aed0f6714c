"""A plan made by one process against what ranks count: the same particles, copies, neighbours and bytes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.planning.plan import divide as divide_start
from benchmarks.planning.plan import facets_of, work_of
from benchmarks.planning.rank_counts import Grains, divide
from decomposition.exchange import RankExchange
from decomposition.mpi import describe
from decomposition.partitioners import PARTITIONERS
from helpers.clusters import crowd
from helpers.moving_boxes import SHEAR, gas, moving_case
from helpers.rank_cases import owned_rows, state
from pdem.benchmark.cases import Start
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.box_shape import BoxShape
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.particles import Particles
from pdem.run.simulation import Simulation
from pdem.scaling.measure import rank_counts
from pdem.scaling.starts import simulation_of

SKIN = 1.1


def system(seed):
    """Particles of many sizes somewhere in a unit box, levels, periodic axes and a way to cut."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([0, 1, 3, 40, 600, 3000]))
    position = rng.uniform(0.0, 1.0, (count, 3))
    ratio = 10 ** rng.uniform(0.0, 1.9)
    radius = 0.004 * (1.0 - rng.uniform(size=count) * (1.0 - ratio**-2.0)) ** -0.5
    if seed % 2:
        position = rng.uniform(0.0, 1.0, 3) ** 4 * position
    levels = np.sort(rng.choice([0.005, 0.01, 0.03, 0.1], rng.integers(0, 4), replace=False))
    largest = radius.max(initial=0.004)
    radii = np.append(levels[levels < largest], largest)
    return position, radius, radii, rng.choice([True, False], 3), str(rng.choice(["slabs", "bisection"]))


@pytest.mark.ranks(2, 3, 8, slow=(4,), timeout=240)
@pytest.mark.parametrize("seed", range(10))
def test_a_plan_is_what_the_ranks_count(ranks, seed, communicator):
    position, radius, radii, periodic, method = system(seed)
    lower, upper = [0.0] * 3, [1.0] * 3
    exchange = RankExchange(describe(communicator, 1), lower, upper, periodic, method)
    own = owned_rows(exchange, position)
    own = own[np.random.default_rng(seed).permutation(len(own))]  # a rank sorts its particles as it likes
    particles = Particles({"id": own, "radius": radius[own], "position": position[own]})
    exchange.make_ghosts(particles, lambda some, *_: SKIN * some, radii)
    shape = BoxShape.upright(np.zeros(3), np.where(periodic, 1.0, 0.0))
    grains = Grains.single(position, radius, SKIN * radius)
    plan = divide(ranks, grains, radii, shape, PARTITIONERS[method](lower, upper))
    level = np.minimum(np.searchsorted(radii, particles.column("radius")), len(radii) - 1)
    held = [level[: particles.count], level[particles.count : particles.count + particles.ghosts]]
    owned, ghosts = (np.bincount(rows, minlength=len(radii)) for rows in held)
    np.testing.assert_array_equal(plan.owned[exchange.rank], owned)
    np.testing.assert_array_equal(plan.ghosts[exchange.rank], ghosts)
    assert plan.traffic(exchange.rank) == exchange.traffic()
    assert plan.sent.sum() == plan.ghosts.sum()


CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.08, 0.05, 0.05]
periodic = [true, false, true]
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.8
[[particles]]
material = "grain"
radius = {distribution = "power-law", exponent = -3.0, min = 0.0005, max = 0.005}
fill = {count = 1500}
[detection]
levels = 3
skin = 0.3
"""


WALL = """
[[walls]]
mesh = "sheet.ply"
material = "grain"
"""


@pytest.mark.ranks(2, 3, timeout=240)
def test_ranks_reach_the_facets_that_are_planned(ranks, communicator):
    x, y = (0.1 * one.ravel() / 24 - 0.01 for one in np.mgrid[:25, :25].astype(float))
    at = (25 * np.arange(24)[:, None] + np.arange(24)).ravel()
    sheet = Mesh(np.column_stack((x, y, 0.02 + 0.0 * x)), np.stack((at, at + 25, at + 26, at + 1), axis=1))
    case = Case.from_text(CASE.replace("1500", "400") + WALL)
    start = Start(case, [sheet], particles=initial_particles(case, [sheet]))
    simulation = Simulation(case, communicator, threads=1, meshes=[sheet], particles=start.particles)
    mine = len(np.unique(facets_of(simulation.system.contacts.walls)[1]))
    alone = Simulation(case, threads=1, meshes=[sheet], particles=start.particles)
    planned = work_of(alone, start).facets_by_rank(divide_start(alone, start, ranks))
    assert 0 < mine == planned[communicator.rank] < sheet.facet_count


CASES = {
    "spheres": lambda: Case.from_text(CASE),
    "clusters": lambda: crowd("bisection"),
    "clusters in slabs": lambda: crowd("slabs"),
}


@pytest.mark.ranks(2, 3, slow=(4, 8), timeout=240)
@pytest.mark.parametrize("name", CASES)
def test_a_run_begins_as_planned(ranks, name, communicator):
    """Clusters are with the rank of their centre, whatever else their members are in, and are sent as one state."""
    case = CASES[name]()
    meshes = read_walls(case)
    start = Start(case, meshes, particles=initial_particles(case, meshes))
    require_as_planned(start, Simulation(case, communicator, threads=1), communicator)


@pytest.mark.ranks(2, 3, timeout=300)
def test_a_box_that_leans_is_planned_as_it_stands(ranks, communicator, shared_path):
    case = None
    if communicator.rank == 0:
        case = moving_case(shared_path, gas(3, sizes=True), {"shear": SHEAR})
    case = communicator.bcast(case)
    first = Simulation(case, communicator, threads=1)
    first.advance(320)
    assert first.system.constants.shape.leans
    middle = communicator.bcast(state(first))
    begun = Simulation(case, communicator, threads=1, state=middle)
    require_as_planned(Start(case, [], state=middle), begun, communicator)


def require_as_planned(start, simulation, communicator):
    """Require that a run has what a plan of its start says."""
    begun = rank_counts(simulation)
    neighbours = communicator.gather(len(simulation.system.exchange._neighbours))
    if communicator.rank:
        return
    ranks = communicator.size
    plan = divide_start(simulation_of(start, 1), start, ranks)
    assert begun["owned"] == plan.owned.tolist()
    assert begun["ghosts"] == plan.ghosts.tolist()
    assert neighbours == plan.neighbours.tolist()
    assert plan.ghosts.sum() > 0
    for rank in range(ranks):
        traffic = plan.traffic(rank)._asdict()
        assert {name: begun[name][rank] for name in traffic} == traffic

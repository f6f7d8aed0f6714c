"""Walls by shape and belts: the same bits on every number of ranks and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from pdem.engine.state import gather_groups, local_groups

CASE = """
[time]
step = 4e-5
end = 1.0
[domain]
lower = [-0.08, -0.05, -0.08]
upper = [0.08, 0.05, 0.08]
periodic = [false, true, false]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
rolling_friction = 0.01
[interactions.grain-steel]
friction = 0.5
restitution = 0.4
rolling_friction = 0.01
[detection]
skin = {skin}
[[particles]]
material = "grain"
radius = 0.0035
velocity = {{random = 1.5, seed = 1}}
fill = {{count = 200, seed = 2, lower = [-0.04, -0.05, -0.04], upper = [0.04, 0.05, 0.038], avoid_walls = true}}
[[walls]]
name = "drum"
shape = "cylinder"
axis = [0, 1, 0]
radius = 0.05
length = 0.12
caps = "none"
material = "steel"
rotation = {{rate = 2.0, axis = [0, 1, 0]}}
surface = {{rotation = {{rate = 20.0, axis = [0, 1, 0]}}}}
[[walls]]
name = "belt"
shape = "plane"
point = [0.0, 0.0, -0.045]
normal = [0.1, 0.0, 1.0]
material = "steel"
[walls.surface.velocity_table]
times = [0.0, 0.01, 0.02]
velocities = [[0, 0, 0], [0.5, 0.2, 0], [-0.3, 0.0, 0.0]]
[[walls]]
name = "lid"
shape = "blade"
centre = [0.0, 0.0, 0.04]
axis = [0, 1, 0]
normal = [0, 0, 1]
length = 0.1
width = 0.06
material = "steel"
servo = {{axis = [0, 0, -1], force = -1.0, largest_rate = 0.3}}
surface = {{velocity = [0.4, 0.0, 0.0]}}
"""


def simulation(comm=None, skin='"auto"', threads=1, **options):
    case = pdem.Case.from_text(CASE.format(skin=skin))
    return pdem.Simulation(case, comm, threads=threads, **options)


def everything(run):
    """Return what has to have the same bits."""
    groups = gather_groups(run.system, local_groups(run.system))
    loads = [{key: np.asarray(value).tobytes() for key, value in load.items()} for load in run.wall_loads().values()]
    energies = run.energies()
    del energies["residual"]  # from where a run was begun
    return groups, energies, loads


def require_same(found, expected):
    for name, columns in expected[0].items():
        for key, column in columns.items():
            assert found[0][name][key].tobytes() == column.tobytes(), f"{name}/{key} differs"
    assert found[1:] == expected[1:]


@pytest.mark.ranks(2, slow=(3,), timeout=240)
def test_belts_and_shapes_do_the_same_on_any_ranks_and_after_a_restart(ranks):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    shared = simulation(comm)
    shared.advance(150)
    middle = everything(shared)
    shared.advance(60)
    found, residual = everything(shared), shared.energies()["residual"]
    powers = {name: load["power"] for name, load in shared.wall_loads().items()}
    if comm.rank == 0:
        for run in (simulation(skin="0.05", threads=2), simulation(state=middle[0])):
            run.advance(210 - run.step)
            require_same(everything(run), found)
        assert any(powers.values())
        assert found[1]["wall_work"] != 0.0
        assert abs(residual) < 0.01 * max(map(abs, found[1].values()))
    patient_barrier(comm)
    again = simulation(comm, state=comm.bcast(middle[0]))
    again.advance(60)
    last = everything(again)
    if comm.rank == 0:
        require_same(last, found)
    patient_barrier(comm)

"""Walls that particles drive go the same way, bit by bit, on every number of ranks and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.cases import box, quad
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.state import gather_groups, local_groups
from pdem.run.rebase_ledger import rebase_ledger

CASE = """
[time]
step = 4e-5
end = 1.0
[domain]
lower = [0.0, 0.0, -0.02]
upper = [0.12, 0.05, 0.1]
gravity = [0.5, 0.0, -9.81]
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
velocity = {{random = 0.5, seed = 1}}
fill = {{count = 300, seed = 2, lower = [0.0, 0.0, 0.0], upper = [0.12, 0.05, 0.05], avoid_walls = true}}
[[walls]]
name = "tray"
mesh = "tray"
material = "steel"
[[walls]]
name = "lid"
mesh = "lid"
material = "steel"
servo = {{axis = [0, 0, -1], force = -3.0, largest_rate = 0.3}}
oscillation = {{amplitude = [0.001, 0, 0], frequency = 30.0}}
[[walls]]
name = "block"
mesh = "block"
material = "steel"
body = {{density = 1500.0, angular_velocity = [20.0, 5.0, 1.0]}}
[[walls]]
name = "flap"
mesh = "flap"
material = "steel"
[walls.body]
mass = 0.001
centre = [0.03, 0.025, 0.03]
inertia = [1e-7, 5e-8, 5e-8]
hinge = {{axis = [0, 1, 0], centre = [0.03, 0, 0.05]}}
[[walls]]
name = "paddle"
mesh = "paddle"
material = "steel"
servo = {{axis = [0, 1, 0], centre = [0.09, 0, 0.02], torque = 0.002, largest_rate = 20.0}}
[output]
folder = "unused"
"""


def upright(x, low, high):
    return Mesh([[x, 0.01, low], [x, 0.04, low], [x, 0.04, high], [x, 0.01, high]], [[0, 1, 2, 3]])


def meshes():
    lid = quad(0.2, 0.052)
    block = box([0.055, 0.02, 0.02], [0.066, 0.03, 0.028])
    return [
        box([0, 0, 0], [0.12, 0.05, 0.1]), lid, block, upright(0.03, 0.012, 0.05), upright(0.09, 0.01, 0.03),
    ]  # fmt: skip


def simulation(comm=None, skin='"auto"', threads=1, **options):
    case = pdem.Case.from_text(CASE.format(skin=skin))
    return pdem.Simulation(case, comm, meshes=meshes(), threads=threads, **options)


def everything(run):
    """Return what has to have the same bits."""
    groups = gather_groups(run.system, local_groups(run.system))
    loads = [{key: np.asarray(value).tobytes() for key, value in load.items()} for load in run.wall_loads().values()]
    energies = run.energies()
    del energies["residual"]  # from where a run was begun
    return groups, energies, run.driven_walls(), loads


def require_same(found, expected):
    for name, columns in expected[0].items():
        for key, column in columns.items():
            assert found[0][name][key].tobytes() == column.tobytes(), f"{name}/{key} differs"
    assert found[1:] == expected[1:]


@pytest.mark.ranks(3, timeout=240)
def test_driven_walls_go_the_same_way_on_any_number_of_ranks(ranks):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    shared = simulation(comm)
    first = shared.driven_walls()
    shared.advance(200)
    middle = everything(shared)
    shared.advance(80)
    found = everything(shared)
    if comm.rank == 0:
        for run in (simulation(), simulation(skin="0.05", threads=2), simulation(state=middle[0])):
            if run.step:
                require_same(everything(run), middle)
            run.advance(280 - run.step)
            require_same(everything(run), found)
        for wall, seen in found[2].items():
            assert seen != first[wall], f"{wall} has not moved"
        lid, block, flap, paddle = shared.system.contacts.walls.walls.driven
        for drive in (lid, flap, paddle):
            assert drive.last_load.any()
        assert (
            np.abs(block.spin.momentum - simulation().system.contacts.walls.walls.driven[1].spin.momentum).max() > 0.0
        )
    patient_barrier(comm)
    again = simulation(comm, state=comm.bcast(middle[0]))
    again.advance(80)
    last = everything(again)
    if comm.rank == 0:
        require_same(last, found)
    patient_barrier(comm)


@pytest.mark.ranks(2, timeout=240)
def test_a_ledger_goes_on_when_bodies_become_heavier(ranks):
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    before = simulation(comm)
    before.advance(100)
    residual, state = before.energies()["residual"], gather_groups(before.system, local_groups(before.system))
    balance = {"balance": np.array(before.first_balance)}
    state = comm.bcast(None if state is None else {**state, "counters": {**state["counters"], **balance}})

    def rebased(communicator):
        case = pdem.Case.from_text(CASE.format(skin=0.05))
        then = pdem.Case.from_text(CASE.format(skin=0.05))
        for setting in ("domain.gravity=[0.0, 0.0, -20.0]", "walls.2.body.density=4000.0"):
            case.override(setting)
        heavy = pdem.Simulation(case, communicator, meshes=meshes(), threads=1, state=state)
        jump = rebase_ledger(heavy, then)
        assert heavy.energies()["residual"] == pytest.approx(residual, abs=1e-15)
        return jump, heavy.energies()

    found = rebased(comm)
    assert abs(found[0]) > 1e-6 + abs(residual)
    assert found[1]["body_motion"] > 1.05 * before.energies()["body_motion"]
    if comm.rank == 0:
        assert rebased(None) == found
    patient_barrier(comm)

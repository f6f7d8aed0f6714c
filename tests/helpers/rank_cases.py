"""Cases that are run on all ranks and alone, and what compares the two."""

from __future__ import annotations

import numpy as np

import pdem
from decomposition.mpi import patient_barrier
from pdem.engine.state import gather_groups, local_groups

CLOUD = """
[time]
step = 2e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.12, 0.08, 0.08]
periodic = [true, true, false]
gravity = [0.3, 0.0, -2.0]
[materials.glass]
density = 2000.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.glass-glass]
friction = 0.5
restitution = 0.6
rolling_friction = 0.01
[[particles]]
material = "glass"
radius = {distribution = "power-law", exponent = -3.0, min = 0.002, max = 0.012}
fill = {volume_fraction = 0.25, seed = 7}
velocity = {random = 1.0, seed = 3}
[output]
folder = "unused"
"""

DRUM = """
[time]
step = 5e-5
end = 1.0
[domain]
lower = [-0.18, -0.135, -0.135]
upper = [0.18, 0.135, 0.135]
gravity = [0.0, 0.0, -9.81]
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.4
rolling_friction = 0.001
[interactions.grain-steel]
friction = 0.75
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.01
velocity = {random = 1.0, seed = 1}

[particles.fill]
arrangement = "hexagonal"
count = 150
gap = 0.05
shape = "cylinder"
centre = [0, 0, 0]
axis = [1, 0, 0]
radius = 0.125
length = 0.34

[[walls]]
name = "drum"
mesh = "drum.vtk"
material = "steel"
rotation = {rate = 12.0, axis = [1.0, 0.0, 0.0]}
translation = {velocity = [0.2, 0.0, 0.0]}
[output]
folder = "unused"
"""


def communicator():
    from mpi4py import MPI

    return MPI.COMM_WORLD


def state(simulation):
    return gather_groups(simulation.system, local_groups(simulation.system))


def require_same_bits(found, expected):
    for name, columns in expected.items():
        for key, column in columns.items():
            other = found[name][key]
            assert other.dtype == column.dtype
            assert other.tobytes() == column.tobytes(), f"{name}/{key} differs"


def compare(case, steps, **options):
    """Run on all ranks and alone; the state, the ledger and the wall loads must have the same bits.

    Ranks that wait for the one that runs alone are asleep: awake they would take most of its time on a few cores.
    """
    comm = communicator()
    shared = pdem.Simulation(case, comm, **options)
    shared.advance(steps)
    found, energies, loads = state(shared), shared.energies(), shared.wall_loads()
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, **options)
        alone.advance(steps)
        require_same_bits(found, state(alone))
        assert energies == alone.energies()
        expected = alone.wall_loads()
        assert loads.keys() == expected.keys()
        for wall, load in loads.items():
            assert np.array_equal(load["force"], expected[wall]["force"])
            assert np.array_equal(load["torque"], expected[wall]["torque"])
            assert load["power"] == expected[wall]["power"]
    patient_barrier(comm)
    compare_nodal_forces(shared, alone if comm.rank == 0 else None)
    comm.Barrier()
    return shared


def compare_restart(case, steps, rest, **options):
    """Run on all ranks, and go on alone after some steps: at the end of the rest the states must have the same bits.

    Returns the states at which the other run begins and at the end, on rank 0; None on others.
    """
    comm = communicator()
    shared = pdem.Simulation(case, comm, **options)
    shared.advance(steps)
    middle = state(shared)
    shared.advance(rest)
    end = state(shared)
    if comm.rank == 0:
        alone = pdem.Simulation(case, None, state=middle, **options)
        require_same_bits(state(alone), middle)
        alone.advance(rest)
        require_same_bits(state(alone), end)
    patient_barrier(comm)
    return (middle, end) if comm.rank == 0 else None


def divided(text, method, balance="auto"):
    """Return a case whose particles are divided like this."""
    return pdem.Case.from_text(f'{text}\n[decomposition]\nmethod = "{method}"\nbalance = "{balance}"\n')


def compare_nodal_forces(shared, alone):
    """The forces on nodes, facets and bodies have the same bits, and those on bodies add up to the walls'."""
    found, loads = shared.nodal_forces(), shared.wall_loads()
    if alone is None:
        assert not found
        return
    expected = alone.nodal_forces()
    assert found.keys() == expected.keys() == loads.keys()
    for wall, columns in found.items():
        for name, column in columns.items():
            assert column.tobytes() == expected[wall][name].tobytes(), f"{wall}/{name} differs"
        for name in ("force", "torque", "power"):
            np.testing.assert_allclose(columns[f"body_{name}"].sum(axis=0), loads[wall][name], rtol=1e-9, atol=1e-12)


def owned_rows(exchange, position):
    """Cut space for particles that every rank knows; return the rows of this rank's."""
    exchange.divide(position if exchange.rank == 0 else position[:0])
    return np.flatnonzero(exchange.owners(position) == exchange.rank)

"""Observers, reductions and own forces on several ranks: the same numbers and bits, and errors that end all ranks."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, divided, require_same_bits, state
from pdem.foundation.errors import InputError, ObserverError

THIN = CLOUD.replace("volume_fraction = 0.25", "volume_fraction = 0.1")

DRAG = """
[[forces]]
kind = "drag"
viscosity = 0.5
density = 5.0
fluid_velocity = [0.5, 0.0, 0.0]
region = {lower = [0.0, 0.0, 0.0], upper = [0.06, 0.08, 0.08]}
[[forces]]
kind = "uniform"
acceleration = [0.0, 0.0, 3.0]
end = 1e-3
"""


def swirl(time, position, velocity, radius, mass, id):
    x, y, _ = position
    return mass * (100.0 * (0.04 - y) - velocity[0]), mass * (100.0 * (x - 0.06)), 1e-3 * mass * (id % 7)


@pytest.mark.ranks(3, slow=(2, 4), timeout=300)
def test_own_forces_give_the_same_bits(ranks):
    """By a case and by a script, across a restart on another number of ranks."""
    case = divided(THIN + DRAG, "bisection" if ranks % 2 else "slabs", "always")
    comm = communicator()
    shared = pdem.Simulation(case, comm)
    shared.force(swirl)
    shared.advance(40)
    middle = comm.bcast(state(shared))
    shared.advance(40)
    found, energies = state(shared), shared.energies()
    again = pdem.Simulation(case, comm if ranks != 4 else None, state=middle, threads=2)
    again.force(swirl)
    again.advance(40)
    assert again.energies()["own_forces"] == energies["own_forces"] != 0.0
    ended = state(again)
    if comm.rank == 0:
        require_same_bits(ended, found)
        alone = pdem.Simulation(case)
        alone.force(swirl)
        alone.advance(80)
        require_same_bits(found, state(alone))
        assert alone.energies() == energies
    patient_barrier(comm)


def measured(simulation):
    own = simulation.particles
    speed = np.sqrt((own.velocity**2).sum(axis=1))
    fast = speed > 0.5
    cells = simulation.by_cell(simulation.masses, (5, 4, 3))
    own.velocity[fast] *= 0.9
    return {
        "weight": ("kg", simulation.sum(simulation.masses)),
        "mean": ("m/s", simulation.mean(speed, simulation.masses)),
        "least": simulation.minimum(speed, fast),
        "most": simulation.maximum(speed),
        "fast": simulation.histogram(speed, [0.0, 0.5, 10.0])[1],
        "heavy": simulation.histogram(own.radius, [0.0, 0.004, 1.0], simulation.masses)[1],
        "momentum": simulation.sum(own.velocity * simulation.masses[:, None], fast)[2],
        "cell": cells[2, 1, 0] + cells.std(),
    }


@pytest.mark.ranks(1, 4, timeout=300)
def test_reductions_are_the_same_and_may_steer(ranks, shared_path):
    comm = communicator()
    text = THIN.replace('"unused"', f'"{shared_path / "out"}"\nseries_every = 2e-4')
    case = pdem.Case.from_text(text)
    case.override("time.end=6e-4")
    run = pdem.Simulation(case, comm)
    run.run(observers=[pdem.every(steps=10)(measured)])
    rows = pdem.Results(shared_path / "out").series if comm.rank == 0 else None
    found = state(run)
    if comm.rank == 0:
        case.override(f'output.folder="{shared_path / "alone"}"')
        alone = pdem.Simulation(case)
        alone.run(observers=[pdem.every(steps=10)(measured)])
        require_same_bits(found, state(alone))
        expected = pdem.Results(shared_path / "alone").series
        for name in ("weight", "mean", "least", "most", "fast", "heavy", "momentum", "cell"):
            assert np.array_equal(rows[name], expected[name]), name
        assert rows["fast"][-1] < rows["fast"][0]
    patient_barrier(comm)


def raises(simulation):
    if simulation.system.exchange.rank == 1:
        raise ValueError("here alone")
    simulation.sum()


def collects_too_late(simulation):
    simulation.sum()
    if simulation.system.exchange.rank == 1:
        raise ValueError("here alone")


def collects_on_one(simulation):
    if simulation.system.exchange.rank == 0:
        simulation.energies()


def swallows(simulation):
    with contextlib.suppress(BaseException):
        raises(simulation)
    simulation.sum()


def returns_its_rank(simulation):
    return {"rank": simulation.system.exchange.rank}


def stops_on_one(simulation):
    if simulation.system.exchange.rank:
        simulation.stop()


def leaves(simulation):
    raise SystemExit(3)


FAILING = (
    (raises, r"raises failed on rank 1 at step 5 .*observers_ranks.py, line \d+: ValueError: here alone"),
    (collects_too_late, "collects_too_late failed on rank 1 at step 5 .*here alone"),
    (collects_on_one, "ranks differ in what they ask of each other .*rank 0 calls a function that needs all ranks"),
    (swallows, "observer swallows .*ranks differ in what they ask|failed on another rank"),
    (returns_its_rank, r"ranks 0 and 1 do not return the same: rank is 0.0, and 1.0"),
    (stops_on_one, "do not return the same: it asks for"),
    (leaves, "failed on rank 0 at step 5 .*SystemExit: 3"),
)


@pytest.mark.ranks(3, timeout=300)
def test_an_observer_that_fails_somewhere_ends_all_ranks_with_one_message(ranks, shared_path):
    comm = communicator()
    for number, (observer, said) in enumerate(FAILING):
        case = pdem.Case.from_text(THIN.replace('"unused"', f'"{shared_path / str(number)}"'))
        run = pdem.Simulation(case, comm)

        def late(simulation, observer=observer):
            if simulation.step:
                return observer(simulation)
            return {"rank": 0.0} if observer is returns_its_rank else None

        late.__name__ = observer.__name__
        with pytest.raises(ObserverError, match=said) as caught:
            run.run(observers=[pdem.every(steps=5)(late)])
        messages = comm.allgather(str(caught.value))
        assert len(set(messages)) == 1
    again = pdem.Simulation.restart(shared_path / "0", comm)
    assert again.step == 5
    comm.Barrier()


@pytest.mark.ranks(2)
def test_ranks_that_give_different_forces_or_values_are_told(ranks):
    comm = communicator()
    run = pdem.Simulation(pdem.Case.from_text(THIN), comm)
    pull = 1.0 + comm.rank

    def force(time, position, velocity, radius, mass, id):
        return pull * mass, 0.0, 0.0

    with pytest.raises(InputError, match="ranks give different functions"):
        run.force(force)
    with pytest.raises(InputError, match="the values have the shape"):
        run.sum(run.particles.radius[comm.rank :])
    assert run.sum(run.particles.radius > 0.0) == run.measures().particles

"""Bonds in boxes that deform over ranks: the same bits across tilted sides, driven by stress, and after restarts."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.bonded_boxes import boxed_case, lattice_in_box
from helpers.rank_cases import communicator, require_same_bits, state

STEPS = 300

DRIVEN = """[domain.deformation]
x = {stress = 1e4}
y = {strain_rate = -100.0}
shear = {velocity_along = "x", gradient_along = "z", rate = 500.0}
largest_rate = 100.0"""

KEYS = """tensile_strength = {distribution = "weibull", mean = 4e5, modulus = 4.0}
shear_strength = 3e5
damping_ratio = 0.1
contact = "after-break"
[decomposition]
method = "%s"
balance = "always"
"""


def run_of(method, comm, *, later=None):
    """Return a bonded block in a box on all ranks, or alone; `later` is a state to continue from."""
    particles, sides = lattice_in_box((6, 4, 4), seed=5, shake=2e-5, speed=0.3)
    case = boxed_case(DRIVEN, KEYS % method, sides=sides, step=5e-7, gap=2e-4)
    if later is not None:
        return pdem.Simulation(case, comm, state=later)
    return pdem.Simulation(case, comm, particles=particles if comm is None or comm.rank == 0 else None)


@pytest.mark.ranks(1, 2, 3, timeout=500)
@pytest.mark.parametrize("method", ["slabs", "bisection"])
def test_same_bits_in_a_box_that_deforms_by_stress(ranks, method):
    """Bonds cross sides and cuts, and a part of them breaks; the box follows from exact sums over bonds."""
    comm = communicator()
    shared = run_of(method, comm)
    shared.advance(STEPS // 2)
    middle, energies_then = state(shared), shared.energies()
    shared.advance(STEPS - STEPS // 2)
    end, energies = state(shared), shared.energies()
    again = run_of(method, comm, later=middle)
    assert {**again.energies(), "residual": 0.0} == {**energies_then, "residual": 0.0}
    again.advance(STEPS - STEPS // 2)
    continued, energies_again = state(again), again.energies()
    if comm.rank == 0:
        require_same_bits(continued, end)
        assert {**energies_again, "residual": energies["residual"]} == energies
        alone = run_of(method, None)
        alone.advance(STEPS)
        require_same_bits(end, state(alone))
        assert energies == alone.energies()
        assert abs(energies["residual"]) < 1e-3 * energies["box_work"]
        number = len(end["bonds"]["lower"])
        broken = len(end["broken_bonds"]["step"])
        assert number + broken == 3 * 96
        assert 20 < broken < 200
        box = alone.system.box.moving
        assert box.at(STEPS).offset > 0.04 * box.at(STEPS).lengths[0]
        assert box.state.rates.strain[0] != 0.0
        assert alone.system.lists.detections > 3
        shape = box.shape(STEPS)
        assert (end["broken_bonds"]["position"] > shape.lower - 1e-3).all()
        assert (end["broken_bonds"]["position"] < shape.lower + shape.period + 1e-3).all()
    patient_barrier(comm)

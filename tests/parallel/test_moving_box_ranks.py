"""Boxes that deform have the same bits on any number of ranks, for any cuts, and after a restart in mid-shear."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.cases import state_of
from helpers.moving_boxes import MIXED, SHEAR, STEP, gas, isotropic, moving_case
from helpers.rank_cases import communicator, compare, require_same_bits, state
from pdem.case.groups.group_sizes import largest_cluster_reach
from pdem.foundation.errors import BlowUpError
from pdem.preflight.deformation_preflight import deformation_findings
from pdem.preflight.population import Population

DEFORMATIONS = {
    "shear": {"shear": SHEAR}, "mixed": MIXED, "compression": isotropic(-6.0),
    "driven": {"shear": SHEAR, "x": {"strain_rate": -4.0}, "mean_stress": 1e3, "largest_rate": 10.0},
}  # fmt: skip


def shared_case(comm, folder, deformation, method, **more):
    """Return a case whose particles are divided anew whenever lists are made, the same on every rank."""
    case = None
    if comm.rank == 0:
        more["decomposition"] = {"method": method, "balance": "always"}
        group = None if "particles" in more else gas(3, sizes=True)
        case = moving_case(folder, group, deformation, more=more)
    return comm.bcast(case)


@pytest.mark.ranks(2, 3, slow=(1, 4, 8), timeout=400)
@pytest.mark.parametrize("deformation", DEFORMATIONS)
def test_ranks_and_cuts_do_not_matter(ranks, deformation, shared_path):
    turn = (ranks + list(DEFORMATIONS).index(deformation)) % 2
    method = ("bisection", "slabs")[turn]
    case = shared_case(communicator(), shared_path, DEFORMATIONS[deformation], method)
    simulation = compare(case, 320 if ranks < 8 else 120)
    assert simulation.measures().pair_contacts > (8 if ranks < 8 else 2)
    assert simulation.energies()["box_work"] > 0.0
    assert simulation.system.lists.detections > (3 if ranks < 8 else 2)
    assert ranks == 1 or simulation.system.exchange.add(np.array([simulation.particles.ghosts]))[0] > 50


@pytest.mark.ranks(2, 3, timeout=400)
@pytest.mark.parametrize("deformation", ["mixed", "driven"])
def test_a_restart_in_mid_shear_on_another_number_of_ranks(ranks, deformation, shared_path):
    """In the middle of an interval between two changes of the box, and just before one."""
    comm = communicator()
    case = shared_case(comm, shared_path, DEFORMATIONS[deformation], "bisection")
    first, middles = pdem.Simulation(case, comm), []
    for steps in (204, 16):
        first.advance(steps)
        middles.append(state(first))
    first.advance(100)
    through, energies = state(first), first.energies()
    if comm.rank == 0:
        assert len(middles[0]["contacts"]["lower"]) > 8
        assert (middles[0]["box"]["half_steps"] != 0.0) == (deformation == "driven")
        for middle, steps in zip(middles, (116, 100), strict=True):
            alone = pdem.Simulation(case, None, state=middle)
            alone.advance(steps)
            require_same_bits(state(alone), through)
            assert alone.energies()["box_work"] == energies["box_work"]
    patient_barrier(comm)


FIELDS = {
    "fields": [
        {"name": "all", "cells": [3, 4, 2], "width": 0.01, "every": 6 * STEP, "average": 120 * STEP},
        {
            "name": "part", "lower": [0.0, 0.02, 0.0], "upper": [0.1, 0.15, 0.1], "cells": [2, 3, 1], "width": 0.01,
            "kernel": "lucy", "by": "material", "every": 8 * STEP, "average": 120 * STEP,
        },
    ]
}  # fmt: skip


@pytest.mark.ranks(3, slow=(1,), timeout=400)
@pytest.mark.parametrize("deformation", ["shear", "mixed"])
def test_fields_have_the_same_bits(ranks, deformation, shared_path):
    """Of boxes that lean and strain, over ranks and threads, and after a restart in the middle of a mean."""
    comm = communicator()
    case = shared_case(comm, shared_path, DEFORMATIONS[deformation], "bisection", **FIELDS)
    shared = pdem.Simulation(case, comm)
    shared.advance(205)
    middle = comm.bcast(state(shared))
    shared.advance(34)
    again = pdem.Simulation(case, comm, state=middle, threads=2)
    again.advance(34)
    found = [_columns(one) for one in (shared, again)]
    require_same_bits(*found)
    if comm.rank == 0:
        alone = pdem.Simulation(case, threads=2)
        alone.advance(239)
        require_same_bits(found[0], _columns(alone))
        assert middle["field_averages"]["samples"].min() > 5
        assert np.abs(found[0]["all"]["contact_stress"]).max() > 10.0
    patient_barrier(comm)


def _columns(run):
    """Return all columns and places of cells of all fields, and those of the present state. Collective."""
    fields = dict(run.fields) | {"now": run.coarse_grain(cells=(2, 2, 3), width=0.008)}
    return {name: {**one.named, "lower": one.grid.lower, "size": one.grid.size} for name, one in fields.items()}


CLUSTERS = {
    "shapes": {"rod": {"spheres": [[0.0, 0.0, 0.0, 0.006], [0.009, 0.0, 0.0, 0.005], [0.018, 0.0, 0.0, 0.004]]}},
    "particles": [
        {
            "material": "grain", "shape": "rod", "orientation": "random",
            "fill": {"arrangement": "cubic", "count": 64, "seed": 1}, "velocity": {"random": 2.0, "seed": 2},
        }
    ],
}  # fmt: skip


@pytest.mark.ranks(3, slow=(2,), timeout=400)
def test_clusters_across_sides_that_lean(ranks, shared_path):
    case = shared_case(communicator(), shared_path, {"shear": SHEAR}, "bisection", **CLUSTERS)
    simulation = compare(case, 500)
    assert sum(simulation.energies()[name] for name in ("normal_damping", "sliding")) > 0.0  # they met
    assert abs(simulation.energies()["residual"]) < 0.02 * simulation.energies()["box_work"]


def test_the_work_on_clusters_does_not_depend_on_who_looks(tmp_path):
    """Steps that end on their own count it in the box of the same time as those that go on into the next."""
    runs = [pdem.Simulation(moving_case(tmp_path, None, MIXED, more=CLUSTERS)) for _ in range(2)]
    runs[0].advance(500)
    for _ in range(500):
        runs[1].advance(1)
    one, other = (state_of(run)["particles"] for run in runs)
    assert np.count_nonzero(one["box_work"]) == 64
    assert sum(run.energies()["normal_damping"] for run in runs) > 0.0  # they met
    np.testing.assert_array_equal(one["box_work"], other["box_work"])
    np.testing.assert_array_equal(one["position"], other["position"])


def test_a_box_has_to_be_longer_than_clusters(tmp_path):
    """As at the begin of a run: twice as long as the largest of them, not only as their spheres."""
    case = moving_case(tmp_path, None, {"y": {"strain_rate": -30.0}}, more=CLUSTERS)
    reach = largest_cluster_reach(case)
    assert reach > 0.012
    run = pdem.Simulation(case)
    (warning,) = (
        one.message
        for one in deformation_findings(
            case, Population({"radius": run.particles.radius, "position": np.zeros((192, 3))}), STEP
        )
        if "two of the largest" in one.message
    )
    assert f"({4.0 * reach:.4g} m)" in warning
    with pytest.raises(BlowUpError, match=rf"along y, less than two of the largest diameters \({4.0 * reach:.6g} m\)"):
        run.advance(3000)
    assert run.system.box.moving.at(run.step).lengths[1] == pytest.approx(4.0 * reach, rel=1e-3)

"""Particles come in with the same bits on any number of ranks, and after a restart on another number."""

from __future__ import annotations

import pytest
import tomli_w

import pdem
from helpers.inlets import BOX, case_of, inlet
from helpers.rank_cases import communicator, compare, compare_restart, require_same_bits, state
from pdem.foundation.errors import CaseError

SIZES = {"distribution": "mixture", "parts": [{"radius": 0.002, "share": 0.5}, {"radius": 0.004, "share": 0.5}]}
TWO = (
    inlet(mass_rate=2.0, radius=SIZES, velocity={"mean": 2.0, "random": 0.2}),
    inlet(name="heap", region=BOX, velocity=None, count_rate=400000.0, every=1e-3, radius=SIZES),
)


@pytest.mark.ranks(1, 2, 3, slow=(4,), timeout=240)
@pytest.mark.filterwarnings("ignore:insertion heap")
def test_any_number_of_ranks(ranks):
    run = compare(case_of(*TWO), 400)
    assert run.insertions["heap"].waiting > 0
    assert run.measures().pair_contacts > 0
    assert run.insertions["inlet"].count > 10


@pytest.mark.ranks(3, timeout=240)
@pytest.mark.filterwarnings("ignore:insertion heap")
def test_restart_in_the_middle_on_another_number(ranks):
    comm, case = communicator(), case_of(*TWO)
    middle, end = comm.bcast(compare_restart(case, 130, 130))
    assert len(middle["insertions_waiting"]["number"]) > 0
    again = pdem.Simulation(case, comm, state=middle)
    again.advance(130)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, end)
    comm.Barrier()


@pytest.mark.ranks(3, timeout=240)
def test_sensors_continue_on_another_number(ranks):
    """Sizes of particles that passed before the restart count with those that pass later."""
    case = case_of(inlet(mass_rate=3.0, radius=SIZES, velocity={"mean": 4.0, "random": 1.0}), sensors=SENSORS)
    comm = communicator()
    middle, end = comm.bcast(compare_restart(case, 300, 200))
    assert len(middle["sensor_sizes"]["key"]) >= 2
    again = pdem.Simulation(case, comm, state=middle)
    again.advance(200)
    last = state(again)
    if comm.rank == 0:
        require_same_bits(last, end)
    comm.Barrier()


@pytest.mark.ranks(2)
def test_files_that_are_missing_are_told_on_all_ranks(ranks):
    case = case_of(inlet(count_rate={"file": "none.csv"}))
    with pytest.raises(CaseError, match=r"none.csv: cannot be read") as caught:
        pdem.Simulation(case, communicator())
    assert len(set(communicator().allgather(str(caught.value)))) == 1


@pytest.mark.ranks(1, 3)
def test_cases_are_written_and_read_again(ranks):
    case = case_of(*TWO)
    assert pdem.Case.from_text(case.to_toml()).insertions == case.insertions
    assert tomli_w.dumps(case.model_dump(mode="python", exclude_none=True)) == case.to_toml()


SENSORS = [
    {"name": "gate", "plane": {"point": [0.0, 0.0, 0.03], "normal": [0.0, 0.0, -1.0]}, "by": {"radii": [0.003]},
     "passing": [50, 80]},
    {"name": "out", "region": {"lower": [-0.1] * 3, "upper": [0.0, 0.1, 0.025]}, "remove": True, "passing": [80]},
    {"name": "fall", "region": {"lower": [-0.1, -0.1, 0.03], "upper": [0.1] * 3}, "residence": True, "every": 4e-4,
     "passing": [10, 50]},
]  # fmt: skip


@pytest.mark.ranks(1, 2, 3, slow=(4,), timeout=240)
def test_sensors_and_outlets_on_any_number_of_ranks(ranks):
    """The mass balance holds to one particle, and every number has the same bits as on one rank."""
    comm = communicator()
    case = case_of(inlet(mass_rate=3.0, radius=SIZES, velocity={"mean": 4.0, "random": 1.0}), sensors=SENSORS)
    run = pdem.Simulation(case, comm)
    run.advance(500)
    found, seen, control = state(run), run.sensors(), run.insertions["inlet"]
    assert len({repr(one) for one in comm.allgather(seen)}) == 1
    assert control.count == run.measures().particles + seen["out"]["removed_count"]
    if comm.rank == 0:
        alone = pdem.Simulation(case, None)
        alone.advance(500)
        assert repr(alone.sensors()) == repr(seen)
        require_same_bits(found, state(alone))
    comm.Barrier()
    assert seen["out"]["removed_count"] > 5
    assert seen["gate"]["passed_count"] > 20
    assert seen["fall"]["stays"] > 5
    assert seen["gate"]["passed_p50_below-0.003"] == pytest.approx(0.004, rel=1e-12)
    assert seen["out"]["removed_p80"] == pytest.approx(0.008, rel=1e-12)
    assert seen["fall"]["p50"] == pytest.approx(0.008, rel=1e-12)

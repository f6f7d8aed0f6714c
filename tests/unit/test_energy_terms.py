"""Terms that a feature adds to the energy balance: columns, sums, particles that go, restart, runs without a ledger."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.watched import case_in
from pdem.engine.energy_terms import ENGINE_TERMS, EnergyTerm, EnergyTerms, Role
from pdem.engine.feature import Feature
from pdem.engine.feature_set import Turn
from pdem.engine.state import gather_groups, local_groups
from pdem.features.registry import FEATURES, TERMS
from pdem.run import simulation as module
from pdem.run.simulation import Simulation


class Warm(Feature):
    """A made-up feature: each particle holds heat by its id, and has burnt fuel, which comes from a stock."""

    name, turn = "warm", Turn.MEASURE
    energy_terms = (
        EnergyTerm("warmth", Role.STORED, of_state=True, before="rolling_spring"),
        EnergyTerm("burnt", Role.SUPPLIED, summed=True),
        EnergyTerm("stock", Role.STORED),
        EnergyTerm("absent", Role.LOST),
    )

    def __init__(self, stock=0.0):
        self.stock = stock

    @classmethod
    def of(cls, system):
        return cls(3.0)

    def present_terms(self, system):
        return "warmth", "burnt", "stock"

    def add_energies(self, system, sums):
        if system.exchange.rank == 0:
            sums.add("stock", np.array([self.stock]))

    def particle_energies(self, system, columns):
        return {"warmth": 0.5 + 0.25 * columns["id"]}


@pytest.fixture
def with_heat(monkeypatch):
    monkeypatch.setattr(module, "FEATURES", (*FEATURES, Warm))


def test_terms_stand_where_they_ask_to_be():
    names = EnergyTerms((*FEATURES, Warm)).names
    others = [name for name in names if name not in {"warmth", "burnt", "stock", "absent"}]
    assert others == list(TERMS.names)
    assert names.index("warmth") + 1 == names.index("rolling_spring")
    assert names.index("burnt") == names.index("outflow") - 1
    assert names.index("stock") + 1 == names.index("normal_damping")
    assert [EnergyTerms((Warm,)).signs[name] for name in ("warmth", "burnt", "stock")] == [1, -1, 1]
    with pytest.raises(AssertionError, match="two terms"):
        EnergyTerms((Warm, Warm))


def test_terms_of_the_engine_are_of_the_roles_that_their_columns_have():
    """Columns of files that exist already."""
    assert [one.name for one in ENGINE_TERMS if one.of_state] == [
        "translation", "rotation", "gravity", "elastic", "body_motion", "body_gravity",
    ]  # fmt: skip
    assert TERMS.names == (
        "translation", "rotation", "gravity", "elastic", "tangential", "body_motion", "body_gravity", "rolling_spring",
        "twisting_spring", "bond_energy", "heat", "normal_damping", "sliding", "rolling", "adhesion", "twisting",
        "plastic", "bond_damping", "bond_fracture", "breakage", "wall_work", "gravity_work", "own_forces", "box_work",
        "heat_from_motion", "outflow", "stages", "heat_walls", "heat_fluid", "heat_radiated",
    )  # fmt: skip
    assert TERMS.with_role(Role.SUPPLIED) == ("wall_work", "gravity_work", "own_forces", "box_work", "heat_from_motion")
    assert TERMS.heat == ("heat", "heat_walls", "heat_fluid", "heat_radiated")


@pytest.mark.usefixtures("with_heat")
def test_what_particles_hold_goes_with_them(tmp_path):
    """The residual does not see who leaves, and sees heat that comes from nowhere."""
    run = Simulation(case_in(tmp_path))
    number, ids = len(run.particles), run.particles.id.copy()
    heat = 0.5 * number + 0.25 * ids.sum()
    found = run.energies()
    assert found["warmth"] == pytest.approx(heat, rel=1e-15)
    assert found["stock"] == 3.0
    assert "absent" not in found
    run.system.contacts.ended_energies.add("burnt", np.array([0.5]))
    assert run.energies()["burnt"] == 0.5
    assert run.energies()["residual"] == pytest.approx(-0.5)
    before = run.energies()
    place = run.particles.position[:1].copy()
    run.remove([ids[0], ids[3]])
    found = run.energies()
    assert found["warmth"] == pytest.approx(heat - 1.0 - 0.25 * (ids[0] + ids[3]), rel=1e-15)
    assert found["residual"] == pytest.approx(before["residual"], abs=1e-12)
    balance = run.measures().balance
    new = run.insert(place, 0.011, "grain")
    assert run.measures().balance == pytest.approx(balance, abs=1e-9)
    assert run.energies()["warmth"] == pytest.approx(found["warmth"] + 0.5 + 0.25 * new[0], rel=1e-15)


@pytest.mark.usefixtures("with_heat")
def test_sums_of_features_go_on_after_a_restart(tmp_path):
    run = Simulation(case_in(tmp_path))
    run.system.contacts.ended_energies.add("burnt", np.array([0.5, 1e-9]))
    run.system.contacts.ended_energies.add("wall_work", np.array([2.0]))
    groups = gather_groups(run.system, local_groups(run.system))
    assert groups["counters"]["ended"].shape[0] == 12, "as checkpoints have it that exist already"
    again = Simulation(case_in(tmp_path), state=groups)
    assert again.energies() | {"residual": 0.0} == run.energies() | {"residual": 0.0}
    del groups["counters"]["ended_burnt"]
    assert Simulation(case_in(tmp_path), state=groups).energies()["burnt"] == 0.0


@pytest.mark.usefixtures("with_heat")
def test_without_a_ledger_there_is_what_follows_from_the_state(tmp_path):
    case = case_in(tmp_path)
    case.override("output.energies=false")
    found = Simulation(case).energies()
    assert "warmth" in found
    assert "burnt" not in found
    assert "stock" not in found

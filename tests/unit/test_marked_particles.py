"""What features remember of particles, on one rank: who comes, who goes, what a script gives, writes and reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pdem
from helpers.marked_particles import HEAT, MARK, Warmth, changing_charges, with_feature
from pdem.features.registry import fields_of_features
from pdem.foundation.errors import InputError, ObserverError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.snapshots.exports import SnapshotBox, write_csv
from pdem.run.forecast import disk_needs

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["changing_charges", "with_feature"]

CASE = """
[time]
step = 2e-5
end = 4e-4
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.05, 0.05, 0.05]
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
radius = 0.002
positions = [[0.01, 0.02, 0.02], [0.0139, 0.02, 0.02], [0.0178, 0.02, 0.02], [0.03, 0.03, 0.03]]
[output]
folder = "unused"
"""


def test_a_case_without_the_feature_has_no_such_column(with_feature) -> None:
    case = pdem.Case.from_text(CASE)
    without = disk_needs(case, 1000, ())
    assert "heat" not in pdem.Simulation(case).particles
    with_feature(Warmth)
    assert fields_of_features(case) == (HEAT, MARK)
    assert "heat" in pdem.Simulation(case).particles
    needs = disk_needs(case, 1000, ())
    assert needs.snapshot - without.snapshot == 16_000
    assert needs.checkpoint - without.checkpoint == 16_000


def test_heat_flows_between_particles_that_touch(with_feature) -> None:
    """Against a plain loop over pairs."""
    with_feature(Warmth)
    run = pdem.Simulation(pdem.Case.from_text(CASE))
    heat = dict(zip(run.particles.id.tolist(), run.particles.heat.tolist(), strict=True))
    for _ in range(5):
        run.advance(1)
        lists = run.system.contacts.pairs
        ids = run.particles.id
        pairs = [(int(ids[lists.lower[k]]), int(ids[lists.higher[k]])) for k in lists.touching]
        assert sorted(pairs) == [(0, 1), (1, 2)]
        flow = [(one, other, (heat[one] - heat[other]) // 16) for one, other in pairs]
        for one, other, much in flow:
            heat[one] -= much
            heat[other] += much
    assert dict(zip(run.particles.id.tolist(), run.particles.heat.tolist(), strict=True)) == heat


def test_particles_that_come_have_the_default_and_others_keep_theirs(with_feature) -> None:
    with_feature(Warmth)
    run = pdem.Simulation(pdem.Case.from_text(CASE))
    before = run.gather()["heat"]
    new = run.insert([[0.04, 0.04, 0.04], [0.04, 0.03, 0.02]], 0.001, "glass")
    found = run.gather()
    assert found["heat"][new].tolist() == [int(HEAT.default)] * 2
    np.testing.assert_array_equal(found["heat"][:4], before)
    assert (found["mark"] == MARK.default).all()
    run.particles.mark[run.particles.id == new[1]] = 7.0
    run.remove([0, new[0]])
    found = run.gather()
    np.testing.assert_array_equal(found["heat"][:3], before[1:])
    assert found["mark"].tolist() == [[2.5, 2.5]] * 3 + [[7.0, 7.0]]


def test_a_script_gives_columns_of_features(with_feature) -> None:
    columns = {
        "id": np.arange(2), "material": np.zeros(2, int), "radius": np.full(2, 1e-3),
        "position": np.array([[0.01] * 3, [0.02] * 3]), "mark": np.array([[1.0, 2.0], [3.0, 4.0]]),
    }  # fmt: skip
    with pytest.raises(InputError, match=r"particles\['mark'\] is no field"):
        pdem.Simulation(pdem.Case.from_text(CASE), particles=columns)
    with_feature(Warmth)
    run = pdem.Simulation(pdem.Case.from_text(CASE), particles=columns)
    np.testing.assert_array_equal(run.particles.mark, columns["mark"])
    with pytest.raises(InputError, match=r"particles\['mark'\] is float64 of shape \(2,\)"):
        pdem.Simulation(pdem.Case.from_text(CASE), particles={**columns, "mark": np.zeros(2)})


def test_what_a_failed_observer_wrote_is_taken_back(changing_charges, tmp_path: Path) -> None:
    case = pdem.Case.from_text(CASE)
    case.override(f'output.folder="{tmp_path}/run"')

    def spoil(simulation):
        if simulation.step:
            simulation.particles.charge[:] = 77.0
            raise ValueError("as planned")

    run = pdem.Simulation(case)
    with pytest.raises(ObserverError, match="as planned"):
        run.run(observers=[spoil])
    held = read_checkpoint(sorted((tmp_path / "run").glob("checkpoint-*.h5"))[-1]).groups
    ids, step = held["particles"]["id"], int(held["counters"]["step"])
    assert step > 0
    np.testing.assert_array_equal(held["particles"]["charge"], changing_charges.values_of(ids, step)[0])


def test_tables_have_units_and_components_of_any_number(tmp_path: Path) -> None:
    columns = {"id": np.arange(2), "heat": np.arange(2), "mark": np.arange(4.0).reshape(2, 2)}
    box = SnapshotBox(np.zeros(3), np.eye(3), (False, False, False))
    write_csv(tmp_path / "a.csv", 0.0, columns, box, {"heat": HEAT, "mark": MARK})
    text = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert text == ["id [1],heat [J],mark_0 [1],mark_1 [1]", "0,0,0.0,1.0", "1,1,2.0,3.0"]

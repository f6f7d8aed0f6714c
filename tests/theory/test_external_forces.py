"""Forces and drags given for each particle, against theory: settling, stiff drag, the ledger; and whom they act on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.cases import GRAIN, Grains, simulate, state_of
from helpers.watched import DOCUMENT, STEP
from pdem.foundation.errors import BlowUpError, InputError

RADIUS = 0.02
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * RADIUS**3
GRAVITY = (0.0, 0.0, -9.81)
ARRAY = {"forces": [{"kind": "array"}]}


def alone(folder, step, *, velocity=(0.0, 0.0, 0.0), more=ARRAY, **options):
    grains = Grains([[0.0] * 3], RADIUS, velocity)
    return simulate(folder, grains, step=step, gravity=GRAVITY, more=more, **options)


def gas(folder, *, array=True, step=STEP):
    """Return a periodic box of spheres that collide."""
    forces = ARRAY if array else {}
    text = tomli_w.dumps({**DOCUMENT, **forces, "time": {"step": step, "end": 1.0}})
    return pdem.Simulation(pdem.Case.from_text(text, folder))


def test_a_sphere_settles_as_the_exponential_says_at_first_order(tmp_path):
    """In a fluid that flows sideways and carries a part of the weight."""
    tau, fluid, lift = 0.05, np.array([0.4, 0.0, 0.1]), np.array([0.0, 0.0, 0.3 * 9.81 * MASS])
    final = fluid + (lift + MASS * np.array(GRAVITY)) * tau / MASS
    expected = final * (1.0 - math.exp(-2.0))
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        run = alone(tmp_path, step)
        run.set_external_force(lift, MASS / tau, fluid)
        run.advance(round(2.0 * tau / step))
        errors.append(run.particles.velocity[0] - expected)
    assert np.abs(errors[2]).max() < 0.01 * np.abs(expected).max()
    for axis in (0, 2):
        assert errors[0][axis] / errors[1][axis] == pytest.approx(2.0, rel=0.1)
        assert errors[1][axis] / errors[2][axis] == pytest.approx(2.0, rel=0.1)
    energies = run.energies()
    assert abs(energies["residual"]) < 1e-13 * abs(energies["own_forces"])


@pytest.mark.parametrize("stiffness", [0.3, 5.0, 1e3, 1e9])
def test_a_drag_of_any_stiffness_leads_to_the_velocity_at_which_forces_balance(tmp_path, stiffness):
    """Without any overshoot, and as exactly as numbers are: of the drift as well, which moves the particle."""
    step, fluid = 1e-3, np.array([0.5, -0.2, 0.0])
    run = alone(tmp_path, step, velocity=(3.0, 1.0, -2.0))
    drag = stiffness * MASS / step
    run.set_external_force((0.0, 0.0, 0.0), drag, fluid)
    final = fluid + MASS * np.array(GRAVITY) / drag
    distance = np.abs(run.particles.velocity[0] - final)
    for _ in range(20):
        run.advance(1)
        now = np.abs(run.particles.velocity[0] - final)
        assert (now <= distance + 1e-12).all()
        distance = now
    run.advance(180)
    np.testing.assert_allclose(run.particles.velocity[0], final, rtol=1e-9)
    before = run.particles.position[0].copy()
    run.advance(100)
    np.testing.assert_allclose(run.particles.position[0] - before, 100 * step * final, rtol=1e-9, atol=1e-14)
    energies = run.energies()
    assert abs(energies["residual"]) < 1e-12 * abs(energies["own_forces"])


def test_the_ledger_closes_where_particles_collide(tmp_path):
    """To the error of integration: less than without forces, since drag slows the grains, and falling with the step."""
    residuals = []
    for step in (4e-5, 2e-5):
        run, plain = gas(tmp_path, step=step), gas(tmp_path, array=False, step=step)
        ids = run.particles.id
        force = np.column_stack([np.cos(ids), np.sin(ids), 0.5 - (ids % 2)])
        run.set_external_force(force, 0.3 * (ids % 5), (0.5, 0.0, 0.0))
        for one in (run, plain):
            one.advance(round(4e-3 / step))
        energies, others = run.energies(), plain.energies()
        assert energies["own_forces"] < -0.01 * others["translation"]
        assert "own_forces" not in others
        residuals.append(energies["residual"])
        assert abs(energies["residual"]) < abs(others["residual"]) < 0.01 * abs(energies["own_forces"])
    assert abs(residuals[1]) < 0.55 * abs(residuals[0])


def test_zeros_change_no_more_than_a_pass_does(tmp_path):
    """Particles without force and drag move as in a case without external forces."""
    runs = [gas(tmp_path), gas(tmp_path, array=False)]
    for run in runs:
        run.advance(100)
    found, expected = (run.gather() for run in runs)
    np.testing.assert_allclose(found["position"], expected["position"], atol=1e-12)
    assert runs[0].energies()["own_forces"] == 0.0


def test_particles_are_named_by_ids_and_keep_what_they_have(tmp_path):
    run = gas(tmp_path)
    ids = run.particles.id.copy()
    run.set_external_force(np.column_stack([ids, 2.0 * ids, 3.0 * ids]), 0.5 * ids, (1.0, 2.0, 3.0))
    run.set_external_force([[7.0, 8.0, 9.0], [1.0, 2.0, 3.0]], ids=[ids[5], ids[2]])
    run.advance(1)
    found = {name: run.gather()[name] for name in ("id", "external_force", "external_drag", "fluid_velocity")}
    rows = {one: row for row, one in enumerate(found["id"].tolist())}
    np.testing.assert_array_equal(found["external_force"][rows[ids[5]]], [7.0, 8.0, 9.0])
    assert found["external_drag"][rows[ids[2]]] == 0.0
    np.testing.assert_array_equal(found["fluid_velocity"][rows[ids[2]]], 0.0)
    np.testing.assert_array_equal(found["external_force"][rows[ids[8]]], ids[8] * np.array([1.0, 2.0, 3.0]))
    run.particles.external_drag[:] = 4.0
    run.advance(1)
    assert (run.gather()["external_drag"] == 4.0).all()


def test_particles_that_come_have_none(tmp_path):
    run = gas(tmp_path)
    place, gone = run.particles.position[:1].copy(), run.particles.id[:2].copy()
    run.set_external_force((1e-3, 0.0, 0.0), 1e-3)
    run.remove(gone)
    new = run.insert(place, 0.011, "grain")
    run.advance(5)
    found = run.gather()
    without = found["external_drag"] == 0.0
    assert found["id"][without].tolist() == new.tolist()
    assert (found["external_force"][~without] == (1e-3, 0.0, 0.0)).all()
    assert abs(run.energies()["residual"]) < 0.05 * run.energies()["translation"]


def test_a_restart_goes_on_with_the_same_bits(tmp_path):
    run = gas(tmp_path)
    ids = run.particles.id
    run.set_external_force(1e-3 * np.column_stack([ids, -ids, ids]), 1e-3 * ids, (0.0, 1.0, 0.0))
    run.advance(40)
    state = state_of(run)
    assert {"external_force", "external_drag", "fluid_velocity"} <= set(state["particles"])
    run.advance(40)
    again = pdem.Simulation(run.case, state=state)
    again.advance(40)
    found, expected = again.gather(), run.gather()
    assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)
    ledgers = [one.energies() | {"residual": 0.0} for one in (again, run)]  # that of a state counts from it on
    assert ledgers[0] == ledgers[1]
    without = gas(tmp_path, array=False)
    assert "external_force" not in state_of(without)["particles"]
    assert "external_force" not in without.gather()


def test_fixed_particles_stay_and_in_two_dimensions_z_is_left_out(tmp_path):
    text = {
        **DOCUMENT, **ARRAY, "domain": {"lower": [0.0] * 3, "upper": [0.1] * 3, "dimension": 2},
        "particles": [
            {"material": "grain", "radius": 0.01, "positions": [[0.02, 0.02, 0.05]], "fixed": True},
            {"material": "grain", "radius": 0.01, "positions": [[0.08, 0.08, 0.05]]},
        ],
    }  # fmt: skip
    run = pdem.Simulation(pdem.Case.from_text(tomli_w.dumps(text), tmp_path))
    run.set_external_force((1e-2, 0.0, 1e-2), 1e-3)
    run.advance(50)
    found = run.gather()
    assert (found["velocity"][0] == 0.0).all()
    assert found["velocity"][1, 0] > 0.0
    assert found["velocity"][1, 2] == 0.0
    assert abs(run.energies()["residual"]) < 1e-12 * run.energies()["own_forces"]


def test_a_drag_that_a_script_writes_negative_ends_the_run(tmp_path):
    run = gas(tmp_path)
    run.particles.external_drag[3] = -1.0
    with pytest.raises(BlowUpError, match=rf"give particle {run.particles.id[3]} at .*or the drag is negative"):
        run.advance(3)


def test_what_does_not_fit_is_refused_before_any_change(tmp_path):
    with pytest.raises(InputError, match=r'give the case \[\[forces\]\] kind = "array"'):
        gas(tmp_path, array=False).set_external_force((0.0, 0.0, 0.0))
    run = gas(tmp_path)
    refused = [
        (((1.0, 2.0),), {}, r"force has the shape|force is no array"),
        ((np.zeros((3, 3)),), {}, r"force has the shape \(3, 3\); give numbers of the shape \(40, 3\), in N"),
        (((0.0, 0.0, np.nan),), {}, "force holds numbers that are not finite"),
        (((0.0, 0.0, 0.0), -1.0), {}, "a drag is -1 kg/s"),
        (((0.0, 0.0, 0.0), 1.0, "fast"), {}, "fluid_velocity is no array"),
        (((0.0, 0.0, 0.0),), {"ids": [10**6]}, "there is no particle 1000000"),
        (((0.0, 0.0, 0.0),), {"ids": [1, 2, 1]}, "particle 1 is twice in ids"),
        (((0.0, 0.0, 0.0),), {"ids": [0.5]}, "give the ids of particles"),
    ]
    for arguments, named, message in refused:
        with pytest.raises(InputError, match=message):
            run.set_external_force(*arguments, **named)
    assert not run.particles.external_force.any()

"""Fixed grains: they never move, other grains touch them as they would a wall of spheres, and all accounts close."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.balance import require_balance
from helpers.cases import state_of
from helpers.fixed_grains import DOMAIN, GRAIN, LAW, R, bed, case_of, rough
from pdem.case.groups.fixed_groups import fixed_columns
from pdem.case.groups.initial import initial_particles
from pdem.case.timestep import step_limits
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import CaseError, InputError
from pdem.preflight.preflight import preflight
from pdem.run.simulation import Simulation
from pdem.run.thin_walls import warn_of_thin_walls

MASS = 2500.0 * 4.0 / 3.0 * np.pi * R**3
WEIGHTLESS = {"lower": [-0.02] * 3, "upper": [0.02] * 3}
STEEL = {
    "shape": "plane",
    "normal": [0, 0, 1],
    "point": [0, 0, 0.001],
    "size": 0.04,
    "material": "steel",
    "name": "floor",
}


def run_of(*groups, state=None, **sections):
    return Simulation(case_of(*groups, **sections), threads=1, state=state)


def fixed_of(run):
    own = run.gather()
    return {name: column[own["fixed"] != 0] for name, column in own.items()}


@pytest.mark.parametrize("law", [LAW, {"law": "linear", "normal_stiffness": 1e3, "friction": 0.3, "restitution": 0.7}])
def test_a_rebound_has_the_restitution_with_the_mass_of_the_grain_alone(law):
    """A fixed grain is as hard to move as a wall, whatever its own density."""
    one = {"material": "rough", "radius": 0.5 * R, "positions": [[0, 0, 0]], "fixed": True}
    flying = {"material": "grain", "radius": R, "positions": [[0, 0, 0.004]], "velocity": [0.0, 0.0, -0.5]}
    for density in ({}, {"density": 100.0}):
        materials = {"grain": GRAIN, "rough": density, "steel": {}}
        pairs = dict.fromkeys(("grain-grain", "grain-rough", "grain-steel"), law)
        run = run_of(
            one, flying, materials=materials, interactions=pairs, domain=WEIGHTLESS, time={"step": 1e-6, "end": 1.0}
        )
        run.advance(6000)
        own = run.gather()
        assert own["velocity"][1, 2] == pytest.approx(0.5 * law["restitution"], rel=2e-3)
        assert (own["velocity"][0] == 0.0).all()
        assert own["position"][0].tolist() == [0.0, 0.0, 0.0]
        energies = run.energies()
        assert abs(energies["residual"]) < 1e-4 * 0.5 * MASS * 0.25


def test_nothing_but_the_grains_that_move_has_energy():
    run = run_of(rough(), bed(), domain={**DOMAIN, "periodic": [True, True, False]})
    run.advance(4500)
    own, energies = run.gather(), run.energies()
    moving = own["fixed"] == 0
    mass = MASS * np.ones(moving.sum())
    assert energies["translation"] == pytest.approx(0.5 * (mass @ (own["velocity"][moving] ** 2).sum(axis=1)))
    assert energies["gravity"] == pytest.approx(9.81 * (mass @ own["position"][moving][:, 2]))
    assert energies["wall_work"] == 0.0
    assert abs(energies["residual"]) < 5e-3 * energies["normal_damping"]
    assert run.measures().particles == 150
    assert run.measures().pair_contacts > 30


def test_they_never_move_and_what_they_bear_is_what_the_others_lose():
    """Between walls that overlap them and move through them, with own forces, and grains that come in."""
    blade = {
        "name": "blade", "shape": "box", "lower": [-0.02, -0.001, -0.001], "upper": [-0.015, 0.001, 0.003],
        "material": "steel", "translation": {"velocity": [0.3, 0.0, 0.0]},
    }  # fmt: skip
    inlet = {
        "name": "inlet", "material": "grain", "radius": R, "count_rate": 2000.0, "every": 2e-3,
        "region": {"lower": [-0.018, -0.018, 0.05], "upper": [0.018, 0.018, 0.06]}, "velocity": [0.0, 0.0, -1.0],
    }  # fmt: skip
    floor = {**STEEL, "point": [0, 0, 0.0018]}
    run, touching = run_of(
        rough(), bed(), walls=[floor, blade], insertions=[inlet],
        forces=[{"kind": "uniform", "acceleration": [3.0, 0.0, 0.0]}],
    ), 0  # fmt: skip
    before = {name: fixed_of(run)[name].tobytes() for name in ("position", "velocity", "angular_velocity", "image")}
    for _ in range(8):
        run.advance(430)  # between the events of the inlet
        now = fixed_of(run)
        assert {name: now[name].tobytes() for name in before} == before
        own, load = run.gather(), run.fixed_loads()["fixed"]
        walls = sum(one["force"] for one in run.wall_loads().values())
        of_moving = own["force"][own["fixed"] == 0].sum(axis=0)
        np.testing.assert_allclose(load["force"] + walls, -of_moving, atol=1e-9 * np.abs(own["force"]).max())
        np.testing.assert_allclose(load["force"], now["force"].sum(axis=0), atol=1e-12)
        touching += run.measures().wall_contacts
    assert touching > 0
    warn_of_thin_walls(run.system)  # grains touch the fixed ones through the floor that these stick out of
    assert run.insertions["inlet"].count > 20
    assert load["force"][2] < -0.2 * MASS * 9.81 * 150
    assert abs(run.energies()["residual"]) < 5e-3 * run.energies()["normal_damping"]


def test_they_touch_neither_each_other_nor_walls():
    run = run_of(rough(), walls=[STEEL])
    run.advance(10)
    measured = run.measures()
    assert (measured.pair_contacts, measured.wall_contacts, measured.particles) == (0, 0, 0)
    assert run.system.contacts.pairs.candidates == 0
    assert run.wall_loads()["floor"]["force"].tolist() == [0.0, 0.0, 0.0]


def test_a_bed_at_rest_stands_on_them():
    """The force on the bottom is its weight, the torque about the origin that of its centre of mass."""
    run = run_of(rough(name="bottom"), bed(), domain={**DOMAIN, "periodic": [True, True, False]})
    run.advance(20000)
    own, load = run.gather(), run.fixed_loads()["bottom"]
    assert (own["velocity"] ** 2).sum(axis=1).max() < 1e-3
    assert load["force"][2] == pytest.approx(-150 * MASS * 9.81, rel=0.02)
    assert own["position"][own["fixed"] == 0][:, 2].min() > 0.0
    assert run.measures().contacts_per_particle > 3.0


FALLING = {
    "sensors": [
        {"name": "box", "region": {"lower": [-0.02, -0.02, -0.003], "upper": [0.02, 0.02, 0.02]}, "stress": True},
        {"name": "out", "region": {"lower": [-0.02, -0.02, -0.02], "upper": [-0.01, 0.02, 0.02]}, "remove": True},
    ],
    "stages": [{"name": "fall", "until": {"quantity": "bottom_force_z", "below": -0.01}}, {"name": "rest"}],
    "domain": {**DOMAIN, "periodic": [False, True, False]},
}


def test_restarts_change_no_bit_and_outlets_leave_them(tmp_path):
    through = run_of(rough(name="bottom"), bed(), **FALLING)
    states = {}
    for step in (64, 500, 1111):
        through.advance(step - through.step)
        states[step] = state_of(through)
    through.advance(1500 - through.step)
    expected, seen = state_of(through), through.sensors()
    assert len(fixed_of(through)["id"]) == 169
    assert through.stage == "rest"
    assert seen["out"]["removed_count"] == 150 - through.measures().particles > 0
    assert seen["box"]["count"] == np.count_nonzero(
        (through.gather()["position"][:, 2] < 0.02) & (through.gather()["fixed"] == 0)
    )
    assert seen["box"]["coordination"] > 0.0
    for step, state in states.items():
        again = run_of(rough(name="bottom"), bed(), state=state, **FALLING)
        again.advance(1500 - step)
        found = state_of(again)
        for group, columns in expected.items():
            for name, column in columns.items():
                assert found[group][name].tobytes() == column.tobytes(), (step, group, name)
        np.testing.assert_equal(again.sensors(), seen)
        assert {k: v.tolist() for k, v in again.fixed_loads()["bottom"].items()} == {
            k: v.tolist() for k, v in through.fixed_loads()["bottom"].items()
        }


def test_a_run_writes_and_continues_its_columns(tmp_path):
    case = case_of(
        rough(name="bottom"), bed(), time={"step": 2e-5, "end": 0.06},
        output={"folder": str(tmp_path / "out"), "series_every": 2e-3, "snapshots_every": 0.03,
                "checkpoint_every": 0.03},
    )  # fmt: skip
    Simulation(case, threads=1).run()
    results = pdem.Results(tmp_path / "out")
    rows = results.series
    assert rows.units["bottom_force_z"] == "N"
    assert rows.units["bottom_torque_x"] == "N m"
    assert rows["bottom_force_z"][-1] < 0.0
    require_balance(case, rows)
    assert (rows["particles"] + rows["left"] == 150).all()
    last = results.at(0.06)
    assert np.count_nonzero(last.fixed) == 169
    assert (last.force[last.fixed == 1].sum(axis=0)[2]) == pytest.approx(rows["bottom_force_z"][-1], rel=1e-12)
    middle = sorted((tmp_path / "out").glob("checkpoint-*.h5"))[0]
    Simulation.restart(middle, threads=1).run(overwrite=True)
    again = pdem.Results(tmp_path / "out").series
    for name, _ in fixed_columns(case):
        assert again[name].tobytes() == rows[name].tobytes(), name


def test_fixed_clusters_are_fixed_spheres():
    """Beside clusters that move."""
    shapes = {"pair": {"spheres": [[0, 0, 0, 0.002], [0.002, 0, 0, 0.0015]]}}
    base = {"material": "rough", "shape": "pair", "orientation": "aligned", "fixed": True}
    places = [[0.004 * x, 0.004 * y, 0.0] for x in range(-4, 5) for y in range(-4, 5)]
    fill = {"lower": [-0.018, -0.018, 0.004], "upper": [0.018, 0.018, 0.05], "count": 60}
    moving = {"material": "grain", "shape": "pair", "fill": fill}
    run = run_of({**base, "positions": places}, moving, shapes=shapes)
    own = run.gather()
    assert np.count_nonzero(own["fixed"]) == 2 * 81
    assert (own["cluster"][own["fixed"] != 0] == 0).all()
    assert len(run.clusters) == 60
    before = fixed_of(run)["position"].tobytes()
    run.advance(4000)
    assert fixed_of(run)["position"].tobytes() == before
    assert run.measures().particles == len(run.clusters) > 50
    assert run.measures().pair_contacts > 10
    own, load = run.gather(), run.fixed_loads()["fixed"]
    of_moving = own["force"][own["fixed"] == 0].sum(axis=0)
    np.testing.assert_allclose(load["force"], -of_moving, atol=1e-9 * np.abs(own["force"]).max())
    assert abs(run.energies()["residual"]) < 5e-3 * run.energies()["normal_damping"]
    state = state_of(run)
    again = run_of({**base, "positions": places}, moving, shapes=shapes, state=state)
    for one in (run, again):
        one.advance(300)
    first, second = state_of(run), state_of(again)
    for group, columns in first.items():
        for name, column in columns.items():
            assert second[group][name].tobytes() == column.tobytes(), (group, name)


def test_checks_take_them_for_a_floor_and_not_for_grains(tmp_path):
    """Small and overlapping ones do not shorten the step; what is above them does not fall."""
    tiny = rough(radius=0.0018)
    case = case_of(tiny, bed(), time={"end": 1.0})
    assert case.resolved_step() == case_of(bed(), time={"end": 1.0}).resolved_step()
    assert any("grain on fixed rough" in limit.subject for limit in step_limits(case))
    findings = preflight(case, initial_particles(case), read_walls(case))
    assert [str(one) for one in findings if one.level != "info"] == []
    assert any("169 spheres fixed" in one.message for one in findings)
    sides = {**DOMAIN, "periodic": [True, True, False]}
    edge = {"material": "grain", "radius": 0.001, "positions": [[0.0199, 0.0, 0.01], [0.0, 0.0, 0.01]]}
    corner = {"material": "rough", "radius": R, "fixed": True, "positions": [[-0.019, 0.0, 0.0], [0.0, 0.0, 0.0]]}
    across = case_of(corner, edge, domain=sides)
    assert [one for one in preflight(across, initial_particles(across), []) if one.subject == "domain"] == []
    beside = case_of(tiny, bed(), {"material": "grain", "radius": R, "positions": [[0.0, 0.0, -0.01]]})
    (found,) = [one.message for one in preflight(beside, initial_particles(beside), []) if one.subject == "domain"]
    assert found.startswith("no wall is below 1 of 151 particles (the first is particle 319)")
    overlapping = case_of(rough(), {"material": "grain", "radius": R, "positions": [[0.0, 0.0, 0.001]]})
    found = [one for one in preflight(overlapping, initial_particles(overlapping), []) if one.subject == "overlaps"]
    assert found[0].level == "error"


@pytest.mark.parametrize(
    ("groups", "sections", "match"),
    [
        ([rough(velocity=[1.0, 0, 0])], {}, r"particles\[0\]\.velocity = .*: moves particles, and fixed = true"),
        (
            [rough(), rough(positions=[[0, 0, 0.01]])],
            {},
            r"particles\[1\]\.name.*\('fixed'\) is taken by particles\[0\]",
        ),
        ([bed(name="bed")], {}, r"particles\[0\]\.name = \"bed\": names the columns of a fixed group"),
        ([rough(name="floor")], {"walls": [STEEL]}, r"\('floor'\) is taken by walls\[0\]"),
        (
            [rough(), bed()],
            {"domain": {**WEIGHTLESS, "periodic": [True] * 3, "deformation": {"x": {"strain_rate": -0.1}}}},
            "fixes particles, but all particles of a box that deforms",
        ),
        ([{"material": "rough", "radius": R, "fixed": True, "fill": {"mass": 0.01}}], {}, "density"),
        ([rough(), bed(material="rough")], {}, "density: is missing"),
    ],
)
def test_rules(groups, sections, match):
    with pytest.raises(CaseError, match=match):
        case_of(*groups, **sections)


def test_scripts_cannot_fix_particles():
    case = case_of(bed())
    particles = dict(initial_particles(case))
    particles["fixed"] = np.ones(150, np.int16)
    with pytest.raises(InputError, match="particles given by a script move"):
        Simulation(case, particles=particles)

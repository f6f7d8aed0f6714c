"""Limits of the time step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pdem.case.model import Case
from pdem.case.timestep import hertz_time, linear_time, rayleigh_time, reference_speed, step_limits
from pdem.foundation.errors import CaseError

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 2], gravity = [0, 0, -9.81]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
materials.steel = {}
interactions.grain-grain = {friction = 0.5, restitution = 0.4}
interactions.grain-steel = {friction = 0.5, restitution = 0.4}
[[particles]]
material = "grain"
radius = {distribution = "uniform", min = 0.0035, max = 0.01}
positions = [[0.5, 0.5, 0.5]]
"""
SHAPE = '[[walls]]\nmesh = "a.stl"\nmaterial = "steel"\n'


def test_rayleigh_time_of_the_rotary_mixer() -> None:
    # R 3.5 mm, rho 1000, G = 1e7 / 2.4: pi 0.0035 sqrt(2.4e-4) / 0.90922
    assert rayleigh_time(0.0035, 1000.0, 1e7, 0.2) == pytest.approx(1.8735e-4, rel=1e-4)


def test_hertz_time_is_the_duration_of_an_integrated_impact() -> None:
    mass, radius, modulus, speed = 2.0, 0.3, 1e5, 4.0

    def motion(_: float, state: np.ndarray) -> list[float]:
        return [state[1], -4 / 3 * modulus * np.sqrt(radius) * max(state[0], 0.0) ** 1.5 / mass]

    def parted(_: float, state: np.ndarray) -> float:
        return state[0]

    parted.terminal, parted.direction = True, -1.0
    impact = solve_ivp(motion, (0.0, 10.0), [0.0, speed], events=parted, rtol=1e-10, atol=1e-12)
    assert hertz_time(mass, radius, modulus, speed) == pytest.approx(impact.t_events[0][0], rel=1e-3)
    assert hertz_time(mass, radius, modulus, 0.0) == np.inf


def test_linear_time_is_half_a_period() -> None:
    assert linear_time(2.0, 50.0) == pytest.approx(np.pi * 0.2)


def test_the_automatic_step_is_a_part_of_the_smallest_limit() -> None:
    case = Case.from_text(BASE)
    limits = step_limits(case)
    assert [limit.name for limit in limits] == ["Rayleigh", "Hertz"]
    assert limits[0].time == pytest.approx(1.8735e-4, rel=1e-4)
    assert case.resolved_step() == pytest.approx(0.1 * limits[0].time)
    case.override("time.step_fraction=0.3")
    assert case.resolved_step() == pytest.approx(0.3 * limits[0].time)
    case.override("time.step=1e-6")
    assert case.resolved_step() == 1e-6


def test_the_linear_law_has_its_own_limit() -> None:
    case = Case.from_text(BASE)
    case.override('interactions.grain-grain={law="linear", normal_stiffness=200, friction=0, restitution=1}')
    case.override("materials.grain={density=1000}")
    (limit,) = step_limits(case)
    mass = 1000.0 * 4 / 3 * np.pi * 0.0035**3
    assert limit.time == pytest.approx(np.pi * np.sqrt(0.5 * mass / 200.0))


def test_plastic_contacts_are_limited_by_the_stiffness_of_unloading() -> None:
    """The duration of half a period at k2, and as every straight line's it counts a third."""
    case = Case.from_text(BASE)
    case.override(
        'interactions.grain-grain={law="luding", normal_stiffness=200, unloading_stiffness=1000, '
        "friction=0, restitution=1}"
    )
    (limit,) = (one for one in step_limits(case) if one.name == "linear")
    mass = 1000.0 * 4 / 3 * np.pi * 0.0035**3
    assert limit.time == pytest.approx(np.pi * np.sqrt(0.5 * mass / 1000.0))
    case.override('interactions.grain-grain={law="eepa", plasticity=0.75, friction=0, restitution=1}')
    plastic = {one.name: one.time for one in step_limits(case)}
    case.override("interactions.grain-grain={friction=0, restitution=1}")
    elastic = {one.name: one.time for one in step_limits(case)}
    assert plastic["Rayleigh"] == elastic["Rayleigh"]
    assert 0.3 * elastic["Hertz"] < plastic["Hertz"] < 0.5 * elastic["Hertz"]


def test_stiff_resistances_to_rotation_limit_the_step() -> None:
    """Half a period of a free rotation, pi sqrt(I / k), with the inertia of the smaller grain."""
    case = Case.from_text(BASE)
    case.override(
        "interactions.grain-grain={friction=0.5, restitution=1, "
        'rolling={model="sds", friction=0.1, torque_stiffness=2.0}, '
        'twisting={model="sds", friction=0.1, stiffness=3.0}}'
    )
    limits = {one.name: one.time for one in step_limits(case)}
    inertia = 0.4 * 0.5 * 1000.0 * 4 / 3 * np.pi * 0.0035**5
    assert limits["rolling"] == pytest.approx(np.pi * np.sqrt(inertia / 2.0))
    assert limits["twisting"] == pytest.approx(np.pi * np.sqrt(inertia / 3.0))
    case.override('interactions.grain-grain={friction=0.5, restitution=1, twisting={model="marshall"}}')
    assert "twisting" in {one.name for one in step_limits(case)}


def test_walls_count_with_the_whole_mass_and_radius() -> None:
    case = Case.from_text(BASE + SHAPE)
    times = {limit.subject: limit.time for limit in step_limits(case)}
    speed = reference_speed(case)
    mass, modulus = 1000.0 * 4 / 3 * np.pi * 0.0035**3, 1e7 / (1 - 0.2**2)
    assert times[f"grain on wall of steel at {speed:.3g} m/s"] == pytest.approx(
        hertz_time(mass, 0.0035, modulus, speed)
    )
    expected = hertz_time(0.5 * mass, 0.5 * 0.0035, 0.5 * modulus, speed)
    assert times[f"grain on grain at {speed:.3g} m/s"] == pytest.approx(expected)


def test_the_reference_speed_is_the_largest_expected(tmp_path: Path) -> None:
    case = Case.from_text(BASE + SHAPE, tmp_path)
    assert reference_speed(case) == pytest.approx(np.sqrt(2 * 9.81 * 2))
    case.override("particles[0].velocity=[0, 30, 40]")
    assert reference_speed(case) == pytest.approx(50.0)
    case.override("particles[0].velocity={random=40}")
    assert reference_speed(case) == pytest.approx(40 * np.sqrt(3))
    case.override("walls[0].rotation={rate=-100, axis=[0, 0, 2], centre=[0, 0, 5]}")
    case.override("walls[0].translation={velocity=[3, 4, 0]}")
    assert reference_speed(case) == pytest.approx(100 * np.sqrt(2) + 5)
    (tmp_path / "a.txt").write_text("0 0 0 0.0035 300 400 0\n")
    case.override('particles=[{material="grain", file="a.txt"}]')
    assert reference_speed(case) == pytest.approx(500.0)


def test_without_particles_there_is_no_limit(tmp_path: Path) -> None:
    """The automatic step was a thousandth of the end, and everything that was inserted blew up."""
    (tmp_path / "a.txt").write_text("# none\n")
    for particles in ("particles=[]", 'particles=[{material="grain", file="a.txt"}]'):
        case = Case.from_text(BASE, tmp_path)
        case.override(particles)
        assert step_limits(case) == []
        with pytest.raises(
            CaseError, match=r'time.step = "auto": there are no particles .* of \'grain\' may be inserted'
        ):
            case.resolved_step()
        case.override("time.step=1e-5")
        assert case.resolved_step() == 1e-5


def test_where_nothing_can_come_in_the_step_only_moves_walls() -> None:
    case = Case.from_text(BASE)
    case.override("particles=[]")
    case.override("materials.grain={youngs_modulus=1e7, poisson_ratio=0.2}")
    assert case.resolved_step() == case.output.series_every

"""Heat through contacts against closed forms: pairs, chains, lattices, a half space."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfc

import pdem
from helpers.thermal_cases import (
    CAPACITY,
    FROZEN,
    HEAD,
    MASS,
    RADIUS,
    STEP,
    case_of,
    chain,
    conductance_for,
    exact_heat,
    group,
    overlap_for,
    run_for,
    temperatures,
)


@given(force=st.floats(0.01, 100.0), warm=st.floats(250.0, 2000.0), share=st.floats(0.2, 3.0))
@settings(max_examples=8, deadline=None)
def test_two_spheres_relax_exponentially_and_keep_all_heat(force, warm, share):
    places = np.array(chain(2, force))
    simulation = pdem.Simulation(case_of(FROZEN, group(places[:1], warm), group(places[1:], 300.0)), threads=1)
    before = exact_heat(simulation)
    rate = 2.0 * conductance_for(force) / (MASS * CAPACITY)
    simulation.advance(round(share / rate / STEP))
    first, second = temperatures(simulation)
    assert exact_heat(simulation) == before
    assert (first - second) / (warm - 300.0) == pytest.approx(math.exp(-rate * simulation.time), rel=0.02)
    assert first + second == pytest.approx(warm + 300.0, rel=1e-13)


def test_the_numbers_of_the_steel_spheres():
    """a = 2.22336e-5 m and h = 1.867622e-3 W/K at 1 N, from the relaxation of two spheres, tau = 132.0903 s."""
    places = np.array(chain(2, 1.0))
    simulation = run_for(case_of(FROZEN, group(places[:1], 400.0), group(places[1:], 300.0)), 132.0)
    first, second = temperatures(simulation)
    assert -132.0 / math.log((first - second) / 100.0) == pytest.approx(132.0903, rel=2e-5)


def test_a_chain_with_one_end_held_has_the_rates_of_theory():
    """Rates (4h/C) sin^2((2j-1) pi / (2 (2N+1))) of N spheres, each with its own decay."""
    number, force = 10, 1.0
    places = chain(number + 1, force)
    modes = np.arange(1, number + 1)
    angles = (2 * modes - 1) * math.pi / (2 * number + 1)
    rates = 4.0 * conductance_for(force) / (MASS * CAPACITY) * np.sin(angles / 2.0) ** 2
    assert (rates * MASS * CAPACITY / conductance_for(force))[:3] == pytest.approx(
        [0.02233834755, 0.19806226420, 0.53389625636], rel=1e-9
    )
    shapes = np.sin(np.outer(modes, angles))
    shapes /= np.sqrt((shapes**2).sum(axis=0))
    start = 50.0 + 40.0 * np.cos(modes)
    groups = [group([place], 300.0 + above) for place, above in zip(places[1:], start.tolist(), strict=True)]
    simulation = run_for(case_of(FROZEN, group(places[:1], 300.0, "store"), *groups), 500.0)
    expected = shapes @ (np.exp(-rates * 500.0) * (shapes.T @ start))
    assert temperatures(simulation)[1:] - 300.0 == pytest.approx(expected, rel=1e-4)


LATTICES = {
    "SC": ([(0.0, 0.0, 0.0)], 1.0),
    "BCC": ([(0.0, 0.0, 0.0), (0.5, 0.5, 0.5)], math.sqrt(3.0) / 2.0),
    "FCC": ([(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)], math.sqrt(0.5)),
}
"""Places of spheres in the unit cell, and the distance of neighbours over its side."""


@pytest.mark.parametrize("name", LATTICES)
def test_lattices_conduct_as_theory_says(name):
    """k_eff = phi Z h / (pi d): h/d, sqrt(3) h/d and sqrt(8) h/d, from the heat that a gradient drives."""
    cell, near = LATTICES[name]
    force, many = 2.0, 4
    distance = 2.0 * RADIUS - overlap_for(force)
    side = distance / near
    places = np.array([np.add(one, (i, j, k)) for k in range(many) for j in range(3) for i in range(3) for one in cell])
    places *= side
    height = places[:, 2]
    gradient = 1e4
    text = HEAD.replace("lower = [-1.0, -1.0, -1.0]", "lower = [0.0, 0.0, -1.0]")
    text = text.replace(
        "upper = [1.0, 1.0, 1.0]", f"upper = [{3 * side!r}, {3 * side!r}, 1.0]\nperiodic = [true, true, false]"
    )
    groups = [group(places[height == z], 300.0 + gradient * z) for z in np.unique(height).tolist()]
    case = pdem.Case.from_text("\n".join((text, "[heat]\nevery = 1e-3", FROZEN, *groups)))
    simulation = pdem.Simulation(case, threads=1)
    before, heat = temperatures(simulation), exact_heat(simulation)
    simulation.advance(round(1e-3 / STEP))
    order = np.argsort(simulation.gather()["id"])
    lower = simulation.gather()["position"][order, 2] < height.mean()
    gained = MASS * CAPACITY * (temperatures(simulation) - before)
    expected = {"SC": 1.0, "BCC": math.sqrt(3.0), "FCC": math.sqrt(8.0)}[name] * conductance_for(force) / distance
    area = (3 * side) ** 2
    assert gained[lower].sum() / 1e-3 / (area * gradient) == pytest.approx(expected, rel=1e-6)
    assert exact_heat(simulation) == heat


def test_a_long_bar_warms_like_a_half_space():
    """T = erfc(x / (2 sqrt(alpha t))) with alpha = h d^2 / C."""
    number, force, time = 120, 5.0, 4000.0
    places = chain(number, force)
    simulation = run_for(case_of(FROZEN, group(places[:1], 400.0, "store"), group(places[1:], 300.0)), time)
    distance = 2.0 * RADIUS - overlap_for(force)
    diffusivity = conductance_for(force) * distance**2 / (MASS * CAPACITY)
    place = np.arange(number) * distance
    expected = erfc(place / (2.0 * math.sqrt(diffusivity * time)))
    assert (temperatures(simulation) - 300.0) / 100.0 == pytest.approx(expected, abs=2e-3)

"""Contacts that are stretched, torques that are remembered, and laws of users: the same bits on all ranks."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.law_models import INTERACTIONS, MODELS
from helpers.rank_cases import CLOUD, DRUM, compare, compare_restart
from pdem.case.example_meshes.mixer import drum
from pdem.features.liquid.feature import Liquid

SPHERE = 4.0 / 3.0 * math.pi * 0.01**3

STICKS = """rolling = {model = "spring", friction = 0.2}
adhesion = {model = "jkr", work_of_adhesion = 2.0}
restitution ="""
WET = """rolling = {model = "spring", friction = 0.2}
adhesion = {model = "liquid-bridge", surface_tension = 0.6, contact_angle = 20.0, carried_volume = 0.03}
restitution ="""
"""The largest pull on a grain is about its weight."""

OTHERS = """
[materials.stiff]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.stiff-stiff]
friction = 0.5
restitution = 0.4
rolling = {model = "spring", friction = 0.2}
adhesion = {model = "dmt", work_of_adhesion = 2.0}
[interactions.stiff-grain]
friction = 0.5
restitution = 0.4
[interactions.stiff-steel]
friction = 0.5
restitution = 0.4
adhesion = {model = "linear", cohesion_energy_density = 1e4}
"""
"""Models that make the law that of tests/helpers/sticky.py, which is compiled once; there are no particles of this."""


def sticky_drum(method):
    """Return a drum of wet and dry grains that bridges hold to each other, and which stick to the wall."""
    head, _, rest = DRUM.partition("[[particles]]")
    group, _, wall = rest.partition("[[walls]]")
    head = head.replace("rolling_friction = 0.001\n", "")
    head = STICKS.join(WET.join(head.split("restitution =", 1)).rsplit("restitution =", 1))
    half = group.replace("count = 150", "count = 75")
    wet = half.replace("radius = 0.01\n", "radius = 0.01\nliquid = 0.02\n", 1)
    text = f"{head}{OTHERS}[[particles]]{wet}[[particles]]{half}[[walls]]{wall}"
    return pdem.Case.from_text(f'{text}\n[decomposition]\nmethod = "{method}"\nbalance = "always"\n')


@pytest.mark.ranks(2, 3, slow=(1, 4), timeout=400)
def test_grains_that_stick_in_a_drum(ranks):
    """Pairs and walls, across cuts that move, in a drum that turns and is carried along."""
    simulation = compare(sticky_drum("bisection" if ranks % 2 else "slabs"), 200, meshes=[drum()])
    system = simulation.system
    stretched = sum(int((records.history[0] < 0.0).sum()) for records in system.contacts.records())
    assert system.exchange.add(np.array([[stretched]]))[0, 0] > 0
    assert simulation.energies()["rolling"] > 0.0
    assert simulation.energies()["adhesion"] > 0.0
    liquid = system.features.get(Liquid).values(system)
    assert liquid["liquid_in_bridges"] > 0.0
    assert liquid["liquid_in_films"] + liquid["liquid_in_bridges"] == pytest.approx(75 * 0.02 * SPHERE, rel=1e-9)


@pytest.mark.ranks(2, slow=(3,), timeout=400)
def test_a_sticky_drum_goes_on_on_another_number_of_ranks(ranks):
    compare_restart(sticky_drum("slabs"), 200, 100, meshes=[drum()])


def drum_of_all_models(method):
    """Return a drum in which grains of each plastic and viscoelastic model meet their like, others and the wall."""
    document = tomllib.loads(DRUM)
    names, grain = list(MODELS), document["materials"]["grain"]
    document["materials"] = {**dict.fromkeys(names, grain), "steel": {}}
    pairs = {f"{a}-{b}": MODELS["hertz"] for i, a in enumerate(names) for b in names[i:]}
    document["interactions"] = {**pairs, **INTERACTIONS}
    (group,) = document["particles"]
    document["particles"] = [
        {**group, "material": name, "velocity": {"random": 1.0, "seed": k + 1}, "fill": {
            **group["fill"], "count": 24, "gap": 0.02, "centre": [0.048 * (k - 3), 0, 0], "length": 0.046}}
        for k, name in enumerate(names)
    ]  # fmt: skip
    document["decomposition"] = {"method": method, "balance": "always"}
    document["time"]["step"] = 4e-5
    return pdem.Case.from_text(tomli_w.dumps(document))


@pytest.mark.ranks(2, 4, slow=(1,), timeout=400)
def test_grains_of_all_models_in_a_drum(ranks):
    """What is remembered of plastic contacts, of rolling, twisting and slipping, crosses cuts that move."""
    simulation = compare(drum_of_all_models("bisection" if ranks % 2 else "slabs"), 300, meshes=[drum()])
    energies = simulation.energies()
    for name in ("plastic", "twisting", "rolling", "rolling_spring", "normal_damping"):
        assert energies[name] > 0.0, name


@pytest.mark.ranks(3, timeout=400)
def test_a_drum_of_all_models_goes_on_on_one_rank(ranks):
    states = compare_restart(drum_of_all_models("bisection"), 700, 50, meshes=[drum()])
    if states is not None:
        for group in ("contacts", "wall_contacts"):
            for name in ("largest_overlap", "rolling_torque", "twisting_torque"):
                assert states[0][group][name].any(), f"{group}/{name}"


@pytest.mark.ranks(2, slow=(1, 3), timeout=400)
def test_a_law_of_a_user(ranks):
    """With a memory of its own and without the energy ledger."""
    law = 'law = "python:laws/cubic.py:cubic"\nstiffness = 5e3\nhardening = 4.0\nfriction ='
    text = CLOUD.replace("friction = 0.5", f"{law} 0.5", 1)
    text = text.replace("[output]", "[output]\nenergies = false")
    case = pdem.Case.from_text(text, Path(__file__).parent)
    simulation = compare(case, 200)
    assert simulation.measures().pair_contacts > 10
    assert "residual" not in simulation.energies()
    contacts = simulation.contacts()  # on the first rank
    if contacts is not None:
        assert "overlap" in contacts
        assert "lost_energy" not in contacts

"""Bonds in whole runs, from a case file: cantilevers, a vibration, a break, and the automatic step."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w

import pdem

pytestmark = [pytest.mark.compiles, pytest.mark.shares_law("bonds")]

RADIUS, LENGTH, DENSITY, YOUNG, POISSON, KAPPA = 1e-3, 2e-3, 2500.0, 1e9, 0.3, 0.9
MASS = 4.0 / 3.0 * math.pi * DENSITY * RADIUS**3
AREA, SECOND = math.pi * RADIUS**2, 0.25 * math.pi * RADIUS**4
SHEAR = YOUNG / (2.0 * (1.0 + POISSON))
FAMILIES = {
    "springs": {"section": "springs"},
    "slender": {"beam_theory": "euler-bernoulli"},
    "thick": {"beam_theory": "timoshenko", "shear_coefficient": KAPPA},
}
ROCK = {"density": DENSITY, "youngs_modulus": 1e7, "poisson_ratio": 0.25}
LAW = {"friction": 0.5, "restitution": 0.5}


def beams(folder, bonds, **other):
    """Return a case with a cantilever along x for each kind of bonds; each has its own material.

    Ids of a beam follow each other from its fixed end to its tip.
    """
    groups, kinds, materials = [], {}, {}
    for number, (name, (count, keys)) in enumerate(bonds.items()):
        materials |= {name: ROCK, f"tip_{name}": ROCK}
        places = [[LENGTH * i, 10.0 * LENGTH * number, 0.0] for i in range(count + 1)]
        groups += [
            {"material": name, "radius": RADIUS, "positions": places[:1], "fixed": True, "name": f"held_{name}"},
            {"material": name, "radius": RADIUS, "positions": places[1:-1]},
            {"material": f"tip_{name}", "radius": RADIUS, "positions": places[-1:]},
        ]
        first = sum(other_count + 1 for other_count, _ in list(bonds.values())[:number])
        (folder / f"{name}.csv").write_text("".join(f"{first + i},{first + i + 1}\n" for i in range(count)))
        kinds[name] = {"file": f"{name}.csv", "youngs_modulus": YOUNG, "poisson_ratio": POISSON, **keys}
    document = {
        "domain": {"lower": [-0.01, -0.01, -0.05], "upper": [0.1, 0.2, 0.05], "outside": "keep"},
        "materials": materials,
        "interactions": {"default": LAW},
        "particles": groups,
        "bonds": kinds,
        "output": {"folder": str(folder / "out")},
        **other,
    }
    return pdem.Case.from_text(tomli_w.dumps(document), folder)


def by_id(run):
    own = run.gather()
    order = np.argsort(own["id"])
    return {name: own[name][order] for name in own}


def tip_force(name, count, force):
    return {"kind": "uniform", "force": [0.0, 0.0, force], "material": f"tip_{name}"}


def test_cantilevers_bend_as_beams_do(tmp_path):
    """Each family under a force at its tip, brought to rest by a drag: to a millionth."""
    count, load = 4, 1e-4
    length = count * LENGTH
    drag = {"kind": "drag", "linear": 2.0 * MASS * 5e3}
    forces = [drag, *(tip_force(name, count, load) for name in FAMILIES)]
    kinds = {name: (count, {**keys, "damping_ratio": 0.2}) for name, keys in FAMILIES.items()}
    case = beams(tmp_path, kinds, forces=forces, time={"step": 5e-7, "end": 4e-3})
    run = pdem.Simulation(case, threads=1)
    run.run()
    tips = by_id(run)["position"][count :: count + 1, 2]
    bending = load * length**3 / (3.0 * YOUNG * SECOND)
    wanted = [
        bending * (1.0 - 1.0 / (4.0 * count**2)) + load * length / (SHEAR * AREA),
        bending,
        bending + load * length / (KAPPA * SHEAR * AREA),
    ]
    assert tips == pytest.approx(wanted, rel=1e-6)


def test_the_automatic_step_is_a_fraction_of_the_longest_stable_one(tmp_path):
    """Of a free chain of the theory: 2 / omega with omega = 1,059,814 rad/s for 20 bonds."""
    case = beams(tmp_path, {"slender": (20, FAMILIES["slender"])}, time={"end": 1e-3})
    assert case.resolved_step() == pytest.approx(0.1 * 2.0 / 1059814.0, rel=1e-2)


def test_a_cantilever_that_is_let_go_keeps_its_energy(tmp_path):
    """A tip that is hit swings without loss; the ledger closes to the square of the step."""
    kinds = {name: (4, keys) for name, keys in FAMILIES.items()}
    residuals = []
    for step in (4e-7, 2e-7):
        case = beams(tmp_path, kinds, time={"step": step, "end": 2e-3})
        run = pdem.Simulation(case, threads=1)
        particles = by_id(run)
        assert len(particles["id"]) == 15
        ids = np.array([4, 9, 14])
        for rank_rows in (np.isin(run.particles.id, ids),):
            run.particles.velocity[rank_rows, 2] = 0.01
        first = run.energies()["translation"]
        worst = 0.0
        for _ in range(20):
            run.advance(round(1e-4 / step))
            energies = run.energies()
            whole = energies["translation"] + energies["rotation"] + energies["bond_energy"]
            worst = max(worst, abs(whole - first) / first)
        assert energies["bond_fracture"] == energies["bond_damping"] == 0.0
        residuals.append(worst)
    assert residuals[1] < 2e-3
    assert residuals[0] / residuals[1] == pytest.approx(4.0, rel=0.3)


def test_a_beam_that_is_bent_breaks_where_its_moment_is_largest(tmp_path):
    """At the fixed end, by bending, at the force that the section bears; its energy is booked as that of fracture."""
    count, strength = 4, 5e6
    limit = strength * math.pi * RADIUS**3 / 4.0 / (count * LENGTH)
    keys = {**FAMILIES["thick"], "tensile_strength": strength, "damping_ratio": 0.2}
    for share, broken in ((0.98, 0), (1.02, 1)):
        folder = tmp_path / str(broken)
        folder.mkdir()
        (folder / "ramp.py").write_text(
            "def f(time, position, velocity, radius, mass, id):\n"
            f"    return 0.0, 0.0, ({share * limit!r} * min(1.0, time / 2e-3) if id == {count} else 0.0)\n"
        )
        forces = [{"kind": "drag", "linear": 2.0 * MASS * 5e3}, {"kind": "python:ramp.py:f"}]
        case = beams(folder, {"thick": (count, keys)}, forces=forces, time={"step": 5e-7, "end": 4e-3})
        run = pdem.Simulation(case, threads=1)
        run.run()
        events = pdem.Results(folder / "out").breaks
        assert len(events.time) == broken
        if broken:
            assert events.ids.tolist() == [[0, 1]]
            assert events.mode.tolist() == ["bending"]
            assert run.energies()["bond_fracture"] == pytest.approx(events.energy.sum(), rel=1e-12)
            assert events.energy[0] > 0.0

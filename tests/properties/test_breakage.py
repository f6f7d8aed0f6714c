"""What breakage conserves: mass, momentum, angular momentum, centre of mass and energy, for any motion and load."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.breaking_cases import (
    COPPER,
    DENSITY,
    FLOOR,
    MASS,
    MEDIAN,
    RADIUS,
    case_of,
    dropped,
    events_of,
    feature_of,
    group,
    oedometer,
)
from pdem.engine.views.bodies import sphere_masses

COUNT = 30


def cloud(seed, speed, spin, fines="count", smallest=8.0):
    """Return spheres above a floor, half of them as pairs that collide; they move and turn at random, and are weak."""
    random, k = np.random.default_rng(seed), np.arange(COUNT // 2)
    low = np.column_stack([4.0 * RADIUS * k, np.zeros(len(k)), np.full(len(k), 1.001 * RADIUS)])
    high = low + np.array([0.0, 50.0, 10.0]) * RADIUS
    high[1::2] = high[0:-1:2] + np.array([0.0, 0.0, 2.002]) * RADIUS
    case = case_of(
        breakage={**COPPER, "smallest": RADIUS / smallest, "fines": fines}, walls=[FLOOR],
        particles=[group(np.concatenate((low, high)))], material={"youngs_modulus": 1e10}, step=5e-8,
    )  # fmt: skip
    run = pdem.Simulation(case, threads=1)
    own = run.particles
    order = np.argsort(own.id)
    velocity = random.uniform(-0.3, 0.3, (COUNT, 3)) * speed
    velocity[: COUNT // 2, 2] = -speed * random.uniform(0.3, 1.0, COUNT // 2)
    velocity[COUNT // 2 :, 2] = np.resize([0.5, -0.5], COUNT - COUNT // 2) * speed
    own["velocity"][order] = velocity
    own["angular_velocity"][order] = random.normal(size=(COUNT, 3)) * spin
    own["fracture_energy"][:] = random.uniform(0.01, 0.2, COUNT) * speed * speed
    return run


def watched(run, steps):
    """Advance; return columns and energies before and after each replacement."""
    feature, found = feature_of(run), []
    replace = feature.act

    def act(system, phases):
        before = {name: column.copy() for name, column in run.gather().items()}, run.energies()
        replace(system, phases)
        found.append((*before, {name: column.copy() for name, column in run.gather().items()}, run.energies()))

    feature.act = act
    run.advance(steps)
    return found


def vectors(columns, name, rows):
    return [[Fraction(x) for x in row] for row in columns[name][rows].tolist()]


def cross(a, b):
    return [a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3] for k in range(3)]


def largest(vector):
    return float(max(abs(x) for x in vector))


def exact_errors(before, after, event):
    """Return relative errors of the centre, momentum and angular momentum of the fragments of one particle, exactly."""
    (row,) = np.flatnonzero(before["id"] == event["id"])
    mine = np.flatnonzero((after["id"] >= event["first"]) & (after["id"] < event["first"] + event["count"]))
    radius = [Fraction(r) for r in after["radius"][mine].tolist()]
    cubes = [r**3 for r in radius]
    volume = sum(cubes)
    centre, velocity, spin = (vectors(before, name, [row])[0] for name in ("position", "velocity", "angular_velocity"))
    places = [[x - y for x, y in zip(one, centre, strict=True)] for one in vectors(after, "position", mine)]
    speeds = [[x - y for x, y in zip(one, velocity, strict=True)] for one in vectors(after, "velocity", mine)]
    spins = vectors(after, "angular_velocity", mine)
    shift = [sum(m * x[a] for m, x in zip(cubes, places, strict=True)) / volume for a in range(3)]
    drift = [sum(m * v[a] for m, v in zip(cubes, speeds, strict=True)) / volume for a in range(3)]
    turning = [Fraction(0)] * 3
    for m, r, x, v, w in zip(cubes, radius, places, speeds, spins, strict=True):
        orbit = cross(x, v)
        turning = [t + m * o + Fraction(2, 5) * m * r * r * s for t, o, s in zip(turning, orbit, w, strict=True)]
    expected = [Fraction(2, 5) * volume * Fraction(before["radius"][row]) ** 2 * w for w in spin]
    rim = RADIUS * max(largest(spin), 1e-9)
    lost = largest([t - e for t, e in zip(turning, expected, strict=True)]) / max(largest(expected), 1e-300)
    inside = max(
        math.sqrt(sum(float(x) ** 2 for x in place)) + float(r) for place, r in zip(places, radius, strict=True)
    )
    return largest(shift) / RADIUS, largest(drift) / (rim + largest(velocity)), lost, inside, volume


@settings(max_examples=12)
@given(
    st.integers(0, 10**6), st.floats(5.0, 40.0), st.floats(0.0, 1000.0), st.sampled_from(["count", "keep"]),
    st.sampled_from([3.0, 6.0, 12.0]),
)  # fmt: skip
def test_each_event_conserves_what_it_must(seed, speed, spin, fines, smallest):
    """The angular momentum is exact if the contacts release any energy; their energy covers what turning needs."""
    run = cloud(seed, speed, spin, fines, smallest)
    start = run.gather()
    whole = sum(Fraction(m) for m in masses(start))
    found = watched(run, 1500)
    events = events_of(run)
    assert len(events["id"]) > 0.5 * COUNT
    assert np.all(events["released"] >= 0.0)
    kinds = ("id", "first_fragment", "fragments", "fines", "mass", "released")
    for before, then, after, now in found:
        for number, first, count, dust, mass, released in zip(*(events[one].tolist() for one in kinds), strict=True):
            if number in after["id"] or number not in before["id"]:
                continue
            if not count:
                assert dust == mass
                continue
            errors = exact_errors(before, after, {"id": number, "first": first, "count": count})
            assert errors[0] < 1e-13  # of positions far from the origin
            assert errors[1] < 1e-14
            # all of the energy is used up where the spin is limited, see the next test
            assert errors[2] < (2e-12 if released > 1e-12 * mass * speed * speed else 0.3)
            assert errors[3] < RADIUS * (1.0 + 1e-12)
            assert errors[4] <= Fraction(RADIUS) ** 3
        moved = max(abs(then["translation"]), abs(then["rotation"]))
        assert now["residual"] - then["residual"] == pytest.approx(0.0, abs=1e-14 * moved)
    end = run.gather()
    assert len(set(end["id"].tolist())) == len(end["id"])
    lost = whole - sum(Fraction(m) for m in masses(end))
    assert lost >= 0
    assert feature_of(run).values(run.system, None)["fines_mass"] == float(lost)
    assert run.energies()["breakage"] == pytest.approx(math.fsum(events["released"].tolist()), rel=1e-14)
    if fines == "keep":
        assert lost <= Fraction(1e-9) * whole + len(events["id"]) * Fraction(MASS) / int(smallest) ** 3


def masses(columns):
    return sphere_masses(columns["radius"], np.full(len(columns["radius"]), DENSITY)).tolist()


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.floats(10.0, 30.0), st.floats(2000.0, 2e4))
def test_fast_spins_are_slowed_rather_than_given_energy(seed, speed, spin):
    """Fragments inside the sphere have less moment of inertia; if no load makes up for it, their spin is limited."""
    run = cloud(seed, speed, spin)
    own = run.particles
    own["position"][:, 2] += RADIUS
    own["overload"][:] = 1e3
    run.system.progress.request_event()
    ((before, _, after, _),) = watched(run, 2)
    events = events_of(run)
    assert len(events["id"]) == COUNT
    assert np.all(events["released"] >= 0.0)
    assert np.all(events["partner"] == events["id"])
    parent = np.repeat(events["id"], events["fragments"])
    order = np.argsort(after["id"])
    ids = np.argsort(before["id"])
    turned = after["angular_velocity"][order]
    given_spin = before["angular_velocity"][ids][parent]
    along = np.sum(turned * given_spin, axis=1) / np.sum(given_spin**2, axis=1)
    assert np.all(along > 0.7)
    assert np.all(along < 2.0)


def test_energy_of_two_thousand_breaks():
    run = dropped(2000, 3.0 * MEDIAN, {**COPPER, "smallest": RADIUS / 3.0})
    found = watched(run, 380)
    assert feature_of(run).broken > 1950
    for _, then, _, now in found:
        assert abs(now["residual"] - then["residual"]) < 1e-15 * 2000.0 * MASS * 3.0 * MEDIAN
        assert now["breakage"] > then["breakage"]


def test_an_oedometer_of_breaking_spheres_closes_its_energy_balance():
    """The work of the plate is in motion, contacts, friction, damping, breakage and fines; sizes only fall."""
    run, indices = oedometer(), [0.0]
    for _ in range(8):
        run.advance(1500)
        indices.append(breakage_index(run))
        energies = run.energies()
        assert abs(energies["residual"]) < 1e-3 * energies["wall_work"]
    assert feature_of(run).broken > 20
    assert energies["breakage"] > 0.2 * energies["wall_work"]
    assert np.all(np.diff(indices) >= 0.0)
    assert indices[-1] > 0.1


def breakage_index(run):
    """Return the mean over the mass of the logarithm of the size lost, fines counted with the smallest size."""
    columns = run.gather()
    fines = feature_of(run).values(run.system, None)["fines_mass"]
    mass, first = np.array(masses(columns)), columns["radius"][columns["generation"] == 0].max(initial=0.98 * RADIUS)
    lost = np.log(first / columns["radius"])
    return (np.sum(mass * lost) + fines * math.log(6.0)) / (np.sum(mass) + fines)


def test_neighbours_of_broken_spheres_keep_their_momentum():
    """In a periodic box the momentum changes at replacements alone: contacts do not act on one of two bodies."""
    cells = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3)
    side = 8.0 * RADIUS
    random = np.random.default_rng(5)
    case = case_of(
        breakage={**COPPER, "fracture_energy": 2.0, "smallest": RADIUS / 4.0, "damage": 5.0},
        particles=[group((2.0 * cells + 1.0) * RADIUS, 0.97 * RADIUS)], material={"youngs_modulus": 1e9}, step=2e-7,
        domain={"lower": [0.0] * 3, "upper": [side] * 3, "periodic": [True] * 3}, law={"restitution": 0.7},
    )  # fmt: skip
    run = pdem.Simulation(case, threads=1)
    run.particles["velocity"][:] = random.normal(size=(64, 3)) * 4.0
    run.particles["angular_velocity"][:] = random.normal(size=(64, 3)) * 100.0
    last = momentum(run.gather())
    size = np.abs(masses(run.gather())[0] * run.particles.velocity).sum()
    for before, _, after, _ in watched(run, 2500):
        assert momentum(before) == pytest.approx(last, abs=1e-13 * size)
        last = momentum(after)
    assert feature_of(run).broken > 30
    assert momentum(run.gather()) == pytest.approx(last, abs=1e-13 * size)


def momentum(columns):
    return np.sum(np.array(masses(columns))[:, None] * columns["velocity"], axis=0)

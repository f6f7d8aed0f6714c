"""Particles that break, against the numbers of the theory: damage, strengths, drops, sizes of fragments, crushing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.breaking_cases import (
    COPPER,
    DENSITY,
    FLOOR,
    MASS,
    MEDIAN,
    RADIUS,
    by_id,
    case_of,
    dropped,
    events_of,
    feature_of,
    group,
    speed_of,
)
from pdem.contact.strength_watch import damages
from pdem.features.breakage.fragment_curve import fragment_curve, passing_at
from pdem.features.breakage.particle_strengths import energy_shares
from pdem.features.breakage.size_tables import SIZE_TABLES

IMPACT = 380
"""Steps from the start of a drop to the end of its impact, at the speeds of these tests."""


def damage_of(ratios, exponent):
    result = np.empty(len(ratios))
    damages(np.array(ratios), exponent, result)
    return result


def test_damage_is_that_of_the_theory():
    expected = {0.1: 0.004458, 0.25: 0.028310, 0.5: 0.120615, 0.75: 0.311224, 0.9: 0.531877, 0.99: 0.841255}
    assert damage_of([*expected], 5.0) == pytest.approx([*expected.values()], abs=6e-7)
    assert damage_of([0.5], 7.0)[0] == pytest.approx(0.064037, abs=6e-7)


def test_damage_with_the_exponent_of_the_closed_form():
    """D = 1 - sqrt(1 - x) for 2.5; near x = 1 it is as steep as the square root."""
    ratios = np.concatenate((np.linspace(0.0, 0.999, 500), [1e-300, 1e-12, 1e-6]))
    exact = ratios / (1.0 + np.sqrt(1.0 - ratios))
    assert damage_of(ratios, 2.5) == pytest.approx(exact, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("exponent", [1.0, 2.5, 5.0, 7.0, 50.0])
def test_damage_is_the_smallest_root_and_grows_with_the_energy(exponent):
    ratios = np.sort([*np.linspace(0.0, 1.0, 2000, endpoint=False), *(1.0 - np.geomspace(2e-16, 1e-3, 50))])
    found = damage_of(ratios, exponent)
    right = (2.0 * exponent * ratios / (2.0 * exponent - 5.0 * found + 5.0)) ** (0.4 * exponent)
    assert found == pytest.approx(right, rel=1e-6, abs=1e-14)
    assert np.all(np.diff(found) >= -1e-7)  # a double root at x = 1, to half of the digits
    assert found[0] == 0.0
    assert found[-1] <= 1.0


def impacts(exponent, ratio, most=20):
    """Return in which of equal impacts a sphere breaks, and its strengths after each over that before the first one.

    Without gravity the sphere moves up from the floor after an impact; then the script turns its velocity round.
    """
    run = dropped(1, MEDIAN, {**COPPER, "damage": exponent})
    run.particles["fracture_energy"][:] = MEDIAN / ratio
    found = []
    for number in range(1, most + 1):
        run.advance(IMPACT)
        if feature_of(run).broken:
            return number, found
        assert run.particles["velocity"][0, 2] == pytest.approx(speed_of(MEDIAN), rel=1e-5)
        found.append(run.particles["fracture_energy"][0] * ratio / MEDIAN)
        run.particles["velocity"][:, 2] = -speed_of(MEDIAN)
    return most + 1, found


COUNTS = [
    (5.0, 0.9, 2), (5.0, 0.75, 2), (5.0, 0.5, 5), (5.0, 0.4, 7), (5.0, 0.3, 13), (2.5, 0.5, 3), (2.5, 0.4, 4),
    (2.5, 0.3, 6), (5.0, 1.01, 1),
]  # fmt: skip
STRENGTHS = {(5.0, 0.5): [0.879385, 0.738360, 0.560443], (2.5, 0.5): [0.707107, 0.382683]}


@pytest.mark.parametrize(("exponent", "ratio", "expected"), COUNTS)
def test_equal_impacts_break_at_the_count_of_the_theory(exponent, ratio, expected):
    number, strengths = impacts(exponent, ratio)
    assert number == expected
    exact = [1.0]
    for _ in strengths:
        exact.append(exact[-1] * (1.0 - damage_of([ratio / exact[-1]], exponent)[0]))
    assert strengths == pytest.approx(exact[1:], abs=2e-4)
    if (known := STRENGTHS.get((exponent, ratio))) is not None:
        assert strengths[: len(known)] == pytest.approx(known, abs=2e-4)


def test_without_damage_impacts_below_the_strength_leave_no_trace():
    run = dropped(1, MEDIAN)
    run.particles["fracture_energy"][:] = 1.001 * MEDIAN
    run.advance(IMPACT)
    assert run.particles["fracture_energy"][0] == 1.001 * MEDIAN
    assert feature_of(run).broken == 0


def copper(radius=RADIUS):
    (model, _) = feature_of(dropped(1, 1.0)).strengths_of.models
    return model


def test_medians_of_the_copper_ore():
    medians = copper().median(np.array([1.0, 2.0, 5.0, 10.0, 20.0, 50.0]) * 0.5e-3)
    assert medians == pytest.approx([2941.118, 1384.419, 596.360, 377.855, 284.055, 236.570], abs=6e-4)


def test_broken_shares_keep_the_median_and_end_at_the_greatest_strength():
    ratios = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
    radius = np.full(6, RADIUS)
    found = copper().broken_share(radius, ratios * MEDIAN)
    assert found == pytest.approx([0.022121, 0.144772, 0.5, 0.768749, 0.915165, 0.996989], abs=6e-7)
    assert copper().quantile(radius, found) / MEDIAN == pytest.approx(ratios, rel=1e-12)
    ends = copper().broken_share(np.full(4, RADIUS), MEDIAN * np.array([0.0, 1e-9, 4.0, 100.0]))
    assert ends == pytest.approx([0.0, 0.0, 1.0, 1.0], abs=1e-12)
    extreme = copper().quantile(np.full(4, RADIUS), np.array([2.0**-53, 1e-9, 1.0 - 1e-9, 1.0 - 2.0**-53]))
    assert np.all(extreme > 0.0)
    assert np.all(extreme < 4.0 * MEDIAN)


def test_t10_of_energies_over_the_median_of_those_that_broke():
    """At high energies all spheres break, and the median is that of all; below, that of the weaker ones."""
    ratio = np.array([4.0, 8.0])
    found = copper().t10(np.full(2, RADIUS), ratio * MEDIAN)
    assert found == pytest.approx([7.415, 14.018], abs=6e-4)
    weaker = copper().quantile(np.full(1, RADIUS), np.array([0.25]))
    half = copper().t10(np.full(1, RADIUS), np.array([MEDIAN]))
    assert half == pytest.approx(67.7 * (1.0 - np.exp(-0.029 * MEDIAN / weaker)), rel=1e-12)


def share_tables(**moduli):
    materials = {
        name: {"density": DENSITY, **({} if modulus is None else {"youngs_modulus": modulus, "poisson_ratio": 0.25})}
        for name, modulus in moduli.items()
    }
    more = {"materials": {**materials, "ore": {"density": DENSITY, "youngs_modulus": 1e9, "poisson_ratio": 0.25}}}
    case = case_of(particles=[group([0.0] * 3)], more=more)
    return energy_shares(case), [*more["materials"]]


def test_shares_go_by_stiffness():
    table, names = share_tables(soft=2.5e8, rigid=None)
    ore, soft, rigid = (names.index(one) for one in ("ore", "soft", "rigid"))
    count = len(names)
    assert table[ore, ore] == table[ore, count + ore] == 0.5
    assert table[ore, soft] == pytest.approx(0.2, rel=1e-15)
    assert table[soft, ore] == pytest.approx(0.8, rel=1e-15)
    assert table[ore, count + rigid] == 1.0
    assert table[ore, count + soft] == pytest.approx(0.2, rel=1e-15)
    assert np.all(table[:, :count] + table[:, :count].T == pytest.approx(1.0))


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_broken_share_of_a_thousand_drops(ratio):
    """Within three standard deviations of the binomial distribution; the energy of each is that of its impact."""
    run = dropped(1000, ratio * MEDIAN)
    run.advance(IMPACT)
    share = {0.25: 0.022121, 0.5: 0.144772, 1.0: 0.5, 1.5: 0.768749, 2.0: 0.915165, 3.0: 0.996989}[ratio]
    events = events_of(run)
    assert abs(len(events["id"]) - 1000 * share) <= 3.0 * math.sqrt(1000 * share * (1.0 - share))
    assert events["energy"] == pytest.approx(ratio * MEDIAN, rel=1e-4)
    assert np.all(events["strength"] <= events["energy"])
    assert np.all(events["partner"] == -1)
    assert feature_of(run).broken == len(events["id"])
    assert np.all(run.particles["generation"][run.particles.id >= 1000] == 1)
    survivors = run.particles.id < 1000
    assert np.all(run.particles["fracture_energy"][survivors] > ratio * MEDIAN * (1.0 - 1e-4))


def test_fragments_have_the_sizes_of_the_table():
    """Mass above each size of a thousand spheres with one t10, within 1 % of the table and chance.

    Fragments that are larger than the room between the contacts are cut in two, which takes some mass from the largest.
    The less the stiffer the material is, here as stiff as ore.
    """
    run = dropped(1000, 3.0 * MEDIAN, material={"youngs_modulus": 7e10}, step=4e-8)
    run.advance(400)
    events, columns = events_of(run), by_id(run)
    assert len(events["id"]) > 950
    assert np.ptp(events["t10"]) < 1e-6 * events["t10"].max()
    curve = fragment_curve(SIZE_TABLES["copper"], float(events["t10"][0]))
    volume, size = columns["radius"][columns["id"] >= 1000] ** 3, columns["radius"][columns["id"] >= 1000] / RADIUS
    parent = np.repeat(np.arange(len(events["id"])), events["fragments"])
    for n in (1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 7.9):
        shares = np.bincount(parent, np.where(size > 1.0 / n, volume, 0.0)) / RADIUS**3
        chance = 3.0 * shares.std() / math.sqrt(len(shares))
        cut = 0.02 if n < 2.0 else 0.0
        assert -max(0.01, chance) - cut < shares.mean() - (1.0 - passing_at(curve, n**-3)) < max(0.01, chance), n
        assert chance < 0.04
    kept = np.bincount(parent, volume) * MASS / RADIUS**3
    assert kept == pytest.approx(events["mass"] - events["fines"], rel=1e-12)
    fines = float(np.sum(events["fines"]) / np.sum(events["mass"]))
    assert fines == pytest.approx(passing_at(curve, 8.0**-3), abs=0.01)


def test_fragments_are_listed_by_their_parents():
    run = dropped(50, 2.0 * MEDIAN)
    run.advance(IMPACT)
    events, columns = events_of(run), by_id(run)
    assert events["first_fragment"][0] == 50
    ends = events["first_fragment"] + events["fragments"]
    assert ends[:-1].tolist() == sorted(events["first_fragment"][1:].tolist()) or np.any(np.diff(events["step"]))
    for row, first in enumerate(events["first_fragment"].tolist()):
        mine = (columns["id"] >= first) & (columns["id"] < ends[row])
        assert np.count_nonzero(mine) == events["fragments"][row]
        kept = float(np.sum(columns["radius"][mine] ** 3)) / RADIUS**3
        assert kept == pytest.approx(1.0 - events["fines"][row] / events["mass"][row], rel=1e-12)


PLATES = [
    FLOOR,
    {
        "name": "plate", "shape": "plane", "material": "steel", "point": [0.0, 0.0, 2.0 * RADIUS],
        "normal": [0.0, 0.0, -1.0], "translation": {"velocity": [0.0, 0.0, -0.2]},
    },
]  # fmt: skip


def pressed(breakage, **options):
    """Return a sphere between two plates that approach slowly, after it has broken."""
    run = pdem.Simulation(
        case_of(breakage=breakage, particles=[group([0.0, 0.0, RADIUS])], walls=PLATES, **options), threads=1
    )
    while not feature_of(run).broken:
        run.advance(1000)
        assert run.time < 1e-2
    return run


def test_slow_crushing_breaks_at_the_strength():
    """The load still grows during the loading time; both contacts have the energy, and each counts alone."""
    run = pressed(COPPER)
    (energy,), (strength,) = events_of(run)["energy"], events_of(run)["strength"]
    assert strength < energy < 1.06 * strength
    assert events_of(run)["partner"][0] < 0


def test_the_loading_time_limits_the_load_beyond_the_strength():
    energies = []
    for time in (1e-6, 1e-4):
        run = pressed(COPPER, more={"breakage": {"loading_time": time}})
        energies.append(events_of(run)["energy"][0] / events_of(run)["strength"][0])
    assert 1.0 <= energies[0] < 1.003
    assert energies[1] > energies[0] + 0.01


STRESS = {
    "model": "stress", "strength": 8e6, "size": 0.01, "exponent": 0.5, "spread": 5.0, "smallest": RADIUS / 6.0,
}  # fmt: skip


@pytest.mark.compiles
def test_the_stress_model_breaks_at_the_force_over_the_squared_diameter():
    run = pressed(STRESS, more={"breakage": {"loading_time": 2e-6}})
    events = events_of(run)
    assert events["stress"] == pytest.approx(events["strength"], rel=5e-3)
    assert events["stress"][0] >= events["strength"][0]
    (model, _) = feature_of(run).strengths_of.models
    half = np.full(1, 0.5)
    assert model.quantile(np.full(1, RADIUS), half) == pytest.approx(8e6, rel=1e-12)
    assert model.quantile(np.full(1, 4.0 * RADIUS), half) == pytest.approx(4e6, rel=1e-12)
    shares = np.array([0.01, 0.3, 0.9])
    assert model.broken_share(np.full(3, 0.002), model.quantile(np.full(3, 0.002), shares)) == pytest.approx(shares)


ADDING = {"model": "ab-t10", "rate": 1e-3, "size": 0.01, "threshold": 50.0, "smallest": RADIUS / 8.0}


def test_energies_add_up_until_spheres_break():
    """Each impact counts with its energy beyond the threshold; the number follows from the strength at the start."""
    energy = 250.0
    run = dropped(60, energy, ADDING)
    start = by_id(run)
    needed = np.ceil((start["fracture_energy"] - 50.0) / (energy - 50.0)).astype(int)
    broken = np.zeros(60, int)
    for number in range(1, 6):
        run.advance(430)
        broken[events_of(run)["id"][broken[events_of(run)["id"]] == 0]] = number
        run.remove([one for one in run.particles.id.tolist() if one >= 60])
        for name in ("position", "velocity"):
            run.particles[name][:] = start[name][run.particles.id]
    assert np.array_equal(broken[needed <= 5], needed[needed <= 5])
    assert not np.any(broken[needed > 5])
    assert len(set(needed[needed <= 5].tolist())) == 5
    first = events_of(run)["id"] < 60
    t10, number = events_of(run)["t10"][first], broken[events_of(run)["id"][first]]
    added = -np.log1p(-t10 / 67.7) / 0.029 / (2.0 * RADIUS / 0.01)
    few = number <= 3  # of more impacts t10 is its largest value to rounding
    assert added[few] == pytest.approx(number[few] * (energy - 50.0), rel=0.03)


def test_impacts_below_the_threshold_do_not_add_up():
    run = dropped(10, 49.0, ADDING)
    before = run.particles["fracture_energy"].copy()
    run.advance(600)
    assert np.all(run.particles["velocity"][:, 2] > 0.0)
    assert np.array_equal(run.particles["fracture_energy"], before)


OWN = """
def weak(radius, share):
    return 100.0 * (1.0 + share) * (0.005 / radius)
"""


def test_a_model_in_a_file_of_the_user(tmp_path):
    (tmp_path / "laws.py").write_text(OWN)
    own = {"model": "python:laws.py:weak", "smallest": RADIUS / 8.0, "damage": 5.0}
    run = dropped(200, 150.0, own, folder=tmp_path)
    strengths = by_id(run)["fracture_energy"]
    assert np.all((strengths > 100.0) & (strengths < 200.0))
    run.advance(600)
    assert events_of(run)["id"].tolist() == np.flatnonzero(strengths <= 150.0 * (1.0 + 1e-4)).tolist()
    born = run.particles.id >= 200
    large = born & (run.particles.radius >= 2.0 * own["smallest"])
    assert np.all(run.particles["fracture_energy"][large] > 100.0 * 0.005 / run.particles.radius[large] * (1 - 1e-12))
    assert not np.any(run.particles["fracture_energy"][born & ~large])


@pytest.mark.parametrize("other", [1e9, 3e9])
def test_two_spheres_share_the_energy_by_their_stiffness(other):
    """Head-on at a speed at which the shares decide which of two spheres of a known strength breaks."""
    materials = {
        "hard": {"density": DENSITY, "youngs_modulus": other, "poisson_ratio": 0.25},
        "ore": {
            "density": DENSITY, "youngs_modulus": 1e9, "poisson_ratio": 0.25, "breakage": COPPER,
        },
    }  # fmt: skip
    share = other / (1e9 + other)
    pair = [
        group([-1.0001 * RADIUS, 0.0, 0.0], velocity=(20.0, 0.0, 0.0)),
        group([1.0001 * RADIUS, 0.0, 0.0], velocity=(-20.0, 0.0, 0.0), material="hard"),
    ]
    for factor, breaks in ((0.999, True), (1.001, False)):
        run = pdem.Simulation(case_of(particles=pair, more={"materials": materials}), threads=1)
        ore = run.particles["fracture_energy"] > 0.0
        run.particles["fracture_energy"][ore] = factor * share * 400.0
        run.advance(600)
        assert feature_of(run).broken == breaks
        if breaks:
            assert events_of(run)["energy"] == pytest.approx(share * 400.0, rel=2e-4)
            assert events_of(run)["partner"] == 1 - events_of(run)["id"]


def test_impacts_break_at_the_end_of_loading():
    """The energy of the event is that of the impact, not the strength, however small that is."""
    run = dropped(3, MEDIAN)
    run.particles["fracture_energy"][:] = MEDIAN * np.array([0.01, 0.5, 0.9999])
    run.advance(IMPACT)
    assert events_of(run)["energy"] == pytest.approx(MEDIAN, rel=1e-4)
    assert np.ptp(events_of(run)["step"]) == 0
    # the largest energy comes in the step in which the speed changes its sign
    assert abs(run.particles["velocity"][:, 2].min()) < speed_of(MEDIAN)


def test_generations_count_the_breaks_of_ancestors():
    sizes = {**COPPER, "smallest": RADIUS / 12.0}
    run = dropped(20, 3.0 * MEDIAN, sizes, material={"youngs_modulus": 2e10}, step=5e-8)
    for _ in range(6):
        run.advance(1000)
        run.particles["velocity"][:, 2] -= 20.0
    events, columns = events_of(run), by_id(run)
    assert events["generation"].max() >= 2
    generation = {int(one): 0 for one in range(20)}
    for first, number, before in zip(
        events["first_fragment"].tolist(), events["fragments"].tolist(), events["generation"].tolist(), strict=True
    ):
        generation.update(dict.fromkeys(range(first, first + number), before + 1))
    assert columns["generation"].tolist() == [generation[one] for one in columns["id"].tolist()]
    assert events["generation"].tolist() == [generation[one] for one in events["id"].tolist()]
    assert np.all(columns["radius"] >= RADIUS / 12.0)


def test_spheres_of_less_than_twice_the_smallest_do_not_break():
    grains = [
        group([0.0, 0.0, 1.001 * RADIUS], velocity=(0.0, 0.0, -100.0)),
        group([1.0, 0.0, 1.001 * 2.0 * RADIUS], 2.0 * RADIUS, velocity=(0.0, 0.0, -40.0)),
    ]
    case = case_of(breakage={**COPPER, "smallest": RADIUS / 1.9}, particles=grains, walls=[FLOOR])
    run = pdem.Simulation(case, threads=1)
    assert run.particles["fracture_energy"][run.particles.id == 0] == 0.0
    run.advance(700)
    assert events_of(run)["id"].tolist() == [1]

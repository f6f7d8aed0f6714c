"""Packed fills: no overlaps at the fraction that is asked for, in any region, and up to random close packing."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import make_case
from pdem.case.groups.initial import initial_particles
from pdem.case.groups.shapes import shape_of
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import CaseError
from pdem.particles import regions
from pdem.particles.clearance import overlapping_pairs, touching_walls
from pdem.run.simulation import Simulation

POWER = {"distribution": "power-law", "exponent": -3.0, "min": 0.035, "max": 0.1}
CYLINDER = {"shape": "cylinder", "centre": [0.5, 0.5, 0.5], "axis": [1.0, 1.0, 0.0], "radius": 0.3, "length": 0.7}
BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.4}


def packed_case(folder, *fills, radius=0.08, periodic=(True, True, True), dimension=3, walls=(), more=()):
    """Return a case with groups that are packed, after other groups."""
    groups = [{"material": "grain", "radius": radius, "fill": {"arrangement": "packed", **fill}} for fill in fills]
    return make_case(
        folder, lower=[0.0] * 3, upper=[1.0] * 3, periodic=periodic, dimension=dimension, walls=walls,
        more={"particles": [*more, *groups]},
    )  # fmt: skip


def fraction_of(case, particles, size=1.0):
    radius, plane = particles["radius"], case.domain.dimension == 2
    return float((np.pi * radius**2 if plane else 4.0 / 3.0 * np.pi * radius**3).sum() / size)


@pytest.mark.parametrize(
    ("fill", "options"),
    [
        ({"volume_fraction": 0.6}, {}),
        ({"volume_fraction": 0.55}, {"periodic": (True, False, True)}),
        ({"volume_fraction": 0.6}, {"radius": POWER}),
        ({"volume_fraction": 0.4, **CYLINDER}, {"periodic": (False, False, False)}),
        ({"count": 60, **BALL}, {"periodic": (False, True, False)}),
        ({"volume_fraction": 0.8}, {"radius": 0.04, "dimension": 2, "periodic": (True, True, False)}),
        ({"mass": 500.0, "seed": 4}, {}),
    ],
)
def test_spheres_fill_what_is_asked_for_and_do_not_overlap(tmp_path, fill, options):
    case = packed_case(tmp_path, fill, **options)
    made = [initial_particles(case) for _ in range(2)]
    particles, wanted, region = made[0], case.particles[0].fill, case.particles[0].fill
    np.testing.assert_array_equal(particles["position"], made[1]["position"])
    assert not len(overlapping_pairs(particles["position"], particles["radius"], case.domain)[0])
    free = regions.unbounded_axes(region, case.domain)
    assert regions.contains(region, particles["position"], particles["radius"] * (1.0 - 1e-9), free).all()
    fraction = fraction_of(case, particles, regions.size(region, case.domain.dimension))
    if wanted.volume_fraction is not None:
        assert wanted.volume_fraction <= fraction < wanted.volume_fraction + 0.02
    if wanted.count is not None:
        assert len(particles["id"]) == wanted.count
    if wanted.mass is not None:
        density = case.materials["grain"].density
        assert fraction * density == pytest.approx(wanted.mass, abs=0.6 * density * 4.0 * 0.08**3)


def test_without_a_number_spheres_are_added_until_they_jam(tmp_path):
    """Random close packing: 0.64, in a small box a little less; hardly anything can be added."""
    case = packed_case(tmp_path, {}, radius=0.08)
    particles = initial_particles(case)
    position, radius = particles["position"], particles["radius"]
    assert 0.60 < fraction_of(case, particles) < 0.65
    assert not len(overlapping_pairs(position, radius, case.domain)[0])
    # neighbours within a hundredth of the diameter: six of each, but for rattlers, at jamming
    near = len(overlapping_pairs(position, 1.01 * radius, case.domain)[0])
    assert 4.5 < 2.0 * near / len(radius) < 7.0


def test_what_jams_before_is_refused(tmp_path):
    case = packed_case(tmp_path, {"volume_fraction": 0.72}, radius=0.09)
    with pytest.raises(
        CaseError, match=r"particles\[0\]\.fill: \d+ particles fill 0\.72\d* of the region, and they jam"
    ):
        initial_particles(case)


def test_groups_are_mixed_and_others_stay_where_they_are(tmp_path):
    more = [{"material": "grain", "radius": 0.2, "positions": [[0.1, 0.5, 0.5]]}]
    fills = {"volume_fraction": 0.25}, {"volume_fraction": 0.25, "seed": 3}
    case = packed_case(tmp_path, *fills, more=more)
    particles = initial_particles(case)
    position, group = particles["position"], particles["id"] % 2
    assert position[0].tolist() == [0.1, 0.5, 0.5]
    assert not len(overlapping_pairs(position, particles["radius"], case.domain)[0])
    assert np.abs(position[1:].mean(axis=0) - 0.5).max() < 0.1
    assert len(np.unique(group)) == 2


def test_walls_are_not_crossed(tmp_path):
    """A tube across the region: spheres lie wholly inside or outside."""
    wall = {
        "shape": "cylinder", "centre": [0.5, 0.5, 0.5], "axis": [0.0, 0.0, 1.0], "radius": 0.3, "length": 1.2,
        "caps": "none", "deviation": 0.01,
    }  # fmt: skip
    case = packed_case(tmp_path, {"volume_fraction": 0.45}, radius=0.05, periodic=(False,) * 3, walls=(wall,))
    particles = initial_particles(case)
    position, radius = particles["position"], particles["radius"]
    (mesh,) = read_walls(case)
    assert not len(touching_walls(position, radius, mesh.vertices, mesh.facet_start, mesh.facet_vertices)[0])
    away = np.linalg.norm(position[:, :2] - 0.5, axis=1)
    inside, outside = away + radius <= 0.3, away - radius >= 0.3 - 0.011
    assert (inside | outside).all()
    assert inside.sum() > 50
    assert outside.sum() > 50
    assert not len(overlapping_pairs(position, radius, case.domain)[0])


@pytest.mark.parametrize(
    ("fills", "match"),
    [
        (({"pressure": 0.0},), r"fill\.pressure = 0\.0: must be greater than 0"),
        (({"pressure": 1.0, "count": 5},), r"fill\.pressure = 1\.0: is not allowed together with count"),
        (({"pressure": 1.0}, {"count": 5}), r"fill\.pressure = 1\.0: is that of one packing"),
        (({"pressure": 1.0, "arrangement": "random"},), "presses packings"),
        (({"count": 5, "connected_to": [0, 0, 0], "avoid_walls": False},), "must be true with connected_to"),
        (({"count": 5}, {}), r"particles\[1\]\.fill\.volume_fraction: is missing: several groups are packed"),
    ],
)
def test_what_packings_do_not_know_is_refused(tmp_path, fills, match):
    with pytest.raises(CaseError, match=match):
        packed_case(tmp_path, *fills)


@pytest.mark.parametrize(
    ("fill", "match"),
    [
        ({"pressure": 1e6}, r"fill\.pressure = 1e\+06 Pa presses particles .*ask for less than"),
        ({"pressure": 1e-7}, r"fill\.pressure = 1e-07 Pa presses particles .*ask for more than"),
        ({"upper": [1.0, 1.0, 0.1], "pressure": 100.0}, "no particle fits into the region; enlarge it"),
        ({"count": 5, "connected_to": [2.0, 0.5, 0.5]}, r"connected_to = \[2, 0\.5, 0\.5\] m is outside of"),
    ],
)
def test_what_cannot_be_is_refused_with_the_limit(tmp_path, fill, match):
    with pytest.raises(CaseError, match=match):
        initial_particles(packed_case(tmp_path, fill))


def test_adhesive_contacts_have_no_packing_of_a_pressure(tmp_path):
    sticky = {"friction": 0.1, "restitution": 0.5, "adhesion": {"model": "dmt", "work_of_adhesion": 0.1}}
    case = packed_case(tmp_path, {"pressure": 100.0})
    case.interactions["grain-grain"] = type(case.interactions["grain-grain"]).model_validate(sticky)
    with pytest.raises(CaseError, match=r"cannot be used where contacts adhere \(grain-grain\)"):
        initial_particles(case)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_run_begins_with_the_pressure_and_keeps_it(tmp_path, dimension):
    """The stress of the run is that which is asked for, and hardly anything moves: sqrt(p / rho) is 1 m/s."""
    pressure, radius = (1e3, 0.1) if dimension == 3 else (200.0, 0.05)
    periodic = (True, True, dimension == 3)
    case = packed_case(tmp_path, {"pressure": pressure}, radius=radius, dimension=dimension, periodic=periodic)
    simulation = Simulation(case)
    for _ in range(2):
        stress = simulation.stress()
        assert stress.pressure == pytest.approx(pressure, rel=0.005)
        assert stress.coordination_without_rattlers > 2.0 * dimension
        assert np.abs(simulation.particles.velocity).max() < 0.005
        simulation.advance(200)
    own = np.asarray(simulation.particles.radius)
    assert own[0] == pytest.approx(radius, rel=1.5 / len(own))
    assert np.ptp(own) == 0.0


def test_a_hopper_is_filled_inside_alone_around_what_stands_in_it(tmp_path):
    cone = {
        "shape": "cone", "centre": [0.5, 0.5, 0.5], "axis": [0.0, 0.0, 1.0], "length": 0.8, "radii": [0.1, 0.45],
        "caps": "lower", "deviation": 0.01,
    }  # fmt: skip
    ball = {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.13, "deviation": 0.01}
    fill = {"connected_to": [0.5, 0.5, 0.3], "upper": [1.0, 1.0, 0.7], "volume_fraction": 0.5}
    case = packed_case(tmp_path, fill, radius=0.04, periodic=(False,) * 3, walls=(cone, ball))
    particles = initial_particles(case)
    position, radius = particles["position"], particles["radius"]
    away, height = np.linalg.norm(position[:, :2] - 0.5, axis=1), position[:, 2]
    slope = 0.35 / 0.8
    assert (away + radius * np.hypot(1.0, slope) <= 0.1 + slope * (height - 0.1) + 1e-9).all()
    assert (height - radius >= 0.1 - 1e-9).all()
    assert (np.linalg.norm(position - 0.5, axis=1) >= 0.13 - 0.01 + radius).all()
    assert not len(overlapping_pairs(position, radius, case.domain)[0])
    low, high = 0.1, 0.1 + slope * 0.6
    room = np.pi * 0.6 / 3.0 * (low**2 + low * high + high**2) - 4.0 / 3.0 * np.pi * 0.13**3
    assert fraction_of(case, particles, room) == pytest.approx(0.5, abs=0.015)


def test_regions_are_kept_free(tmp_path):
    free = [{"lower": [0.3, 0.3, 0.3], "upper": [0.6, 0.6, 0.6]}, {**BALL, "radius": 0.33}, CYLINDER]
    case = packed_case(tmp_path, {"volume_fraction": 0.3, "exclude": free}, radius=0.05)
    particles = initial_particles(case)
    position, radius = particles["position"], particles["radius"]
    for region in case.particles[0].fill.exclude:
        assert (regions.distance(region, position) >= radius * (1.0 - 1e-9)).all()
    assert not len(overlapping_pairs(position, radius, case.domain)[0])


ROD = {"spheres": [[0.0, 0.0, 0.0, 0.05], [0.06, 0.0, 0.0, 0.05], [0.12, 0.0, 0.0, 0.03]]}


@pytest.mark.parametrize(
    "fill", [{"volume_fraction": 0.55}, {}, pytest.param({"pressure": 1e3}, marks=pytest.mark.slow)]
)
def test_clusters_are_packed_whole_and_turned(tmp_path, fill):
    """Their volume is that of the union of their spheres, and no two overlap but under a pressure."""
    group = {"material": "grain", "shape": "rod", "fill": {"arrangement": "packed", **fill}}
    case = make_case(
        tmp_path, lower=[0.0] * 3, upper=[0.7] * 3, periodic=(True,) * 3,
        more={"shapes": {"rod": ROD}, "particles": [group]},
    )  # fmt: skip
    particles = initial_particles(case)
    pairs, overlaps = overlapping_pairs(particles["position"], particles["radius"], case.domain)
    cluster = particles["cluster"]
    between = overlaps[cluster[pairs[:, 0]] != cluster[pairs[:, 1]]]
    fraction = len(particles["id"]) // 3 * shape_of(case, "rod").solid.volume / 0.7**3
    if "pressure" in fill:
        assert Simulation(case).stress().pressure == pytest.approx(1e3, rel=0.005)
    else:
        assert not len(between)
        assert fraction == pytest.approx(fill.get("volume_fraction", 0.63), abs=0.02 if fill else 0.06)

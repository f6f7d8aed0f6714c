"""Packed fills: no overlaps at the fraction that is asked for, in any region, and up to random close packing."""

from __future__ import annotations

import numpy as np
import pytest

from cases import make_case
from pdem.case.initial import initial_particles
from pdem.case.wall_files import read_walls
from pdem.foundation.errors import CaseError
from pdem.particles import regions
from pdem.particles.clearance import overlapping_pairs, touching_walls

POWER = {"distribution": "power-law", "exponent": -3.0, "min": 0.035, "max": 0.1}
CYLINDER = {
    "shape": "cylinder",
    "centre": [0.5, 0.5, 0.5],
    "axis": [1.0, 1.0, 0.0],
    "radius": 0.3,
    "length": 0.7,
}
BALL = {"shape": "sphere", "centre": [0.5, 0.5, 0.5], "radius": 0.4}


def packed_case(folder, *fills, radius=0.08, periodic=(True, True, True), dimension=3, walls=(), more=()):
    """Return a case with groups that are packed, after other groups."""
    groups = [
        {"material": "grain", "radius": radius, "fill": {"arrangement": "packed", **fill}} for fill in fills
    ]
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
        (({"count": 5, "exclude": [BALL]},), "is not known to packings"),
        (({"count": 5}, {}), r"particles\[1\]\.fill\.volume_fraction: is missing: several groups are packed"),
    ],
)
def test_what_packings_do_not_know_is_refused(tmp_path, fills, match):
    with pytest.raises(CaseError, match=match):
        packed_case(tmp_path, *fills)

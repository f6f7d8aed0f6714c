"""Fills of clusters: members are apart where balls about the clusters are not, and places are those of one process."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.clusters import RADIUS, ROD, TETRAPOD
from helpers.rank_cases import communicator
from pdem.case.groups.initial import initial_particles
from pdem.containers.exchange import Alone
from pdem.engine.ranks import exchange_of

REACH = 5.0 * RADIUS
SHAPES = {"rod": ROD, "tetrapod": TETRAPOD}
BALL = {"shape": "sphere", "centre": [0.02, 0.01, 0.012], "radius": 0.005}

CASE = """
time = {step = 1e-6, end = 1.0}
domain = {lower = [-0.01, 0.0, 0.0], upper = [0.03, 0.03, 0.025], periodic = [true, true, false]}
materials = {grain = {density = 1000.0}, steel = {}}
[interactions.grain-grain]
law = "linear"
normal_stiffness = 200.0
friction = 0.5
restitution = 0.5
[interactions.grain-steel]
law = "linear"
normal_stiffness = 200.0
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
shape = "rod"
fill = {count = 130, seed = 1, attempts = 8}
[[particles]]
material = "grain"
shape = "rod"
positions = [[-0.009, 0.0005, 0.02]]
[[particles]]
material = "grain"
shape = "tetrapod"
radius = {distribution = "uniform", min = 0.0008, max = 0.0016}
fill = {count = 60, seed = 2}
[[particles]]
material = "grain"
radius = {distribution = "uniform", min = 0.0002, max = 0.0008}
fill = {count = 200, seed = 3}
[[walls]]
name = "slope"
shape = "plane"
point = [0.0, 0.0, 0.004]
normal = [0.0, -0.1, 1.0]
material = "steel"
"""
CASE_2D = """
time = {step = 1e-6, end = 1.0}
domain = {lower = [0.0, 0.0, -0.01], upper = [0.04, 0.03, 0.01], periodic = [true, false, false], dimension = 2}
materials = {grain = {density = 1000.0}}
interactions.grain-grain = {law = "linear", normal_stiffness = 200.0, friction = 0.5, restitution = 0.5}
[[particles]]
material = "grain"
shape = "rod"
fill = {volume_fraction = 0.4, seed = 1}
"""


def case_of(text):
    document = tomllib.loads(text)
    names = sorted({one.get("shape") for one in document["particles"]} - {None})
    document["shapes"] = {name: {"spheres": SHAPES[name]} for name in names}
    for group in document["particles"]:
        if "fill" in group and "walls" in document:
            group["fill"] |= {"exclude": [BALL], "lower": [-0.01, 0.0, 0.0], "upper": [0.03, 0.03, 0.025]}
    return pdem.Case.from_text(tomli_w.dumps(document))


def apart(case, first, second):
    """Return distances (n, m) [m] of points, across periodic sides."""
    away = first[:, None] - second
    width, periodic = np.subtract(case.domain.upper, case.domain.lower), np.array(case.domain.periodic)
    return np.linalg.norm(away - np.where(periodic, width * np.round(away / width), 0.0), axis=2)


def require_clear(case, table):
    """Spheres of different particles do not touch; balls about clusters do."""
    place, radius, cluster = table["position"], table["radius"], table["cluster"]
    touch = apart(case, place, place) < radius[:, None] + radius - 1e-15
    same = (cluster[:, None] == cluster) & (cluster > 0)
    assert not (touch & ~same & ~np.eye(len(place), dtype=bool)).any()
    rods = table.clusters["position"][table.clusters["shape"] == 0]
    assert np.count_nonzero(apart(case, rods, rods) < 2.0 * REACH) > 4 * len(rods)


@pytest.mark.ranks(2, 3, slow=(1, 4, 8))
@pytest.mark.parametrize("text", [CASE, CASE_2D], ids=["space", "plane"])
def test_clusters_lie_where_one_process_puts_them(ranks, text):
    comm, case = communicator(), case_of(text)
    found = initial_particles(case, over=exchange_of(case, comm, 1))
    parts = comm.gather((dict(found.items()), found.clusters))
    if comm.rank:
        return
    alone = initial_particles(case, over=Alone())
    for number, expected, key in ((0, alone, "id"), (1, alone.clusters, "number")):
        order = np.argsort(np.concatenate([part[number][key] for part in parts]))
        for name, column in expected.items():
            mine = np.concatenate([part[number][name] for part in parts])[order]
            assert mine.tobytes() == column.tobytes(), name
    require_clear(case, alone)


def test_members_are_clear_of_walls_and_regions_and_inside():
    case = case_of(CASE)
    table = initial_particles(case)
    given = (table["id"] >= 130 * len(ROD)) & (table["id"] < 131 * len(ROD))
    place, radius = table["position"][~given], table["radius"][~given]
    height = (place - (0.0, 0.0, 0.004)) @ np.array((0.0, -0.1, 1.0)) / np.hypot(0.1, 1.0)
    assert (np.abs(height) >= radius).all()
    assert (height < 0.0).any()
    assert (np.linalg.norm(place - BALL["centre"], axis=1) >= BALL["radius"] + radius - 1e-15).all()
    assert (place[:, 2] >= radius - 1e-15).all()
    assert (place[:, 2] <= 0.025 - radius + 1e-15).all()

"""The number of contacts of each particle in snapshots."""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w

import pdem
from helpers.cases import Grains, make_case, simulate
from helpers.clusters import PAIR, RADIUS, cluster, document
from helpers.sticky import sticky_case
from pdem.output.snapshots.vtkhdf import read_step
from pdem.run.files.particle_output import contact_counts

R = 0.01


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    """The results of a bed that settles between a floor and walls, and grains that come later."""
    folder, rng = tmp_path_factory.mktemp("counts"), np.random.default_rng(4)
    places = np.stack(np.meshgrid(*[np.arange(4) * 0.0199] * 3), axis=-1).reshape(-1, 3) + 0.99 * R
    walls = tuple({"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": normal} for normal in np.eye(3).tolist())
    group = Grains(places + 1e-5 * rng.normal(size=places.shape), R, rng.normal(size=places.shape))
    every = dict.fromkeys(("snapshots_every", "contacts_every", "series_every"), 5e-4)
    more = {"output": {"folder": str(folder / "out"), "stress": True, **every}}
    case = make_case(
        folder, group, law={"friction": 0.5, "restitution": 0.5}, walls=walls, step=1e-5, end=2e-3,
        lower=[-0.1] * 3, upper=[0.2] * 3, more=more,
    )  # fmt: skip
    pdem.Simulation(case, threads=1).run()
    return pdem.Results(folder / "out")


def test_each_particle_has_the_number_of_its_contacts(bed):
    """Counted in the file of contacts, and beside the mean that the series has."""
    coordination = bed.series["coordination"]
    for number, snapshot in enumerate(bed):
        deep = snapshot.contacts["overlap"] > 0.0
        ends = np.concatenate((snapshot.contacts["first"][deep], snapshot.contacts["second"][deep]))
        expected = np.bincount(ends[ends >= 0], minlength=len(snapshot))
        assert snapshot.contact_count.tolist() == expected.tolist()
        assert snapshot.contact_count.mean() == pytest.approx(coordination[number], rel=1e-12)
    assert len(set(snapshot.contact_count.tolist())) > 3
    assert (snapshot.contacts["wall"] >= 0).any()


def test_a_contact_that_is_stretched_does_not_count(tmp_path):
    """Two pairs with liquid between them: one overlaps, the other is held by its bridge."""
    options = sticky_case()
    places = [[0.0, 0.0, 0.0], [1.999 * R, 0.0, 0.0], [0.0, 5 * R, 0.0], [1.9999 * R, 5 * R, 0.0]]
    apart = [[0.0] * 3] * 3 + [[1.0, 0.0, 0.0]]
    run = simulate(tmp_path, Grains(places, R, apart, material="wet"), step=1e-6, **options)
    assert contact_counts(run.system.particles, run.system.contacts).tolist() == [1, 1, 1, 1]
    run.advance(10)
    assert run.system.contacts.pairs.count == 2
    assert contact_counts(run.system.particles, run.system.contacts).tolist() == [1, 1, 0, 0]


def test_a_cluster_has_the_contacts_of_its_members(tmp_path):
    """A pair that lies on a floor, one that lies upon it, and a single sphere on the floor."""
    height = 0.999 * RADIUS
    groups = [
        cluster("pair", [0.0, 0.0, height]),
        cluster("pair", [RADIUS, 0.0, height + 1.731 * RADIUS]),
        {"material": "grain", "radius": RADIUS, "positions": [[9.0 * RADIUS, 0.0, height]]},
    ]
    walls = ({"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]},)
    given = document(groups, {"pair": PAIR}, walls=walls)
    given["time"]["end"], given["output"] = 2e-6, {"folder": str(tmp_path / "out")}
    pdem.Simulation(pdem.Case.from_text(tomli_w.dumps(given)), threads=1).run()
    last = pdem.Results(tmp_path / "out")[-1]
    near = np.linalg.norm(last.position[:, None] - last.position, axis=2) < 2.0 * RADIUS
    other = (last.cluster[:, None] != last.cluster) | (last.cluster == 0)
    expected = (near & other & ~np.eye(5, dtype=bool)).sum(axis=1) + (last.position[:, 2] < RADIUS)
    assert sorted(expected.tolist()) == [1, 1, 2, 2, 3]
    assert last.contact_count.tolist() == expected.tolist()
    clusters = read_step(tmp_path / "out" / "clusters.vtkhdf", -1).point_data
    sums = [int(expected[last.cluster == number].sum()) for number in clusters["cluster"]]
    assert clusters["contact_count"].tolist() == sums

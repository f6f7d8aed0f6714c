"""Random fills by many ranks: the positions of one process, however particles are divided, and no rank with all."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.case.model import Case
from pdem.case.sections.sizes import sizes_of
from pdem.containers.exchange import Alone
from pdem.containers.global_order import part_of
from pdem.containers.meshes.mesh import Mesh
from pdem.engine.ranks import exchange_of
from pdem.foundation.errors import CaseError, MeshError
from pdem.particles import random_filling
from pdem.particles.clearance import overlapping_pairs
from pdem.particles.filling import FillGroup, FillRequest, PlacedGroup, Surroundings, fill_count, random_radii
from pdem.particles.random_filling import fill_randomly
from pdem.particles.sphere_table import SphereTable

BASE = """
time = {{step = 1e-6, end = 1.0}}
domain = {{lower = [-0.2, 0, 0], upper = [{width}, 1, 1], periodic = {periodic}, dimension = {dimension}}}
materials.grain = {{density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}}
interactions.grain-grain = {{friction = 0.5, restitution = 0.4}}
"""
CYLINDER = 'shape = "cylinder", centre = [0.3, 0.5, 0.5], axis = [0, 0, 1], radius = 0.45, length = 1.0'
TILTED = 'shape = "cylinder", centre = [0.3, 0.5, 0.5], axis = [1, 1, 0], radius = 0.3, length = 0.5'
BALL = 'shape = "sphere", centre = [0.3, 0.5, 0.5], radius = 0.45'
OUTSIDE = f"exclude = [{{{BALL}}}]"
POWER = '{distribution = "power-law", exponent = -3.0, min = 0.015, max = 0.16}'

# Groups to fill, periodic axes, and what else differs from a box of 1.2 x 1 x 1 in space.
CASES = {
    "equal": (["radius = 0.05\nfill = {volume_fraction = 0.25, seed = 1}"], "xz", {}),
    "power law": ([f"radius = {POWER}\nfill = {{volume_fraction = 0.25}}"], "", {}),
    "regions": (
        [
            f"radius = 0.06\nfill = {{count = 20, {TILTED}, seed = 4}}",
            "radius = 0.01\nfill = {count = 0}",
            f"radius = {{distribution = 'uniform', min = 0.02, max = 0.05}}\nfill = {{count = 150, {CYLINDER}}}",
            f"radius = 0.03\nfill = {{count = 100, {OUTSIDE}, seed = 9}}",
            f"radius = 0.02\nfill = {{count = 100, {BALL}}}",
        ],
        "xy",
        {},
    ),
    "narrow": (["radius = 0.12\nfill = {count = 9, attempts = 300}"], "xyz", {"width": 0.281}),
    "plane": (["radius = 0.03\nfill = {volume_fraction = 0.52, attempts = 100}"], "y", {"dimension": 2}),
    "sweeps": (["radius = 0.08\nfill = {volume_fraction = 0.33, attempts = 50}"], "xyz", {}),
    "sweeps of two classes": (
        [f"radius = {radius}\nfill = {{volume_fraction = 0.16, attempts = 5, seed = 2}}" for radius in (0.1, 0.04)],
        "x",
        {},
    ),
    "one attempt": (["radius = 0.05\nfill = {volume_fraction = 0.15, attempts = 1}"], "x", {}),
    "few": (["radius = 0.1\nfill = {count = 3}"], "x", {}),
    "none": (["radius = 0.1\nfill = {count = 0}"], "x", {}),
}


PLACED = {
    "equal": "16924aaaeda35a80",
    "plane": "34e1a1dab16c9d22",
    "sweeps": "84dfe9044140027e",
    "sweeps of two classes": "f8619b953059867c",
}
"""Of places that have to stay the same from version to version: those without functions of the library of C."""


def case_of(groups, axes="", width=1.0, dimension=3):
    periodic = str([axis in axes for axis in "xyz"]).lower()
    text = BASE.format(width=width, periodic=periodic, dimension=dimension)
    return Case.from_text(text + "".join(f'[[particles]]\nmaterial = "grain"\n{one}\n' for one in groups))


def part(count, over, seed):
    """Return begin and end of this rank's part of a group: of any size, maybe empty; without a seed of equal size."""
    if seed is None:
        return part_of(count, over.rank, over.size)
    cuts = np.sort(np.random.default_rng(seed).integers(0, count + 1, over.size - 1))
    ends = np.concatenate(([0], cuts, [count]))
    return int(ends[over.rank]), int(ends[over.rank + 1])


def fill(case, over, placed=(), walls=None, seed=0):
    """Fill with parts of groups on the ranks; return radii and positions of this rank, group by group."""
    groups, first_id = [], 7
    for index, group in enumerate(case.particles):
        request = FillRequest(f"particles[{index}].fill", sizes_of(group.radius), group.fill)
        count = fill_count(request, first_id, Surroundings(case.domain, None), over)
        begin, end = part(count, over, None if seed is None else seed + index)
        radii = random_radii(request.sizes, first_id + begin, end - begin)
        groups.append(FillGroup(first_id + begin, radii, np.full((len(radii), 3), np.nan), request=request))
        first_id += count
    others = []
    for radius, position in placed:
        begin, end = part(len(radius), over, seed)
        others.append(PlacedGroup(0, radius[begin:end], position[begin:end]))
    fill_randomly(groups, others, Surroundings(case.domain, walls), over=over)
    return [(one.radius, one.position) for one in groups]


def same_as_alone(case, communicator, *arguments, seed=0):
    """Fill with all ranks; compare on rank 0 with a fill by one process, and return what was found there."""
    over = exchange_of(case, communicator, 1)
    mine = fill(case, over, *arguments, seed=seed)
    parts = communicator.gather(mine)
    if communicator.rank:
        return None
    alone = fill(case, Alone(), *arguments)
    for index, (radius, position) in enumerate(alone):
        np.testing.assert_array_equal(np.concatenate([one[index][0] for one in parts]), radius)
        np.testing.assert_array_equal(np.concatenate([one[index][1] for one in parts]), position)
    return alone


def check_clear(case, found, *placed):
    radius, position = (np.concatenate(columns) for columns in zip(*found, *placed, strict=True))
    assert np.isfinite(position).all()
    assert len(overlapping_pairs(position, radius, case.domain)[0]) == 0


@pytest.mark.ranks(2, 3, 8, slow=(4,))
@pytest.mark.parametrize("name", CASES)
def test_positions_are_those_of_one_process(ranks, name, communicator):
    groups, axes, others = CASES[name]
    case = case_of(groups, axes, **others)
    found = same_as_alone(case, communicator, seed=ranks)
    if found is not None:
        check_clear(case, found)
        digest = hashlib.sha256(b"".join(position.tobytes() for _, position in found)).hexdigest()
        assert digest.startswith(PLACED.get(name, ""))


@pytest.mark.ranks(2, slow=(8,))
def test_particles_keep_clear_of_walls_and_of_groups_that_are_placed(ranks, communicator):
    case = case_of(["radius = 0.05\nfill = {volume_fraction = 0.2, attempts = 50}"], "y")
    mesh = Mesh([[-0.2, 0, 0.1], [1, 0, 0.9], [1, 1, 0.9], [-0.2, 1, 0.1]], [[0, 1, 2, 3]])
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.arange(6) * 0.2] * 3), axis=-1).reshape(-1, 3)
    # Far outside the domain along an open axis, and a period away along the other.
    large = np.array([0.3, 1.0]), np.array([[0.5, 1.2, 0.5], [2.5, 0.5, 0.5]])
    small = rng.uniform(0.001, 0.05, len(grid)), grid
    placed, nothing = [small, large], (np.zeros(0), np.zeros((0, 3)))
    found = same_as_alone(case, communicator, [*placed, nothing], lambda: [mesh])
    if found is not None:
        for one in placed:
            radius, position = (np.concatenate(pair) for pair in zip(found[0], one, strict=True))
            pairs, _ = overlapping_pairs(position, radius, case.domain)
            assert np.all(pairs[:, 0] >= len(found[0][0]))
        slope = (2 / 3, 0.0, -1.0)
        offset = (found[0][1] - mesh.vertices[0]) @ slope / np.linalg.norm(slope)
        assert np.all(np.abs(offset) > found[0][0])


def problem_of(function):
    """Return what a function raises of a case as text, empty if nothing."""
    try:
        function()
    except CaseError as error:
        return str(error)
    return ""


@pytest.mark.ranks(3, slow=(4,))
def test_any_fill_is_that_of_one_process(ranks, communicator):
    @settings(max_examples=6, derandomize=True, database=None)
    @given(
        small=st.sampled_from([0.04, 0.1]),
        ratio=st.sampled_from([1.01, 2.0, 4.0]),
        fraction=st.floats(0.02, 0.36),
        axes=st.sampled_from(["", "x", "yz", "xyz"]),
        region=st.sampled_from(["", CYLINDER, BALL, OUTSIDE]),
        attempts=st.sampled_from([1, 20]),
        seed=st.integers(0, 9),
    )
    def check(small, ratio, fraction, axes, region, attempts, seed):
        sizes = f'{{distribution = "uniform", min = {small}, max = {min(small * ratio, 0.24)}}}'
        keys = f"attempts = {attempts}, seed = {seed}"
        first = f"radius = {sizes}\nfill = {{volume_fraction = {fraction}, {region or 'gap = 0.0'}, {keys}}}"
        case = case_of([first, f"radius = {small / 2}\nfill = {{count = 20, {keys}}}"], axes)
        told = problem_of(lambda: same_as_alone(case, communicator, seed=seed))
        assert len(set(communicator.allgather(told))) == 1
        assert communicator.rank or not told or told == problem_of(lambda: fill(case, Alone()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_filling, "MIN_CANDIDATES", 20_000)
        patch.setattr(random_filling, "MIN_WORK", 30_000)
        check()


@pytest.mark.ranks(1, 2, 4)
@pytest.mark.parametrize(
    "groups",
    [
        ["radius = 0.05\nfill = {volume_fraction = 0.6}"],
        [f"radius = {POWER}\nfill = {{count = 12345}}"],
        ["radius = 0.05\nfill = {count = 3}", "radius = 0.04\nfill = {volume_fraction = 0.43, attempts = 5}"],
    ],
)
def test_all_ranks_are_told_what_one_process_is_told(ranks, groups, communicator, monkeypatch):
    monkeypatch.setattr(random_filling, "MIN_WORK", 30_000)
    case = case_of(groups)
    over = exchange_of(case, communicator, 1)
    alone, told = (problem_of(lambda ranks=ranks: fill(case, ranks)) for ranks in (Alone(), over))
    assert "these" in told or "gave up" in told
    assert set(communicator.allgather(told)) == {alone}


@pytest.mark.ranks(3)
def test_all_ranks_are_told_of_walls_that_one_cannot_read(ranks, communicator):
    case = case_of(["radius = 0.05\nfill = {count = 50}"])

    def walls():
        if communicator.rank == 1:
            raise MeshError("drum.stl is gone")
        return [Mesh([[0, 0, 0.5], [1, 0, 0.5], [1, 1, 0.5]], [[0, 1, 2]])]

    with pytest.raises(MeshError, match=r"drum\.stl is gone"):
        fill(case, exchange_of(case, communicator, 1), walls=walls)


@pytest.mark.ranks(8)
def test_no_rank_has_many_more_rows_than_its_part(ranks, communicator, monkeypatch):
    """Tables and what comes from other ranks, sweeps included: copies of near particles make up the difference."""
    case = case_of(["radius = 0.031\nfill = {volume_fraction = 0.2, attempts = 3}"])
    over, rows = exchange_of(case, communicator, 1), [0]
    route, empty = over.route, SphereTable._empty

    def counted_route(columns, targets):
        received = route(columns, targets)
        rows.extend([len(targets), *(len(column) for column in received.values())])
        return received

    def counted_empty(self, capacity):
        rows.append(capacity)
        return empty(self, capacity)

    monkeypatch.setattr(over, "route", counted_route)
    monkeypatch.setattr(SphereTable, "_empty", counted_empty)
    # Few candidates at once, or they would be more than these few particles.
    monkeypatch.setattr(random_filling, "_CANDIDATES_AT_ONCE", 256)
    count = int(over.add(np.array([len(fill(case, over, seed=None)[0][0])]))[0])
    assert count > 1500
    assert max(rows) < 2.5 * count / ranks


@pytest.mark.ranks(2, 8)
def test_parts_beyond_the_places_asked_for_are_near_them(ranks, communicator):
    """A single place, whose neighbours are in other parts than it."""
    over = exchange_of(case_of([], "x"), communicator, 1)
    rng = np.random.default_rng(5)
    position = rng.random((1000, 3)) * [1.2, 1, 1] - [0.2, 0, 0]
    over.divide(position if over.rank == 0 else position[:0])
    owner = over.owners(position)
    for place in (position[0], position[1], np.array([-0.19, 0.5, 0.5])):
        rows, near = over.near(place[None] if over.rank == 1 else position[:0], np.full(int(over.rank == 1), 0.3))
        apart = np.abs(position - place)
        apart[:, 0] = np.minimum(apart[:, 0], 1.2 - apart[:, 0])
        if over.rank == 1:
            assert set(owner[(apart**2).sum(axis=1) <= 0.09].tolist()) <= set(near.tolist())
            assert len(near) == len(set(near.tolist()))
            assert not rows.any()

"""Copies of particles of other ranks: all that are needed, and few others."""

from __future__ import annotations

import numpy as np
import pytest

from decomposition.exchange import RankExchange
from decomposition.mpi import describe
from helpers.rank_cases import owned_rows
from pdem.containers.particles import Particles

SKIN = 1.1


def power_law(rng, count, smallest, ratio):
    """Radii with a number density of r^-3 between the smallest and `ratio` times it."""
    return smallest * (1.0 - rng.uniform(size=count) * (1.0 - ratio**-2.0)) ** -0.5


def exchange_of(periodic, method="bisection"):
    from mpi4py import MPI

    return RankExchange(describe(MPI.COMM_WORLD, 1), [0.0] * 3, [1.0] * 3, periodic, method)


def reach_of(radius, velocity, position):
    """Fast particles reach farther."""
    return SKIN * radius * (1.0 + np.linalg.norm(velocity, axis=1))


def ghosts_of(exchange, position, radius, radii, velocity=None):
    """Return the owned particles and the ids of the ghosts of this rank."""
    own, velocity = owned_rows(exchange, position), 0.0 * position if velocity is None else velocity
    particles = Particles({"id": own, "radius": radius[own], "position": position[own], "velocity": velocity[own]})
    exchange.make_ghosts(particles, reach_of, radii)
    ghosts = particles.column("id")[particles.count : particles.count + particles.ghosts]
    for name, column in (("position", position), ("radius", radius)):
        held = particles.column(name)[particles.count : particles.count + particles.ghosts]
        np.testing.assert_array_equal(held, column[ghosts])
    return own, ghosts


@pytest.mark.ranks(2, 3, 4, 8, timeout=240)
@pytest.mark.parametrize("seed", range(6))
def test_every_pair_across_ranks_has_its_ghosts(ranks, seed):
    """Against all pairs; large and fast particles may reach farther than a part of space."""
    rng = np.random.default_rng(seed)
    count = int(rng.choice([0, 1, 5, 60, 700]))
    position, radius = (rng.uniform(0.0, 1.0, (count, 3)), power_law(rng, count, 0.004, 10 ** rng.uniform(0.0, 1.9)))
    if seed % 2:
        position = rng.uniform(0.0, 1.0, 3) ** 4 * position
    velocity = rng.exponential(rng.choice([0.0, 0.3, 3.0]), (count, 1)) * [0.0, 1.0, 0.0]
    levels = np.sort(rng.choice([0.005, 0.01, 0.03, 0.1], rng.integers(0, 4), replace=False))
    radii = np.append(levels[levels < radius.max(initial=0.4)], radius.max(initial=0.4))
    periodic = rng.choice([True, False], 3)
    exchange = exchange_of(periodic, str(rng.choice(["slabs", "bisection"])))
    own, ghosts = ghosts_of(exchange, position, radius, radii, velocity)
    assert len(set(ghosts.tolist())) == len(ghosts)
    apart = position[own][:, None] - position[None]
    apart -= np.where(periodic, np.round(apart), 0.0)
    reach = reach_of(radius, velocity, position)
    near = np.linalg.norm(apart, axis=2) <= reach[own][:, None] + reach[None]
    needed = set(np.flatnonzero(near.any(axis=0)).tolist()) - set(own.tolist())
    assert needed <= set(ghosts.tolist())


@pytest.mark.ranks(8, timeout=240)
def test_of_the_small_particles_only_those_near_a_cut_or_a_large_one_travel(ranks):
    """Of radii 1 : 50 with r^-3, the ghosts are at most a third of a layer as wide as the largest diameter."""
    rng = np.random.default_rng(1)
    position, radius = rng.uniform(0.0, 1.0, (100_000, 3)), power_law(rng, 100_000, 0.0027, 50.0)
    exchange = exchange_of([False] * 3)
    lean = len(ghosts_of(exchange, position, radius, radius.max() * np.array([0.04, 0.12, 0.35, 1.0]))[1])
    layer = len(ghosts_of(exchange, position, radius, radius.max(keepdims=True))[1])
    sums = exchange.add(np.array([lean, layer]))
    print("\nghosts", sums.tolist())
    assert sums[0] < sums[1] / 3

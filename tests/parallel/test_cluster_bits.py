"""Rigid clusters have the same bits on any number of ranks, wherever cuts and periodic sides go through them."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.clusters import crowd
from helpers.rank_cases import communicator, compare, compare_restart


def spans_ranks(simulation):
    """Tell whether a cluster has a sphere in the part of another rank than its own."""
    exchange, own = simulation.system.exchange, simulation.particles
    away = exchange.owners(own.position) != exchange.rank
    return bool(exchange.largest(np.array([np.count_nonzero(away & (own.cluster > 0))]))[0])


@pytest.mark.ranks(2, 3, slow=(1, 4, 8), timeout=400)
def test_clusters_across_cuts_and_periodic_sides(ranks):
    simulation = compare(crowd("bisection" if ranks % 2 else "slabs"), 1000)
    assert ranks == 1 or spans_ranks(simulation)
    measured = simulation.measures()
    assert measured.particles == 14 + 30 + 150
    assert measured.pair_contacts > 8
    assert measured.wall_contacts > 2
    assert simulation.energies()["sliding"] > 0.0


@pytest.mark.ranks(2, 3, timeout=400)
def test_a_restart_in_the_middle_of_collisions_on_another_number_of_ranks(ranks):
    states = compare_restart(crowd("bisection"), 900, 150)
    if states is not None:
        assert len(states[0]["contacts"]["lower"]) > 8
        assert len(states[0]["clusters"]["number"]) == 44


@pytest.mark.ranks(3, slow=(1, 4), timeout=400)
def test_clusters_that_come_are_counted_and_taken_out(ranks):
    rain = {
        "name": "rain", "material": "grain", "shape": "pair", "count_rate": 20000.0, "velocity": [0.0, 0.0, -1.0],
        "region": {"shape": "box", "lower": [0.002, 0.002, 0.015], "upper": [0.038, 0.028, 0.022]}, "every": 0.0005,
        "radius": {"distribution": "uniform", "min": 0.0006, "max": 0.001},
    }  # fmt: skip
    outlet = {
        "name": "out", "region": {"shape": "box", "lower": [0.0] * 3, "upper": [0.02, 0.03, 0.004]}, "remove": True,
        "every": 0.0005,
    }  # fmt: skip
    gate = {"name": "gate", "plane": {"point": [0.0, 0.0, 0.009], "normal": [0.0, 0.0, -1.0]}, "every": 0.0005}
    simulation = compare(crowd("bisection", insertions=[rain], sensors=[outlet, gate]), 800)
    found = simulation.sensors()
    assert simulation.insertions["rain"].count > 20
    assert found["out"]["removed_count"] > 5
    assert found["gate"]["passed_count"] > 5
    own, clusters = simulation.particles, simulation.clusters
    exchange = simulation.system.exchange
    bodies = exchange.add(np.array([np.count_nonzero(own.cluster == 0) + len(clusters)]))[0]
    assert bodies == 194 + simulation.insertions["rain"].count - found["out"]["removed_count"]
    sizes = clusters.shapes.sizes[clusters.shape.astype(int)]
    assert np.count_nonzero(own.cluster) == sizes.sum()


@pytest.mark.ranks(2)
def test_a_message_has_the_state_of_a_cluster_and_not_its_spheres(ranks):
    """Five spheres would be 5 * 12 numbers; a state has 16."""
    simulation = pdem.Simulation(crowd("slabs"), communicator())
    own, table = simulation.particles, simulation.clusters
    cluster = own.column("cluster")[own.count : own.count + own.ghosts]
    received = 12 * np.count_nonzero(cluster == 0) + 16 * table.ghosts
    assert len(np.unique(cluster[cluster > 0])) == table.ghosts > 0
    assert simulation.system.exchange.traffic().received == 8 * received

"""Clusters that come in between two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.clusters import Clusters, states_of
from pdem.simulation.cluster_energy import cluster_energies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.simulation.system import System


def numbers_of_members(system: System, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return of how many spheres each of some new particles is made, by its column ``shape``."""
    numbers = np.ones(len(columns["radius"]), np.int64)
    if system.clusters is not None and "shape" in columns:
        shape = columns["shape"]
        numbers[shape >= 0] = system.clusters.table.shapes.sizes[shape[shape >= 0]]
    return numbers


def insert_clusters(system: System, columns: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
    """Own clusters beside those there are; return their energies [J], see `cluster_energies`."""
    if system.clusters is None or not columns:
        return []
    table, new = system.clusters.table, Clusters(system.clusters.table.shapes)
    new.replace(columns["number"], columns["image"], states_of(columns))
    own = slice(0, table.count)
    table.replace(
        np.concatenate((table.number[own], new.number)), np.concatenate((table.image, new.image)),
        np.concatenate((table.states[own], new.states)),
    )  # fmt: skip
    return cluster_energies(new, system.constants)

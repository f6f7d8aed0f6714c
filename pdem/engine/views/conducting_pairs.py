"""Pairs of particles that conduct heat besides their contact, and their losses: a view for the feature of heat."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.engine.system import System
    from pdem.foundation.array_types import Floats, Integers


class ConductingPairs(NamedTuple):
    """Pairs of particles of this rank, each on all ranks that own one of its particles.

    Attributes
    ----------
    rows : (n, 2) int64 array
        Rows of the particles, owned or ghosts, the lower id first.
    shape : (n,) array
        Area over length of what joins them [m].
    conductivity : (n,) array
        Conductivity [W/(m K)]; 0 for the mean of both particles.
    losses : (n,) array
        Energy that the pair has lost and that its particles have not received [J]; the feature of heat reduces it.
    """

    rows: Integers
    shape: Floats
    conductivity: Floats
    losses: Floats


def conducting_pairs(system: System) -> Iterator[ConductingPairs]:
    """Yield the conducting pairs of all features."""
    for feature in system.features:
        if (pairs := feature.conducting_pairs(system)) is not None:
            yield pairs


def give_losses(system: System, rows: Integers, losses: Floats) -> None:
    """Give what pairs with some rows of particles (n, 2) lose as they end (n,) [J] to the feature of heat, if any."""
    for feature in system.features:
        feature.receive_losses(system, rows, losses)

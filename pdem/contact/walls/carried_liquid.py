"""Bridges at walls that form of the liquid particles carry: see `pdem.contact.law.carried_liquid`. Walls carry none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.law.carried_liquid import DRY, LEAST, WALL_SHARE, given, limited
from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.pairs.carried_liquid import Formed
from pdem.numerics.geometry_kernels import geometry_kernel
from pdem.numerics.kernels import plain

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pdem.contact.walls.contacts import WallContacts
    from pdem.containers.particles import Particles


class WallLiquid(NamedTuple):
    """The contacts with walls of a rank, as far as liquid goes.

    Attributes
    ----------
    particle, row : int64 arrays
        Row of the particle of each contact, and where its history is.
    material : int32 array
        Of its wall.
    radius, of_particle : arrays
        Radius [m] and material of particles.
    most : (M, M) array
        See `pdem.contact.pairs.carried_liquid.PairLiquid`.
    history : (rows, columns) array
        Histories.
    place : int
        Column of the volume of the bridge.
    """

    particle: NDArray[np.int64]
    row: NDArray[np.int64]
    material: NDArray[np.int32]
    radius: NDArray[np.float64]
    of_particle: NDArray[np.int32]
    most: NDArray[np.float64]
    history: NDArray[np.float64]
    place: int


def wall_liquid(contacts: WallContacts, particles: Particles, most: NDArray[np.float64]) -> tuple[Any, ...]:
    """Return a `WallLiquid` as kernels take it; `most` as there."""
    carried = contacts.law.carried
    assert carried is not None
    particle, row, material, history = contacts.places()
    column = particles.column
    return plain(WallLiquid(
        particle, row, material, column("radius"), column("material"), most, history, carried[1]
    ))[0]  # fmt: skip


@geometry_kernel
def count_new_walls(contacts: WallLiquid) -> int:
    """Return how many contacts have just begun of particles that carry liquid."""
    c, number = WallLiquid(*contacts), 0
    for k in range(len(c.row)):
        may = c.most[c.of_particle[c.particle[k]], c.material[k]] > 0.0
        number += 1 if may and c.history[c.row[k], c.place] == 0.0 else 0
    return number


@geometry_kernel
def ask_walls(contacts: WallLiquid, bound: NDArray[np.float64], asked: NDArray[np.int64]) -> None:
    """Add to what particles own in bridges [m^3], and to the shares that new bridges ask for."""
    c = WallLiquid(*contacts)
    for k in range(len(c.row)):
        i, volume = c.particle[k], c.history[c.row[k], c.place]
        if volume > 0.0:
            bound[i] += volume
        elif volume == 0.0 and c.most[c.of_particle[i], c.material[k]] > 0.0:
            asked[i] += WALL_SHARE


@geometry_kernel
def form_walls(contacts: WallLiquid, offer: NDArray[np.float64], quantum: float, formed: Formed) -> int:
    """Form the bridges of new contacts; return how many are listed. What particles own stays.

    Parameters as in `pdem.contact.pairs.carried_liquid.form_pairs`.
    """
    c, out, number = WallLiquid(*contacts), Formed(*formed), 0
    for k in range(len(c.row)):
        i, row = c.particle[k], c.row[k]
        most = c.most[c.of_particle[i], c.material[k]]
        if c.history[row, c.place] != 0.0 or most == 0.0:
            continue
        radius = c.radius[i]
        cube = 8.0 * radius * radius * radius / quantum
        volume, _ = limited(given(offer[i], WALL_SHARE, quantum), 0.0, most * cube)
        if volume < max(LEAST * cube, 2.0):
            c.history[row, c.place] = DRY
            continue
        c.history[row, c.place] = volume * quantum
        out.overlap[number], out.radius[number] = c.history[row, OVERLAP], radius
        out.pair[number] = c.of_particle[i] * len(c.most) + c.material[k]
        out.volume[number] = volume * quantum
        number += 1
    return number

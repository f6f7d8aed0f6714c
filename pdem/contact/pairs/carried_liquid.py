"""Bridges between particles that form of the liquid these carry: see `pdem.contact.law.carried_liquid`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.contact.law.carried_liquid import DRY, LEAST, given, limited, pair_share
from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.pairs.history import history_of
from pdem.contact.pairs.layout import BLOCK
from pdem.numerics.geometry_kernels import geometry_kernel
from pdem.numerics.kernels import plain

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from pdem.contact.pairs.contacts import PairContacts
    from pdem.containers.particles import Particles


class PairLiquid(NamedTuple):
    """The contacts of a rank, as far as liquid goes.

    Attributes
    ----------
    indices, candidate : int32 arrays
        History index of each contact, and candidate by history index.
    lower, higher : int32 arrays
        Rows of the particles of each candidate.
    owned : int
        Particles of this rank.
    radius, material : arrays
        Of all rows of particles [m].
    most : (M, M) array
        Largest volume of a bridge over the cube of the harmonic mean radius, by materials; 0 for no carried liquid.
    history : array
        Flat.
    width, place : int
        Columns of a history, and that of the volume of the bridge.
    """

    indices: NDArray[np.int32]
    candidate: NDArray[np.int32]
    lower: NDArray[np.int32]
    higher: NDArray[np.int32]
    owned: int
    radius: NDArray[np.float64]
    material: NDArray[np.int32]
    most: NDArray[np.float64]
    history: NDArray[np.float64]
    width: int
    place: int


class Formed(NamedTuple):
    """Bridges that have just formed: overlap and effective radius [m], row of the pair table, volume [m^3]."""

    overlap: NDArray[np.float64]
    radius: NDArray[np.float64]
    pair: NDArray[np.int32]
    volume: NDArray[np.float64]

    @classmethod
    def room(cls, count: int) -> Formed:
        """Return room for so many."""
        return cls(np.empty(count), np.empty(count), np.empty(count, np.int32), np.empty(count))

    def first(self, count: int) -> Formed:
        """Return the first ones."""
        return Formed(self.overlap[:count], self.radius[:count], self.pair[:count], self.volume[:count])


def pair_liquid(contacts: PairContacts, particles: Particles, most: NDArray[np.float64]) -> tuple[Any, ...]:
    """Return a `PairLiquid` as kernels take it; `most` as there."""
    storage, carried = contacts.storage, contacts.law.carried
    assert carried is not None
    return plain(PairLiquid(
        storage.indices, storage.candidate, contacts.lower, contacts.higher, particles.count,
        particles.column("radius"), particles.column("material"), most, storage.history.reshape(-1),
        storage.width, carried[1],
    ))[0]  # fmt: skip


@geometry_kernel
def count_new_pairs(contacts: PairLiquid) -> int:
    """Return how many contacts have just begun between particles that carry liquid."""
    c, number = PairLiquid(*contacts), 0
    for index in c.indices:
        k, at = c.candidate[index], history_of(index, c.width)
        may = c.most[c.material[c.lower[k]], c.material[c.higher[k]]] > 0.0
        number += 1 if may and c.history[at + BLOCK * c.place] == 0.0 else 0
    return number


@geometry_kernel
def ask_pairs(contacts: PairLiquid, bound: NDArray[np.float64], asked: NDArray[np.int64]) -> None:
    """Add to what particles own in bridges [m^3], and to the shares that new bridges ask for."""
    c = PairLiquid(*contacts)
    for index in c.indices:
        k, volume = c.candidate[index], c.history[history_of(index, c.width) + BLOCK * c.place]
        i, j = c.lower[k], c.higher[k]
        if volume > 0.0:
            bound[i] += 0.5 * volume
            bound[j] += 0.5 * volume
        elif volume == 0.0 and c.most[c.material[i], c.material[j]] > 0.0:
            asked[i] += pair_share(c.radius[i], c.radius[j])
            asked[j] += pair_share(c.radius[j], c.radius[i])


@geometry_kernel
def form_pairs(
    contacts: PairLiquid,
    offer: NDArray[np.float64],
    quantum: float,
    liquid: NDArray[np.float64],
    formed: Formed,
) -> int:
    """Form the bridges of new contacts; return how many are listed, those whose lower particle is of this rank.

    Parameters
    ----------
    contacts : PairLiquid
        The contacts; histories are written.
    offer : (n,) array
        Of all rows of particles [m^3].
    quantum : float
        Of liquid [m^3].
    liquid : (n,) array
        What owned particles own [m^3]; written.
    formed : Formed
        Room for as many as there are new contacts; written.
    """
    c, out, number = PairLiquid(*contacts), Formed(*formed), 0
    for index in c.indices:
        k, at = c.candidate[index], history_of(index, c.width)
        i, j = c.lower[k], c.higher[k]
        most = c.most[c.material[i], c.material[j]]
        if c.history[at + BLOCK * c.place] != 0.0 or most == 0.0:
            continue
        ri, rj = c.radius[i], c.radius[j]
        effective = ri * rj / (ri + rj)
        cube = 8.0 * effective * effective * effective / quantum
        first, second = limited(
            given(offer[i], pair_share(ri, rj), quantum),
            given(offer[j], pair_share(rj, ri), quantum),
            most * cube,
        )
        if first + second < max(LEAST * cube, 2.0):
            c.history[at + BLOCK * c.place] = DRY
            continue
        half = 0.5 * (first + second)
        c.history[at + BLOCK * c.place] = 2.0 * half * quantum
        if i < c.owned:
            liquid[i] += (half - first) * quantum
            out.overlap[number], out.radius[number] = c.history[at + BLOCK * OVERLAP], effective
            out.pair[number] = c.material[i] * len(c.most) + c.material[j]
            out.volume[number] = 2.0 * half * quantum
            number += 1
        if j < c.owned:
            liquid[j] += (half - second) * quantum
    return number

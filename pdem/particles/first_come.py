"""Placement of overlapping candidates over many ranks, with the result of placement one after the other.

A candidate is placed unless an earlier candidate that overlaps it, or an earlier candidate of the same particle, is
placed. This rule involves only neighbours and has one solution, that of placement one by one. The solution is
computed in rounds. A candidate is sent to all ranks with parts of space that the ball around it touches. Each of these
ranks reports to the owner of the candidate when it is clear there of everything that could come before, or overlaps a
placed one. When the reports suffice, the owner decides, and sends the decision to these ranks. The first of all
undecided candidates is decided in every round; in practice most are decided in the first round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import route_in_one
from pdem.particles.sphere_table import CLEAR, PLACED, REFUSED, UNDECIDED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.exchange import Exchange
    from pdem.foundation.array_types import Booleans, Integers
    from pdem.particles.particle_spheres import ParticleShapes
    from pdem.particles.sphere_table import SphereTable

    Columns = dict[str, NDArray[Any]]
    Message = tuple[Columns, Integers]

_ROW_BITS = 40  # row bits of a ticket, which encodes a candidate's owning rank and its row there


def place_first_come(candidates: Columns, shapes: ParticleShapes, table: SphereTable, over: Exchange) -> Booleans:
    """Return which candidates of this rank are placed. Collective.

    Parameters
    ----------
    candidates : columns
        Columns for `ParticleShapes.spheres`, ``number`` (n,) of the particle, and ``turn`` (n,): the order is by turn,
        then by radius, the largest first, then by number. The candidates of a particle are consecutive rows of one
        rank, in order.
    shapes : ParticleShapes
        Shapes of the particles.
    table : SphereTable
        Placed candidates that touch this rank's part of space are added to it.
    over : Exchange
        The ranks.
    """
    own = _Own(candidates, over)
    here = _Here(own.copies(candidates, over), shapes, table)
    while True:
        answers, ranks = own.answer(route_in_one(over, *here.report()))
        undecided, told = over.add(np.array([own.undecided, len(ranks)])).tolist()
        if told:
            here.hear(route_in_one(over, answers, ranks))
        if not undecided:
            return own.state == PLACED


class _Own:
    """Candidates that this rank owns and decides on.

    Attributes
    ----------
    state : (n,) int8 array
        State of each candidate.
    """

    def __init__(self, candidates: Columns, over: Exchange) -> None:
        number = candidates["number"]
        self.state = np.full(len(number), UNDECIDED, np.int8)
        self._rows, self._ranks = over.near(candidates["position"], candidates["radius"])
        self._copies = np.bincount(self._rows, minlength=len(number))
        self._clear = np.zeros(len(number), np.int64)
        self._particle = np.zeros(len(number), np.int64)
        self._particle[1:] = np.cumsum(number[1:] != number[:-1])
        self._rivals = np.bincount(self._particle)[self._particle] > 1
        self._shared = self._rivals | (self._copies > 1)
        self._first = over.rank << _ROW_BITS

    @property
    def undecided(self) -> int:
        """Number of undecided candidates."""
        return int(np.count_nonzero(self.state == UNDECIDED))

    def copies(self, candidates: Columns, over: Exchange) -> Columns:
        """Return the candidates of all ranks that touch this rank's part of space. Collective."""
        columns = {name: column[self._rows] for name, column in candidates.items()}
        columns["shared"] = self._shared[self._rows]
        columns["ticket"] = self._first + self._rows
        columns["rank"] = np.full(len(self._rows), over.rank)
        return route_in_one(over, columns, self._ranks)

    def answer(self, reports: Columns) -> Message:
        """Decide by the reports of ranks; return new decisions on shared candidates, and the ranks to send them to."""
        before, rows = self.state.copy(), reports["ticket"] - self._first
        self.state[rows[~reports["clear"]]] = REFUSED
        self._clear += np.bincount(rows[reports["clear"]], minlength=len(self.state))
        left = np.flatnonzero(self.state != REFUSED)
        leads = np.ones(len(left), np.bool_)
        leads[1:] = self._particle[left[1:]] != self._particle[left[:-1]]
        self.state[left[leads & (self._clear[left] == self._copies[left])]] = PLACED
        rivals = left[self._rivals[left]]
        has_place = np.zeros(len(self._copies), np.bool_)
        has_place[self._particle[rivals[self.state[rivals] == PLACED]]] = True
        self.state[rivals[has_place[self._particle[rivals]] & (self.state[rivals] != PLACED)]] = REFUSED
        told = ((self.state != before) & self._shared)[self._rows]
        some = self._rows[told]
        return {"ticket": self._first + some, "placed": self.state[some] == PLACED}, self._ranks[told]


class _Here:
    """Candidates that touch this rank's part of space, in their order."""

    def __init__(self, copies: Columns, shapes: ParticleShapes, table: SphereTable) -> None:
        order = np.lexsort((copies["number"], -copies["radius"], copies["turn"]))
        self._tickets = copies["ticket"]  # rising: the rows are sorted by rank
        self._place = np.empty_like(order)
        self._place[order] = np.arange(len(order))
        self._columns = {name: column[order] for name, column in copies.items()}
        self._spheres = shapes.spheres(self._columns)
        self._state = np.full(len(order), UNDECIDED, np.int8)
        self._table = table

    def report(self) -> Message:
        """Place candidates that concern only this rank; return new findings about others, and their owning ranks."""
        rows = np.flatnonzero((self._state == UNDECIDED) | (self._state == CLEAR))
        before, shared = self._state[rows], self._columns["shared"][rows]
        after = self._table.settle(self._spheres.of(rows), self._columns["number"][rows], shared, before)
        self._state[rows] = after
        new = rows[after != before]
        clear = self._state[new] != REFUSED
        return {"ticket": self._columns["ticket"][new], "clear": clear}, self._columns["rank"][new]

    def hear(self, answers: Columns) -> None:
        """Store the decisions that other ranks have made on candidates."""
        rows = self._place[np.searchsorted(self._tickets, answers["ticket"])]
        self._state[rows] = np.where(answers["placed"], PLACED, REFUSED)
        some = rows[answers["placed"]]
        self._table.add(self._spheres.of(some), self._columns["number"][some])

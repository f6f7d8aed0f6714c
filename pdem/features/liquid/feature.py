"""Liquid that particles carry, as a feature of the engine; `pdem.contact.law.carried_liquid` has the exchange.

A contact that has begun in a step has its bridge from the next step on. The liquid that particles offer is sent to
ranks with ghosts of them; then every rank forms the bridges of its contacts, and two ranks compute equal results for a
contact between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pdem.case.laws import takes_liquid
from pdem.contact.law import carried_liquid as law
from pdem.contact.law.contact_law import OVERLAP
from pdem.contact.law.elastic import ElasticState, elastic_energies
from pdem.contact.law.kinds.liquid_bridge import LIQUID_BRIDGE
from pdem.engine.feature import Feature, features_of
from pdem.engine.feature_set import Turn
from pdem.engine.quantum_field import QuantumField, sum_over_contacts
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pdem.case.sections.schema import CaseData
    from pdem.contact.exchange.pair_flows import FlowingPairs
    from pdem.contact.exchange.wall_flows import FlowingWalls
    from pdem.engine.feature import Columns
    from pdem.engine.parts.rank_contacts import RankContacts
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.engine.views.series_line import SeriesLine
    from pdem.foundation.array_types import Floats, Int32s

FIELD = "liquid"

VOLUME = LIQUID_BRIDGE.history[0].name
"""Column of histories with the carried volume of a bridge [m^3]."""

FILMS, BRIDGES = "liquid_in_films", "liquid_in_bridges"
"""Columns of the series [m^3]."""


class Liquid(Feature):
    """The liquid of all particles.

    Parameters
    ----------
    carries : bool
        Whether bridges of the case form from carried liquid.
    """

    name, turn, table_fields = "liquid", Turn.COLLECT, (FIELD,)

    def __init__(self, *, carries: bool = False) -> None:
        self._carries = carries
        self._table, self._limits = np.zeros((0, 0)), np.zeros(0)
        self._amounts = QuantumField(FIELD, law.form_pair, law.form_at_wall, memory=VOLUME)

    @classmethod
    def uses_table_fields(cls, case: CaseData) -> bool:
        """Return whether bridges of a case take what particles carry."""
        return takes_liquid(case)

    @classmethod
    def of(cls, system: System) -> Self:
        """Return the liquid of a case at time 0."""
        return cls(carries=takes_liquid(system.case))

    @property
    def acts_each_step(self) -> bool:
        """Whether bridges form from carried liquid."""
        return self._carries

    def load(self, system: System, groups: Mapping[str, Columns]) -> None:
        """Choose the quantum of liquid of a new run, and round the liquid of particles down to quanta. Collective."""
        if self._carries:
            coming = [one.largest_radius for one in features_of(system)]
            largest = max([system.particles.radius.max(initial=0.0), *coming])
            self._amounts.begin(system, law.largest_amount(float(largest)))

    def before_step(self, system: System) -> None:
        """Form the bridges of contacts that began in the last step, if any rank has such contacts. Collective."""
        given = self._limits_of(system.constants), self._amounts.quantum(system)
        pairs = self._amounts.pairs(system, law.is_new, given)
        walls = self._amounts.walls(system, law.is_new, given)
        new = np.array([len(pairs.indices), 0 if walls is None else len(walls.row)])
        if not system.exchange.largest(new).any():
            return
        asked = sum_over_contacts(system, pairs, walls, (law.asked_by_pair, law.asked_by_wall), given)
        offers = law.offers(system.particles[FIELD], self._bound(system), asked)
        self._amounts.exchange(system, offers, pairs, walls, given)
        _lose(system.constants, system.contacts, _formed_in_pairs(system.contacts, pairs))
        if walls is not None:
            _lose(system.constants, system.contacts, _formed_at_walls(system, walls))

    def _limits_of(self, constants: Constants) -> Floats:
        """Return `_limits` of the pair table, which only a stage replaces."""
        if constants.table is not self._table:
            self._table, self._limits = constants.table, _limits(constants)
        return self._limits

    def _bound(self, system: System) -> Floats:
        """Return the liquid of each owned particle in bridges [m^3]."""
        quantum = self._amounts.quantum(system)
        pairs, walls = self._amounts.pairs(system), self._amounts.walls(system)
        parts = law.bound_in_pair, law.bound_at_wall
        quanta = sum_over_contacts(system, pairs, walls, parts, (self._limits_of(system.constants), quantum))
        return quanta.astype(np.float64) * quantum

    def columns(self, system: System) -> list[tuple[str, ...]]:
        """Return names and units of the columns of liquid in films and in bridges."""
        return [(FILMS, "m3"), (BRIDGES, "m3")] if self._carries else []

    def values(self, system: System, line: SeriesLine | None = None) -> dict[str, float]:
        """Return the values of these columns; their sum is all liquid that particles own. Collective."""
        if not self._carries:
            return {}
        bound, sums = self._bound(system), ExactSums((FILMS, BRIDGES))
        sums.add(FILMS, system.particles[FIELD] - bound)
        sums.add(BRIDGES, bound)
        sums.normalise()
        total = ExactSums(sums.names, system.exchange.add(sums.limbs))
        total.normalise()
        return total.values()


def _limits(constants: Constants) -> Floats:
    """Return the largest volume of a bridge over the cube of the harmonic mean radius, by row of the pair table.

    It is 0 for pairs with bridges that do not form from carried liquid.
    """
    column = constants.law.coefficients.index(f"{LIQUID_BRIDGE.name}.most")
    return np.ascontiguousarray(constants.table[:, column])


class _Formed(NamedTuple):
    """New bridges: overlap and effective radius [m], row of the pair table, volume [m^3]."""

    overlap: Floats
    radius: Floats
    pair: Int32s
    volume: Floats

    @classmethod
    def of(cls, history: Floats, place: int, radius: Floats, pair: Int32s, counts: Any) -> _Formed:
        """Return the bridges among some contacts, by histories (columns, n), that this rank counts."""
        some = (history[place] > 0.0) & counts
        return cls(history[OVERLAP][some], radius[some], pair[some], history[place][some])


def _formed_in_pairs(contacts: RankContacts, new: FlowingPairs) -> _Formed:
    """Return the bridges of new contacts with a first particle of this rank."""
    k = new.candidate[new.indices]
    i, j = new.lower[k], new.higher[k]
    a, b = new.radius[i], new.radius[j]
    pair = new.material[i] * new.materials + new.material[j]
    history = contacts.pairs.storage.at(new.indices)
    return _Formed.of(history, new.memory, a * b / (a + b), pair, i < new.owned)


def _formed_at_walls(system: System, new: FlowingWalls) -> _Formed:
    """Return the bridges of new contacts with walls."""
    pair = new.material[new.particle] * new.materials + new.wall_material[new.wall]
    history = new.history.reshape(-1, new.width)[new.row].T
    return _Formed.of(history, new.memory, new.radius[new.particle], pair, np.True_)


def _lose(constants: Constants, contacts: RankContacts, formed: _Formed) -> None:
    """Count the loss of energy when bridges form: their contacts pull from now on, and have less energy."""
    contact_law, table = constants.law, constants.table
    if not contact_law.has_ledger or not len(formed.volume):
        return
    # a pair with bridges has no plastic normal force, so that the history of normal forces does not matter
    history = np.zeros((len(contact_law.normal_history), len(formed.volume)))
    remembered: Floats = np.zeros((len(contact_law.remembered), len(formed.volume)))
    state = ElasticState(formed.overlap, remembered, history)
    dry = elastic_energies(contact_law, table, state, formed.radius, formed.pair)
    remembered[contact_law.remembered.index(VOLUME)] = formed.volume
    wet = elastic_energies(contact_law, table, state, formed.radius, formed.pair)
    contacts.ended_energies.add("adhesion", dry - wet)

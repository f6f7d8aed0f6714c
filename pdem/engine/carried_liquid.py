"""Liquid that particles carry: bridges form of it between two steps, see `pdem.contact.law.carried_liquid`.

A contact that has begun in a step has its bridge from the next one on. What particles offer is told to the ranks that
have copies of them; then every rank forms the bridges of its contacts, and two that share one find the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case.deformation import deforms
from pdem.case.groups.fixed_groups import has_fixed
from pdem.case.groups.shapes import has_clusters
from pdem.case.laws import takes_liquid
from pdem.contact.law.carried_liquid import offers, quantum_of, whole_quanta
from pdem.contact.law.elastic import ElasticState, elastic_energies
from pdem.contact.pairs.carried_liquid import Formed, ask_pairs, count_new_pairs, form_pairs, pair_liquid
from pdem.contact.walls.carried_liquid import ask_walls, count_new_walls, form_walls, wall_liquid
from pdem.engine.feature import features_of
from pdem.foundation.packed_row import PACKED
from pdem.numerics.sums import ExactSums

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pdem.case.sections.schema import CaseData
    from pdem.engine.setup import Constants
    from pdem.engine.system import System
    from pdem.foundation.fields import Field

FIELD = "liquid"

FILMS, BRIDGES = "liquid_in_films", "liquid_in_bridges"
"""Columns of the series [m^3]."""


def carries_liquid(constants: Constants) -> bool:
    """Tell whether bridges of a case take what particles carry."""
    return bool(constants.carried_limits.any())


def kept_fields(fields: Iterable[Field], case: CaseData) -> list[Field]:
    """Return the fields that files of a case have: none of what there is not, as liquid, clusters, or a moving box."""
    unused = {
        FIELD: not takes_liquid(case), "cluster": not has_clusters(case), "box_work": not deforms(case),
        "fixed": not has_fixed(case),
    }  # fmt: skip
    return [field for field in fields if not unused.get(field.name, False)]


def begin_liquid(system: System) -> None:
    """Choose the quantum of liquid of a new run, and round what particles have down to whole ones. Collective."""
    if not carries_liquid(system.constants) or system.liquid_quantum > 0.0:
        return
    coming = [one.largest_radius for one in features_of(system)]
    largest = np.array([max([system.particles.radius.max(initial=0.0), *coming])])
    system.liquid_quantum = quantum_of(float(system.exchange.largest(largest)[0]))
    system.particles[FIELD][:] = whole_quanta(system.particles[FIELD], system.liquid_quantum)


def liquid_in_quanta(system: System, volume: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return volumes of liquid [m^3] in whole quanta; zeros where none is carried."""
    quantum = system.liquid_quantum
    return whole_quanta(volume, quantum) if quantum else np.zeros(len(volume))


def form_bridges(system: System) -> None:
    """Form the bridges of contacts that have begun in the last step, if there are any on any rank. Collective."""
    if system.liquid_quantum == 0.0:
        return
    most = system.constants.carried_limits
    pairs = pair_liquid(system.pair_contacts, system.particles, most)
    walls = (
        None if system.wall_contacts is None else wall_liquid(system.wall_contacts, system.particles, most)
    )
    new = np.array([count_new_pairs(pairs), 0 if walls is None else count_new_walls(walls)])
    if not system.exchange.largest(new).any():
        return
    offer = _offers(system, pairs, walls)
    formed = Formed.room(int(new[0]))
    quantum, own = system.liquid_quantum, system.particles
    _lose(system, formed.first(int(form_pairs(pairs, offer, quantum, own.column(FIELD), tuple(formed)))))
    if walls is not None:
        formed = Formed.room(int(new[1]))
        _lose(system, formed.first(int(form_walls(walls, offer, quantum, tuple(formed)))))


def _offers(system: System, pairs: tuple[Any, ...], walls: tuple[Any, ...] | None) -> NDArray[np.float64]:
    """Return what each particle, owned and ghost, offers to the bridges that form [m^3]. Collective."""
    own = system.particles
    bound, asked = _bound(system, pairs, walls)
    rows = np.zeros((own.count + own.ghosts, PACKED))
    rows[: own.count, 0] = offers(own[FIELD], bound[: own.count], asked[: own.count])
    system.exchange.begin_update(rows)
    system.exchange.finish_update()
    return np.ascontiguousarray(rows[:, 0])


def _bound(
    system: System, pairs: tuple[Any, ...], walls: tuple[Any, ...] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what owned particles have in bridges [m^3], and the shares that new bridges ask for; also of ghosts."""
    rows = system.particles.count + system.particles.ghosts
    bound, asked = np.zeros(rows), np.zeros(rows, np.int64)
    ask_pairs(pairs, bound, asked)
    if walls is not None:
        ask_walls(walls, bound, asked)
    return bound, asked


def _lose(system: System, formed: Formed) -> None:
    """Account for what new bridges have less energy than their contacts had: they pull from now on."""
    law, table = system.constants.law, system.constants.table
    if not law.has_ledger or not len(formed.volume):
        return
    # a pair with bridges has no plastic normal force: what others remember of theirs does not matter
    history = np.zeros((len(law.normal_history), len(formed.volume)))
    dry, wet = (
        elastic_energies(
            law, table, ElasticState(formed.overlap, volume, history), formed.radius, formed.pair
        )
        for volume in (np.zeros(len(formed.volume)), formed.volume)
    )
    system.ended_energies.add("adhesion", dry - wet)


def liquid_columns(constants: Constants) -> list[tuple[str, str]]:
    """Return names and units of the columns of the series that tell where liquid is."""
    return [(FILMS, "m3"), (BRIDGES, "m3")] if carries_liquid(constants) else []


def liquid_values(system: System) -> dict[str, float]:
    """Return the values of these columns; together they are all that particles own. Collective."""
    if not liquid_columns(system.constants):
        return {}
    most, own = system.constants.carried_limits, system.particles
    pairs = pair_liquid(system.pair_contacts, own, most)
    walls = None if system.wall_contacts is None else wall_liquid(system.wall_contacts, own, most)
    bound = _bound(system, pairs, walls)[0][: own.count]
    sums = ExactSums((FILMS, BRIDGES))
    sums.add(FILMS, own[FIELD] - bound)
    sums.add(BRIDGES, bound)
    sums.normalise()
    total = ExactSums(sums.names, system.exchange.add(sums.limbs))
    total.normalise()
    return total.values()

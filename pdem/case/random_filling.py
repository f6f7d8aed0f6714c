"""Random places without overlap for the particles of ``fill`` groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case import regions
from pdem.case.clearance import size_classes, wrapped
from pdem.case.filling import does_not_fit, region_of
from pdem.foundation.random import keyed_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.case.filling import PlacedGroup, Surroundings
    from pdem.case.insertion import SphereTable
    from pdem.case.model import Case

    Floats = NDArray[np.float64]
    Indices = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

_PLACE_STREAM = 64
_CANDIDATES_AT_ONCE = 4096


def fill_randomly(
    case: Case, groups: list[PlacedGroup], taken: list[PlacedGroup], surroundings: Surroundings
) -> None:
    """Place the particles of all random fills together, the largest first.

    Parameters
    ----------
    case : Case
        The case.
    groups : list of PlacedGroup
        Those to be placed; their positions are written.
    taken : list of PlacedGroup
        Those that have their places already.
    surroundings : Surroundings
        What else is to be avoided.

    Raises
    ------
    CaseError
        If particles find no place in as many attempts as their fill allows, with the number that did.
    """
    if not any(len(one.radius) for one in groups):
        return
    radii = np.concatenate([one.radius for one in groups])
    owners = np.repeat(np.arange(len(groups)), [len(one.radius) for one in groups])
    rows = np.concatenate([np.arange(len(one.radius)) for one in groups])
    table = _sphere_table(case, radii, taken)
    for members in size_classes(radii):
        pending = members[np.argsort(-radii[members], kind="stable")]
        first = 0
        while pending.size:
            _require_attempts(case, groups, owners[pending], first)
            # Several attempts at once keep a few stubborn particles from costing many small passes.
            attempts = np.arange(first, first + max(1, _CANDIDATES_AT_ONCE // pending.size))
            which = np.tile(np.arange(pending.size), attempts.size)
            attempt, tried = np.repeat(attempts, pending.size), pending[which]
            places, allowed = _candidates(case, groups, owners[tried], rows[tried], attempt, surroundings)
            winners = table.place(places, radii[tried], allowed, which)
            _settle(groups, owners, rows, pending, places, winners)
            pending = pending[winners < 0]
            first += attempts.size


def _settle(
    groups: list[PlacedGroup],
    owners: Indices,
    rows: Indices,
    pending: Indices,
    places: Floats,
    winners: Indices,
) -> None:
    for number, one in enumerate(groups):
        mine = (winners >= 0) & (owners[pending] == number)
        one.position[rows[pending[mine]]] = places[winners[mine]]


def _sphere_table(case: Case, radii: Floats, taken: list[PlacedGroup]) -> SphereTable:
    from pdem.case.insertion import SphereTable  # late: it brings the compiler

    sizes = np.concatenate([radii, *(one.radius for one in taken)])
    lower, upper = np.asarray(case.domain.lower), np.asarray(case.domain.upper)
    periodic = np.asarray(case.domain.periodic)
    table = SphereTable(len(sizes), sizes.min(), sizes.max(), lower, upper, periodic)
    for one in taken:
        table.add(wrapped(one.position, case.domain), one.radius)
    return table


def _require_attempts(case: Case, groups: list[PlacedGroup], owners: Indices, attempt: int) -> None:
    for number in np.unique(owners):
        one = groups[number]
        fill: Any = one.group.fill
        if attempt >= fill.attempts:
            placed = int(np.isfinite(one.position[:, 0]).sum())
            remedy = "enlarge the region, ask for fewer, or fill a lattice and let it settle"
            raise does_not_fit(case, one.index, placed, len(one.radius), remedy)


def _candidates(
    case: Case,
    groups: list[PlacedGroup],
    owners: Indices,
    rows: Indices,
    attempt: Indices,
    surroundings: Surroundings,
) -> tuple[Floats, Booleans]:
    """Return one place for each pending particle, shape (n, 3), and whether walls and regions allow it."""
    places, allowed = np.zeros((len(rows), 3)), np.zeros(len(rows), dtype=np.bool_)
    for number, one in enumerate(groups):
        mine = np.flatnonzero(owners == number)
        if mine.size == 0:
            continue
        fill: Any = one.group.fill
        region, radii = region_of(fill), one.radius[rows[mine]]
        free = regions.open_axes(region, case.domain)
        free[case.domain.dimension :] = True
        inset = np.where(free, 0.0, radii[:, None])
        lower, upper = regions.bounds(region)
        low, high = lower + inset, np.maximum(lower + inset, upper - inset)
        uniform = keyed_vectors(fill.seed, _PLACE_STREAM + 3 * attempt[mine], one.ids[rows[mine]])
        if case.domain.dimension == 2:
            uniform[:, 2] = 0.5
        drawn = wrapped(low + uniform * (high - low), case.domain)
        places[mine] = drawn
        allowed[mine] = surroundings.free(fill, drawn, radii)
    return places, allowed

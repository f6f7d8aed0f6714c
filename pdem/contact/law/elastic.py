"""The elastic force of a law: that of its normal part with adhesion, chosen by pair where a case has several."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.contact.law.coefficients import coefficients_reader
from pdem.contact.law.contact_law import BLOCK
from pdem.foundation.kernel_factory import inlined_closure, inlined_exactly, versioned_kernel
from pdem.foundation.kernels import inlined
from pdem.foundation.user_functions import compiled
from pdem.foundation.vectors import dot3
from pdem.simd.columns import column_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import AdhesionPart, Contact, NormalPart


def elastic_of(law: ContactLaw) -> Any:
    """Make the function ``elastic(overlap, radius, k)``, of coefficients as `coefficients_reader` returns them.

    It returns the force [N], the factor of the stiffness, and by how much the load of frictions exceeds the force.
    """
    return _chosen(law, [_elastic(*model) for model in law.elastics], _either3)


def energy_of(law: ContactLaw) -> Any:
    """Make the function ``energy(overlap, radius, k)`` that returns the elastic energy [J]."""
    return _chosen(law, [_energy(*model) for model in law.elastics])


def gap_of(law: ContactLaw) -> Any:
    """Make the function ``gap(carried, radius, k)`` that returns how far a contact can be stretched [m].

    What is carried to a bridge [m^3] is given: it does not stand in the pair table.
    """
    return _chosen(law, [_gap(*model) for model in law.elastics])


def onset_of(law: ContactLaw) -> Any:
    """Make the function of the coefficients that returns the field ``onset`` of the normal part."""
    onsets = [normal.onset for normal, _ in law.elastics]
    first = onsets[0]
    if len(set(onsets)) == 1:
        return inlined_closure(lambda k: first)
    if len(onsets) == 2:
        second = onsets[1]
        return inlined_closure(lambda k: first if k.elastic_model < 0.5 else second)
    table = np.array(onsets)
    return inlined_closure(lambda k: table[int(k.elastic_model)])


def _elastic(normal: NormalPart, adhesion: AdhesionPart | None) -> Any:
    base = compiled(normal.elastic)
    if adhesion is None:
        return inlined_exactly(lambda overlap, radius, c, d: (*base(overlap, radius, c), 0.0))
    pull = compiled(adhesion.elastic)

    @inlined_exactly
    def elastic(overlap: float, radius: float, c: Any, d: Any) -> tuple[float, float, float]:
        force, factor = base(max(overlap, 0.0), radius, c)
        found: tuple[float, float, float] = pull(overlap, radius, d, force, factor)
        return found

    return elastic


def _energy(normal: NormalPart, adhesion: AdhesionPart | None) -> Any:
    base = compiled(normal.energy)
    if adhesion is None:
        return inlined_exactly(lambda overlap, radius, c, d: base(max(overlap, 0.0), radius, c))
    pull = compiled(adhesion.energy)
    return inlined_exactly(
        lambda overlap, radius, c, d: pull(overlap, radius, d, base(max(overlap, 0.0), radius, c))
    )


@inlined_exactly
def _zero(overlap: float, radius: float, c: Any, d: Any) -> float:
    return 0.0


@inlined_exactly
def _one(overlap: float, radius: float, c: Any, d: Any) -> float:
    return 1.0


def _gap(normal: NormalPart, adhesion: AdhesionPart | None) -> Any:
    if adhesion is None:
        return _zero
    gap = compiled(adhesion.gap)
    if adhesion.history:
        return inlined_exactly(lambda carried, radius, c, d: gap(radius, d, carried))
    return inlined_exactly(lambda carried, radius, c, d: gap(radius, d))


@inlined
def _either(first: bool, one: float, other: float) -> float:
    return one if first else other


@inlined
def _either3(first: bool, one: tuple[float, float, float], other: tuple[float, float, float]) -> Any:
    return one[0] if first else other[0], one[1] if first else other[1], one[2] if first else other[2]


def _chosen(law: ContactLaw, functions: list[Any], either: Any = _either) -> Any:
    """Make the function that chooses one of the results of some functions by the pair."""
    choose = _choice(functions, 0, either)
    if len(functions) == 1:
        return inlined_exactly(lambda overlap, radius, k: choose(overlap, radius, k.parts, 0.0))
    return inlined_exactly(lambda overlap, radius, k: choose(overlap, radius, k.parts, k.elastic_model))


def _choice(functions: list[Any], number: int, either: Any) -> Any:
    """Make the function that takes the first of several, or what the others give, by the number of the model."""
    first = functions[0]
    if len(functions) == 1:
        return inlined_exactly(
            lambda overlap, radius, parts, model: first(overlap, radius, parts[0], parts[1])
        )
    rest, here = _choice(functions[1:], number + 1, either), number + 0.5

    @inlined_exactly
    def choice(overlap: float, radius: float, parts: Any, model: float) -> Any:
        one, other = first(overlap, radius, parts[0], parts[1]), rest(overlap, radius, parts[2:], model)
        return either(model < here, one, other)

    return choice


def account_of(law: ContactLaw, places: Sequence[Any]) -> Any:
    """Make the function that writes into a history what is lost of the elastic energy if a contact ends now [J].

    That is what it stores less what its pull takes from the motion until the next step, half a step later: the contact
    is found to have ended there. It takes the columns, the place of the contact in them, the histories, the place
    there, a `Contact`, and what the normal force gives in half a step [N s].
    """
    if not (law.has_ledger and law.has("adhesion")):
        return inlined_closure(lambda work, w, history, h, contact, push: None)
    loses = [adhesion is not None and bool(adhesion.energies) for _, adhesion in law.elastics]
    models = [_energy(*model) if may else _zero for model, may in zip(law.elastics, loses, strict=True)]
    energy, read = _chosen(law, models), coefficients_reader(law, places)
    may_lose = _chosen(law, [_one if may else _zero for may in loses])
    write = column_writer([BLOCK * law.place("adhesion")])

    @inlined_closure
    def account(work: Any, w: int, history: Any, h: int, contact: Contact, push: float) -> None:
        k = read(work, w)
        taken = may_lose(0.0, 0.0, k) * min(push, 0.0) * dot3(contact.velocity, contact.normal)
        write(history, h, (energy(contact.overlap, contact.radius, k) - taken,))

    return account


@cache
def energy_kernel(law: ContactLaw) -> Any:
    """Make the kernel that writes the elastic energies of contacts [J].

    It takes overlaps, effective radii, and rows of the pair table, what is carried to bridges, the table, flat, and the
    array to write.
    """
    energy, read, width = energy_of(law), coefficients_reader(law, range(law.width)), law.width
    carries, column = law.carried is not None, 0 if law.carried is None else law.carried[0]

    @versioned_kernel(law.version)
    def elastic_energies(
        overlap: NDArray[np.float64], radius: NDArray[np.float64], pair: NDArray[np.int32],
        carried: NDArray[np.float64], table: NDArray[np.float64], energies: NDArray[np.float64],
    ) -> None:  # fmt: skip
        row = np.empty(width)
        for c in range(len(overlap)):
            row[:] = table[width * pair[c] : width * (pair[c] + 1)]
            if carries:
                row[column] = carried[c]
            energies[c] = energy(overlap[c], radius[c], read(row, 0))

    return elastic_energies


def elastic_energies(
    law: ContactLaw,
    table: NDArray[np.float64],
    overlap: NDArray[np.float64],
    radius: NDArray[np.float64],
    pair: NDArray[np.int32],
    carried: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the elastic energies of contacts [J].

    Parameters
    ----------
    law, table
        The contact law, and its pair table (M * M, width).
    overlap, radius : (n,) arrays
        Overlap and effective radius of each contact [m].
    pair : (n,) int array
        Row of the table.
    carried : (n,) array
        Liquid of each bridge, see `carried_in` [m^3].
    """
    found = np.empty(len(overlap))
    kernel = energy_kernel(law)
    kernel(
        np.ascontiguousarray(overlap),
        np.ascontiguousarray(radius),
        pair.astype(np.int32),
        np.ascontiguousarray(carried),
        table.reshape(-1),
        found,
    )
    return found


def carried_in(law: ContactLaw, histories: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the liquid that was carried to the bridges of contacts with these histories (columns, n) [m^3]."""
    return np.zeros(histories.shape[1]) if law.carried is None else histories[law.carried[1]]


def half_gaps(
    law: ContactLaw, table: NDArray[np.float64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return half of the widest gap at which a contact of a sphere can last, as a function of radii [m].

    The effective radius of a pair is less than both radii, and gaps grow with it: a pair is not farther apart than both
    halves together.
    """
    kernel = gap_kernel(law)

    def halves(radius: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.empty(len(radius))
        kernel(np.ascontiguousarray(radius), table, found)
        return found

    return halves


@cache
def gap_kernel(law: ContactLaw) -> Any:
    """Make the kernel that writes half of the widest gap over all pairs of materials of a table (M * M, width) [m]."""
    gap, read, width = gap_of(law), coefficients_reader(law, range(law.width)), law.width
    modulus = law.coefficients.index("modulus")

    @versioned_kernel(law.version)
    def half_gap(radius: NDArray[np.float64], table: NDArray[np.float64], found: NDArray[np.float64]) -> None:
        flat = table.reshape(-1)
        for p in range(len(radius)):
            widest = 0.0
            for pair in range(len(table)):
                if table[pair, modulus] > 0.0:  # materials that never meet have zeros
                    widest = max(widest, gap(np.inf, radius[p], read(flat, width * pair)))
            found[p] = 0.5 * widest

    return half_gap

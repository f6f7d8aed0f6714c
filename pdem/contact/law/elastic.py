"""The elastic normal force of a law: normal part and adhesion, chosen by pair if a case has several."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.contact.law.coefficients import remembering_reader
from pdem.contact.law.contact_law import BASE, BLOCK, OVERLAP
from pdem.numerics.kernel_factory import inlined_closure, inlined_exactly, versioned_kernel
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.columns import column_reader, column_writer
from pdem.numerics.user_functions import compiled
from pdem.numerics.vectors import dot3

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.contact.law.adhesion_part import AdhesionPart
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import Contact, NormalPart
    from pdem.foundation.array_types import Booleans, Floats, Int32s


def elastic_of(law: ContactLaw) -> Any:
    """Make the function ``elastic(overlap, radius, k, history)``, with coefficients from `coefficients_reader`.

    It returns the force [N], the factor of the stiffness, the difference of the load for friction and the force [N],
    the new history of the normal force, and the energy lost [J]. Without a history the last two are () and 0.
    """
    either = _either_of(len(law.normal_history))
    return _chosen(law, [_elastic(*model) for model in law.elastics], either)


def energy_of(law: ContactLaw) -> Any:
    """Make the function ``energy(overlap, radius, k, history)`` that returns the elastic energy [J]."""
    return _chosen(law, [_energy(*model) for model in law.elastics])


def gap_of(law: ContactLaw) -> Any:
    """Make the function ``gap(0.0, radius, k, ())`` that returns how far a contact can be stretched [m].

    Coefficients come from the pair and from the history of the contact, see `remembering_reader`.
    """
    return _chosen(law, [_gap(None if one is None else one.gap) for _, one in law.elastics])


def reach_of(law: ContactLaw) -> Any:
    """Make the function ``reach(0.0, radius, k, ())`` that returns how far any contact can be stretched [m].

    Coefficients from histories are infinite.
    """
    return _chosen(law, [_gap(None if one is None else one.reach or one.gap) for _, one in law.elastics])


def stiffness_of(law: ContactLaw) -> Any:
    """Make the function ``stiffness(overlap, radius, k, ())`` that returns the largest stiffness [N/m]."""
    return _chosen(law, [_stiffness(*model) for model in law.elastics])


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
    if normal.history:
        return inlined_exactly(lambda overlap, radius, c, d, history: base(max(overlap, 0.0), radius, c, history))
    if adhesion is None:
        return inlined_exactly(lambda overlap, radius, c, d, history: (*base(overlap, radius, c), 0.0, history, 0.0))
    pull = compiled(adhesion.elastic)

    @inlined_exactly
    def elastic(overlap: float, radius: float, c: Any, d: Any, history: Any) -> Any:
        force, factor = base(max(overlap, 0.0), radius, c)
        return (*pull(overlap, radius, d, force, factor), history, 0.0)

    return elastic


def _energy(normal: NormalPart, adhesion: AdhesionPart | None) -> Any:
    base = compiled(normal.energy)
    if normal.history:
        return inlined_exactly(lambda overlap, radius, c, d, history: base(max(overlap, 0.0), radius, c, history))
    if adhesion is None:
        return inlined_exactly(lambda overlap, radius, c, d, history: base(max(overlap, 0.0), radius, c))
    pull = compiled(adhesion.energy)
    return inlined_exactly(
        lambda overlap, radius, c, d, history: pull(overlap, radius, d, base(max(overlap, 0.0), radius, c))
    )


@inlined_exactly
def _zero(overlap: float, radius: float, c: Any, d: Any, history: Any) -> float:
    return 0.0


@inlined_exactly
def _one(overlap: float, radius: float, c: Any, d: Any, history: Any) -> float:
    return 1.0


def _gap(function: Callable[..., float] | None) -> Any:
    if function is None:
        return _zero
    gap = compiled(function)
    return inlined_exactly(lambda overlap, radius, c, d, history: gap(radius, d))


def _stiffness(normal: NormalPart, adhesion: AdhesionPart | None) -> Any:
    if normal.steepest is not None:
        steepest = compiled(normal.steepest)
        return inlined_exactly(lambda overlap, radius, c, d, history: steepest(max(overlap, 0.0), radius, c))
    elastic = _elastic(normal, adhesion)
    return inlined_exactly(
        lambda overlap, radius, c, d, history: c.modulus * elastic(overlap, radius, c, d, history)[1]
    )


@inlined
def _either(first: bool, one: float, other: float) -> float:
    return one if first else other


def _either_of(history: int) -> Any:
    """Make the function that returns one of two results of ``elastic``, with `history` columns of a history."""
    histories = either_history(history)

    @inlined
    def either(first: bool, one: Any, other: Any) -> Any:
        return (
            one[0] if first else other[0], one[1] if first else other[1], one[2] if first else other[2],
            histories(first, one[3], other[3]), one[4] if first else other[4],
        )  # fmt: skip

    return either


def either_history(columns: int) -> Any:
    """Make the function that returns one of two tuples of `columns` numbers."""
    if columns == 0:
        return inlined_closure(lambda first, one, other: ())
    rest = either_history(columns - 1)
    return inlined_closure(lambda first, one, other: (one[0] if first else other[0], *rest(first, one[1:], other[1:])))


def _chosen(law: ContactLaw, functions: list[Any], either: Any = _either) -> Any:
    """Make the function that chooses one of the results of some functions by the pair."""
    choose = _choice(functions, 0, either)
    if len(functions) == 1:
        return inlined_exactly(lambda overlap, radius, k, history: choose(overlap, radius, k.parts, 0.0, history))
    return inlined_exactly(
        lambda overlap, radius, k, history: choose(overlap, radius, k.parts, k.elastic_model, history)
    )


def _choice(functions: list[Any], number: int, either: Any) -> Any:
    """Make the function that returns the result of the first model, or of a later one, by the number of the model."""
    first = functions[0]
    if len(functions) == 1:
        return inlined_exactly(
            lambda overlap, radius, parts, model, history: first(overlap, radius, parts[0], parts[1], history)
        )
    rest, here = _choice(functions[1:], number + 1, either), number + 0.5

    @inlined_exactly
    def choice(overlap: float, radius: float, parts: Any, model: float, history: Any) -> Any:
        one = first(overlap, radius, parts[0], parts[1], history)
        return either(model < here, one, rest(overlap, radius, parts[2:], model, history))

    return choice


def account_of(law: ContactLaw) -> Any:
    """Make the function that writes the loss of elastic energy if a contact ends now into its history [J].

    The loss is the stored energy less the work of the pull until the next step, half a step later, when the end of the
    contact is detected. Arguments are the histories, the index of the contact, a `Contact`, coefficients, the history
    of the normal force, and its impulse in half a step [N s]. The function is inlined beside the force, so that the
    compiler shares common expressions.
    """
    if not (law.has_ledger and law.has("adhesion")):
        return inlined_closure(lambda history, h, contact, k, memory, push: None)
    loses = [adhesion is not None and bool(adhesion.energies) for _, adhesion in law.elastics]
    models = [_energy(*model) if may else _zero for model, may in zip(law.elastics, loses, strict=True)]
    energy, may_lose = _chosen(law, models), _chosen(law, [_one if may else _zero for may in loses])
    write = column_writer([BLOCK * law.place("adhesion")])

    @inlined_closure
    def account(history: Any, h: int, contact: Contact, k: Any, memory: Any, push: float) -> None:
        taken = may_lose(0.0, 0.0, k, memory) * min(push, 0.0) * dot3(contact.velocity, contact.normal)
        write(history, h, (energy(contact.overlap, contact.radius, k, memory) - taken,))

    return account


@cache
def energy_kernel(law: ContactLaw) -> Any:
    """Make the kernel that writes the elastic energies of contacts [J].

    Arguments are overlaps, effective radii, rows of the pair table, histories for adhesion as a flat array, the table
    as a flat array, histories of the normal force as a flat array, and the array to write.
    """
    energy, width, columns = energy_of(law), law.width, len(law.normal_history)
    read, held = _reader_of_remembered(law), len(law.remembered)
    history_at = column_reader(range(columns))

    @versioned_kernel(law.version)
    def elastic_energies(
        overlap: Floats, radius: Floats, pair: Int32s,
        remembered: Floats, table: Floats, histories: Floats,
        energies: Floats,
    ) -> None:  # fmt: skip
        for c in range(len(overlap)):
            k = read(table, width * pair[c], remembered, held * c)
            energies[c] = energy(overlap[c], radius[c], k, history_at(histories, columns * c))

    return elastic_energies


def _reader_of_remembered(law: ContactLaw) -> Any:
    """Make the function that reads coefficients from the pair table and from `ContactLaw.remembered` side by side."""
    return remembering_reader(law, range(law.width), {name: place for place, name in enumerate(law.remembered)})


class ElasticState(NamedTuple):
    """Variables of the elastic energies of contacts, besides sizes and materials.

    Attributes
    ----------
    overlap : (n,) array
        Overlap [m].
    remembered : (k, n) array
        Columns that adhesion reads, see `ContactLaw.remembered`.
    history : (columns, n) array
        Columns of the normal force.
    """

    overlap: Floats
    remembered: Floats
    history: Floats

    def of(self, chosen: Booleans) -> ElasticState:
        """Return the state of some of the contacts."""
        return ElasticState(self.overlap[chosen], self.remembered[:, chosen], self.history[:, chosen])


def elastic_state(law: ContactLaw, histories: Floats) -> ElasticState:
    """Return the state of contacts with these histories (columns, n)."""
    places = np.array([law.place(name) for name in law.remembered], np.int64)
    return ElasticState(
        histories[OVERLAP], histories[places], histories[len(BASE) : len(BASE) + len(law.normal_history)]
    )


def elastic_energies(law: ContactLaw, table: Floats, state: ElasticState, radius: Floats, pair: Int32s) -> Floats:
    """Return the elastic energies of contacts [J].

    Parameters
    ----------
    law, table
        The contact law, and its pair table (M * M, width).
    state : ElasticState
        State of the contacts.
    radius : (n,) array
        Effective radius of each contact [m].
    pair : (n,) int array
        Row of the table.
    """
    found = np.empty(len(radius))
    kernel = energy_kernel(law)
    kernel(
        np.ascontiguousarray(state.overlap),
        np.ascontiguousarray(radius),
        pair.astype(np.int32),
        np.ascontiguousarray(state.remembered.T).reshape(-1),
        table.reshape(-1),
        np.ascontiguousarray(state.history.T).reshape(-1),
        found,
    )
    return found


def half_gaps(law: ContactLaw, table: Floats) -> Callable[[Floats], Floats]:
    """Return half of the largest gap at which a contact of a sphere can last, as a function of radii [m].

    The effective radius of a pair is less than both radii, and gaps grow with it: the gap of a pair is never larger
    than the sum of both halves.
    """
    kernel, infinite = gap_kernel(law), np.full(len(law.remembered), np.inf)

    def halves(radius: Floats) -> Floats:
        found = np.empty(len(radius))
        kernel(np.ascontiguousarray(radius), table, infinite, found)
        return found

    return halves


@cache
def gap_kernel(law: ContactLaw) -> Any:
    """Make the kernel that writes half of the widest gap over all pairs of materials of a table (M * M, width) [m].

    Arguments are radii, the table, infinite numbers as histories, and the array to write.
    """
    reach, read, width = reach_of(law), _reader_of_remembered(law), law.width
    modulus = law.coefficients.index("modulus")

    @versioned_kernel(law.version)
    def half_gap(
        radius: Floats, table: Floats, remembered: Floats,
        found: Floats,
    ) -> None:  # fmt: skip
        flat = table.reshape(-1)
        for p in range(len(radius)):
            widest = 0.0
            for pair in range(len(table)):
                if table[pair, modulus] > 0.0:  # materials that never meet have zeros
                    k = read(flat, width * pair, remembered, 0)
                    widest = max(widest, reach(0.0, radius[p], k, ()))
            found[p] = 0.5 * widest

    return half_gap

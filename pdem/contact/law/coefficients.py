"""Coefficients of a pair of materials as tuples with named fields, read from the pair table or from columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import fields_of, tuple_type
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.simd.columns import column_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.contact.law.adhesion_part import AdhesionPart
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import Part


def part_reader(law: ContactLaw, part: Part, places: Sequence[Any]) -> Any:
    """Make the function that returns the coefficients of a part.

    Its arguments are a flat array and an index; `places` are the offsets of the columns of the pair table from there.
    """
    return _reader(fields_of(part), [places[column] for column in law.places_of_coefficients(part)])


def coefficients_reader(law: ContactLaw, places: Sequence[Any]) -> Any:
    """Make the function that returns the coefficients of the normal stage.

    These are ``damping``, ``relaxation``, ``modulus``, ``elastic_model``, ``ratio`` and ``ratio_root``, if the law has
    them, and ``parts``, the coefficients of each elastic model in turn.
    """
    read = _reader_of_all(law, places, None)

    @inlined_closure
    def coefficients_of(numbers: Any, at: int) -> Any:
        return read(numbers, at, numbers, at)

    return coefficients_of


def remembering_reader(law: ContactLaw, places: Sequence[Any], memory: Mapping[str, Any]) -> Any:
    """Make the function that returns the coefficients of one contact, some of them from its history.

    Its arguments are a flat array and an index, as for `coefficients_reader`, and histories with an index; `memory` has
    the offsets of the columns of `ContactLaw.remembered` from there.
    """
    return _reader_of_all(law, places, memory)


def _reader_of_all(law: ContactLaw, places: Sequence[Any], memory: Mapping[str, Any] | None) -> Any:
    names = ("damping", "relaxation", "modulus", "elastic_model")
    wanted = [name for name in names if name in law.coefficients]
    columns: dict[str, int] = {name: law.coefficients.index(name) for name in wanted}
    if law.is_spring:
        columns |= {name: law.coefficients.index(f"tangential.{name}") for name in ("ratio", "ratio_root")}
    shared = column_reader([places[column] for column in columns.values()])
    of_parts = _elastic_reader(law, places, memory)
    Both = tuple_type((*columns, "parts"))

    @inlined_closure
    def coefficients_of(numbers: Any, at: int, history: Any, h: int) -> Any:
        return Both(*shared(numbers, at), of_parts(numbers, at, history, h))

    return coefficients_of


def _elastic_reader(law: ContactLaw, places: Sequence[Any], memory: Mapping[str, Any] | None) -> Any:
    """Make the function that returns the coefficients of each elastic model: of its normal part, of its adhesion."""
    readers = []
    for normal, adhesion in law.elastics:
        readers.append(_forgetful_reader(law, normal, places))
        if adhesion is None or not adhesion.remembered or memory is None:
            readers.append(_forgetful_reader(law, adhesion or normal, places))
        else:
            readers.append(_part_with_memory(law, adhesion, places, memory))
    return _all_of(readers)


def _forgetful_reader(law: ContactLaw, part: Part, places: Sequence[Any]) -> Any:
    """Make the function that returns the coefficients of a part, by the pair alone."""
    read = part_reader(law, part, places)

    @inlined_closure
    def coefficients(numbers: Any, at: int, history: Any, h: int) -> Any:
        return read(numbers, at)

    return coefficients


def _part_with_memory(law: ContactLaw, part: AdhesionPart, places: Sequence[Any], memory: Mapping[str, Any]) -> Any:
    """Make the function that returns the coefficients of a part, with the last ones from the history."""
    Coefficients, of_pair = tuple_type(fields_of(part)), law.places_of_coefficients(part)
    read = column_reader([places[column] for column in of_pair[: len(of_pair) - len(part.remembered)]])
    remembered = column_reader([memory[column.name] for column in part.history])

    @inlined_closure
    def coefficients(numbers: Any, at: int, history: Any, h: int) -> Any:
        return Coefficients(*read(numbers, at), *remembered(history, h))

    return coefficients


def _all_of(readers: list[Any]) -> Any:
    """Make the function that returns the results of several readers as one tuple."""
    first = readers[0]
    if len(readers) == 1:

        @inlined_closure
        def one(numbers: Any, at: int, history: Any, h: int) -> Any:
            return (first(numbers, at, history, h),)

        return one
    rest = _all_of(readers[1:])

    @inlined_closure
    def several(numbers: Any, at: int, history: Any, h: int) -> Any:
        return (first(numbers, at, history, h), *rest(numbers, at, history, h))

    return several


def _reader(fields: tuple[str, ...], places: list[int]) -> Any:
    Coefficients = tuple_type(fields)
    read = column_reader(places)

    @inlined_closure
    def coefficients(numbers: Any, at: int) -> Any:
        return Coefficients(*read(numbers, at))

    return coefficients

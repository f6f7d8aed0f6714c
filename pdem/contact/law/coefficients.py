"""Coefficients of a pair of materials as tuples with named fields, read from the pair table or from columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.contact.law.parts import fields_of, tuple_type
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.simd.columns import column_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import Part


def part_reader(law: ContactLaw, part: Part, places: Sequence[Any]) -> Any:
    """Make the function that returns the coefficients of a part.

    It takes a flat array and a place in it; `places` tells how far from there each column of the pair table is.
    """
    return _reader(fields_of(part), [places[column] for column in law.places_of_coefficients(part)])


def coefficients_reader(law: ContactLaw, places: Sequence[Any]) -> Any:
    """Make the function that returns what the normal stage needs of all parts.

    These are ``damping``, ``relaxation``, ``modulus``, ``elastic_model``, ``ratio`` and ``ratio_root``, where the law
    has them, and ``parts``, the coefficients of each elastic model in turn.
    """
    names = ("damping", "relaxation", "modulus", "elastic_model")
    wanted = [name for name in names if name in law.coefficients]
    columns: dict[str, int] = {name: law.coefficients.index(name) for name in wanted}
    if law.is_spring:
        columns |= {name: law.coefficients.index(f"tangential.{name}") for name in ("ratio", "ratio_root")}
    shared = column_reader([places[column] for column in columns.values()])
    of_parts = elastic_reader(law, places)
    Both = tuple_type((*columns, "parts"))

    @inlined_closure
    def coefficients_of(numbers: Any, at: int) -> Any:
        return Both(*shared(numbers, at), of_parts(numbers, at))

    return coefficients_of


def elastic_reader(law: ContactLaw, places: Sequence[Any]) -> Any:
    """Make the function that returns the coefficients of each elastic model: of its normal part, of its adhesion."""
    readers = []
    for normal, adhesion in law.elastics:
        readers.append(part_reader(law, normal, places))
        readers.append(part_reader(law, adhesion or normal, places))
    return _all_of(readers)


def _all_of(readers: list[Any]) -> Any:
    """Make the function that returns what several readers do, as one tuple."""
    first = readers[0]
    if len(readers) == 1:

        @inlined_closure
        def one(numbers: Any, at: int) -> Any:
            return (first(numbers, at),)

        return one
    rest = _all_of(readers[1:])

    @inlined_closure
    def several(numbers: Any, at: int) -> Any:
        return (first(numbers, at), *rest(numbers, at))

    return several


def _reader(fields: tuple[str, ...], places: list[int]) -> Any:
    Coefficients = tuple_type(fields)
    read = column_reader(places)

    @inlined_closure
    def coefficients(numbers: Any, at: int) -> Any:
        return Coefficients(*read(numbers, at))

    return coefficients

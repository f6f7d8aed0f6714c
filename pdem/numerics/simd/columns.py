"""Columns of a flat array read and written as one tuple; the choice of columns is fixed when a kernel is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from pdem.numerics.numba_private import Tuple, UniTuple, intrinsic_or_plain, ir, types
from pdem.numerics.simd.transposition import address_of, data_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_NUMBER = ir.DoubleType()


def column_reader(places: Sequence[int]) -> Callable[..., tuple[float, ...]]:
    """Make a function that returns the numbers at these offsets from a common index of a flat array.

    The function takes the array and the index, which is not checked and must not be negative.
    """
    chosen = [int(place) for place in places]

    def plain(numbers: NDArray[Any], at: int) -> tuple[float, ...]:
        return tuple(float(numbers[int(at) + place]) for place in chosen)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        found = [builder.load(address_of(builder, data, arguments[1], place, _NUMBER)) for place in chosen]
        return context.make_tuple(builder, signature.return_type, found)

    def typed(context: Any, numbers: Any, at: Any) -> Any:
        found = UniTuple(types.float64, len(chosen)) if chosen else Tuple(())
        return found(numbers, types.uint64), generate

    return intrinsic_or_plain(typed, plain)


def column_writer(places: Sequence[int]) -> Callable[..., None]:
    """Make a function that writes a tuple of numbers to these offsets, as `column_reader` reads them.

    The function takes the array, the common index, and the tuple.
    """
    chosen = [int(place) for place in places]

    def plain(numbers: NDArray[Any], at: int, values: tuple[float, ...]) -> None:
        for place, value in zip(chosen, values, strict=True):
            numbers[int(at) + place] = value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature, arguments, 0)
        for number, place in enumerate(chosen):
            value = builder.extract_value(arguments[2], number)
            value = context.cast(builder, value, signature.args[2][number], types.float64)
            builder.store(value, address_of(builder, data, arguments[1], place, _NUMBER))
        return context.get_dummy_value()

    def typed(context: Any, numbers: Any, at: Any, values: Any) -> Any:
        if len(values) != len(chosen):
            raise numba.TypingError(f"{len(values)} numbers instead of {len(chosen)}")
        return types.void(numbers, types.uint64, values), generate

    return intrinsic_or_plain(typed, plain)

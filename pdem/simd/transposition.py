"""Rows of numbers into columns and back, four rows at a time.

Of particles, what belongs together lies in rows, so that one place in memory has all of it; loops over contacts become
vector code where it lies in columns. Compilers bring scattered rows into columns number by number. The functions made
here take two columns at once, which needs half of the loads and a third of the shuffles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from pdem.foundation.kernels import inlined

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROWS = 4
"""Rows that are brought at a time."""

LANES = 8
"""Loops over columns go on in multiples of this, the most that any processor takes at once."""

_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_TWO, _FOUR = ir.VectorType(_NUMBER, 2), ir.VectorType(_NUMBER, ROWS)
_ALIGN = 8  # bytes that addresses are multiples of, whatever vectors may wish for
_ZIPPED = (0, 4, 2, 6), (1, 5, 3, 7)  # of two vectors the first of each two numbers, and the second


@inlined
def whole_lanes(count: int) -> int:
    """Return the smallest multiple of `LANES` that is not below `count`."""
    return -(-count // LANES) * LANES


@inlined
def whole_rows(count: int) -> int:
    """Return the smallest multiple of `ROWS` that is not below `count`."""
    return -(-count // ROWS) * ROWS


def rows_to_columns(count: int, stride: int) -> Callable[..., None]:
    """Make a function for kernels that writes the begins of four rows into columns.

    Parameters
    ----------
    count : int
        Numbers of each row that are taken.
    stride : int
        From one column to the next.

    Returns
    -------
    function
        Of a flat array, where four rows begin in it, another flat array, and where the first column of these rows
        begins in that. All places are counted from the begin, not checked, and none is negative.
    """

    def plain(rows: NDArray[Any], a: int, b: int, c: int, d: int, columns: NDArray[Any], at: int) -> None:
        for column in range(count):
            for place, row in enumerate((a, b, c, d)):
                columns[int(at) + column * stride + place] = rows[row + column]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, columns = (data_of(context, builder, signature, arguments, number) for number in (0, 5))
        for column in range(0, count - 1, 2):
            a, b, c, d = (_load(builder, rows, place, column, _TWO) for place in arguments[1:5])
            one, other = _shuffle(builder, a, c, range(ROWS)), _shuffle(builder, b, d, range(ROWS))
            for behind, lanes in enumerate(_ZIPPED):
                both = _shuffle(builder, one, other, lanes)
                _store(builder, both, columns, arguments[6], (column + behind) * stride)
        if count % 2:
            last = ir.Constant(_FOUR, [0.0] * ROWS)
            for lane, place in enumerate(arguments[1:5]):
                number = _load(builder, rows, place, count - 1, _NUMBER)
                last = builder.insert_element(last, number, ir.Constant(_LANE, lane))
            _store(builder, last, columns, arguments[6], (count - 1) * stride)
        return context.get_dummy_value()

    def typed(context: Any, rows: Any, a: Any, b: Any, c: Any, d: Any, columns: Any, at: Any) -> Any:
        return types.void(rows, a, b, c, d, columns, at), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def columns_to_rows(count: int, stride: int) -> Callable[..., None]:
    """Make a function for kernels that writes the begins of four rows from columns.

    Parameters
    ----------
    count, stride : int
        Columns; from one column to the next.

    Returns
    -------
    function
        Of the flat array of columns, where the first of these rows begins in it, the flat array of rows, and where
        the four begin in that. Places as for `rows_to_columns`.
    """

    def plain(columns: NDArray[Any], at: int, rows: NDArray[Any], a: int, b: int, c: int, d: int) -> None:
        for column in range(count):
            for place, row in enumerate((a, b, c, d)):
                rows[int(row) + column] = columns[int(at) + column * stride + place]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, rows = (data_of(context, builder, signature, arguments, number) for number in (0, 2))
        at, begins = arguments[1], arguments[3:]
        for column in range(0, count - 1, 2):
            one, other = (_load(builder, columns, at, (column + k) * stride, _FOUR) for k in range(2))
            for behind, lanes in enumerate(_ZIPPED):
                both = _shuffle(builder, one, other, lanes)
                for place, half in ((behind, (0, 1)), (behind + 2, (2, 3))):
                    _store(builder, _shuffle(builder, both, both, half), rows, begins[place], column)
        if count % 2:
            last = _load(builder, columns, at, (count - 1) * stride, _FOUR)
            for place, begin in enumerate(begins):
                number = builder.extract_element(last, ir.Constant(_LANE, place))
                _store(builder, number, rows, begin, count - 1)
        return context.get_dummy_value()

    def typed(context: Any, columns: Any, at: Any, rows: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return types.void(columns, at, rows, a, b, c, d), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def data_of(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    """Return the address of the first number of an array among the arguments."""
    return context.make_array(signature.args[number])(context, builder, arguments[number]).data


def address_of(builder: Any, data: Any, place: Any, behind: int, kind: Any) -> Any:
    """Return the address of a vector or number of this kind, `behind` numbers behind a place."""
    pointer = builder.gep(data, [builder.add(place, ir.Constant(_PLACE, behind))])
    return builder.bitcast(pointer, kind.as_pointer())


def _load(builder: Any, data: Any, place: Any, behind: int, kind: Any) -> Any:
    return builder.load(address_of(builder, data, place, behind, kind), align=_ALIGN)


def _store(builder: Any, value: Any, data: Any, place: Any, behind: int) -> None:
    builder.store(value, address_of(builder, data, place, behind, value.type), align=_ALIGN)


def _shuffle(builder: Any, one: Any, other: Any, lanes: Any) -> Any:
    """Return a vector of the numbers `lanes` of two vectors, those of the second counted behind those of the first."""
    chosen = [ir.Constant(_LANE, lane) for lane in lanes]
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_LANE, len(chosen)), chosen))

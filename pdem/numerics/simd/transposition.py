"""Conversion of rows of numbers to columns and back, four rows at a time.

The data of a particle form a row, so that they are adjacent in memory; loops over contacts become vector code if the
data form columns. Compilers convert scattered rows to columns number by number. The functions made here convert two
columns together, which needs half of the loads and a third of the shuffles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.numerics.kernels import inlined
from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

ROWS = 4
"""Number of rows converted at a time."""

LANES = 8
"""Loops over columns advance by multiples of this number, the widest vector of any processor."""

_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_ALIGN = 8  # alignment of addresses in bytes, less than vectors may prefer
_EVERY_OTHER_PAIR = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)


def _zipped(lanes: int) -> list[list[int]]:
    """Return the lanes that interleave the even numbers of two vectors, and the lanes for the odd numbers."""
    return [[k + odd + side * lanes for k in range(0, lanes, 2) for side in (0, 1)] for odd in (0, 1)]


@inlined
def whole_lanes(count: int) -> int:
    """Return the smallest multiple of `LANES` that is not below `count`."""
    return -(-count // LANES) * LANES


@inlined
def whole_rows(count: int) -> int:
    """Return the smallest multiple of `ROWS` that is not below `count`."""
    return -(-count // ROWS) * ROWS


def rows_to_columns(count: int, stride: int) -> Callable[..., None]:
    """Make a function for kernels that writes the leading numbers of four rows into columns.

    Parameters
    ----------
    count : int
        Numbers to read from each row.
    stride : int
        Distance between columns.

    Returns
    -------
    function
        Its arguments: a flat array of rows, the beginnings of four rows in it, a flat array of columns, and the
        beginning of these rows in the first column. Indices are not checked and must not be negative.
    """

    def plain(rows: NDArray[Any], a: int, b: int, c: int, d: int, columns: NDArray[Any], at: int) -> None:
        for column in range(count):
            for place, row in enumerate((a, b, c, d)):
                columns[int(at) + column * stride + place] = rows[row + column]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, columns = (data_of(context, builder, signature, arguments, number) for number in (0, 5))
        build_columns(builder, rows, arguments[1:5], columns, arguments[6], (count, stride))
        return context.get_dummy_value()

    def typed(context: Any, rows: Any, a: Any, b: Any, c: Any, d: Any, columns: Any, at: Any) -> Any:
        return types.void(rows, a, b, c, d, columns, at), generate

    return intrinsic_or_plain(typed, plain)


def columns_to_rows(count: int, stride: int) -> Callable[..., None]:
    """Make a function for kernels that writes the leading numbers of four rows from columns.

    Parameters
    ----------
    count, stride : int
        Number of columns; distance between columns.

    Returns
    -------
    function
        Its arguments: a flat array of columns, the beginning of these rows in the first column, a flat array of rows,
        and the beginnings of the four rows in it. Indices as for `rows_to_columns`.
    """

    def plain(columns: NDArray[Any], at: int, rows: NDArray[Any], a: int, b: int, c: int, d: int) -> None:
        for column in range(count):
            for place, row in enumerate((a, b, c, d)):
                rows[int(row) + column] = columns[int(at) + column * stride + place]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, rows = (data_of(context, builder, signature, arguments, number) for number in (0, 2))
        build_rows(builder, columns, arguments[1], rows, arguments[3:], (count, stride))
        return context.get_dummy_value()

    def typed(context: Any, columns: Any, at: Any, rows: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return types.void(columns, at, rows, a, b, c, d), generate

    return intrinsic_or_plain(typed, plain)


def build_columns(
    builder: Any, rows: Any, begins: Sequence[Any], columns: Any, at: Any, shape: tuple[int, int]
) -> None:
    """Append code that writes the leading numbers of `ROWS` or `LANES` rows into columns.

    Parameters
    ----------
    rows, columns
        Addresses of the arrays.
    begins
        Index at which each row begins.
    at
        Beginning of these rows in the first column.
    shape : (int, int)
        Numbers to read from each row, and distance between columns.
    """
    count, stride = shape
    column = 0
    for together in (4, 2) if len(begins) == LANES else (2,):
        while column + together <= count:
            kind = ir.VectorType(_NUMBER, together)
            parts = [_load(builder, rows, begin, column, kind) for begin in begins]
            for behind, whole in enumerate(_turned(builder, parts)):
                _store(builder, whole, columns, at, (column + behind) * stride)
            column += together
    for last in range(column, count):
        whole = ir.Constant(ir.VectorType(_NUMBER, len(begins)), [0.0] * len(begins))
        for lane, begin in enumerate(begins):
            number = _load(builder, rows, begin, last, _NUMBER)
            whole = builder.insert_element(whole, number, ir.Constant(_LANE, lane))
        _store(builder, whole, columns, at, last * stride)


def _turned(builder: Any, parts: Sequence[Any]) -> list[Any]:
    """Return two or four columns, from two or four numbers of each of four or eight rows.

    Even rows are concatenated, and odd rows. Interleaving gives the even numbers of both, and the odd numbers. With
    four numbers per row, pairs of numbers must then be brought into their order.
    """
    together, rows = parts[0].type.count, len(parts)
    if together == 2:
        even, odd = (_side_by_side(builder, parts[first::2]) for first in (0, 1))
        return [_shuffle(builder, even, odd, lanes) for lanes in _zipped(rows)]
    halves = [[_side_by_side(builder, parts[first + start : first + 4 : 2]) for start in (0, 1)] for first in (0, 4)]
    found = {}
    for behind, lanes in enumerate(_zipped(rows)):
        one, other = (_shuffle(builder, even, odd, lanes) for even, odd in halves)
        for pair in (0, 1):
            found[2 * pair + behind] = _shuffle(builder, one, other, _EVERY_OTHER_PAIR[pair])
    return [found[column] for column in range(together)]


def _side_by_side(builder: Any, parts: Sequence[Any]) -> Any:
    """Return the concatenation of these vectors."""
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.count)
        parts = [_shuffle(builder, parts[k], parts[k + 1], lanes) for k in range(0, len(parts), 2)]
    return parts[0]


def build_rows(builder: Any, columns: Any, at: Any, rows: Any, begins: Sequence[Any], shape: tuple[int, int]) -> None:
    """Append code that writes columns to the leading numbers of rows; parameters as for `build_columns`."""
    (count, stride), many = shape, len(begins)
    kind, column = ir.VectorType(_NUMBER, many), 0
    for together in (4, 2) if many == LANES else (2,):
        while column + together <= count:
            parts = [_load(builder, columns, at, (column + k) * stride, kind) for k in range(together)]
            for begin, part in zip(begins, _turned_back(builder, parts), strict=True):
                _store(builder, part, rows, begin, column)
            column += together
    for last in range(column, count):
        whole = _load(builder, columns, at, last * stride, kind)
        for lane, begin in enumerate(begins):
            _store(builder, builder.extract_element(whole, ir.Constant(_LANE, lane)), rows, begin, last)


def _turned_back(builder: Any, parts: Sequence[Any]) -> list[Any]:
    """Return the two or four numbers of each row, from the same number of columns."""
    rows, found = parts[0].type.count, {}
    pairs = [
        [_shuffle(builder, parts[first], parts[first + 1], lanes) for lanes in _zipped(rows)]
        for first in range(0, len(parts), 2)
    ]
    for odd in (0, 1):
        both = [pair[odd] for pair in pairs]
        for place in range(0, rows, 2):
            if len(both) == 1:
                found[place + odd] = _shuffle(builder, both[0], both[0], (place, place + 1))
            elif place % 4 == 0:
                lanes = [place, place + 1, rows + place, rows + place + 1]
                two = _shuffle(builder, both[0], both[1], [*lanes, *(lane + 2 for lane in lanes)])
                found[place + odd] = _shuffle(builder, two, two, range(4))
                found[place + 2 + odd] = _shuffle(builder, two, two, range(4, 8))
    return [found[place] for place in range(rows)]


def data_of(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    """Return the address of the first number of an array among the arguments."""
    return context.make_array(signature.args[number])(context, builder, arguments[number]).data


def address_of(builder: Any, data: Any, place: Any, behind: int, kind: Any) -> Any:
    """Return the address of a vector or number of this kind, `behind` numbers after an index."""
    pointer = builder.gep(data, [builder.add(place, ir.Constant(_PLACE, behind))])
    return builder.bitcast(pointer, kind.as_pointer())


def spread(builder: Any, value: Any, lanes: int) -> Any:
    """Return a vector with the same value in all lanes."""
    unknown = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(unknown, value, ir.Constant(_LANE, 0))
    return _shuffle(builder, one, unknown, [0] * lanes)


def compressed(builder: Any, values: Any, flags: Any) -> Any:
    """Return the 32-bit whole numbers with set flags in the first lanes of a vector; further lanes are undefined."""
    kind = values.type
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind, flags.type, kind]),
        f"llvm.experimental.vector.compress.v{kind.count}i32",
    )  # fmt: skip
    return builder.call(function, [values, flags, ir.Constant(kind, ir.Undefined)])


def lanes_below(builder: Any, count: Any, lanes: int) -> Any:
    """Return flags for a vector of `lanes` lanes, set in the first `count` lanes."""
    numbered = ir.Constant(ir.VectorType(count.type, lanes), list(range(lanes)))
    return builder.icmp_signed("<", numbered, spread(builder, count, lanes))


def number_of_flags(builder: Any, flags: Any) -> Any:
    """Return the number of set flags."""
    mask = builder.bitcast(flags, ir.IntType(flags.type.count))
    return builder.zext(builder.ctpop(mask), _PLACE)


def _load(builder: Any, data: Any, place: Any, behind: int, kind: Any) -> Any:
    return builder.load(address_of(builder, data, place, behind, kind), align=_ALIGN)


def _store(builder: Any, value: Any, data: Any, place: Any, behind: int) -> None:
    builder.store(value, address_of(builder, data, place, behind, value.type), align=_ALIGN)


def _shuffle(builder: Any, one: Any, other: Any, lanes: Any) -> Any:
    """Return a vector of the lanes `lanes` of two vectors; lanes of the second are counted after the first."""
    chosen = [ir.Constant(_LANE, lane) for lane in lanes]
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_LANE, len(chosen)), chosen))

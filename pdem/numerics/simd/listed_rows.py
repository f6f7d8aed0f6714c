"""Conversion of rows with listed numbers to columns and back: one row for each lane of the processor's vectors.

Otherwise like `pdem.numerics.simd.transposition`, where the caller passes the beginnings of four rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.numerics.numba_private import intrinsic_or_plain, ir, types
from pdem.numerics.portable.target import has_wide_vectors
from pdem.numerics.simd.transposition import LANES, ROWS, build_columns, build_rows, data_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_PLACE = ir.IntType(64)


GROUP = LANES if has_wide_vectors() else ROWS
"""Number of rows converted at a time."""


def listed_rows_to_columns(
    count: int, stride: int, width: int, *, behind: int = 0, group: int = GROUP
) -> Callable[..., None]:
    """Make a function for kernels that writes the leading numbers of `GROUP` rows into columns.

    Parameters
    ----------
    count, stride : int
        Numbers to read from each row; distance between columns.
    width : int
        Distance between rows.
    behind : int
        Numbers to skip at the beginning of each row.
    group : int
        `ROWS` or `LANES` instead of `GROUP`.

    Returns
    -------
    function
        Its arguments: a flat array of rows; a tuple of lists (non-negative whole numbers); the index of the group in
        the last of these lists; a flat array of columns; the index of the first column of these rows in it. The first
        list contains row numbers, and a second list contains indices into the first one. Without a list the rows are
        consecutive from the index on. Indices count from the beginning of an array, and are not checked.
    """

    def plain(rows: NDArray[Any], names: tuple[NDArray[Any], ...], place: int, columns: NDArray[Any], at: int) -> None:
        for lane in range(group):
            row = behind + width * _plain_number(names, int(place) + lane)
            for column in range(count):
                columns[int(at) + column * stride + lane] = rows[row + column]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, columns = (data_of(context, builder, signature, arguments, number) for number in (0, 3))
        begins = _begins(context, builder, (signature.args[1], arguments[1]), arguments[2], (group, width, behind))
        build_columns(builder, rows, begins, columns, arguments[4], (count, stride))
        return context.get_dummy_value()

    def typed(context: Any, rows: Any, names: Any, place: Any, columns: Any, at: Any) -> Any:
        return types.void(rows, names, types.uint64, columns, at), generate

    return intrinsic_or_plain(typed, plain)


def columns_to_listed_rows(
    count: int, stride: int, width: int, *, behind: int = 0, group: int = GROUP
) -> Callable[..., None]:
    """Make a function for kernels that writes the leading numbers of `GROUP` rows from columns.

    Parameters as for `listed_rows_to_columns`. Arguments of the function: the flat array of columns, the index of the
    first column of these rows, the flat array of rows, the tuple of lists, and the index of the group.
    """

    def plain(columns: NDArray[Any], at: int, rows: NDArray[Any], names: tuple[NDArray[Any], ...], place: int) -> None:
        for lane in range(group):
            row = behind + width * _plain_number(names, int(place) + lane)
            for column in range(count):
                rows[row + column] = columns[int(at) + column * stride + lane]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        columns, rows = (data_of(context, builder, signature, arguments, number) for number in (0, 2))
        begins = _begins(context, builder, (signature.args[3], arguments[3]), arguments[4], (group, width, behind))
        build_rows(builder, columns, arguments[1], rows, begins, (count, stride))
        return context.get_dummy_value()

    def typed(context: Any, columns: Any, at: Any, rows: Any, names: Any, place: Any) -> Any:
        return types.void(columns, at, rows, names, types.uint64), generate

    return intrinsic_or_plain(typed, plain)


def _plain_number(names: tuple[NDArray[Any], ...], place: int) -> int:
    for numbers in reversed(names):
        place = int(numbers[place])
    return place


def _begins(context: Any, builder: Any, names: tuple[Any, Any], place: Any, rows: tuple[int, int, int]) -> list[Any]:
    """Return the index at which each row of a group begins."""
    (kind, value), (group, width, behind) = names, rows
    lists = [
        context.make_array(one)(context, builder, builder.extract_value(value, number)).data
        for number, one in enumerate(kind)
    ]
    begins = []
    for lane in range(group):
        number = builder.add(place, _PLACE(lane))
        for numbers in reversed(lists):
            number = builder.load(builder.gep(numbers, [number]))
            number = number if number.type == _PLACE else builder.zext(number, _PLACE)
        begins.append(builder.add(builder.mul(number, _PLACE(width)), _PLACE(behind)))
    return begins

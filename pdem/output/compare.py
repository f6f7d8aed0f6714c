"""Comparison of two checkpoints or two snapshots, bit for bit: columns with differences, their rows and sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.foundation.errors import InputError
from pdem.output.checkpoints.checkpoint import read_checkpoint
from pdem.output.checkpoints.checkpoint_folder import latest_checkpoint
from pdem.output.checkpoints.history_columns import upgraded_groups
from pdem.output.snapshots import vtkhdf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans
    from pdem.output.storage import Attribute

STATE_ATTRIBUTES = ("step", "time")
"""Attributes that belong to the state; differences of other attributes (versions, ranks) are only mentioned."""

_KEYS = (
    ("first", "second", "wall"), ("id", "kind", "feature"), ("lower", "higher"), ("lower_id", "upper_id"), ("id",),
    ("number",),
)  # fmt: skip
_MENTIONED_ROWS = 3
_LONGEST_VALUE, _SAME_BEFORE = 40, 12


@dataclass(frozen=True)
class ColumnDifference:
    """The difference of one column over the rows that both files have.

    Attributes
    ----------
    group, column : str
        Names of the group and the column.
    differing, rows : int
        Number of rows with different bits, and of compared rows.
    first : str
        The first row that differs: its id, or ids.
    largest_absolute, largest_relative : float
        Largest difference of two finite values, and the same relative to the larger of their magnitudes.
    not_finite : int
        Number of differing entries in which either value is not finite.
    reason : str
        Reason if the columns cannot be compared entry by entry (different dtype or shape, missing), else empty.
    """

    group: str
    column: str
    differing: int = 0
    rows: int = 0
    first: str = ""
    largest_absolute: float = 0.0
    largest_relative: float = 0.0
    not_finite: int = 0
    reason: str = ""

    def __str__(self) -> str:
        """Return the difference in one line."""
        name = f"{self.group}/{self.column}"
        if self.reason:
            return f"{name}: {self.reason}"
        size = f"largest difference {self.largest_absolute:.3e} (relative {self.largest_relative:.3e})"
        if self.largest_absolute == 0.0 and not self.not_finite:
            size = "equal values of other bits (sign of zero)"
        odd = f", {self.not_finite} entries not finite" if self.not_finite else ""
        return f"{name}: {self.differing} of {self.rows} rows differ, first {self.first}, {size}{odd}"


@dataclass(frozen=True)
class Comparison:
    """Result of the comparison of two files.

    Attributes
    ----------
    path_a, path_b : Path
        The files.
    rows : dict of int
        Number of rows that both files have, by group.
    columns : tuple of ColumnDifference
        Columns that differ.
    missing : tuple of str
        Groups and rows that only one file has, one line each.
    attributes : tuple of str
        State attributes that differ, one line each.
    notes : tuple of str
        Other attributes that differ; they do not affect `equal`.
    """

    path_a: Path
    path_b: Path
    rows: dict[str, int] = field(default_factory=dict)
    columns: tuple[ColumnDifference, ...] = ()
    missing: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both files hold the same state, bit for bit."""
        return not (self.columns or self.missing or self.attributes)

    def __str__(self) -> str:
        """Return the result in lines of text."""
        compared = ", ".join(f"{count} {group}" for group, count in self.rows.items() if count) or "nothing"
        notes = [f"  (not counted) {note}" for note in self.notes]
        if self.equal:
            return "\n".join([f"equal: the same bits in {compared}", *notes])
        lines = [f"  {line}" for line in (*self.attributes, *self.missing, *map(str, self.columns))]
        head = f"different: A = {self.path_a}, B = {self.path_b}; compared {compared}"
        return "\n".join([head, *lines, *notes])


def compare(path_a: Path | str, path_b: Path | str, time: float | None = None) -> Comparison:
    """Compare the states in two checkpoints, or in two snapshot files.

    Rows are matched by their ids, so that their order does not matter.

    Parameters
    ----------
    path_a, path_b : path
        Two checkpoints (.h5, or a folder for its latest), two snapshot files (.vtkhdf), or one of each (then
        only the particles).
    time : float, optional
        Simulated time of the snapshot (s); the last snapshot if None.

    Raises
    ------
    CheckpointError
        When a file cannot be read.
    InputError
        When a file has no snapshot at that time.
    """
    first, second = Path(path_a), Path(path_b)
    kinds = {first.suffix, second.suffix}
    groups_a, attributes_a = _read(first, time)
    groups_b, attributes_b = _read(second, time)
    if len(kinds) > 1:
        groups_a, groups_b = _shared_columns(groups_a, groups_b), _shared_columns(groups_b, groups_a)
    found = compare_groups(groups_a, groups_b)
    counted, notes = _compare_attributes(attributes_a, attributes_b)
    return replace(found, path_a=first, path_b=second, attributes=counted, notes=notes)


_Columns = dict[str, "NDArray[Any]"]


def compare_groups(a: Mapping[str, _Columns], b: Mapping[str, _Columns]) -> Comparison:
    """Compare two states in memory: columns by group and name."""
    rows: dict[str, int] = {}
    columns: list[ColumnDifference] = []
    missing: list[str] = []
    for group in sorted(a.keys() | b.keys()):
        if group not in a or group not in b:
            missing.append(f"{group}: only in {'A' if group in a else 'B'}")
            continue
        rows[group], differences, lost = _compare_group(group, a[group], b[group])
        columns += differences
        missing += lost
    return Comparison(Path("A"), Path("B"), rows, tuple(columns), tuple(missing))


def _read(path: Path, time: float | None) -> tuple[dict[str, _Columns], Mapping[str, Attribute]]:
    if path.suffix != ".vtkhdf":
        checkpoint = latest_checkpoint(path) if path.is_dir() else read_checkpoint(path)
        return upgraded_groups(checkpoint.groups), checkpoint.attributes
    step = vtkhdf.read_step(path, step_index(path, time))
    data: dict[str, _Columns] = {"particles": {"position": step.points, **step.point_data}}
    if "id" not in step.point_data:
        kind = "contacts" if "first" in step.cell_data else "facets"
        data = {"vertices": data["particles"], kind: step.cell_data, "loads": step.step_data}
    return data, {**step.attributes, "time": step.time, "step": step.step}


def step_index(path: Path, time: float | None) -> int:
    """Return the index of the step of a snapshot file with a simulated time (s), within rounding; None is the last.

    Raises
    ------
    InputError
        When there is none.
    """
    times = vtkhdf.read_times(path)
    if not len(times):
        raise InputError(f"{path}: holds no snapshot; run the case further than output.snapshots_every")
    if time is None:
        return len(times) - 1
    nearest = int(np.argmin(np.abs(times - time)))
    if not np.isclose(times[nearest], time, rtol=1e-9, atol=1e-12):
        raise InputError(
            f"{path}: has no snapshot at {time:g} s; the nearest of its {len(times)} is at {times[nearest]:.9g} s"
        )
    return nearest


def _shared_columns(groups: dict[str, _Columns], other: dict[str, _Columns]) -> dict[str, _Columns]:
    """Return the groups and columns that `other` contains as well."""
    return {
        group: {name: column for name, column in columns.items() if name in other[group]}
        for group, columns in groups.items()
        if group in other
    }


def _compare_group(group: str, a: _Columns, b: _Columns) -> tuple[int, list[ColumnDifference], list[str]]:
    """Return the number of compared rows, the columns that differ, and a line for each kind of row on one side only.

    A column of zeros on one side only is not a difference: contact laws store different columns.
    """
    differences = [
        ColumnDifference(group, name, reason=f"only in {'A' if name in a else 'B'}")
        for name in sorted(a.keys() ^ b.keys())
        if (a[name] if name in a else b[name]).any()
    ]
    keys = next((keys for keys in _KEYS if all(key in a and key in b for key in keys)), ())
    index_a, index_b, missing = _match_rows(group, a, b, keys)
    for name in (name for name in a if name in b):
        difference = _compare_column(group, name, a, b, keys, index_a, index_b)
        if difference is not None:
            differences.append(difference)
    return len(index_a), differences, missing


def _match_rows(
    group: str, a: _Columns, b: _Columns, keys: tuple[str, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp], list[str]]:
    """Return the matching rows of both sides, and lines about rows without a partner."""
    if not keys:
        count_a, count_b = (max((len(np.atleast_1d(column)) for column in side.values()), default=0) for side in (a, b))
        common = np.arange(min(count_a, count_b))
        lines = [f"{group}: {count_a} rows in A, {count_b} in B"] if count_a != count_b else []
        return common, common, lines
    order_a, order_b = (np.lexsort([side[key] for key in reversed(keys)]) for side in (a, b))
    if all(np.array_equal(a[key][order_a], b[key][order_b]) for key in keys):
        return order_a, order_b, []
    rows_a, rows_b = _repeated_keys(a, keys, order_a), _repeated_keys(b, keys, order_b)
    _, in_a, in_b = np.intersect1d(rows_a, rows_b, assume_unique=True, return_indices=True)
    lines = [
        _unmatched_line(group, letter, keys, np.delete(rows, matched))
        for letter, rows, matched in (("A", rows_a, in_a), ("B", rows_b, in_b))
        if len(rows) > len(matched)
    ]
    return order_a[in_a], order_b[in_b], lines


def _repeated_keys(columns: _Columns, keys: tuple[str, ...], order: NDArray[np.intp]) -> NDArray[Any]:
    """Return the keys of each row in the given order; equal keys are numbered in the column ``repetition``."""
    table = np.zeros(len(order), dtype=[(key, np.int64) for key in (*keys, "repetition")])
    begins = np.arange(len(order)) == 0
    for key in keys:
        table[key] = columns[key][order]
        begins[1:] |= table[key][1:] != table[key][:-1]
    table["repetition"] = np.arange(len(order)) - np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    return table


def _unmatched_line(group: str, letter: str, keys: tuple[str, ...], rows: NDArray[Any]) -> str:
    some = ", ".join("-".join(str(row[key]) for key in keys) for row in rows[:_MENTIONED_ROWS])
    more = ", ..." if len(rows) > _MENTIONED_ROWS else ""
    return f"{group}: {len(rows)} rows only in {letter} ({'/'.join(keys)} {some}{more})"


def _compare_column(
    group: str,
    name: str,
    a: _Columns,
    b: _Columns,
    keys: tuple[str, ...],
    index_a: NDArray[np.intp],
    index_b: NDArray[np.intp],
) -> ColumnDifference | None:
    """Return the difference of a column over the matched rows, or None when all bits are equal."""
    whole_a, whole_b = np.atleast_1d(a[name]), np.atleast_1d(b[name])
    if whole_a.dtype != whole_b.dtype or whole_a.shape[1:] != whole_b.shape[1:]:
        form_a, form_b = (f"{whole.dtype} {whole.shape[1:]}" for whole in (whole_a, whole_b))
        return ColumnDifference(group, name, reason=f"{form_a} in A, {form_b} in B")
    if not keys:  # columns of a group without ids may have different lengths
        index_a = index_b = np.arange(min(len(whole_a), len(whole_b)))
    left, right = (np.ascontiguousarray(whole[index]) for whole, index in ((whole_a, index_a), (whole_b, index_b)))
    other_bits = (_bytes_of_entries(left) != _bytes_of_entries(right)).any(axis=-1)
    if not other_bits.any():
        return None
    row_differs = other_bits.reshape(len(left), -1).any(axis=1)
    row = int(np.argmax(row_differs))
    first = f"row {row}"
    if keys:
        first = f"{'/'.join(keys)} " + "-".join(str(int(a[key][index_a[row]])) for key in keys)
    return ColumnDifference(
        group,
        name,
        int(row_differs.sum()),
        len(left),
        first,
        *_largest_differences(left.ravel(), right.ravel(), other_bits),
    )


def _bytes_of_entries(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of each entry, shape ``(entries, item size)``."""
    return array.reshape(-1).view(np.uint8).reshape(array.size, array.dtype.itemsize)


def _largest_differences(left: NDArray[Any], right: NDArray[Any], differs: Booleans) -> tuple[float, float, int]:
    """Return the largest absolute and relative difference of finite entries, and the number of non-finite ones."""
    x, y = left[differs].astype(np.longdouble), right[differs].astype(np.longdouble)
    finite = np.isfinite(x) & np.isfinite(y)
    absolute = np.abs(x[finite] - y[finite])
    scale = np.maximum(np.abs(x[finite]), np.abs(y[finite]))
    relative = np.divide(absolute, scale, out=np.zeros_like(absolute), where=scale > 0)
    return float(absolute.max(initial=0)), float(relative.max(initial=0)), int((~finite).sum())


def _compare_attributes(
    a: Mapping[str, Attribute], b: Mapping[str, Attribute]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return lines about differing attributes of the state, and about other differing attributes."""
    lines = {
        name: f"{name}: {' in A, '.join(_shortened(a.get(name), b.get(name)))} in B"
        for name in sorted(a.keys() | b.keys())
        if repr(a.get(name)) != repr(b.get(name))
    }
    counted = tuple(line for name, line in lines.items() if name in STATE_ATTRIBUTES)
    return counted, tuple(line for name, line in lines.items() if name not in STATE_ATTRIBUTES)


def _shortened(one: Attribute | None, other: Attribute | None) -> tuple[str, str]:
    """Return two different values as texts; long ones are cut to a part around the first difference."""
    texts = ["absent" if value is None else repr(value) for value in (one, other)]
    same = next((n for n, (x, y) in enumerate(zip(*texts, strict=False)) if x != y), min(map(len, texts)))
    begin = max(0, same - _SAME_BEFORE) if max(map(len, texts)) > _LONGEST_VALUE else 0
    first, second = (_part(text, begin) for text in texts)
    return first, second


def _part(text: str, begin: int) -> str:
    """Return a part of a text with dots for the omitted parts before and after it."""
    before, rest = "..." if begin else "", text[begin:]
    room = _LONGEST_VALUE - len(before)
    return before + (rest if len(rest) <= room else f"{rest[: room - 3]}...")

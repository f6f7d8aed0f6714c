"""Time series, in ``series.h5`` for programs and ``series.csv`` for spreadsheets.

Both files hold the same rows exactly: the CSV has as many digits as a 64-bit float needs.
"""

from __future__ import annotations

import atexit
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from pdem.foundation.errors import CheckpointError, InputError
from pdem.foundation.files import replace_file, write_at
from pdem.output.saving import writing
from pdem.output.storage import HDF5_ERRORS, open_hdf5, read_attributes, write_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from pdem.output.storage import Attribute

TABLE = "series"
"""Name of the table in the HDF5 file."""

_TIME = "time"
_CHUNK_ROWS = 1024
_LONGEST_BUFFER = 1000
_SECONDS_BETWEEN_FLUSHES = 5.0
_CSV_BYTES_PER_VALUE = 26
_REMEDY = "rows not yet written are kept; free space or choose another output.folder"


class Column(NamedTuple):
    """One quantity of a series: its name, SI unit and numpy type (``"f8"`` or ``"i8"``)."""

    name: str
    unit: str = "1"
    dtype: str = "f8"


class Series:
    """A table that grows row by row and continues after a restart.

    Rows are buffered for at most some seconds; call `flush` at checkpoints and `close` at the end. A context manager
    and the end of the program write buffered rows as well, also after an exception.

    Parameters
    ----------
    folder : path
        Folder of ``series.h5`` and ``series.csv``.
    columns : sequence of Column or (name, unit) or (name, unit, dtype)
        Columns of a row; one of them is ``time``.
    attributes : mapping, optional
        Texts and numbers for the HDF5 file: the case, versions.
    resume_time : float, optional
        Continue existing files after a restart from this time (s), without later rows. None starts new files.
    added : collection of str
        Columns that may be missing in existing files of earlier versions: their old rows get NaN or 0.

    Raises
    ------
    InputError
        When the columns have no ``time``, or a name twice.
    CheckpointError
        When existing files have different columns, or the files cannot be written.
    """

    def __init__(
        self,
        folder: Path | str,
        columns: Sequence[tuple[str, ...]],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        resume_time: float | None = None,
        added: Collection[str] = (),
        name: str = TABLE,
    ) -> None:
        self._added = frozenset(added)
        self.columns = tuple(Column(*column) for column in columns)
        names = [column.name for column in self.columns]
        if _TIME not in names or len(set(names)) != len(names) or any(set(name) & set(',"\n[]') for name in names):
            raise InputError(f"series columns {names}: names must differ, be free of , \" [ ] and include 'time'")
        self.hdf5_path = Path(folder) / f"{name}.h5"
        self.csv_path = Path(folder) / f"{name}.csv"
        self._dtype = np.dtype([(column.name, column.dtype) for column in self.columns])
        self._attributes = dict(attributes or {})
        self._buffer: list[tuple[Any, ...]] = []
        self._process = os.getpid()
        self._last_time, self._last_flush = -np.inf, time.monotonic()
        rows = np.zeros(0, self._dtype) if resume_time is None else self._rows_until(resume_time)
        self._create_files(rows)
        atexit.register(self.close)

    def __enter__(self) -> Self:
        """Return the series itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write the buffered rows, with or without an exception."""
        self.close()

    def append(self, row: Mapping[str, float]) -> None:
        """Append one row; a row that is not later than the last one is ignored.

        Parameters
        ----------
        row : mapping
            A number for every column, by name.

        Raises
        ------
        InputError
            When a column is missing, or unknown.
        """
        if row.keys() != set(self._dtype.names or ()):
            odd = sorted(row.keys() ^ set(self._dtype.names or ()))
            raise InputError(f"{self.csv_path.name}: row and columns differ in {', '.join(odd)}; give each once")
        if float(row[_TIME]) <= self._last_time:
            return
        self._last_time = float(row[_TIME])
        self._buffer.append(tuple(row[column.name] for column in self.columns))
        overdue = time.monotonic() - self._last_flush > _SECONDS_BETWEEN_FLUSHES
        if overdue or len(self._buffer) >= _LONGEST_BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write all buffered rows to both files.

        Raises
        ------
        CheckpointError
            When they cannot be written; they stay buffered and a later flush writes each of them once.
        """
        self._last_flush = time.monotonic()
        if not self._buffer:
            return
        rows = np.array(self._buffer, dtype=self._dtype)
        text = self._csv_lines(rows)
        with writing(self.csv_path, _REMEDY):
            self._append_to_csv(text)
        with writing(self.hdf5_path, _REMEDY), open_hdf5(self.hdf5_path, "r+") as file:
            file[TABLE].resize(self._stored + len(rows), axis=0)
            file[TABLE][self._stored :] = rows
        self._stored += len(rows)
        self._csv_bytes += len(text)
        self._buffer.clear()

    def _append_to_csv(self, text: bytes) -> None:
        """Append rows to the file; if some do not fit on the disk, nothing of the incomplete row remains."""
        with self.csv_path.open("r+b") as csv:
            csv.truncate(self._csv_bytes)
            try:
                write_at(csv.fileno(), text, self._csv_bytes)
            except OSError:
                csv.truncate(self._csv_bytes)
                raise

    def close(self) -> None:
        """Write the buffered rows; the series can still be used afterwards. A forked process writes nothing."""
        atexit.unregister(self.close)
        if os.getpid() == self._process:
            self.flush()

    def _create_files(self, rows: NDArray[Any]) -> None:
        """Create both files with `rows`."""
        header = ",".join(f"{column.name} [{column.unit}]" for column in self.columns) + "\n"
        text = header.encode() + self._csv_lines(rows)
        _replace(self.csv_path, lambda path: path.write_bytes(text))
        _replace(self.hdf5_path, lambda path: self._write_table(path, rows))
        self._stored, self._csv_bytes = len(rows), len(text)
        if len(rows):
            self._last_time = float(rows[_TIME][-1])

    def _write_table(self, path: Path, rows: NDArray[Any]) -> None:
        with open_hdf5(path, "w") as file:
            write_attributes(file, self._attributes)
            table = file.create_dataset(TABLE, data=rows, maxshape=(None,), chunks=(_CHUNK_ROWS,))
            table.attrs["unit"] = [column.unit for column in self.columns]

    def _csv_lines(self, rows: NDArray[Any]) -> bytes:
        return "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()).encode()

    def _rows_until(self, last: float) -> NDArray[Any]:
        """Return the rows up to the time `last` (s) from the file with more rows."""
        rows = max(self._rows_in_hdf5(), self._rows_in_csv(), key=len)
        return rows[rows[_TIME] <= last]

    def _rows_in_hdf5(self) -> NDArray[Any]:
        try:
            with open_hdf5(self.hdf5_path, "r") as file:
                rows: NDArray[Any] = file[TABLE][:]
        except HDF5_ERRORS:  # damaged: the CSV has the rows
            return np.zeros(0, self._dtype)
        names = list(rows.dtype.names or ())
        self._check_columns(self.hdf5_path, names)
        found = np.array([self._missing] * len(rows), self._dtype)
        for name in names:
            found[name] = rows[name]
        return found

    def _rows_in_csv(self) -> NDArray[Any]:
        """Return the complete rows of the CSV up to the first incomplete one."""
        text = self.csv_path.read_text(errors="replace") if self.csv_path.exists() else ""
        header, *lines = text.split("\n")
        if not lines:
            return np.zeros(0, self._dtype)
        names = [name.rpartition(" [")[0] for name in header.split(",")]
        self._check_columns(self.csv_path, names)
        kinds = {column.name: int if column.dtype.startswith("i") else float for column in self.columns}
        missing = dict(zip(kinds, self._missing, strict=True))
        rows = []
        for line in lines[:-1]:  # the text after the last line break is empty or an incomplete row
            try:
                found = {name: kinds[name](value) for name, value in zip(names, line.split(","), strict=True)}
            except ValueError:
                break
            rows.append(tuple((missing | found).values()))
        return np.array(rows, dtype=self._dtype)

    @property
    def _missing(self) -> tuple[float, ...]:
        """Values of a row in the columns that were not written."""
        return tuple(0 if column.dtype.startswith("i") else math.nan for column in self.columns)

    def _check_columns(self, path: Path, names: list[str]) -> None:
        expected = [column.name for column in self.columns]
        if not continues(names, expected, self._added):
            odd = ", ".join(sorted(set(names) ^ set(expected)))
            raise CheckpointError(f"{path}: holds other columns than this run ({odd}); choose another output.folder")


def continues(names: Sequence[str], expected: Sequence[str], added: Collection[str] = ()) -> bool:
    """Return whether a series with columns `names` can be continued with columns `expected`; `added` may be missing.

    The order does not matter: rows are read by the names of their columns.
    """
    return set(expected) - set(added) <= set(names) <= set(expected)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    with writing(path, _REMEDY):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, write, sync=True)


class SeriesHead(NamedTuple):
    """Properties of an existing series that a run checks before it continues it.

    Attributes
    ----------
    columns : list of str
        Names of the columns; empty if neither file can be read.
    last_time : float or None
        Time of the last row [s].
    case : str or None
        Case of the last run that wrote the series, as TOML.
    """

    columns: list[str]
    last_time: float | None
    case: str | None


def read_series_head(folder: Path | str) -> SeriesHead:
    """Return the head of the series in a folder, with the later of the last times of its two files."""
    path = Path(folder) / f"{TABLE}.h5"
    columns, times, case = _head_of_csv(path.with_suffix(".csv"))
    try:
        with open_hdf5(path, "r") as file:
            columns, case = list(file[TABLE].dtype.names or ()), file.attrs.get("case")
            times += file[TABLE].fields(_TIME)[-1:].tolist() if len(file[TABLE]) else []
    except HDF5_ERRORS:
        pass
    return SeriesHead(columns, max(times, default=None), case if isinstance(case, str) else None)


def _head_of_csv(path: Path) -> tuple[list[str], list[float], None]:
    """Return the names of the columns of a CSV, and the time of its last complete row if it has one."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    header, *lines = text.split("\n")
    names = [name.rpartition(" [")[0] for name in header.split(",")]
    if _TIME not in names or len(lines) < 2:
        return (names if _TIME in names else []), [], None
    try:
        return names, [float(lines[-2].split(",")[names.index(_TIME)])], None
    except (ValueError, IndexError):
        return names, [], None


def read_series(path: Path | str) -> NDArray[Any]:
    """Return the table of a ``series.h5`` as a structured array, one field per column.

    Raises
    ------
    CheckpointError
        When it is not a series of pdem.
    """
    path = Path(path)
    try:
        with open_hdf5(path, "r") as file:
            rows: NDArray[Any] = file[TABLE][:]
    except HDF5_ERRORS as error:
        raise CheckpointError(f"{path}: is no series of pdem; name a series.h5 of an output folder") from error
    return rows


def series_attributes(folder: Path | str) -> dict[str, Attribute]:
    """Return the attributes of the ``series.h5`` in a folder, written by its last run; empty if it is unreadable."""
    try:
        with open_hdf5(Path(folder) / f"{TABLE}.h5", "r") as file:
            return read_attributes(file)
    except HDF5_ERRORS:
        return {}


def read_units(path: Path | str) -> dict[str, str]:
    """Return the SI unit of each column of a ``series.h5`` by name.

    Raises
    ------
    CheckpointError
        When it is not a series of pdem.
    """
    names = read_series(path).dtype.names or ()
    with open_hdf5(Path(path), "r") as file:
        units = [str(one) for one in file[TABLE].attrs["unit"]]
    return dict(zip(names, units, strict=True))

"""The run log: header, a line of the run table per interval, every warning.

All parts of pdem log to the logger ``pdem``. The file gets all messages. The terminal gets only warnings, above the
progress line, and in quiet runs only errors, for files that cannot be written or read.
"""

from __future__ import annotations

import logging
import os
import platform
from contextlib import suppress
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from tqdm import tqdm

from pdem.foundation.files import write_at
from pdem.foundation.terminal import ERRORS
from pdem.output.provenance import provenance
from pdem.output.saving import writing
from pdem.output.summary import counted, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LOG_FILE = "run.log"
"""Name of the log in an output folder."""

logger = logging.getLogger("pdem")

_PACKAGES = ("numpy", "numba", "h5py", "mpi4py")
_ABSENT = "-"


class TableColumn(NamedTuple):
    """A column of the run table: key of its value, heading, width (characters) and formatter."""

    key: str
    heading: str
    width: int
    write: Callable[[float], str]


TABLE_COLUMNS = (
    TableColumn("step", "step", 10, "{:d}".format),
    TableColumn("time", "time[s]", 11, "{:.4e}".format),
    TableColumn("particles", "particles", 12, lambda count: f"{count:,}"),
    TableColumn("contacts_per_particle", "contacts/p", 11, "{:.3f}".format),
    TableColumn("largest_overlap", "overlap/R", 10, lambda fraction: f"{100 * fraction:.2f} %"),
    TableColumn("kinetic_energy", "kinetic[J]", 12, "{:.4e}".format),
    TableColumn("dissipated_energy", "lost[J]", 12, "{:.4e}".format),
    TableColumn("ledger_residual", "residual", 10, "{:.1e}".format),
    TableColumn("imbalance", "imb.", 7, "{:.2f}".format),
    TableColumn("detections", "builds", 8, "{:d}".format),
    TableColumn("steps_per_second_per_core", "Mps/s/core", 11, lambda rate: f"{rate / 1e6:.2f}"),
    TableColumn("seconds_left", "left", 9, lambda seconds: duration(seconds)),
)
"""Columns of the run table; values are in SI units, the overlap is a fraction of the radius."""


def environment() -> dict[str, str]:
    """Return versions and processor, for logs and for the attributes of output files; see `pdem.output.provenance`."""
    versions = {name: _version(name) for name in _PACKAGES}
    return {**versions, **provenance(), "cpu": _processor()}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def header(case: str, ranks: int, workers: int, details: Iterable[str] = ()) -> str:
    """Return the first lines of a log: version, case, ranks and threads of all, versions, processor, `details`."""
    found = environment()
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    lines = [
        "  ".join((f"pdem {found['pdem']}", case, _workers_text(ranks, workers), started)),
        "  ".join(f"{name} {found[name]}" for name in ("python", *_PACKAGES)),
        found["cpu"],
        *details,
    ]
    return "\n".join(lines)


def _workers_text(ranks: int, workers: int) -> str:
    if workers % ranks:  # nodes have different numbers
        return f"{counted(ranks, 'rank')}, {counted(workers, 'thread')} in all"
    return f"{counted(ranks, 'rank')} x {counted(workers // ranks, 'thread')}"


def table_heading() -> str:
    """Return the line above the run table."""
    return "".join(column.heading.rjust(column.width) for column in TABLE_COLUMNS)


def table_row(values: Mapping[str, float]) -> str:
    """Return one line of the run table; a key of TABLE_COLUMNS that `values` lacks gives a dash."""
    cells = (column.write(values[column.key]) if column.key in values else _ABSENT for column in TABLE_COLUMNS)
    return "".join(cell.rjust(column.width) for cell, column in zip(cells, TABLE_COLUMNS, strict=True))


class _LineFormatter(logging.Formatter):
    """Format table lines without changes, all other lines with date and level."""

    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        if record.levelno == logging.INFO:
            return text
        return f"{self.formatTime(record, '%Y-%m-%d %H:%M:%S')} {record.levelname.lower()}: {text}"


class _LogFile(logging.Handler):
    """A log file; lines that do not fit on the disk are buffered until the next line, or `require_written`.

    Parameters
    ----------
    path : Path
        The file.
    resume : bool
        Append to the existing content.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        super().__init__()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | (0 if resume else os.O_TRUNC), 0o666)
        self._end = os.fstat(self._descriptor).st_size
        self._waiting, self._process = b"", os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        self._waiting += f"{self.format(record)}\n".encode(errors="backslashreplace")
        with suppress(OSError):
            self.require_written()

    def require_written(self) -> None:
        """Write the buffered lines.

        Raises
        ------
        OSError
            If they cannot be written; a line is never in the file in part.
        """
        if not self._waiting or self._descriptor < 0 or os.getpid() != self._process:
            return
        try:
            write_at(self._descriptor, self._waiting, self._end)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(self._waiting)
        self._waiting = b""

    def close(self) -> None:
        """Close the file."""
        super().close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class _TerminalHandler(logging.Handler):
    """Warnings on the terminal, above the progress line."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one warning to standard error."""
        tqdm.write(f"pdem: {record.levelname.lower()}: {record.getMessage()}", file=ERRORS)
        ERRORS.flush()


class RunLog:
    """The log of one run, on rank 0.

    Parameters
    ----------
    folder : path
        Folder of ``run.log``.
    resume : bool
        Continue an existing log instead of starting a new one.
    console : bool
        Show warnings on the terminal; otherwise only errors.

    Raises
    ------
    CheckpointError
        When the log cannot be opened.
    """

    def __init__(self, folder: Path | str, *, resume: bool = False, console: bool = True) -> None:
        self.path = Path(folder) / LOG_FILE
        with writing(self.path, "choose another output.folder"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _LogFile(self.path, resume=resume)
        self._file.setFormatter(_LineFormatter())
        self._terminal = _TerminalHandler(logging.WARNING if console else logging.ERROR)
        self._handlers: list[logging.Handler] = [self._file, self._terminal]
        for handler in self._handlers:
            logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        self._heading_is_due = True

    def __enter__(self) -> Self:
        """Return the log itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def show_warnings(self) -> None:
        """Show warnings on the terminal from now on."""
        self._terminal.setLevel(logging.WARNING)

    def text(self, lines: str) -> None:
        """Write lines to the file without date and level: the header, the end table."""
        logger.info("%s", lines)
        self._heading_is_due = True

    def row(self, values: Mapping[str, float]) -> None:
        """Write one line of the run table, under a heading when it is the first."""
        if self._heading_is_due:
            logger.info("\n%s", table_heading())
            self._heading_is_due = False
        logger.info("%s", table_row(values))

    def warning(self, text: str) -> None:
        """Write one warning to the file and the terminal."""
        logger.warning("%s", text)

    def flush(self) -> None:
        """Write the buffered lines, which did not fit on the disk before.

        Raises
        ------
        CheckpointError
            If they still do not fit.
        """
        with writing(self.path, "make room, then restart"):
            self._file.require_written()

    def close(self) -> None:
        """Close the file and remove the handlers of the logger.

        Raises
        ------
        CheckpointError
            If buffered lines cannot be written.
        """
        try:
            self.flush()
        finally:
            for handler in self._handlers:
                logger.removeHandler(handler)
                handler.close()
            self._handlers.clear()

"""Pictures for the page: the newest snapshot, drawn in a process of its own, and plots of the series."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pdem.foundation.errors import PdemError
from pdem.output.pictures.plots import chosen_columns, plot_series
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE
from pdem.output.snapshots.vtkhdf import read_times
from pdem.output.storage import HDF5_ERRORS
from pdem.run.reading.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = 960, 720
"""Of a picture [pixels]."""

_NICENESS = 10  # the run comes first
_MOST_FAILURES = 5  # of drawing, one after the other


class NewestPicture:
    """The picture of the newest snapshot that there is a picture of.

    It is drawn in a process of its own, so that no failure of a graphics library ends the page, and with low priority:
    the run may need the cores.

    Parameters
    ----------
    folder : Path
        Output folder of a run.
    scratch : Path
        Folder for pictures.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder, self._scratch = folder, scratch
        self._drawing: subprocess.Popen[bytes] | None = None
        self._wanted = -1
        self._number = self._failures = 0
        self._lock = threading.Lock()

    @property
    def can_draw(self) -> bool:
        """Whether there is what is needed to draw."""
        return find_spec("pyvista") is not None

    def refresh(self) -> int:
        """Begin to draw the newest snapshot, unless it has been; return the number of the picture, 0 for none."""
        if not self.can_draw:
            return 0
        with self._lock:
            if self._drawing is not None and self._drawing.poll() is not None:
                if self._drawing.returncode == 0:
                    os.replace(self._scratch / "next.png", self._scratch / "picture.png")
                    self._number, self._failures = self._number + 1, 0
                elif self._failures < _MOST_FAILURES:  # the run may have been writing just then
                    self._failures, self._wanted = self._failures + 1, -1
                self._drawing = None
            newest = _snapshots(self._folder)
            if self._drawing is None and newest and newest != self._wanted:
                self._wanted, self._drawing = newest, self._draw()
            return self._number

    def read(self) -> bytes | None:
        """Return the picture, None if there is none yet."""
        path = self._scratch / "picture.png"
        return path.read_bytes() if path.exists() else None

    def close(self) -> None:
        """End a process that is drawing."""
        if self._drawing is not None:
            self._drawing.kill()
            self._drawing.wait()

    def _draw(self) -> subprocess.Popen[bytes]:
        width, height = map(str, SIZE)
        command = [
            sys.executable, "-m", "pdem", "render", str(self._folder), "-o", str(self._scratch / "next.png"), "--size",
            width, height,
        ]  # fmt: skip
        return subprocess.Popen(
            ["nice", "-n", str(_NICENESS), *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip


def _snapshots(folder: Path) -> int:
    """Return the number of snapshots, 0 while that cannot be read."""
    try:
        return len(read_times(folder / PARTICLE_FILE))
    except (PdemError, *HDF5_ERRORS):
        return 0


class Plots:
    """Plots of columns against time, each drawn once for every line that is new.

    Parameters
    ----------
    folder : Path
        Output folder of a run.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._drawn: dict[tuple[str, ...], tuple[int, bytes]] = {}
        self._lock = threading.Lock()  # matplotlib draws one figure at a time

    def draw(self, columns: Sequence[str]) -> bytes:
        """Return a plot as SVG.

        Raises
        ------
        InputError
            If there is no such column, or matplotlib is not installed.
        """
        with self._lock:
            series = Results(self._folder).series
            lines, drawn = self._drawn.get(tuple(columns), (-1, b""))
            if lines != len(series):
                names = chosen_columns(series.names, columns)
                run = {name: series[name] for name in ("time", *names)}
                with tempfile.TemporaryDirectory() as folder:
                    plot_series(Path(folder) / "plot.svg", {"": run}, names, series.units)
                    drawn = (Path(folder) / "plot.svg").read_bytes()
                self._drawn[tuple(columns)] = len(series), drawn
            return drawn

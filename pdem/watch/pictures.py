"""Pictures for the page: the newest snapshot, drawn in a separate process, and plots of the series."""

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
from pdem.output.pictures.plots import PlotStyle, chosen_columns, plot_series
from pdem.output.snapshots.snapshot_files import PARTICLE_FILE
from pdem.output.snapshots.vtkhdf import read_times
from pdem.output.storage import HDF5_ERRORS
from pdem.run.reading.results import Results
from pdem.watch.columns import legend_words

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = 960, 720
"""Size of a picture [pixels]."""

_NICENESS = 10  # the run has priority
_MOST_FAILURES = 5  # consecutive failures of drawing


class NewestPicture:
    """The picture of the newest snapshot drawn so far.

    A separate process draws the picture, so that a failure of a graphics library cannot end the page. It has low
    priority, because the run may need the cores.

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
        """Whether the library for drawing is installed."""
        return find_spec("pyvista") is not None

    def refresh(self) -> int:
        """Start to draw the newest snapshot if it is not drawn yet; return the number of the picture, 0 for none."""
        if not self.can_draw:
            return 0
        with self._lock:
            if self._drawing is not None and self._drawing.poll() is not None:
                if self._drawing.returncode == 0:
                    os.replace(self._scratch / "next.png", self._scratch / "picture.png")
                    self._number, self._failures = self._number + 1, 0
                elif self._failures < _MOST_FAILURES:  # the run may have written to the file at the same time
                    self._failures, self._wanted = self._failures + 1, -1
                self._drawing = None
            newest = _snapshots(self._folder)
            if self._drawing is None and newest and newest != self._wanted:
                self._wanted, self._drawing = newest, self._draw()
            return self._number

    def read(self) -> bytes | None:
        """Return the picture, None before the first picture."""
        path = self._scratch / "picture.png"
        return path.read_bytes() if path.exists() else None

    def close(self) -> None:
        """End a drawing process."""
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
    """Return the number of snapshots, 0 while the file cannot be read."""
    try:
        return len(read_times(folder / PARTICLE_FILE))
    except (PdemError, *HDF5_ERRORS):
        return 0


class Plots:
    """Plots of columns against time; a plot is drawn again only after a new line of the series.

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
            results = Results(self._folder)
            series = results.series
            lines, drawn = self._drawn.get(tuple(columns), (-1, b""))
            if lines != len(series):
                names = chosen_columns(series.names, columns)
                run = {name: series[name] for name in ("time", *names)}
                with tempfile.TemporaryDirectory() as folder:
                    style = PlotStyle(labels=legend_words(names, results.case))
                    plot_series(Path(folder) / "plot.svg", {"": run}, names, series.units, style)
                    drawn = (Path(folder) / "plot.svg").read_bytes()
                self._drawn[tuple(columns)] = len(series), drawn
            return drawn

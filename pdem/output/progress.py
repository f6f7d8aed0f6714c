"""The progress line of a run."""

from __future__ import annotations

import math
import shutil
import time as clock
from typing import Self

from tqdm import tqdm

from pdem.foundation.terminal import ERRORS
from pdem.output.summary import duration, quantity

_FORMAT = "{percentage:3.0f}%|{bar}| {desc}, left {remaining}{postfix}"
_WIDE = 120
_LINE_COUNT = 20
_LEAST_SECONDS, _MOST_SECONDS = 10.0, 600.0
"""Smallest time between two lines, and largest time without a line if the state has changed [s]."""
_ROUNDING = 0.01  # the last step may end shortly before the end of the run


class Progress:
    """A progress bar with the state of a run; without a terminal, lines.

    A line follows at each twentieth of the run, but not within ten seconds of the last line, except at the end of the
    run; and after ten minutes without any line.

    Parameters
    ----------
    start_time, end_time : float
        Simulated time (s) at which this run begins and ends; after a restart the first one is greater than zero.
    enabled : bool
        False on every rank but one, and for quiet runs.
    """

    def __init__(self, start_time: float, end_time: float, enabled: bool = True) -> None:
        self._start, self._end = start_time, end_time
        self._bar = tqdm(
            total=max(end_time - start_time, 0.0),
            file=ERRORS,
            bar_format=_FORMAT,
            disable=None if enabled else True,
            dynamic_ncols=True,
            leave=True,
        )
        self._writes_lines = enabled and bool(self._bar.disable) and end_time > start_time
        self._parts_written, self._start_clock = 0, clock.monotonic()
        self._line_clock = -math.inf

    def __enter__(self) -> Self:
        """Return the progress line."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last line on the terminal."""
        self.close()

    def update(
        self,
        time: float,
        contacts_per_particle: float,
        largest_overlap: float,
        kinetic_energy: float,
        steps_per_second: float,
        step: int = 0,
    ) -> None:
        """Show the state at the simulated `time`.

        Parameters
        ----------
        time : float
            Simulated time (s).
        contacts_per_particle : float
            Mean number of touching partners.
        largest_overlap : float
            Largest overlap, as a fraction of the radius.
        kinetic_energy : float
            Kinetic energy of translation and rotation (J).
        steps_per_second : float
            Particle-steps per second of wall time.
        step : int
            Number of the time step.
        """
        if self._writes_lines:
            self._write_line(time, step, steps_per_second, kinetic_energy)
        if self._bar.disable:
            return
        self._bar.set_description_str(f"{time:.4g}/{self._end:.4g} s", refresh=False)
        wide = shutil.get_terminal_size().columns >= _WIDE
        health = status_text(contacts_per_particle, largest_overlap, kinetic_energy, steps_per_second, wide)
        self._bar.set_postfix_str(health, refresh=False)
        self._bar.update(min(time, self._end) - self._start - self._bar.n)

    def _write_line(self, time: float, step: int, steps_per_second: float, kinetic_energy: float) -> None:
        share = min(1.0, (time - self._start) / (self._end - self._start))
        parts, now = int(share * _LINE_COUNT + _ROUNDING), clock.monotonic()
        last = self._line_clock if math.isfinite(self._line_clock) else self._start_clock
        is_due = parts > self._parts_written and now - self._line_clock >= _LEAST_SECONDS
        is_last = parts >= _LINE_COUNT > self._parts_written
        if share <= 0.0 or not (is_due or is_last or now - last >= _MOST_SECONDS):
            return
        self._parts_written, self._line_clock = parts, now
        left = (now - self._start_clock) * (1.0 - share) / share
        ERRORS.line(
            f"pdem: {100 * share:3.0f} %, {time:.4g} of {self._end:.4g} s, step {step}, "
            f"{quantity(steps_per_second)} particle-steps/s, kinetic {kinetic_energy:.3g} J, left {duration(left)}"
        )

    def close(self) -> None:
        """End the line, in its last state."""
        self._bar.close()


def status_text(
    contacts_per_particle: float,
    largest_overlap: float,
    kinetic_energy: float,
    steps_per_second: float,
    wide: bool = True,
) -> str:
    """Return the end of the progress line; arguments as in `Progress.update`, fewer words unless `wide`."""
    contacts = f"contacts {contacts_per_particle:.2f}, overlap {100 * largest_overlap:.2f} %"
    if wide:
        return f"{contacts}, kinetic {kinetic_energy:.3g} J, {quantity(steps_per_second)} particle-steps/s"
    return f"{contacts}, {kinetic_energy:.2g} J, {steps_per_second / 1e6:.3g} Mps/s"

"""Progress of a run on this rank: the step, errors and lines for the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_STEPS = 16
"""Steps of a kernel between two checks of signals, until the wall-clock time of a step is measured."""


class RunProgress:
    """The step of a run, errors and new lines for the log, and the state of columns between steps.

    The loops over steps (`pdem.engine.step`, `same_lists`, `contact_forces`) change it in each step, by its functions.
    Features and checks record errors and lines. A checkpoint has `step` and `next_id`.

    Parameters
    ----------
    length : float
        Time step [s].

    Attributes
    ----------
    step : int
        Number of steps since time 0.
    next_id : int
        Id of the next inserted particle.
    errors : list
        Errors of this rank that stop the run: (kind, id or wall, other id), see `pdem.engine.blow_up`.
    notices : list of str
        Lines for the log; outputs empty it.
    pending_drift : int or None
        Status code of the drift of the next step, if the end of the last step has begun it.
    columns_are_current : bool
        Whether the columns of owned particles have been written since the particles moved.
    steps_at_a_time : int
        Steps of a kernel between two checks of signals.
    frozen : int
        Number of steps in which nothing has moved since the process began.
    event_requested : bool
        Whether a feature of this rank has to act after the next step: ranks have not agreed on it yet.
    stop_requested : callable
        Returns the number of a stop signal, or 0.
    """

    def __init__(self, length: float) -> None:
        self._length = length
        self.step, self.next_id = 0, 0
        self.errors: list[tuple[int, int, int]] = []
        self.notices: list[str] = []
        self._issued: set[str] = set()
        self.pending_drift: int | None = None
        self.columns_are_current = True
        self.steps_at_a_time, self.frozen = FIRST_STEPS, 0
        self.event_requested = False
        self.stop_requested: Callable[[], int] = lambda: 0

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.time_of(self.step)

    def time_of(self, step: int) -> float:
        """Return the time at the end of a step, not before 0 [s]."""
        return max(step, 0) * self._length

    def resume(self, step: int, next_id: int) -> None:
        """Continue from the step of a state that is loaded; `next_id` is the id of the next inserted particle."""
        self.step, self.next_id = step, next_id

    def advance(self, steps: int = 1) -> None:
        """Count steps that begin, or that a kernel has completed."""
        self.step += steps

    def rest(self, steps: int) -> None:
        """Count steps in which nothing moves."""
        self.step += steps
        self.frozen += steps

    def issue_ids(self, number: int) -> int:
        """Return the first of `number` new ids, which no particle has had before."""
        first = self.next_id
        self.next_id += number
        return first

    def record_error(self, kind: int, first: int, other: int = 0) -> None:
        """Record an error, which stops the run at the next all-reduce of the status, see `errors`."""
        self.errors.append((kind, first, other))

    def request_event(self, *, requested: bool = True) -> None:
        """Request an event of a feature after the next step, or note that ranks have agreed on it."""
        self.event_requested = requested

    def note(self, text: str) -> None:
        """Add a line for the log."""
        self.notices.append(text)

    def note_first(self, text: str) -> None:
        """Add a line at the begin of the lines for the log."""
        self.notices.insert(0, text)

    def take_notices(self) -> list[str]:
        """Return the lines for the log since the last call."""
        lines, self.notices = self.notices, []
        return lines

    def is_new(self, kind: str) -> bool:
        """Return whether this is the first warning of its kind, and remember the kind."""
        if kind in self._issued:
            return False
        self._issued.add(kind)
        return True

    def begin_forces(self, *, ahead: bool) -> None:
        """Mark columns as current, unless kernels also begin the next step (`ahead`) and write packed rows only."""
        self.columns_are_current = not ahead

    def columns_written(self) -> None:
        """Mark columns as current, after they have been written from the packed rows."""
        self.columns_are_current = True

    def end_forces(self, drift: int | None) -> None:
        """Store the status code of the drift of the next step, None if that step has not begun."""
        self.pending_drift = drift

    def drift_checked(self) -> None:
        """Clear the status code of a drift after its check."""
        self.pending_drift = None

    def measure_pace(self, steps: int, seconds: float, longest: float) -> None:
        """Choose the number of steps of a kernel within a time `longest` [s], by the seconds of the last `steps`."""
        self.steps_at_a_time = max(1, int(longest * steps / seconds))

    def stop_when(self, requested: Callable[[], int]) -> None:
        """Set the function that returns the number of a stop signal at each step, 0 for none."""
        self.stop_requested = requested

"""Calls of observers between steps: an error loses no state, and all ranks stay synchronised."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pdem.engine.energy import energies_of_features, particle_energies
from pdem.engine.named_events import NEVER
from pdem.engine.state import local_groups
from pdem.features.observers.feature import Observers, observed
from pdem.features.observers.observed import Observed
from pdem.features.observers.observer import column_of, named, observer_of
from pdem.foundation.errors import InputError, ObserverError
from pdem.foundation.fields import FIELDS
from pdem.run.guarded_exchange import END, GuardedExchange, RanksPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pdem.containers.exchange import Exchange
    from pdem.engine.parts.run_progress import RunProgress
    from pdem.engine.state import Groups
    from pdem.engine.system import System
    from pdem.features.observers.observer import Observer

WRITABLE = ("material", "radius", "position", "velocity", "angular_velocity", "image")
"""Columns that are copied before observers may write to them."""


class Asked(NamedTuple):
    """Requests of observers.

    Attributes
    ----------
    stop : bool
        End the run at this step.
    snapshot, checkpoint : bool
        Write a snapshot or a checkpoint at this step.
    """

    stop: bool = False
    snapshot: bool = False
    checkpoint: bool = False


class Observation:
    """The observers of a run.

    Parameters
    ----------
    simulation : Simulation
        The observed simulation.
    observers : sequence of callable or Observer, or None
        Observers in the order of their calls. None: no observers, and the run had none before.

    Raises
    ------
    InputError
        If an observer is not callable, or observers of a continued run are missing.

    Attributes
    ----------
    observers : dict of str to Observer
        Observers by name, in the order of their calls.
    asked : Asked
        Requests of the observers at the last call.
    before : dict
        After a failure, this rank's state before the call.
    """

    def __init__(self, simulation: Any, observers: Sequence[Any] | None) -> None:
        self._simulation = simulation
        system: System = simulation.system
        self.observers = named([observer_of(one) for one in observers or ()])
        usual = simulation.case.output.series_every
        self._every = {name: one.steps_of(system.constants.time_step.dt, usual) for name, one in self.observers.items()}
        _check_given(system, self.observers, dropped=observers is not None and not self.observers)
        self.asked = Asked()
        self.before: Groups = {}

    def next_step(self, step: int) -> int:
        """Return the next step after `step` at which an observer is due, `NEVER` without observers."""
        return min(((step // every + 1) * every for every in self._every.values()), default=NEVER)

    def call_due(self) -> Asked:
        """Call the observers that are due at the present step, or that were never called; return their requests.

        Collective.

        Raises
        ------
        ObserverError
            On all ranks, if an observer fails on any rank; `before` has the state before the calls.
        """
        system: System = self._simulation.system
        due = [name for name, every in self._every.items() if _is_due(system, name, every)]
        self.asked = Asked()
        if not due:
            return self.asked
        said, kept = observed(system).copy(), _Kept(system)
        self._simulation.observing = kept
        try:
            for name in due:
                _call(self._simulation, name, self.observers[name])
        except ObserverError:
            system.features.get(Observers).state = said
            self.before = kept.groups()
            raise
        finally:
            self._simulation.observing = None
        kept.account_writing()
        self.asked = kept.asked
        return self.asked


def _check_given(system: System, observers: Mapping[str, Observer], *, dropped: bool) -> None:
    """Check that the observers of a continued run are present, unless the user dropped all of them."""
    if dropped:
        observed(system).last.clear()
        observed(system).columns.clear()
    missing = [name for name in observed(system).last if name not in observers]
    if missing:
        raise InputError(
            f"the run that is continued had the observers {', '.join(missing)}: continue it in a script, "
            "Simulation.restart(folder).run(observers=[...]) with functions of these names, or without any by "
            "observers=[]"
        )


def _is_due(system: System, name: str, every: int) -> bool:
    last = observed(system).last.get(name)
    return last is None or (last != system.progress.step and system.progress.step % every == 0)


class _Kept:
    """The part of the state before the calls of observers that they may change.

    Attributes
    ----------
    asked : Asked
        Requests of the observers so far.
    """

    def __init__(self, system: System) -> None:
        self.asked = Asked()
        self._system = system
        self._groups: Groups = {}
        self._observed = observed(system).copy()
        self.copy_columns()

    def copy_columns(self) -> None:
        """Copy the writable columns of the present particles."""
        own = self._system.particles
        of_features = (one.name for one in own.fields.values() if one.state and one.name not in FIELDS)
        self._columns = {name: own[name].copy() for name in (*WRITABLE, *of_features)}

    def before_change(self) -> None:
        """Save the complete state before particles are inserted or removed, or lists are rebuilt."""
        self.groups()
        self.account_writing()
        self.copy_columns()

    def groups(self) -> Groups:
        """Return this rank's state before the calls of the observers."""
        if not self._groups:
            now, self._system.features.get(Observers).state = observed(self._system), self._observed
            self._groups = local_groups(self._system)
            self._system.features.get(Observers).state = now
            self._groups["particles"].update(self._columns)
        return self._groups

    def account_writing(self) -> None:
        """Account for the energy that observers added by writing to particles, as part of the outflow."""
        own, constants = self._system.particles, self._system.constants
        changed = np.zeros(own.count, np.bool_)
        for name, column in self._columns.items():
            changed |= (column != own[name]).any(axis=tuple(range(1, column.ndim)))  # also valid without particles
        if not changed.any():
            return
        for sign, columns in ((1.0, self._columns), (-1.0, own)):
            rows = {name: columns[name][changed] for name in WRITABLE} | {"cluster": own["cluster"][changed]}
            for energies in particle_energies(rows, constants):
                self._system.contacts.ended_energies.add("outflow", sign * energies)
            written = {name: columns[name] if name in columns else own[name] for name in own.fields}
            for _, energies in energies_of_features(self._system, {key: one[changed] for key, one in written.items()}):
                self._system.contacts.ended_energies.add("outflow", sign * energies)


def _call(simulation: Any, name: str, observer: Observer) -> None:
    """Call an observer on all ranks, and store its columns. Collective."""
    system: System = simulation.system
    exchange, columns, problem = system.exchange, {}, None
    guard = GuardedExchange(exchange)
    try:
        with system.with_exchange(cast("Exchange", guard) if exchange.size > 1 else exchange):
            columns = _columns_of(observer(simulation), system, name)
        if exchange.size > 1:
            guard.agree(END)
    except RanksPart:
        pass
    except (Exception, SystemExit) as error:
        problem = error
        guard.agree(END, failed=True)
    _raise_alike(system.exchange, system.progress, name, observer, problem, guard.parted)
    _require_same(system.exchange, system.progress, name, observer, columns, simulation.observing.asked)
    observed(system).last[name] = system.progress.step
    observed(system).columns.update(columns)


def _columns_of(returned: Any, system: System, name: str) -> dict[str, Observed]:
    """Return the columns that an observer has returned, after checks.

    Raises
    ------
    InputError
        If they differ from the columns of its first call, or a name belongs to another observer.
    """
    if returned is not None and not isinstance(returned, dict):
        kind = type(returned).__name__
        raise InputError(f"it returned a {kind}; return a mapping of names to numbers, or nothing")
    found = {key: Observed(name, *column_of(key, value)) for key, value in (returned or {}).items()}
    known = observed(system).columns
    for key, one in found.items():
        owner = known[key].observer if key in known else name
        if owner != name:
            raise InputError(f"the name of the column {key} is taken by the observer {owner}; give it another")
        if key in known and known[key].unit != one.unit:
            raise InputError(f"the column {key} had the unit {known[key].unit}, and now {one.unit}")
    mine = [key for key, one in known.items() if one.observer == name]
    if name in observed(system).last and set(mine) != set(found):
        odd = ", ".join(sorted(set(mine) ^ set(found)))
        raise InputError(
            f"its columns are others than at its first call ({odd}); return the same names at every call, NaN where "
            "there is no value"
        )
    return found


def _raise_alike(
    exchange: Exchange, progress: RunProgress, name: str, observer: Observer, problem: BaseException | None, parted: str
) -> None:
    """Raise the same error on all ranks, if the observer failed on any rank. Collective."""
    mine = None if problem is None else (exchange.rank, _problem_text(problem, observer))
    first = exchange.first(mine)
    at = f"step {progress.step} ({progress.time:.6g} s)"
    if first is not None:
        rank, text = first
        where = f" on rank {rank}" if exchange.size > 1 else ""
        raise ObserverError(f"observer {name} failed{where} at {at}: {text}") from problem
    if parted:
        raise ObserverError(
            f"observer {name} ({_place(observer)}) at {at}: {parted}; call functions of the simulation on all ranks "
            "alike"
        )


def _require_same(
    exchange: Exchange,
    progress: RunProgress,
    name: str,
    observer: Observer,
    columns: Mapping[str, Observed],
    asked: Asked,
) -> None:
    """Check that an observer returned the same values and made the same requests on all ranks. Collective."""
    mine = (_bits(columns), asked)
    first = exchange.share(mine)
    differs = exchange.first((exchange.rank, columns, asked) if mine != first else None)
    if differs is None:
        return
    here = exchange.share((columns, asked))
    rank, other, wanted = differs
    odd = [key for key in sorted({*here[0], *other}) if _bits(here[0]).get(key) != _bits(other).get(key)]
    what = "; ".join(f"{key} is {_value(here[0], key)}, and {_value(other, key)}" for key in odd[:3])
    what = what or f"it asks for {here[1]}, and {wanted}"
    raise ObserverError(
        f"observer {name} ({_place(observer)}) at step {progress.step}: ranks 0 and {rank} do not return the "
        f"same: {what}; use simulation.sum and the like for numbers of all particles"
    )


def _bits(columns: Mapping[str, Observed]) -> dict[str, tuple[str, bytes]]:
    return {key: (one.unit, np.float64(one.value).tobytes()) for key, one in columns.items()}


def _value(columns: Mapping[str, Observed], key: str) -> str:
    return repr(columns[key].value) if key in columns else "missing"


def _problem_text(problem: BaseException, observer: Observer) -> str:
    """Return location, type and text of an error in an observer."""
    return f"{_place(observer, problem)}: {type(problem).__name__}: {problem}"


def _place(observer: Observer, problem: BaseException | None = None) -> str:
    """Return file and line of an observer: its first line, or the last line of its file in an error's traceback."""
    code = observer.code
    if code is None:
        return repr(observer.function)
    line = code.co_firstlineno
    if problem is not None:
        frames = traceback.extract_tb(problem.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        line = lines[-1] or line if lines else line
    return f"{code.co_filename}, line {line}"

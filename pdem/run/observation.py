"""Calls of observers between steps, so that nothing is lost if one fails and all ranks stay together."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pdem.engine.energy import particle_energies
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
    from pdem.engine.state import Groups
    from pdem.engine.system import System
    from pdem.features.observers.observer import Observer

WRITABLE = ("material", "radius", "position", "velocity", "angular_velocity", "image")
"""Columns of which a copy is kept while observers may write to them."""


class Asked(NamedTuple):
    """What an observer has asked for.

    Attributes
    ----------
    stop : bool
        The run shall end here.
    snapshot, checkpoint : bool
        To be written at this step.
    """

    stop: bool = False
    snapshot: bool = False
    checkpoint: bool = False


class Observation:
    """The observers of a run.

    Parameters
    ----------
    simulation : Simulation
        That they observe.
    observers : sequence of callable or Observer, or None
        In the order in which they are called. None: none, and the run had none before.

    Raises
    ------
    InputError
        If one cannot be called, or a continued run had observers that are not given.

    Attributes
    ----------
    observers : dict of str to Observer
        By name, in the order in which they are called.
    asked : Asked
        What those of the last call have asked for.
    before : dict
        This rank's part of the state before they were called, if one has failed.
    """

    def __init__(self, simulation: Any, observers: Sequence[Any] | None) -> None:
        self._simulation = simulation
        system: System = simulation.system
        self.observers = named([observer_of(one) for one in observers or ()])
        usual = simulation.case.output.series_every
        self._every = {name: one.steps_of(system.constants.step, usual) for name, one in self.observers.items()}
        _check_given(system, self.observers, dropped=observers is not None and not self.observers)
        self.asked = Asked()
        self.before: Groups = {}

    def next_step(self, step: int) -> int:
        """Return the next step after `step` at which an observer is due, `NEVER` without any."""
        return min(((step // every + 1) * every for every in self._every.values()), default=NEVER)

    def call_due(self) -> Asked:
        """Call the observers that are due at the present step, or have never been called; return what they ask for.

        Collective.

        Raises
        ------
        ObserverError
            On all ranks, if one fails on any of them; the state is that before, in `before`.
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
    """Require the observers of a run that is continued, unless the user wants none of them."""
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
    """The state before observers are called, as far as they have changed it.

    Attributes
    ----------
    asked : Asked
        What they have asked for so far.
    """

    def __init__(self, system: System) -> None:
        self.asked = Asked()
        self._system = system
        self._groups: Groups = {}
        self._observed = observed(system).copy()
        self.copy_columns()

    def copy_columns(self) -> None:
        """Keep the columns of the present particles."""
        own = self._system.particles
        of_features = (one.name for one in own.fields.values() if one.state and one.name not in FIELDS)
        self._columns = {name: own[name].copy() for name in (*WRITABLE, *of_features)}

    def before_change(self) -> None:
        """Keep all of the state, before particles come, go or are listed anew."""
        self.groups()
        self.account_writing()
        self.copy_columns()

    def groups(self) -> Groups:
        """Return the state of this rank before the observers were called."""
        if not self._groups:
            now, self._system.features.get(Observers).state = observed(self._system), self._observed
            self._groups = local_groups(self._system)
            self._system.features.get(Observers).state = now
            self._groups["particles"].update(self._columns)
        return self._groups

    def account_writing(self) -> None:
        """Count the energy of what observers have written to particles as such that has come in."""
        own, constants = self._system.particles, self._system.constants
        changed = np.zeros(own.count, np.bool_)
        for name, column in self._columns.items():
            changed |= (column != own[name]).any(axis=tuple(range(1, column.ndim)))  # also without particles
        if not changed.any():
            return
        for sign, columns in ((1.0, self._columns), (-1.0, own)):
            rows = {name: columns[name][changed] for name in WRITABLE} | {"cluster": own["cluster"][changed]}
            for energies in particle_energies(rows, constants):
                self._system.contacts.ended_energies.add("outflow", sign * energies)


def _call(simulation: Any, name: str, observer: Observer) -> None:
    """Call an observer on all ranks, and take what it returns. Collective."""
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
    _raise_alike(system, name, observer, problem, guard.parted)
    _require_same(system, name, observer, columns, simulation.observing.asked)
    observed(system).last[name] = system.progress.step
    observed(system).columns.update(columns)


def _columns_of(returned: Any, system: System, name: str) -> dict[str, Observed]:
    """Return the columns that an observer has returned.

    Raises
    ------
    InputError
        If they are not those of its first call, or a name is taken.
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


def _raise_alike(system: System, name: str, observer: Observer, problem: BaseException | None, parted: str) -> None:
    """Raise the same error on all ranks, if the observer failed on any. Collective."""
    exchange = system.exchange
    mine = None if problem is None else (exchange.rank, _problem_text(problem, observer))
    first = exchange.first(mine)
    at = f"step {system.progress.step} ({system.progress.time:.6g} s)"
    if first is not None:
        rank, text = first
        where = f" on rank {rank}" if exchange.size > 1 else ""
        raise ObserverError(f"observer {name} failed{where} at {at}: {text}") from problem
    if parted:
        raise ObserverError(
            f"observer {name} ({_place(observer)}) at {at}: {parted}; call functions of the simulation on all ranks "
            "alike"
        )


def _require_same(system: System, name: str, observer: Observer, columns: Mapping[str, Observed], asked: Asked) -> None:
    """Require that an observer has returned and asked for the same on all ranks. Collective."""
    mine = (_bits(columns), asked)
    first = system.exchange.share(mine)
    differs = system.exchange.first((system.exchange.rank, columns, asked) if mine != first else None)
    if differs is None:
        return
    here = system.exchange.share((columns, asked))
    rank, other, wanted = differs
    odd = [key for key in sorted({*here[0], *other}) if _bits(here[0]).get(key) != _bits(other).get(key)]
    what = "; ".join(f"{key} is {_value(here[0], key)}, and {_value(other, key)}" for key in odd[:3])
    what = what or f"it asks for {here[1]}, and {wanted}"
    raise ObserverError(
        f"observer {name} ({_place(observer)}) at step {system.progress.step}: ranks 0 and {rank} do not return the "
        f"same: {what}; use simulation.sum and the like for numbers of all particles"
    )


def _bits(columns: Mapping[str, Observed]) -> dict[str, tuple[str, bytes]]:
    return {key: (one.unit, np.float64(one.value).tobytes()) for key, one in columns.items()}


def _value(columns: Mapping[str, Observed], key: str) -> str:
    return repr(columns[key].value) if key in columns else "missing"


def _problem_text(problem: BaseException, observer: Observer) -> str:
    """Return place, kind and text of an error in an observer."""
    return f"{_place(observer, problem)}: {type(problem).__name__}: {problem}"


def _place(observer: Observer, problem: BaseException | None = None) -> str:
    """Return file and line of an observer: its first line, or the last one of its file that an error has passed."""
    code = observer.code
    if code is None:
        return repr(observer.function)
    line = code.co_firstlineno
    if problem is not None:
        frames = traceback.extract_tb(problem.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
        line = lines[-1] or line if lines else line
    return f"{code.co_filename}, line {line}"

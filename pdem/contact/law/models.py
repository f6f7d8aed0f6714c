"""The contact laws and parts that a case file can name, and laws that users make from their own functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.kinds.constant_torque import CONSTANT_TORQUE
from pdem.contact.law.kinds.contact_area_adhesion import CONTACT_AREA_ADHESION
from pdem.contact.law.kinds.dmt import DMT, no_gap
from pdem.contact.law.kinds.eepa import EEPA, EEPA_LINEAR
from pdem.contact.law.kinds.friction import MINDLIN, SPRING
from pdem.contact.law.kinds.hertz import HERTZ, VISCOELASTIC
from pdem.contact.law.kinds.jkr import JKR
from pdem.contact.law.kinds.linear import LINEAR
from pdem.contact.law.kinds.liquid_bridge import LIQUID_BRIDGE
from pdem.contact.law.kinds.marshall import MARSHALL
from pdem.contact.law.kinds.plastic import LUDING, PLASTIC, WALTON_BRAUN
from pdem.contact.law.kinds.rolling_spring import ROLLING_SPRING
from pdem.contact.law.kinds.spring_dashpot_slider import ROLLING_SDS, TWISTING_SDS
from pdem.contact.law.parts import ROLES, Energy, HistoryColumn, Key, NormalPart, ResistancePart, TangentialPart
from pdem.contact.law.restitution import damping_factor
from pdem.contact.law.rotation import resistance_energies
from pdem.foundation.errors import InputError, name_hint
from pdem.numerics.function_digest import digest_of

if TYPE_CHECKING:
    from typing import Unpack

    from pdem.contact.law.parts import Pair, Part


@dataclass(frozen=True)
class LawModel:
    """A normal part, and the default parts that come with it unless the case chooses different ones.

    Attributes
    ----------
    normal : NormalPart
        The elastic force.
    adhesion : AdhesionPart or None
        The adhesion.
    tangential : TangentialPart or None
        The tangential force.
    rolling, twisting : ResistancePart or None
        Resistances.
    """

    normal: NormalPart
    tangential: TangentialPart | None = None
    rolling: ResistancePart | None = None
    twisting: ResistancePart | None = None
    adhesion: AdhesionPart | None = None

    @property
    def parts(self) -> list[Part]:
        """All parts that are not None."""
        parts = (self.normal, self.adhesion, self.tangential, self.rolling, self.twisting)
        return [part for part in parts if part is not None]

    @property
    def keys(self) -> dict[str, Key]:
        """Keys of an interaction with this law besides friction and restitution, by name."""
        return {key.name: key for part in self.parts for key in part.keys}


LAWS = {
    "hertz-mindlin": LawModel(HERTZ, MINDLIN),
    "linear": LawModel(LINEAR, SPRING),
    "viscoelastic": LawModel(VISCOELASTIC, MINDLIN),
    "walton-braun": LawModel(WALTON_BRAUN, SPRING),
    "luding": LawModel(LUDING, SPRING),
    "eepa": LawModel(EEPA, MINDLIN),
    "eepa-linear": LawModel(EEPA_LINEAR, SPRING),
}
"""Laws by the value of ``law`` in a case file; `contact_law` adds the laws of a script."""

PARTS: dict[str, dict[str, Part]] = {
    "adhesion": {part.model: part for part in (JKR, DMT, CONTACT_AREA_ADHESION, LIQUID_BRIDGE)},
    "rolling": {part.model: part for part in (CONSTANT_TORQUE, ROLLING_SPRING, ROLLING_SDS)},
    "twisting": {part.model: part for part in (MARSHALL, TWISTING_SDS)},
}
"""Parts by role, which is the key of the interaction, and by ``model`` in that table."""

_REMEMBERING = ("normal", *ROLES[2:])
_NORMALS = {"hertz": HERTZ, "linear": LINEAR}
_TANGENTIALS = {"mindlin": MINDLIN, "spring": SPRING}


class LawFunctions(TypedDict, total=False):
    """The functions of a contact law, see `contact_law`."""

    normal: str | Callable[..., Any]
    adhesion: Callable[..., Any] | None
    gap: Callable[..., float] | None
    tangential: str | Callable[..., Any] | None
    rolling: Callable[..., Any] | None
    twisting: Callable[..., Any] | None
    energy: Callable[..., float] | None
    unloading: Callable[..., float] | None


def contact_law(
    name: str = "",
    *,
    power: float = 1.5,
    coefficients: Mapping[str, str | Key] | None = None,
    history: Mapping[str, Sequence[str]] | None = None,
    **functions: Unpack[LawFunctions],
) -> LawModel:
    """Make a contact law of functions on numbers, which are compiled into the loop over contacts.

    A case uses it by ``law = "python:FILE.py:VARIABLE"``, or by its name if a script makes it before it reads the case.

    Parameters
    ----------
    name : str
        Name by which cases of this process can use it.
    normal : {"hertz", "linear"} or callable
        Elastic spheres (the default); a spring; or ``normal(overlap, radius, c)`` that returns the elastic
        force [N] and the stiffness [N/m] at an overlap [m], not negative, of a pair of effective radius [m]. pdem damps
        it for the restitution of the interaction. With a history it is ``normal(overlap, radius, c, history)`` and
        returns four things: force [N], which may pull while bodies touch; stiffness of loading [N/m]; the new history,
        a tuple like the old one; and the energy [J] lost since the last step.
    tangential : {"mindlin", "spring"}, callable or None
        pdem's spring with Coulomb's limit, with the stiffness of elastic spheres (the default) or as a fraction of the
        normal stiffness; ``tangential(step, contact, c, load, history)`` that returns the force on the second body (3)
        [N], the new history, a tuple like the old one, and the energy in it [J]; or no tangential force.
    rolling, twisting : callable or None
        ``rolling(step, contact, c, load, history)`` returns the torque on the second body (3) [N m], which is opposite
        on the first, the new history and the energy in it [J].
    adhesion : callable, optional
        ``adhesion(overlap, radius, c)`` returns the pull [N], not negative, and the work that it has done since the
        touch [J], 0 there: its integral over the overlap. The overlap is negative while a contact is stretched.
    gap : callable, optional
        ``gap(radius, c)`` returns how far a contact that has touched is stretched before it ends [m], not negative and
        growing with the radius; without it a contact ends where it began.
    energy : callable, optional
        ``energy(overlap, radius, c)`` returns the energy [J] of the elastic force; by default force times overlap over
        1 + `power`. With a history of the normal force ``energy(overlap, radius, c, history)`` is required: the energy
        that unloading returns.
    unloading : callable, optional
        ``unloading(overlap, radius, c)`` returns the largest stiffness [N/m] of a contact that has been pressed up to
        an overlap, if it differs from the stiffness of loading: it limits the time step.
    power : {1.5, 1.0}
        Power of the overlap with which the force approximately grows.
    coefficients : mapping of str to str or Key
        Keys of the interaction that functions read, as ``c.name``, with their units; `Key` says more. They can read
        ``c.friction`` and ``c.restitution`` as well.
    history : mapping of str to sequence of str
        For ``"normal"``, ``"tangential"``, ``"rolling"``, ``"twisting"``: names of the numbers that the function
        remembers of a contact, 0 when that begins.

    Returns
    -------
    LawModel
        The law.

    Raises
    ------
    InputError
        If an argument is invalid.

    Notes
    -----
    ``step``, ``contact`` and ``load`` are `pdem.motion.time_step.TimeStep`, `Contact` and `Load`. Functions may use
    ``math``, other plain functions and numbers of their module. No branches make the fastest code:
    ``a if condition else b`` is computed without one.
    """
    for one in functions:
        if one not in LawFunctions.__annotations__:
            raise InputError(f"{one} of a contact law: {name_hint(one, list(LawFunctions.__annotations__))}")
    keys = tuple(_key(key, value) for key, value in (coefficients or {}).items())
    _check_history(history or {})
    made = _Maker(keys, {role: tuple(columns) for role, columns in (history or {}).items()})
    given = functions.get
    elastic = made.normal(given("normal", "hertz"), given("energy"), given("unloading"), power)
    model = LawModel(
        elastic,
        made.tangential(given("tangential", "mindlin")),
        made.resistance("rolling", given("rolling")),
        made.resistance("twisting", given("twisting")),
        made.adhesion(given("adhesion"), given("gap"), elastic),
    )
    if name:
        LAWS[name] = model
    return model


def _key(name: str, value: str | Key) -> Key:
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"coefficient {name!r} of a contact law is no name; use letters, digits and _")
    return value if isinstance(value, Key) else Key(name, str(value))


def _check_history(history: Mapping[str, Sequence[str]]) -> None:
    for role in history:
        if role not in _REMEMBERING:
            raise InputError(f"history of {role!r}: {name_hint(role, list(_REMEMBERING))}")


class _Maker:
    """Makes parts from functions that share coefficients.

    Parameters
    ----------
    keys : tuple of Key
        Coefficients of all functions.
    history : mapping of str to tuple of str
        Names of history columns by role.
    """

    def __init__(self, keys: tuple[Key, ...], history: Mapping[str, tuple[str, ...]]) -> None:
        self._keys, self._history = keys, history
        self._names = tuple(dict.fromkeys((*(key.name for key in keys), "friction", "restitution")))

    def _values(self, pair: Pair) -> tuple[float, ...]:
        return tuple(float(pair.keys.get(name) or 0.0) for name in self._names)

    def normal(self, given: Any, energy: Any, unloading: Any, power: float) -> NormalPart:
        """Return the normal part: a built-in one, or a part from a function."""
        if power not in (1.0, 1.5):
            raise InputError(f"power = {power!r} of a contact law; it is 1.5 or 1.0")
        columns = self._history.get("normal", ())
        if isinstance(given, str):
            if columns or energy or unloading:
                raise InputError(
                    f"normal = {given!r} of a contact law has its own energy and remembers nothing; leave history of "
                    "normal, energy and unloading out"
                )
            return _known(_NORMALS, given, "normal")
        _check_function(given, "normal", 4 if columns else 3)
        elastic, stored = _plastic(given, energy, len(columns)) if columns else _elastic(given, energy, power)
        if unloading is not None:
            _check_function(unloading, "unloading", 3)
        functions = (given, stored) if unloading is None else (given, stored, unloading)
        return NormalPart(
            role="normal", model=given.__name__, keys=self._keys, coefficients=("modulus", *self._names),
            values=lambda pair: (1.0, *self._values(pair)),
            damped=lambda pair: damping_factor(pair.keys["restitution"], power > 1.25),
            elastic=elastic, energy=stored, power=power, onset=0.8 if power > 1.25 else 1.0, steepest=unloading,
            history=self._columns("normal"), energies=(PLASTIC,) if columns else (), digest=digest_of(*functions),
        )  # fmt: skip

    def adhesion(self, given: Any, gap: Any, normal: NormalPart) -> AdhesionPart | None:
        """Return the adhesion."""
        if given is None:
            if gap is not None:
                raise InputError("gap of a contact law without adhesion; give adhesion as well, or leave gap out")
            return None
        if normal.history:
            raise InputError(
                "adhesion of a contact law whose normal force remembers; leave it out, and let the normal force pull"
            )
        _check_function(given, "adhesion", 3)
        _check_function(gap or no_gap, "gap", 2)

        def elastic(overlap: float, radius: float, c: Any, force: float, factor: float) -> Any:
            pull, _ = given(overlap, radius, c)
            return force - pull, factor, pull

        def energy(overlap: float, radius: float, c: Any, elastic_energy: float) -> float:
            _, done = given(overlap, radius, c)
            return elastic_energy - done

        return AdhesionPart(
            role="adhesion", model=given.__name__, keys=self._keys, coefficients=self._names, values=self._values,
            energies=(Energy("adhesion", None, "adhesion"),) if gap else (), elastic=elastic, energy=energy,
            gap=gap or no_gap, digest=digest_of(given, gap or no_gap), normal=(normal.model,),
        )  # fmt: skip

    def tangential(self, given: Any) -> TangentialPart | None:
        """Return the tangential part."""
        if given is None:
            return None
        if isinstance(given, str):
            return _known(_TANGENTIALS, given, "tangential")
        _check_function(given, "tangential", 5)
        energies = Energy("tangential", "tangential", "sliding"), Energy("sliding", "sliding", "sliding")
        return TangentialPart(**self._remembering("tangential", given), energies=energies, force=given)

    def resistance(self, role: str, given: Any) -> ResistancePart | None:
        """Return the part against rolling or twisting."""
        if given is None:
            return None
        _check_function(given, role, 5)
        return ResistancePart(**self._remembering(role, given), energies=resistance_energies(role), torque=given)

    def _columns(self, role: str) -> tuple[HistoryColumn, ...]:
        return tuple(HistoryColumn(f"{role}_history_{name}", "") for name in self._history.get(role, ()))

    def _remembering(self, role: str, given: Any) -> dict[str, Any]:
        return {
            "role": role, "model": given.__name__, "keys": self._keys, "coefficients": self._names,
            "values": self._values, "history": self._columns(role), "digest": digest_of(given),
        }  # fmt: skip


def _elastic(given: Any, energy: Any, power: float) -> tuple[Any, Any]:
    """Return the functions of a normal part without history, from the functions of a user."""

    def by_power(overlap: float, radius: float, c: Any) -> float:
        force, _ = given(overlap, radius, c)
        return force * overlap / (1.0 + power)

    if energy is not None:
        _check_function(energy, "energy", 3)
    return given, energy or by_power


def _plastic(given: Any, energy: Any, columns: int) -> tuple[Any, Any]:
    """Return the functions of a normal part with a history of `columns` numbers, from the functions of a user.

    A history may be longer than that, for other interactions of the case.
    """
    if energy is None:
        raise InputError(
            f"{given.__name__} of a contact law remembers how it was pressed: give "
            "energy(overlap, radius, c, history), what can be got back [J]"
        )
    _check_function(energy, "energy", 4)

    def plastic(overlap: float, radius: float, c: Any, history: tuple[float, ...]) -> Any:
        force, stiffness, new, lost = given(overlap, radius, c, history[:columns])
        return force, stiffness, max(-force, 0.0), (*new, *history[columns:]), lost

    def stored(overlap: float, radius: float, c: Any, history: tuple[float, ...]) -> float:
        return float(energy(overlap, radius, c, history[:columns]))

    return plastic, stored


def _known(models: Mapping[str, Any], name: str, role: str) -> Any:
    if name not in models:
        raise InputError(f"{role} = {name!r} of a contact law: {name_hint(name, list(models))}")
    return models[name]


def _check_function(given: Any, role: str, arguments: int) -> None:
    code = getattr(given, "__code__", None)
    if code is None:
        raise InputError(f"{role} of a contact law is {given!r}; give a plain function of {arguments} arguments")
    if code.co_argcount != arguments:
        raise InputError(
            f"{given.__name__}, line {code.co_firstlineno} of {code.co_filename}, takes {code.co_argcount} arguments; "
            f"as {role} of a contact law it is given {arguments}"
        )

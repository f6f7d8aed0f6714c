"""The contact laws and parts that a case file can name, and those that users make of functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from pdem.contact.law.constant_torque import CONSTANT_TORQUE
from pdem.contact.law.contact_area_adhesion import CONTACT_AREA_ADHESION
from pdem.contact.law.dmt import DMT, no_gap
from pdem.contact.law.eepa import EEPA, EEPA_LINEAR
from pdem.contact.law.friction import MINDLIN, SPRING
from pdem.contact.law.hertz import HERTZ, VISCOELASTIC
from pdem.contact.law.jkr import JKR
from pdem.contact.law.linear import LINEAR
from pdem.contact.law.liquid_bridge import LIQUID_BRIDGE
from pdem.contact.law.marshall import MARSHALL
from pdem.contact.law.parts import (
    ROLES,
    AdhesionPart,
    Energy,
    HistoryColumn,
    Key,
    NormalPart,
    ResistancePart,
    TangentialPart,
)
from pdem.contact.law.plastic import LUDING, WALTON_BRAUN
from pdem.contact.law.restitution import damping_factor
from pdem.contact.law.rolling_spring import ROLLING_SPRING
from pdem.contact.law.rotation import resistance_energies
from pdem.contact.law.spring_dashpot_slider import ROLLING_SDS, TWISTING_SDS
from pdem.foundation.errors import InputError, name_hint
from pdem.foundation.function_digest import digest_of

if TYPE_CHECKING:
    from typing import Unpack

    from pdem.contact.law.parts import Pair, Part


@dataclass(frozen=True)
class LawModel:
    """A normal part, and the others that come with it unless the case says otherwise.

    Attributes
    ----------
    normal : NormalPart
        The elastic force.
    adhesion : AdhesionPart or None
        What pulls.
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
        """All parts that there are."""
        parts = (self.normal, self.adhesion, self.tangential, self.rolling, self.twisting)
        return [part for part in parts if part is not None]

    @property
    def keys(self) -> dict[str, Key]:
        """What an interaction says of this law besides friction and restitution, by name."""
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
"""By the name that ``law`` has in a case file; `contact_law` adds those of a script."""

PARTS: dict[str, dict[str, Part]] = {
    "adhesion": {part.model: part for part in (JKR, DMT, CONTACT_AREA_ADHESION, LIQUID_BRIDGE)},
    "rolling": {part.model: part for part in (CONSTANT_TORQUE, ROLLING_SPRING, ROLLING_SDS)},
    "twisting": {part.model: part for part in (MARSHALL, TWISTING_SDS)},
}
"""By the role, which is the key of the interaction, and by ``model`` in that table."""

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
        By which cases of this process can use it.
    normal : {"hertz", "linear"} or callable
        Elastic spheres, which it is unless given; a spring; or ``normal(overlap, radius, c)`` that returns the elastic
        force [N] and the stiffness [N/m] at an overlap [m], not negative, of a pair of effective radius [m]. pdem damps
        it for the restitution of the interaction.
    tangential : {"mindlin", "spring"}, callable or None
        pdem's spring with Coulomb's limit, with the stiffness of elastic spheres, which it is unless given, or as a
        part of the normal one; ``tangential(step, contact, c, load, history)`` that returns the force on the second
        body (3) [N], the new history, a tuple like the old one, and the energy in it [J]; or no tangential force.
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
        1 + `power`.
    power : {1.5, 1.0}
        With which power of the overlap the force grows, about.
    coefficients : mapping of str to str or Key
        Keys of the interaction that functions read, as ``c.name``, with their units; `Key` says more. They can read
        ``c.friction`` and ``c.restitution`` as well.
    history : mapping of str to sequence of str
        For ``"tangential"``, ``"rolling"``, ``"twisting"``: names of the numbers that the function remembers of a
        contact, 0 when that begins.

    Returns
    -------
    LawModel
        The law.

    Raises
    ------
    InputError
        If an argument is not what it has to be.

    Notes
    -----
    ``step``, ``contact`` and ``load`` are `pdem.contact.law.parts.Step`, `Contact` and `Load`. Functions may use
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
    elastic = made.normal(given("normal", "hertz"), given("energy"), power)
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
        if role not in ROLES[2:]:
            raise InputError(f"history of {role!r}: {name_hint(role, list(ROLES[2:]))}")


class _Maker:
    """Makes parts of functions that share coefficients.

    Parameters
    ----------
    keys : tuple of Key
        Coefficients of all functions.
    history : mapping of str to tuple of str
        By role.
    """

    def __init__(self, keys: tuple[Key, ...], history: Mapping[str, tuple[str, ...]]) -> None:
        self._keys, self._history = keys, history
        self._names = tuple(dict.fromkeys((*(key.name for key in keys), "friction", "restitution")))

    def _values(self, pair: Pair) -> tuple[float, ...]:
        return tuple(float(pair.keys.get(name) or 0.0) for name in self._names)

    def normal(self, given: Any, energy: Any, power: float) -> NormalPart:
        """Return the normal part: a known one, or that of a function."""
        if power not in (1.0, 1.5):
            raise InputError(f"power = {power!r} of a contact law; it is 1.5 or 1.0")
        if isinstance(given, str):
            return _known(_NORMALS, given, "normal")
        _check_function(given, "normal", 3)

        def by_power(overlap: float, radius: float, c: Any) -> float:
            force, _ = given(overlap, radius, c)
            return force * overlap / (1.0 + power)

        return NormalPart(
            role="normal", model=given.__name__, keys=self._keys, coefficients=("modulus", *self._names),
            values=lambda pair: (1.0, *self._values(pair)),
            damped=lambda pair: damping_factor(pair.keys["restitution"], power > 1.25),
            elastic=given, energy=energy or by_power, power=power, onset=0.8 if power > 1.25 else 1.0,
            digest=digest_of(given, energy or by_power),
        )  # fmt: skip

    def adhesion(self, given: Any, gap: Any, normal: NormalPart) -> AdhesionPart | None:
        """Return the part that pulls."""
        if given is None:
            if gap is not None:
                raise InputError(
                    "gap of a contact law without adhesion; give adhesion as well, or leave gap out"
                )
            return None
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
        return ResistancePart(
            **self._remembering(role, given), energies=resistance_energies(role), torque=given
        )

    def _remembering(self, role: str, given: Any) -> dict[str, Any]:
        columns = tuple(HistoryColumn(f"{role}_history_{name}", "") for name in self._history.get(role, ()))
        return {
            "role": role, "model": given.__name__, "keys": self._keys, "coefficients": self._names,
            "values": self._values, "history": columns, "digest": digest_of(given),
        }  # fmt: skip


def _known(models: Mapping[str, Any], name: str, role: str) -> Any:
    if name not in models:
        raise InputError(f"{role} = {name!r} of a contact law: {name_hint(name, list(models))}")
    return models[name]


def _check_function(given: Any, role: str, arguments: int) -> None:
    code = getattr(given, "__code__", None)
    if code is None:
        raise InputError(
            f"{role} of a contact law is {given!r}; give a plain function of {arguments} arguments"
        )
    if code.co_argcount != arguments:
        raise InputError(
            f"{given.__name__}, line {code.co_firstlineno} of {code.co_filename}, takes {code.co_argcount} arguments; "
            f"as {role} of a contact law it is given {arguments}"
        )

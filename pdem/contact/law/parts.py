"""What a contact law is made of: parts, one file each, that declare what they need.

A part has a *role*: the normal force, adhesion, the tangential force, resistance to rolling, resistance to twisting. It
is a record of what a case file may say of it (`Key`), of the coefficients it reads for a pair of materials, of the
numbers that a contact remembers for it (`HistoryColumn`), of the energies it stores and loses (`Energy`), and of the
small functions that compute it. Everything else follows from these: the pair table, the width of histories, the columns
of checkpoints, the terms of the energy ledger, how far lists reach, limits of the time step, and the kernels themselves
(`pdem.contact.law.contact_law`).

The functions are plain Python on numbers and on tuples with named fields; they are compiled into the loop over
contacts, so they have no loops over arrays and better no branches: ``a if condition else b`` is computed without a
jump.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    Vector = tuple[float, float, float]

TINY = 1e-150
"""Keeps quotients of vanishing vectors finite, also where one quotient has two of them below it."""

WORST_ROTATION = 20.0
"""Rotational stiffness of a sphere with twelve contacts (the kissing number), 2/3 of each acting about a given axis,
divided by the inertia factor 0.4: in the limit of stability of tangential and of rolling damping."""

ROLES = ("normal", "adhesion", "tangential", "rolling", "twisting")
"""What parts of a law there are, in the order in which they are evaluated."""


class Step(NamedTuple):
    """The time step.

    Attributes
    ----------
    dt : float
        Time by which histories grow [s]: the time step, or 0 when forces are measured before the first one.
    rate : float
        One over the time step [1/s].
    """

    dt: float
    rate: float


class Contact(NamedTuple):
    """Geometry and motion of one contact; of a contact with a wall the wall is the first body.

    Attributes
    ----------
    overlap, overlap_before : float
        At the end and at the begin of the step [m].
    normal : tuple of 3 float
        Unit vector from the first to the second body at the end of the step.
    velocity : tuple of 3 float
        Of the second body relative to the first at the contact, in the middle of the step [m/s].
    slip : tuple of 3 float
        Its part in the tangent plane of the middle of the step [m/s].
    rolling : tuple of 3 float
        Angular velocity of the second body relative to the first [rad/s].
    spin : float
        Mean angular velocity of both bodies about the normal [rad/s], by which histories turn.
    radius, mass, inverse_mass, inertia : float
        Effective ones of the pair [m, kg, 1/kg, kg m^2]: 1/R = 1/r_i + 1/r_j, 1/m = 1/m_i + 1/m_j; the inertia is
        0.4 m r^2 with the smaller radius r.
    """

    overlap: float
    overlap_before: float
    normal: Vector
    velocity: Vector
    slip: Vector
    rolling: Vector
    spin: float
    radius: float
    mass: float
    inverse_mass: float
    inertia: float


class Load(NamedTuple):
    """What the normal force of a contact means for what depends on it.

    Attributes
    ----------
    force : float
        Normal force to which frictions are proportional [N]: the normal force without adhesion; with adhesion what it
        says, which is not negative either.
    stiffness : float
        Normal stiffness [N/m].
    shrink : float
        What is left of a force that has grown with the normal stiffness when that has decreased, 1 if it has not.
    time : float
        For how long histories grow in this step [s]: from the touch on where the contact began in it.
    """

    force: float
    stiffness: float
    shrink: float
    time: float


class MaterialProperties(NamedTuple):
    """Of one material: density [kg/m^3], Young's modulus [Pa] (infinite: rigid), Poisson's ratio."""

    density: float = 0.0
    youngs_modulus: float = math.inf
    poisson_ratio: float = 0.0


class Pair(NamedTuple):
    """Two materials that meet, and what the case says of them.

    Attributes
    ----------
    first, second : MaterialProperties
        In either order: what is computed from them has to be symmetric.
    keys : mapping of str to float
        The keys of the part, by name, and those of the interaction itself (``friction``, ``restitution``).
    of_spheres : bool
        Whether the normal force is that of elastic spheres, with stiffness from both materials.
    """

    first: MaterialProperties
    second: MaterialProperties
    keys: Mapping[str, Any]
    of_spheres: bool = True

    @property
    def effective_modulus(self) -> float:
        """One over the sum of (1 - nu^2) / E of both materials [Pa]."""
        return 1.0 / sum((1.0 - one.poisson_ratio**2) / one.youngs_modulus for one in (self.first, self.second))


@dataclass(frozen=True)
class Key:
    """One key of a part in the case file.

    Attributes
    ----------
    name, unit, text : str
        Its name, its SI unit ("" for none), and one sentence that says what it is.
    default : float, str or None
        Its value where the file has none, None for no value.
    required : bool
        Whether the file must have it.
    above, at_least, at_most, below : float or None
        Limits of a number.
    choices : tuple of str
        Allowed texts, of a key that is no number.
    """

    name: str
    unit: str = ""
    text: str = ""
    default: float | str | None = None
    required: bool = True
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    below: float | None = None


@dataclass(frozen=True)
class HistoryColumn:
    """One number that a contact remembers from step to step, 0 when it begins.

    Attributes
    ----------
    name, unit : str
        Its name in checkpoints, and its SI unit.
    exchanged : int
        What it is multiplied by if the two partners exchange their roles: 1, or -1 for components of a force or a
        torque between them. pdem orients a pair from the lower to the higher id for good, so that it never exchanges
        them: this says how the number has to be read.
    """

    name: str
    unit: str
    exchanged: int = 1


@dataclass(frozen=True)
class Energy:
    """One energy that a contact keeps account of [J], the last columns of its history.

    Attributes
    ----------
    name : str
        Of the column.
    lasting : str or None
        Term of the energy ledger that it belongs to while the contact lasts; None for what is contained in another.
    ended : str
        Term that it goes to when the contact ends: what was stored is lost then.
    """

    name: str
    lasting: str | None
    ended: str


def vector(name: str, unit: str, exchanged: int = 1) -> tuple[HistoryColumn, ...]:
    """Return the history columns of the three components of a vector."""
    return tuple(HistoryColumn(f"{name}_{axis}", unit, exchanged) for axis in "xyz")


def no_rule(keys: Mapping[str, Any]) -> str:
    """Return "": nothing is wrong with the keys of a part together."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What all parts declare.

    Attributes
    ----------
    role : str
        One of `ROLES`.
    model : str
        Its name in the case file.
    text : str
        One or two sentences for users.
    keys : tuple of Key
        What the case file says of it.
    coefficients : tuple of str
        Names of the numbers that its functions read for a pair of materials, the fields of their argument ``c``.
    values : callable
        Of a `Pair`, returns these numbers in the same order. It must be symmetric in the two materials.
    rule : callable
        Of the keys, with their defaults, returns what is wrong with them together, or "".
    history : tuple of HistoryColumn
        What a contact remembers for it.
    energies : tuple of Energy
        What it stores and loses.
    digest : str
        Of the sources of its functions where these are not pdem's own: machine code is kept under it.
    """

    role: str
    model: str
    text: str = ""
    keys: tuple[Key, ...] = ()
    coefficients: tuple[str, ...] = ()
    values: Callable[[Pair], Sequence[float]] = lambda pair: ()
    rule: Callable[[Mapping[str, Any]], str] = no_rule
    history: tuple[HistoryColumn, ...] = ()
    energies: tuple[Energy, ...] = ()
    digest: str = ""

    @property
    def name(self) -> str:
        """The model, with its role for twisting (rolling has the same models), and the digest of its sources if any."""
        model = f"twisting-{self.model}" if self.role == "twisting" else self.model
        return f"{model}-{self.digest}" if self.digest else model


@dataclass(frozen=True, kw_only=True)
class NormalPart(Part):
    """A force along the normal, elastic, or plastic if it has a history; pdem damps it for the wanted restitution.

    Its first coefficient is ``modulus``, a factor of its stiffness.

    Attributes
    ----------
    elastic : callable
        ``elastic(overlap, radius, c)`` returns the force [N] and the factor of the stiffness that depends on the
        overlap, at an overlap [m], not negative, of a pair of effective radius [m]. Stiffness is ``c.modulus`` times
        that factor: for Hertz the radius of the contact area, 1 for a linear spring. With a history it is
        ``elastic(overlap, radius, c, history)`` and returns five things: force; factor, that of loading; by how much
        the load of frictions exceeds the force [N], 0 where it cannot pull; the new history; the energy lost [J]. The
        history may be longer than its own columns: what is behind them is returned as it is.
    energy : callable
        ``energy(overlap, radius, c)`` returns the energy [J] stored at an overlap; with a history
        ``energy(overlap, radius, c, history)``, what can be got back of it.
    power : {1.5, 1.0}
        With which power of the overlap the force grows: how the features of a patch of a wall add up.
    onset : float
        Mean of the square root of stiffness from touch to an overlap over that root at the overlap: by it the damping
        of the step in which a contact begins.
    damped : callable
        Of a `Pair`, returns the damping factor gamma that gives the wanted restitution.
    relaxation : callable or None
        Of a `Pair`, returns the time [s] by which its stiffness is multiplied for damping, in addition to that.
    has_restitution : bool
        Whether the key ``restitution`` of the interaction says how it rebounds.
    steepest : callable or None
        ``steepest(overlap, radius, c)`` returns the largest stiffness [N/m] up to an overlap where that is not the one
        of loading: unloading is stiffer.
    from_materials : bool
        Whether stiffness follows from the elastic constants of the materials: one of the two must be elastic.
    """

    elastic: Callable[..., Any]
    energy: Callable[..., float]
    damped: Callable[[Pair], float]
    relaxation: Callable[[Pair], float] | None = None
    has_restitution: bool = True
    steepest: Callable[..., float] | None = None
    power: float = 1.5
    onset: float = 0.8
    from_materials: bool = False


@dataclass(frozen=True, kw_only=True)
class TangentialPart(Part):
    """A force in the tangent plane.

    Attributes
    ----------
    two_frictions : TangentialPart or None
        What takes its place where the key ``dynamic_friction`` is given.
    force : callable or None
        ``force(step, contact, c, load, history)`` returns the force on the second body (3) [N], the new history, a
        tuple like the old one, and the energy stored in it [J]. What is lost follows from its work. None: pdem's own
        spring with Coulomb's limit (`kinds.friction`), with the coefficients ``ratio``, ``ratio_root``,
        ``friction``.
    """

    force: Callable[..., Any] | None = None
    two_frictions: TangentialPart | None = None


@dataclass(frozen=True, kw_only=True)
class ResistancePart(Part):
    """A torque against rolling or twisting.

    Attributes
    ----------
    torque : callable or None
        ``torque(step, contact, c, load, history)`` returns the torque on the second body (3) [N m], which is opposite
        on the first, the new history, a tuple like the old one, and the energy stored in it [J]. What is lost follows
        from its work. None: pdem's own constant torque (`pdem.contact.law.kinds.constant_torque`), with the coefficient
        ``friction``.
    stiffness : callable or None
        ``stiffness(overlap, radius, normal, c)`` returns the stiffness [N m/rad] at an overlap, with the normal
        stiffness there [N/m], for the limit of the time step.
    two_frictions : ResistancePart or None
        What takes its place where the key ``dynamic_friction`` is given.
    """

    torque: Callable[..., Any] | None = None
    stiffness: Callable[..., float] | None = None
    two_frictions: ResistancePart | None = None


def tuple_type(fields: Sequence[str]) -> Any:
    """Return a type of tuples with these fields, which only a case knows."""
    return namedtuple("Coefficients", fields)


def fields_of(part: Part) -> tuple[str, ...]:
    """Return the fields of the coefficients that the functions of a part are given."""
    return ("modulus", *part.coefficients) if part.role == "adhesion" else part.coefficients

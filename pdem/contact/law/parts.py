"""Parts of contact laws, one file each, with declarations of their keys, coefficients, histories and energies.

A part has a *role*: the normal force, adhesion, the tangential force, resistance to rolling, resistance to twisting. It
is a record of its keys in a case file (`Key`), of the coefficients it reads for a pair of materials, of the history of
a contact (`HistoryColumn`), of the energies it stores and loses (`Energy`), and of the functions that compute it.
Everything else follows from these: the pair table, the width of histories, the columns of checkpoints, the terms of the
energy balance, the reach of lists, limits of the time step, and the kernels (`pdem.contact.law.contact_law`).

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

from pdem.foundation import exact_math

if TYPE_CHECKING:
    Vector = tuple[float, float, float]

TINY = 1e-150
"""Makes quotients of vanishing vectors finite, even with the product of two vanishing lengths as the divisor."""

WORST_ROTATION = 20.0
"""Rotational stiffness of a sphere with twelve contacts (the kissing number), 2/3 of each acting about a given axis,
divided by the inertia factor 0.4: in the limit of stability of tangential and of rolling damping."""

ROLES = ("normal", "adhesion", "tangential", "rolling", "twisting")
"""Roles of parts, in the order in which they are evaluated."""


class Contact(NamedTuple):
    """Geometry and motion of one contact; of a contact with a wall the wall is the first body.

    Attributes
    ----------
    overlap, overlap_before : float
        Overlap at the end and at the begin of the step [m].
    normal : tuple of 3 float
        Unit vector from the first to the second body at the end of the step.
    velocity : tuple of 3 float
        Velocity of the second body relative to the first at the contact, in the middle of the step [m/s].
    slip : tuple of 3 float
        Part of this velocity in the tangent plane of the middle of the step [m/s].
    rolling : tuple of 3 float
        Angular velocity of the second body relative to the first [rad/s].
    spin : float
        Mean angular velocity of both bodies about the normal [rad/s], by which histories turn.
    radius, mass, inverse_mass, inertia : float
        Effective values of the pair [m, kg, 1/kg, kg m^2]: 1/R = 1/r_i + 1/r_j, 1/m = 1/m_i + 1/m_j; the inertia is
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
    """The normal load of a contact, for friction and resistances.

    Attributes
    ----------
    force : float
        Normal force to which frictions are proportional, not negative [N]: the normal force without adhesion; models of
        adhesion define it with adhesion.
    stiffness : float
        Normal stiffness [N/m].
    shrink : float
        Factor of a force that has grown with the normal stiffness when the stiffness decreases, else 1.
    time : float
        Time by which histories grow in this step [s]: from the touch on if the contact began in it.
    """

    force: float
    stiffness: float
    shrink: float
    time: float


class MaterialProperties(NamedTuple):
    """Properties of a material: density [kg/m^3], Young's modulus [Pa] (infinite: rigid), Poisson's ratio."""

    density: float = 0.0
    youngs_modulus: float = math.inf
    poisson_ratio: float = 0.0

    @property
    def compliance(self) -> float:
        """(1 - nu^2) / E of the material, its part of the effective modulus [1/Pa]; 0 if it is rigid."""
        return (1.0 - self.poisson_ratio * self.poisson_ratio) / self.youngs_modulus


class Pair(NamedTuple):
    """Two materials that meet, and the keys of their interaction.

    Attributes
    ----------
    first, second : MaterialProperties
        The materials in either order: results must be symmetric in them.
    keys : mapping of str to float
        The keys of the part, by name, and ``friction`` and ``restitution`` of the interaction itself.
    of_spheres : bool
        Whether the normal force is the force of elastic spheres, with stiffness from both materials.
    """

    first: MaterialProperties
    second: MaterialProperties
    keys: Mapping[str, Any]
    of_spheres: bool = True

    @property
    def effective_modulus(self) -> float:
        """One over the sum of (1 - nu^2) / E of both materials [Pa]."""
        return 1.0 / exact_math.total(one.compliance for one in (self.first, self.second))


@dataclass(frozen=True)
class Key:
    """One key of a part in the case file.

    Attributes
    ----------
    name, unit, text : str
        Its name, its SI unit ("" for none), and one sentence on its meaning.
    default : float, str or None
        Its value if the file does not have the key, None for no value.
    required : bool
        Whether the file must have it.
    above, at_least, at_most, below : float or None
        Limits of a number.
    choices : tuple of str
        Allowed texts of a key that is no number.
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
    """One number in the history of a contact, 0 when the contact begins.

    Attributes
    ----------
    name, unit : str
        Its name in checkpoints, and its SI unit.
    exchanged : int
        Factor of the number if the two partners exchange their roles: 1, or -1 for components of a force or a torque
        between them. pdem orients a pair from the lower to the higher id, so that roles never change in a run: this
        factor is for readers of the number.
    """

    name: str
    unit: str
    exchanged: int = 1


REFERENCE_OVERLAP = HistoryColumn("reference_overlap", "m")
"""Overlap of two particles without elastic force, if contacts of a case may begin with an overlap.

The law acts on the overlap less this reference. While the particles separate the reference decreases with the overlap,
so that it is 0 once they have been apart: no force jumps and no energy appears.
"""

PASSED_LOSS = HistoryColumn("passed_loss", "J")
"""Part of the energy lost in a contact that its bodies have received as heat, see `pdem.contact.losses`."""

STRAIN_ENERGY = HistoryColumn("strain_energy", "J")
"""Elastic energy of the normal force of a contact at present."""

LARGEST_ENERGY = HistoryColumn("largest_energy", "J")
"""Largest strain energy of a contact since it began."""

LARGEST_FORCE = HistoryColumn("largest_force", "N")
"""Largest normal force of a contact since it began."""

EXCHANGE_REST = HistoryColumn("exchange_rest", "J")
"""Energy that a contact has still to exchange between its bodies: less than one quantum."""


@dataclass(frozen=True)
class Energy:
    """One account of energy of a contact [J]; accounts are the last columns of its history.

    Attributes
    ----------
    name : str
        Name of the column.
    lasting : str or None
        Term of the energy balance while the contact lasts; None if a different account contains it.
    ended : str
        Term of the energy balance after the contact has ended; stored energy is lost at the end.
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
    """The declarations that all parts have.

    Attributes
    ----------
    role : str
        One of `ROLES`.
    model : str
        Its name in the case file.
    text : str
        One or two sentences for users.
    keys : tuple of Key
        Keys in the case file.
    coefficients : tuple of str
        Names of the numbers that its functions read for a pair of materials, the fields of their argument ``c``.
    values : callable
        ``values(pair)`` returns the coefficients of a `Pair` in the same order. It must be symmetric in the materials.
    rule : callable
        ``rule(keys)`` returns an error in the combination of keys, with their defaults, or "".
    history : tuple of HistoryColumn
        Columns in the history of a contact.
    energies : tuple of Energy
        Stored and lost energies.
    digest : str
        Digest of the sources of users' functions, part of the name of cached machine code; "" for built-in parts.
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
    """A force along the normal, elastic, or plastic if it has a history; pdem adds damping for the restitution.

    Its first coefficient is ``modulus``, a factor of its stiffness.

    Attributes
    ----------
    elastic : callable
        ``elastic(overlap, radius, c)`` returns the force [N] and the factor of the stiffness that depends on the
        overlap, at an overlap [m], not negative, of a pair of effective radius [m]. Stiffness is ``c.modulus`` times
        that factor: for Hertz the radius of the contact area, 1 for a linear spring. With a history it is
        ``elastic(overlap, radius, c, history)`` and returns five values: force; factor of loading; the difference of
        the load for friction and the force [N], 0 if it cannot pull; the new history; the energy lost [J]. The history
        may be longer than its own columns: further values are returned unchanged.
    energy : callable
        ``energy(overlap, radius, c)`` returns the energy [J] stored at an overlap; with a history
        ``energy(overlap, radius, c, history)`` returns the energy of unloading.
    power : {1.5, 1.0}
        Power of the overlap in the force: it decides how the features of a patch of a wall are added up.
    onset : float
        Mean of the square root of stiffness from the touch to an overlap, over this root at the overlap: a factor of
        the damping in the step in which a contact begins.
    damped : callable
        ``damped(pair)`` returns the damping factor gamma of a `Pair` for its restitution.
    relaxation : callable or None
        ``relaxation(pair)`` returns a time [s]; stiffness times this time is added to the damping.
    has_restitution : bool
        Whether the key ``restitution`` of the interaction determines the rebound.
    steepest : callable or None
        ``steepest(overlap, radius, c)`` returns the largest stiffness [N/m] up to an overlap if unloading is stiffer
        than loading.
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
        tuple like the old one, and the energy stored in it [J]. The lost energy follows from its work. None: the
        built-in spring with Coulomb's limit (`kinds.friction`), with the coefficients ``ratio``, ``ratio_root``,
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
        on the first, the new history, a tuple like the old one, and the energy stored in it [J]. The lost energy
        follows from its work. None: the built-in constant torque (`pdem.contact.law.kinds.constant_torque`), with the
        coefficient ``friction``.
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
    """Return a type of tuples with these fields, which depend on the case."""
    return namedtuple("Coefficients", fields)


def fields_of(part: Part) -> tuple[str, ...]:
    """Return the field names of the coefficients ``c`` of the functions of a part."""
    return ("modulus", *part.coefficients) if part.role == "adhesion" else part.coefficients

"""LAMMPS commands of a problem: contact laws, walls, neighbour lists.

There are two styles. ``granular`` is the same law as that of pdem: Hertz, damping ``2 gamma sqrt(m k_n)`` with the same
gamma, no tension, Mindlin's tangential force with a history of forces that is rescaled on unloading, tangential damping
in the same ratio, Coulomb's limit. Without friction and damping the two codes agree to rounding. Differences remain:

* Velocity: LAMMPS uses the velocity in the middle of the step for all damping; pdem extrapolates normal damping to the
  end of the step, and solves for the part that the normal force itself causes.
* Beginning: in pdem the first damping of a contact is a mean since first touch, and slip counts from first touch.
* History: LAMMPS projects the history and its increment onto the tangent plane at the end of the step; in pdem the
  increment is in the tangent plane of the middle, and the history rotates with the contact about its normal. LAMMPS'
  option ``synchronized_verlet`` is off: it uses the plane of the middle too, but in the tested version it also gives
  normal forces the direction of the middle, and costs time.
* Sliding: LAMMPS limits the sum of friction and tangential damping by Coulomb's limit; pdem damps only sticking
  contacts, and limits the damping to its stable range.
* Adhesion: LAMMPS allows no damping by restitution with JKR; it gets the damping that grows with the contact radius,
  equal to pdem's at the deepest point of a typical impact. Its contacts end at the largest pull.
* Twisting: Marshall's stiffness uses the parameter of the tangential model as k_t, which for Mindlin's model lacks the
  contact radius. Rolling is projected onto the tangent plane instead of rotating with the contact.
* Contact point: LAMMPS shortens both arms by half the overlap for torques, and uses whole radii for velocities; pdem
  divides the overlap in proportion to the radii, and uses the same arms for both. At walls LAMMPS uses whole radii.
  Rebounds of sticking impacts therefore differ by about twice the overlap over the radius.

``gran/hertz/history`` is the fastest style of LAMMPS: its history is a displacement that is not rescaled, and damping
grows with the contact radius, so that restitution depends on speed. Its coefficient equals pdem's at the deepest point
of a typical impact (see `typical_contact_radius`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.lammps.laws import SpringSlider
from benchmarks.lammps.walls import Floor, MeshedWall
from pdem.benchmark.cases import SkipCase

if TYPE_CHECKING:
    from benchmarks.lammps.laws import Law
    from benchmarks.lammps.problem import Problem

STYLES = ("granular", "gran/hertz/history")
"""The style with the law of pdem, and the fastest style."""

TSUJI = math.sqrt(5.0 / 6.0)
"""gamma over the logarithmic decrement in the damping of ``coeff_restitution``."""

MOST_NEIGHBOURS = 20000
_LEAST_DAMPING = 1e-9
"""Smallest gamma_n [1/(m s)], because LAMMPS divides by it at walls."""


@dataclass(frozen=True)
class Settings:
    """Settings that change the speed of LAMMPS but not its results.

    Attributes
    ----------
    skin : float
        Skin of the neighbour lists [m].
    collections : tuple of float
        Largest diameters of the size classes (collections) [m], for style ``multi``; empty for style ``bin``.
    newton : bool
        Whether pairs with periodic images are computed once.
    suffix : str
        Suffix of accelerated styles, ``omp`` (with one thread) or empty.
    """

    skin: float
    collections: tuple[float, ...] = field(default=())
    newton: bool = False
    suffix: str = ""

    def __str__(self) -> str:
        """Return the settings in the terms of LAMMPS."""
        style = f"multi, {len(self.collections)} collections" if self.collections else "bin"
        parts = [f"neighbor {self.skin:.3g} {style}", f"newton {'on' if self.newton else 'off'}"]
        return ", ".join([*parts, f"suffix {self.suffix}"] if self.suffix else parts)


def commands_before(problem: Problem, settings: Settings) -> list[str]:
    """Return the commands before particles are created, up to the box."""
    box = " ".join(
        f"{low!r} {high!r}" for low, high in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    )
    suffix = [f"package {settings.suffix} 1", f"suffix {settings.suffix}"] if settings.suffix else []
    return [
        *suffix,
        "units si",
        "atom_style sphere",
        "atom_modify map array",
        "boundary " + " ".join("p" if axis else "s" for axis in problem.periodic),
        f"newton {'on' if settings.newton else 'off'}",
        "comm_modify vel yes",
        f"region box block {box}",
        "create_box 1 box",
        *(["fix molecule all property/atom mol ghost yes"] if problem.has_clusters else []),
    ]


def commands_after(problem: Problem, style: str, settings: Settings) -> list[str]:
    """Return the commands after particles are created, before the first step."""
    gravity = float(np.linalg.norm(problem.gravity))
    lines = [*_pair_commands(problem, style), *neighbour_commands(settings), *_motion_commands(problem)]
    if gravity > 0.0:
        x, y, z = (problem.gravity / gravity).tolist()
        lines.append(f"fix gravity all gravity {gravity!r} vector {x!r} {y!r} {z!r}")
    # the default output contains the temperature, which is undefined for clusters and stops LAMMPS
    return [
        *lines,
        *_wall_commands(problem, style),
        f"timestep {problem.step!r}",
        "thermo 0",
        "thermo_style custom step",
    ]


def neighbour_commands(settings: Settings) -> list[str]:
    """Return the commands for the neighbour lists."""
    every = f"neigh_modify delay 0 every 1 check yes one {MOST_NEIGHBOURS} page {20 * MOST_NEIGHBOURS}"
    if not settings.collections:
        return [f"neighbor {float(settings.skin)!r} bin", every]
    limits = " ".join(repr(limit) for limit in settings.collections)
    return [
        f"neighbor {float(settings.skin)!r} multi",
        every,
        f"neigh_modify collection/interval {len(settings.collections)} {limits}",
        "comm_modify mode multi",
    ]


def collections_of(problem: Problem, count: int) -> tuple[float, ...]:
    """Return the largest diameters of `count` collections, with a constant factor from one to the next."""
    radius = problem.particles["radius"]
    smallest, ratio = 2.0 * float(radius.min()), problem.size_ratio * (1.0 + 1e-9)
    return tuple(smallest * ratio ** ((number + 1) / count) for number in range(count))


def _motion_commands(problem: Problem) -> list[str]:
    if problem.has_clusters:
        return ["neigh_modify exclude molecule/intra all", "fix motion all rigid/small molecule"]
    return ["fix motion all nve/sphere"]


def _wall_commands(problem: Problem, style: str) -> list[str]:
    wall = problem.wall
    if wall is None:
        return []
    if isinstance(wall, MeshedWall):
        raise SkipCase("LAMMPS is given no meshed walls; LIGGGHTS is")
    law = _law(problem, wall.law, style, is_wall=True)
    if isinstance(wall, Floor):
        return [f"fix floor all wall/gran {law} zplane {wall.height!r} NULL"]
    return [
        f"variable angle equal {wall.rate!r}*step*dt",
        f"region drum cylinder x 0 0 {wall.radius!r} INF INF side in rotate v_angle 0 0 0 1 0 0",
        f"fix drum all wall/gran/region {law} region drum",
    ]


def _pair_commands(problem: Problem, style: str) -> list[str]:
    law = _law(problem, problem.law, style, is_wall=False)
    if style == "granular":
        return ["pair_style granular", f"pair_coeff * * {law}"]
    return [f"pair_style gran/{law}", "pair_coeff * *"]


def _law(problem: Problem, law: Law, style: str, is_wall: bool) -> str:
    """Return the coefficients of a law between spheres or of a wall, including the leading words."""
    normal, tangential = 2.0 / 3.0 * law.stiffness, law.tangential_ratio * law.stiffness
    share = math.sqrt(law.tangential_ratio)
    if style == "granular":
        words = [
            _normal(problem, law, normal),
            f"tangential mindlin_rescale/force {tangential!r} {share!r} {law.friction!r}",
            *_resistances(problem, law),
            "damping viscoelastic" if law.work_of_adhesion else "damping coeff_restitution limit_damping",
        ]
        return " ".join([*(["granular"] if is_wall else []), *words])
    if not law.is_plain:
        raise SkipCase(f"{style} has neither adhesion nor resistances")
    damping = _viscoelastic_damping(problem, law)
    return f"hertz/history {normal!r} {tangential!r} {damping!r} {share * damping!r} {law.friction!r} 1 limit_damping"


def _normal(problem: Problem, law: Law, stiffness: float) -> str:
    if not law.work_of_adhesion:
        return f"hertz {stiffness!r} {restitution_of(law)!r}"
    poisson, young = elastic_constants(law)
    damping = _viscoelastic_damping(problem, law) if law.damping else 0.0
    return f"jkr {young!r} {damping!r} {poisson!r} {0.5 * law.work_of_adhesion!r}"


def elastic_constants(law: Law) -> tuple[float, float]:
    """Return Poisson's ratio and Young's modulus [Pa] of two equal bodies with this law; any ratio without friction."""
    ratio = law.tangential_ratio
    poisson = (2.0 - 2.0 * ratio) / (2.0 - ratio) if ratio > 0.0 else 0.0
    return poisson, law.stiffness * (1.0 - poisson * poisson)


def _resistances(problem: Problem, law: Law) -> list[str]:
    """Return the words for rolling and twisting; the friction of twisting sds is a length in LAMMPS."""
    words = [] if law.rolling is None else [f"rolling sds {' '.join(map(repr, law.rolling))}"]
    if isinstance(law.twisting, SpringSlider):
        stiffness, damping, friction = law.twisting
        effective = 0.5 * float(problem.particles["radius"].mean())
        words.append(f"twisting sds {stiffness!r} {damping!r} {friction * effective!r}")
    return words if law.twisting != "marshall" else [*words, "twisting marshall"]


def restitution_of(law: Law) -> float:
    """Return the coefficient of restitution for which LAMMPS damps with the same gamma.

    LAMMPS' damping coefficient is ``2 sqrt(5/6) b sqrt(m k_n)``, b = -ln e / sqrt(pi^2 + ln^2 e), so that e is the
    restitution of contacts that may pull. pdem's gamma is for contacts that do not pull.

    Raises
    ------
    SkipCase
        If no coefficient of restitution gives this damping.
    """
    decrement = law.damping / TSUJI
    if decrement >= 1.0:
        raise SkipCase(f"LAMMPS has no restitution for a damping factor of {law.damping:.3g}; below 0.91 it has")
    return math.exp(-math.pi * decrement / math.sqrt(1.0 - decrement**2))


def _viscoelastic_damping(problem: Problem, law: Law) -> float:
    """Return gamma_n [1/(m s)] of a damping coefficient gamma_n a m equal to pdem's at the typical contact."""
    mass, contact_radius = typical_contact_radius(problem, law)
    return max(2.0 * law.damping * math.sqrt(law.stiffness / (mass * contact_radius)), _LEAST_DAMPING)


def typical_contact_radius(problem: Problem, law: Law) -> tuple[float, float]:
    """Return effective mass [kg] and contact radius [m] at the deepest point of a typical impact.

    This is the impact of two particles of the mean radius at the root mean square relative speed, or at the speed of a
    fall by one radius if that is higher.
    """
    particles = problem.particles
    radius = float(particles["radius"].mean())
    mass = 0.5 * float(np.interp(radius, *_masses(problem)))
    fall = 2.0 * float(np.linalg.norm(problem.gravity)) * radius
    squared = max(2.0 * float((particles["velocity"] ** 2).sum(axis=1).mean()), fall, 1e-12)
    overlap = (15.0 / 8.0 * mass * squared / (law.stiffness * math.sqrt(0.5 * radius))) ** 0.4
    return mass, math.sqrt(0.5 * radius * overlap)


def _masses(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(problem.particles["radius"])
    return problem.particles["radius"][order], problem.particles["mass"][order]

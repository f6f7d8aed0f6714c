"""Elastic moduli of regular packings in periodic boxes under small strains, beside their closed forms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tomli_w

from pdem.case.model import Case
from pdem.features.deforming_box.report import box_values
from pdem.run.simulation import Simulation
from pdem.verification.study import FindingTable, Study, StudyFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pdem.foundation.array_types import Floats
    from pdem.verification.study import Notebook

RADIUS, DENSITY = 0.005, 2500.0
STIFFNESS = 1e5
"""Stiffness of linear springs [N/m]."""

MODULUS, POISSON = 1e9, 0.3
"""Young's modulus of Hertzian spheres [Pa]."""

SQUEEZED, STRAIN = 1e-5, 1e-7
"""Initial overlap over the diameter, and the strain in both directions from there."""

CELLS = 3
"""Cells of the lattice along each axis of the box."""

_STRAINING, _RESTING, _STEPS = 20, 80, 40
"""Duration of a run in impacts, and steps per impact."""


class Lattice(NamedTuple):
    """A cubic lattice of touching spheres: sites in a cell of edge 1, and vectors to a site's neighbours (n, 3)."""

    sites: Floats
    neighbours: Floats

    @property
    def edge(self) -> float:
        """Edge of a cell over the diameter."""
        return 1.0 / math.sqrt(float((self.neighbours[0] ** 2).sum()))


def _neighbours(among: tuple[float, ...], length: float) -> Floats:
    """Return all vectors of a certain length with components from a set."""
    found = np.stack(np.meshgrid(among, among, among), -1).reshape(-1, 3)
    return found[np.isclose((found**2).sum(axis=1), length**2)]


LATTICES = {
    "simple cubic": Lattice(np.zeros((1, 3)), _neighbours((-1.0, 0.0, 1.0), 1.0)),
    "body-centred cubic": Lattice(np.array([[0.0] * 3, [0.5] * 3]), _neighbours((-0.5, 0.5), math.sqrt(0.75))),
    "face-centred cubic": Lattice(
        np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]),
        _neighbours((-0.5, 0.0, 0.5), math.sqrt(0.5)),
    ),
}
"""Lattices by name."""


class Moduli(NamedTuple):
    """Moduli of a cubic crystal [Pa]: pressure along an axis and across it, and shear stress, over the strain."""

    c11: float
    c12: float
    c44: float


def moduli(name: str, normal: float, tangential: float, diameter: float) -> Moduli:
    """Return the moduli of a lattice of spheres with spring stiffnesses [N/m] at their contacts.

    A Bravais lattice deforms affinely. Two neighbours in the direction n, at a distance d, separate by d e.n under a
    strain e. Its normal component is d n.e.n, the remainder is tangential (spheres rotate with the lattice, so that
    rotation does not count). Contact forces are k_n and k_t times these displacements, and the stress is the sum of
    force times branch over the contacts of a sphere, each counted half, over its volume V:

        C_ijkl = d^2 / (2 V) sum over neighbours of
                 (k_n - k_t) n_i n_j n_k n_l + k_t / 4 (d_ik n_j n_l + d_il n_j n_k + d_jk n_i n_l + d_jl n_i n_k)

    For the three lattices, with V = d^3, 4 d^3 / (3 sqrt(3)), d^3 / sqrt(2), this gives

                             d C_11                   d C_12                   d C_44
        simple cubic         k_n                      0                        k_t / 2
        body-centred cubic   (k_n + 2 k_t) / sqrt(3)  (k_n - k_t) / sqrt(3)    (k_n + k_t / 2) / sqrt(3)
        face-centred cubic   sqrt(2) (k_n + k_t)      (k_n - k_t) / sqrt(2)    (k_n + k_t) / sqrt(2)

    The last line agrees with Duffy and Mindlin (1957) for the stiffnesses of Hertz and Mindlin. Without tangential
    springs C_12 = C_44 (Cauchy).
    """  # fmt: skip
    n, t = normal / diameter, tangential / diameter
    return {
        "simple cubic": Moduli(n, 0.0, 0.5 * t),
        "body-centred cubic": Moduli(
            (n + 2.0 * t) / math.sqrt(3.0), (n - t) / math.sqrt(3.0), (n + 0.5 * t) / math.sqrt(3.0)
        ),
        "face-centred cubic": Moduli(math.sqrt(2.0) * (n + t), (n - t) / math.sqrt(2.0), (n + t) / math.sqrt(2.0)),
    }[name]


def summed_moduli(lattice: Lattice, normal: float, tangential: float, diameter: float) -> Moduli:
    """Return the moduli by the sum over neighbours, for any lattice."""
    n = lattice.neighbours / np.linalg.norm(lattice.neighbours[0])
    volume = (lattice.edge * diameter) ** 3 / len(lattice.sites)
    one = np.eye(3)
    each = (normal - tangential) * np.einsum("ai,aj,ak,al->ijkl", n, n, n, n)
    for a, b, c, d in ((0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2)):
        part = np.einsum("ik,jl->ikjl", one, np.einsum("aj,al->jl", n, n))
        each += 0.25 * tangential * np.moveaxis(part, (0, 1, 2, 3), (a, b, c, d))
    found = 0.5 * diameter**2 / volume * each
    return Moduli(*(float(found[place]) for place in ((0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 0, 1))))


class Springs(NamedTuple):
    """A contact law in a case, its stiffnesses at an overlap [m]: normal and tangential [N/m], and the force [N]."""

    law: dict[str, Any]
    normal: float
    tangential: float
    force: float


def linear(ratio: float, overlap: float) -> Springs:
    """Return linear springs with a `ratio` of tangential to normal stiffness; smooth spheres for 0."""
    law: dict[str, Any] = {"law": "linear", "normal_stiffness": STIFFNESS, "restitution": 0.3}
    law |= {"friction": 1.0, "tangential_ratio": ratio} if ratio else {"friction": 0.0}
    return Springs(law, STIFFNESS, ratio * STIFFNESS, STIFFNESS * overlap)


def hertzian(overlap: float) -> Springs:
    """Return the law of Hertz and Mindlin, with its stiffnesses at an overlap."""
    modulus, radius = 0.5 * MODULUS / (1.0 - POISSON**2), 0.5 * RADIUS
    normal = 2.0 * modulus * math.sqrt(radius * overlap)
    ratio = 2.0 * (1.0 - POISSON) / (2.0 - POISSON)
    return Springs({"friction": 1.0, "restitution": 0.3}, normal, ratio * normal, 2.0 / 3.0 * normal * overlap)


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield moduli of lattices of linear and of Hertzian springs."""
    overlap = 2.0 * RADIUS * SQUEEZED
    springs = {
        "smooth": linear(0.0, overlap),
        "tangential 2/7": linear(2.0 / 7.0, overlap),
        "tangential 0.8": linear(0.8, overlap),
    }
    cases = [(name, word) for name in LATTICES for word in springs if (name, word) not in _UNSTABLE]
    found = {case: measured(case[0], springs[case[1]], SQUEEZED) for case in cases}
    findings = [
        one for (name, word), got in found.items() for one in _findings(f"{name}, {word}", name, springs[word], got)
    ]  # fmt: skip
    yield FindingTable("Linear springs", "closed form", findings, _REMARK)
    squeezed = [SQUEEZED * factor for factor in (0.25, 1.0, 4.0)]
    rows = [(one, hertzian(2.0 * RADIUS * one)) for one in squeezed]
    got = [measured("face-centred cubic", law, one) for one, law in rows]
    pressures = np.array([pressure(law, one) for one, law in rows])
    powers = [float(np.polyfit(np.log(pressures), np.log(one), 1)[0]) for one in zip(*got, strict=True)]
    findings = [StudyFinding(f"{key} grows with the pressure to the power", power, 1.0 / 3.0, 2e-3)
                for key, power in zip(("C11", "C12", "C44"), powers, strict=True)]  # fmt: skip
    findings += [one for (_, law), here, load in zip(rows, got, pressures.tolist(), strict=True)
                 for one in _findings(f"{load:.3g} Pa", "face-centred cubic", law, here)]  # fmt: skip
    yield FindingTable("Spheres by Hertz and Mindlin, face-centred cubic", "closed form", findings, _HERTZ_REMARK)
    with notebook.plot("moduli", 2) as axes:
        _draw_linear(axes[0], found)
        _draw_hertz(axes[1], pressures, got)


_UNSTABLE = {("simple cubic", "smooth"), ("body-centred cubic", "smooth")}
"""Lattices that do not resist all shears without tangential springs, and collapse under pressure."""

_REMARK = (
    f"From stresses after strains of {STRAIN:g} up and down, about an overlap of {SQUEEZED:g} of the diameter; by as "
    "much are the moduli of stressed lattices off."
)
_HERTZ_REMARK = (
    "C11 = (4 - 3 v) / (2 - v) C, C12 = v / (2 (2 - v)) C, C44 = C11 / 2, with C = (3 P G^2 / (2 (1 - v)^2))^(1/3) of "
    "the pressure P, the shear modulus G and Poisson's ratio v (Duffy and Mindlin)."
)


def _findings(title: str, name: str, springs: Springs, got: Moduli) -> list[StudyFinding]:
    """Return moduli beside their closed forms, with a tolerance of 3e-4 of the largest."""
    exact = moduli(name, springs.normal, springs.tangential, 2.0 * RADIUS)
    return [
        StudyFinding(f"{title}: {key} [Pa]", computed, expected, 0.0, margin=3e-4 * exact.c11)
        for key, computed, expected in zip(("C11", "C12", "C44"), got, exact, strict=True)
    ]


def pressure(springs: Springs, squeezed: float) -> float:
    """Return the pressure in a face-centred cubic lattice [Pa]: 2 sqrt(2) F / d^2, for spheres at a distance d."""
    return 2.0 * math.sqrt(2.0) * springs.force / (2.0 * RADIUS * (1.0 - squeezed)) ** 2


def measured(name: str, springs: Springs, squeezed: float) -> Moduli:
    """Return the moduli of a lattice, from the stress after small strains up and down."""
    strain = STRAIN * squeezed / SQUEEZED
    x, along = strained(name, springs, squeezed, strain, {"x": {}})
    shear, across = strained(name, springs, squeezed, strain, {"shear": {"velocity_along": "x", "gradient_along": "y"}})
    return Moduli(-along[0, 0] / x, -along[1, 1] / x, -0.5 * (across[0, 1] + across[1, 0]) / shear)


def strained(
    name: str, springs: Springs, squeezed: float, strain: float, deformation: Mapping[str, Mapping[str, str]]
) -> tuple[float, Floats]:
    """Return strain difference and stress difference [Pa] between two states on both sides of a lattice's state."""
    (key,) = deformation
    strains, stresses = [], []
    for sign in (1.0, -1.0):
        simulation = Simulation(_case(name, springs, squeezed, sign * strain, deformation), threads=1)
        simulation.advance((_STRAINING + _RESTING) * _STEPS)
        strains.append(box_values(simulation.system)["strain_xx" if key == "x" else "shear_strain"])
        stresses.append(simulation.stress().total)
    return strains[0] - strains[1], stresses[0] - stresses[1]


def _case(
    name: str, springs: Springs, squeezed: float, strain: float, deformation: Mapping[str, Mapping[str, str]]
) -> Case:
    """Return the case of a lattice that is strained for some time and then held."""
    lattice = LATTICES[name]
    edge = lattice.edge * 2.0 * RADIUS * (1.0 - squeezed)
    corners = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3), -1).reshape(-1, 1, 3)
    places = (corners + lattice.sites + 0.25).reshape(-1, 3) * edge
    mass = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
    duration = math.pi * math.sqrt(0.5 * mass / springs.normal)
    ((key, words),) = deformation.items()
    rate = strain / (_STRAINING * duration)
    moving = {key: {**words, "rate" if words else "strain_rate": rate}}
    document = {
        "time": {"step": duration / _STEPS, "end": 1e3},
        "domain": {"lower": [0.0] * 3, "upper": [CELLS * edge] * 3, "periodic": [True] * 3},
        "materials": {"grain": {"density": DENSITY, "youngs_modulus": MODULUS, "poisson_ratio": POISSON}},
        "interactions": {"grain-grain": springs.law},
        "particles": [{"material": "grain", "radius": RADIUS, "positions": places.tolist()}],
        "stages": [
            {"name": "strain", "end": _STRAINING * duration, "deformation": moving},
            {"name": "rest", "deformation": {}},
        ],
    }
    return Case.from_text(tomli_w.dumps(document))


def _draw_linear(axes: Any, found: Mapping[tuple[str, str], Moduli]) -> None:
    """Draw moduli of lattices of linear springs over the ratio of the stiffnesses, with lines of the closed forms."""
    ratios = {"smooth": 0.0, "tangential 2/7": 2.0 / 7.0, "tangential 0.8": 0.8}
    line = np.linspace(0.0, 1.0, 21)
    unit = STIFFNESS / (2.0 * RADIUS)
    for name, style in zip(LATTICES, (":", "--", "-"), strict=True):
        curves = np.array([moduli(name, 1.0, ratio, 1.0) for ratio in line])
        for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
            axes.plot(line, curves[:, k], style, color=colour, label=f"C{('11', '12', '44')[k]}, {name}")
            here = [(ratios[word], one[k] / unit) for (where, word), one in found.items() if where == name]
            axes.plot(*zip(*here, strict=True), "o", color=colour)
    axes.set(xlabel="tangential over normal stiffness", ylabel="modulus times diameter over normal stiffness")
    axes.legend(fontsize=6)


def _draw_hertz(axes: Any, pressures: Floats, got: list[Moduli]) -> None:
    """Draw moduli of Hertzian spheres over the pressure, with lines of the closed forms."""
    squeezed = SQUEEZED * np.geomspace(0.15, 6.0, 30)
    laws = [hertzian(2.0 * RADIUS * one) for one in squeezed.tolist()]
    loads = [pressure(law, one) for law, one in zip(laws, squeezed.tolist(), strict=True)]
    curves = np.array([moduli("face-centred cubic", law.normal, law.tangential, 2.0 * RADIUS) for law in laws])
    for k, colour in enumerate(("tab:blue", "tab:orange", "tab:green")):
        axes.loglog(loads, curves[:, k], color=colour, label=f"C{('11', '12', '44')[k]}")
        axes.loglog(pressures, [one[k] for one in got], "o", color=colour)
    axes.set(xlabel="pressure [Pa]", ylabel="modulus [Pa]", title="Hertz and Mindlin, face-centred")
    axes.legend()


STUDY = Study(
    "lattices", "Elastic moduli of regular packings", run, "rheology",
    "closed forms, derived in validation/gallery/lattices.py; Duffy, Mindlin, J. Appl. Mech. 24 (1957) 585",
    {
        "spheres": f"radius 5 mm, {CELLS} cells of the lattice along each axis of a periodic box",
        "linear springs": "100 kN/m, tangential 0, 2/7 and 0.8 of it",
        "Hertz and Mindlin": "1 GPa, Poisson's ratio 0.3",
    },
)  # fmt: skip

"""`[bonds.NAME]`: mistakes are named with key, ids and remedy; pairs, strengths and limits of the step follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from pdem.case.explain.keys import explain
from pdem.case.groups.initial import initial_particles
from pdem.case.input_files import input_files
from pdem.case.timestep import automatic_step, step_limits
from pdem.containers.exchange import Alone
from pdem.features.bonds.pair_lists import read_pairs
from pdem.features.bonds.preflight import bond_findings
from pdem.features.bonds.section import NormalStrength, WeibullStrength
from pdem.features.bonds.selection import select_bonds
from pdem.features.bonds.strengths import TENSILE_STREAM, scattered
from pdem.foundation.errors import CaseError
from pdem.preflight.deformation_preflight import deformation_findings
from pdem.preflight.population import Population

GRAIN = {"density": 2500.0, "youngs_modulus": 1e7, "poisson_ratio": 0.2}
PLACES = [[0.0, 0.0, 0.0], [2e-3, 0.0, 0.0], [4e-3, 0.0, 0.0], [0.0, 2.5e-3, 0.0]]
USUAL = {"between": "grain-grain", "gap": 1e-5, "youngs_modulus": 1e9, "poisson_ratio": 0.3}
FILE = {key: value for key, value in USUAL.items() if key not in ("between", "gap")}


def document(folder, bonds, **other):
    return {
        "time": {"step": 1e-7, "end": 1e-4},
        "domain": {"lower": [-0.02] * 3, "upper": [0.02] * 3},
        "materials": {"grain": GRAIN, "other": GRAIN},
        "interactions": {"default": {"friction": 0.3, "restitution": 0.5}},
        "particles": [{"material": "grain", "radius": 1e-3, "positions": PLACES}],
        "output": {"folder": str(folder / "out")},
        "bonds": bonds,
        **other,
    }


def case_of(folder, *, kinds=None, **keys):
    bonds = {"cement": {**USUAL, **keys}} if kinds is None else kinds
    return pdem.Case.from_text(tomli_w.dumps(document(folder, bonds)), folder)


def chosen(case):
    """Return the pairs of a case, and their columns."""
    lower, higher, columns = select_bonds(case, Alone(), initial_particles(case))
    return list(zip(lower.tolist(), higher.tolist(), strict=True)), columns


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"between": "grain-gravel"}, "must be two names of materials joined by a hyphen; did you mean 'grain-grain'"),
        ({"file": "bonds.csv"}, "needs exactly one of between"),
        ({"radius": 1.5}, "is a share of the radius of the smaller sphere, at most 1; in m write {metres = ...}"),
        ({"radius": -0.5}, "bonds.cement.radius"),
        ({"radius": {"meters": 1e-3}}, "did you mean 'metres'?"),
        ({"inner_radius": 1.0}, "must be smaller than radius (1)"),
        ({"inner_radius": {"metres": 1e-4}}, "must be given like radius"),
        ({"section": "spring"}, 'did you mean "springs"?'),
        ({"section": "springs", "shear_coefficient": 0.9}, 'belongs to section = "beam"'),
        ({"beam_theory": "euler-bernoulli", "shear_coefficient": 0.9}, 'belongs to beam_theory = "timoshenko"'),
        ({"tensile_strength": 0.0}, "bonds.cement.tensile_strength"),
        ({"tensile_strength": -5e6}, "bonds.cement.tensile_strength"),
        ({"shear_strength": math.inf}, "bonds.cement.shear_strength"),
        ({"tensile_strength": {"distribution": "weibul", "mean": 1e6, "modulus": 8.0}}, "weibull"),
        ({"tensile_strength": {"distribution": "weibull", "mean": 1e6}}, "modulus"),
        (
            {"tensile_strength": {"distribution": "normal", "mean": 3e6, "deviation": 1e6}},
            "must be less than a third of the mean (3e+06 Pa)",
        ),
        ({"friction_angle": 30.0}, "adds to shear_strength, which is missing"),
        ({"friction_angle": 90.0}, "bonds.cement.friction_angle"),
        ({"criterion": "energy"}, 'criterion = "energy" needs it, in J/m^2'),
        ({"fracture_energy": 10.0}, 'has no influence on criterion = "stress"'),
        ({"criterion": "energy", "fracture_energy": 1.0, "tensile_strength": 1e6}, "has no influence on criterion"),
        ({"poisson_ratio": 0.5}, "bonds.cement.poisson_ratio"),
        ({"damping_ratio": 1.5}, "bonds.cement.damping_ratio"),
        ({"contact": "after"}, "bonds.cement.contact"),
        ({"stiffness": 1.0}, "bonds.cement.stiffness"),
    ],
)  # fmt: skip
def test_mistakes_in_a_section_are_named(tmp_path, keys, said):
    with pytest.raises(CaseError) as error:
        case_of(tmp_path, **keys)
    assert said in str(error.value)
    assert "bonds.cement" in str(error.value)


def test_a_gap_is_needed_and_belongs_to_between(tmp_path):
    keys = {key: value for key, value in USUAL.items() if key != "gap"}
    with pytest.raises(CaseError, match=r"bonds\.cement\.gap: is missing"):
        case_of(tmp_path, kinds={"cement": keys})
    with pytest.raises(CaseError, match=r"bonds\.cement\.gap = 1e-05: belongs to between"):
        case_of(tmp_path, kinds={"cement": {**FILE, "gap": 1e-5, "file": "bonds.csv"}})


def test_what_cannot_be_together_with_bonds_is_refused(tmp_path):
    shapes = {"pair": {"spheres": [[0.0, 0.0, 0.0, 1e-3], [1e-3, 0.0, 0.0, 1e-3]]}}
    groups = [{"material": "grain", "shape": "pair", "positions": PLACES[:1]}]
    with pytest.raises(CaseError, match=r"is rigid already, and bonds\.cement joins single spheres of grain"):
        pdem.Case.from_text(
            tomli_w.dumps(document(tmp_path, {"cement": USUAL}, shapes=shapes, particles=groups)), tmp_path
        )


def test_bonds_may_carry_what_loose_grains_cannot(tmp_path):
    """Tension and shear without pressure are targets of a box with bonds, and of no box without."""
    deformation = {
        "x": {"stress": -1e7}, "shear": {"velocity_along": "x", "gradient_along": "y", "stress": 1e7},
        "mean_stress": 0.0,
    }  # fmt: skip
    domain = {
        "lower": [-0.02] * 3, "upper": [0.02] * 3, "periodic": [True] * 3, "deformation": deformation,
    }  # fmt: skip
    bonded = document(tmp_path, {"cement": USUAL}, domain=domain)
    case = pdem.Case.from_text(tomli_w.dumps(bonded), tmp_path)
    findings = list(deformation_findings(case, Population(initial_particles(case)), 1e-7))
    assert [one.level for one in findings] == ["info"]
    with pytest.raises(CaseError, match=r"is a tension, which grains without adhesion cannot bear.*, or bonds"):
        pdem.Case.from_text(tomli_w.dumps({**bonded, "bonds": {}}), tmp_path)


def test_pairs_within_the_gap_are_joined(tmp_path):
    assert chosen(case_of(tmp_path))[0] == [(0, 1), (1, 2)]
    assert chosen(case_of(tmp_path, gap=6e-4))[0] == [(0, 1), (0, 3), (1, 2)]
    with pytest.raises(CaseError, match=r"bonds\.cement\.gap: no two spheres of grain-other are nearer than 1e-05 m"):
        chosen(case_of(tmp_path, between="grain-other"))


def test_pairs_of_a_file_are_joined(tmp_path):
    """In any order, with a line of names, commas or blanks; the file is one of the case."""
    path = tmp_path / "bonds.csv"
    for text in ("id_1,id_2\n3,0\n2,1\n", "3 0\n2 1\n", "# glue\n3;0\n\n2;1"):
        path.write_text(text)
        case = case_of(tmp_path, kinds={"glue": {**FILE, "file": "bonds.csv"}})
        pairs, columns = chosen(case)
        assert pairs == [(0, 3), (1, 2)]
        assert columns.length == pytest.approx([2.5e-3, 2e-3])
        assert columns.axis == pytest.approx(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    assert path in input_files(case).values()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1\n1,7\n", "line 2: there is no particle 7; ids run from 0 to 3"),
        ("0,1\n2,2\n", "line 2: joins particle 2 with itself"),
        ("0,1\n1,2\n1,0\n", "line 3: particles 0 and 1 are joined by line 1 already"),
        ("0,1.5\n", "line 1: 1.5 is no id of a particle"),
        ("0,-1\n", "line 1: -1 is no id of a particle"),
        ("0,1,2\n", "line 1: has 3 columns"),
        ("0\n", "line 1: has 1 columns"),
        ("0,nan\n", 'line 1: "nan" is not a finite number'),
        ("0,one\n", "line 1"),
        ("id_1,id_2\n", "has no pairs"),
        ("", "has no pairs"),
        (None, "no such file"),
    ],
)
def test_mistakes_in_a_file_of_pairs_are_named(tmp_path, text, said):
    if text is not None:
        (tmp_path / "bonds.csv").write_text(text)
    case = case_of(tmp_path, kinds={"glue": {**FILE, "file": "bonds.csv"}})
    with pytest.raises(CaseError) as error:
        chosen(case)
    assert said in str(error.value)
    assert 'bonds.glue.file = "bonds.csv"' in str(error.value)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=30))
@settings(deadline=None, max_examples=30)
def test_files_of_pairs_are_read_as_they_are(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("pairs")
    once = {tuple(sorted(pair)): pair for pair in pairs if pair[0] != pair[1]}
    (folder / "bonds.csv").write_text("".join(f"{a},{b}\n" for a, b in once.values()))
    case = case_of(folder, kinds={"glue": {**FILE, "file": "bonds.csv"}})
    if not once:
        with pytest.raises(CaseError, match="has no pairs"):
            read_pairs(case, "glue")
        return
    read, lines = read_pairs(case, "glue")
    assert [tuple(pair) for pair in read.tolist()] == list(once)
    assert lines.tolist() == list(range(1, len(once) + 1))


def test_two_kinds_do_not_join_the_same_pair(tmp_path):
    (tmp_path / "bonds.csv").write_text("1,2\n")
    kinds = {"cement": USUAL, "glue": {**FILE, "file": "bonds.csv"}}
    with pytest.raises(CaseError, match=r"bonds\.glue: particles 1 and 2 are joined by bonds\.cement already"):
        chosen(case_of(tmp_path, kinds=kinds))


def test_bonds_are_shorter_than_half_of_a_periodic_side(tmp_path):
    """Pairs are joined across periodic sides by their nearest images."""
    (tmp_path / "bonds.csv").write_text("0,1\n")
    domain = {"lower": [-0.02] * 3, "upper": [0.02] * 3, "periodic": [True, False, False]}

    def joined(places):
        groups = [{"material": "grain", "radius": 1e-3, "positions": places}]
        kinds = {"glue": {**FILE, "file": "bonds.csv"}}
        text = tomli_w.dumps(document(tmp_path, kinds, domain=domain, particles=groups))
        return chosen(pdem.Case.from_text(text, tmp_path))[1]

    near = joined([[-0.0195, 0.0, 0.0], [0.0185, 0.0, 0.0]])
    assert near.length == pytest.approx([2e-3])
    assert near.axis == pytest.approx(np.array([[-1.0, 0.0, 0.0]]))
    with pytest.raises(CaseError, match=r"particles 0 and 1 is 0\.02 m long, not less than half of the periodic side"):
        joined([[-0.01, 0.0, 0.0], [0.01, 0.0, 0.0]])


def test_sections_are_not_wider_than_the_smaller_sphere(tmp_path):
    with pytest.raises(CaseError, match=r"the section of 0\.0011 m is wider than the smaller sphere of particles 0"):
        chosen(case_of(tmp_path, radius={"metres": 1.1e-3}))
    assert chosen(case_of(tmp_path, radius={"metres": 1e-3}))[1].section[:, 0] == pytest.approx(math.pi * 1e-6)
    tube = chosen(case_of(tmp_path, radius=0.8, inner_radius=0.4))[1]
    assert tube.section[:, 0] == pytest.approx(math.pi * 0.48e-6)


def test_fixed_particles_are_held_and_not_joined_with_each_other(tmp_path):
    groups = [
        {"material": "grain", "radius": 1e-3, "positions": PLACES[:2], "fixed": True},
        {"material": "grain", "radius": 1e-3, "positions": PLACES[2:]},
    ]
    text = tomli_w.dumps(document(tmp_path, {"cement": USUAL}, particles=groups))
    assert chosen(pdem.Case.from_text(text, tmp_path))[0] == [(1, 2)]
    (tmp_path / "bonds.csv").write_text("0,1\n")
    kinds = {"glue": {**FILE, "file": "bonds.csv"}}
    text = tomli_w.dumps(document(tmp_path, kinds, particles=groups))
    with pytest.raises(CaseError, match="joins particles 0 and 1, which are both fixed"):
        chosen(pdem.Case.from_text(text, tmp_path))


def test_strengths_follow_from_the_ids_and_the_seed():
    """Not from the order or the number of pairs; both distributions have their mean and their scatter."""
    count = 20000
    lower, higher = np.arange(count), np.arange(count) + 7
    law = WeibullStrength(distribution="weibull", mean=5e6, modulus=8.0)
    values = scattered(law, TENSILE_STREAM, lower, higher)
    backwards = scattered(law, TENSILE_STREAM, lower[::-1][:100], higher[::-1][:100])
    assert (values[::-1][:100] == backwards).all()
    assert values.mean() == pytest.approx(5e6, rel=5e-3)
    spread = math.sqrt(math.gamma(1.25) / math.gamma(1.125) ** 2 - 1.0)
    assert values.std() / values.mean() == pytest.approx(spread, rel=3e-2)
    other = scattered(law.model_copy(update={"seed": 1}), TENSILE_STREAM, lower, higher)
    assert abs(np.corrcoef(values, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.03
    normal = NormalStrength(distribution="normal", mean=5e6, deviation=1e6)
    values = scattered(normal, TENSILE_STREAM, lower, higher)
    assert values.mean() == pytest.approx(5e6, rel=5e-3)
    assert values.std() == pytest.approx(0.9866 * 1e6, rel=2e-2)
    assert abs(values - 5e6).max() <= 3e6


def test_bonds_limit_the_automatic_step(tmp_path):
    """The limit is that of the bonds that there are; spheres that fill a region count as packed closest."""
    case = case_of(tmp_path)
    (limit,) = (one for one in step_limits(case) if one.name == "bond")
    assert limit.subject == "2 bonds"
    case.override('time.step="auto"')
    assert automatic_step(case) == pytest.approx(0.1 * limit.time)
    fill = [{"material": "grain", "radius": 1e-3, "fill": {"lower": [-0.01] * 3, "upper": [0.01] * 3, "count": 50}}]
    filled = pdem.Case.from_text(tomli_w.dumps(document(tmp_path, {"cement": USUAL}, particles=fill)), tmp_path)
    (packed,) = (one for one in step_limits(filled) if one.name == "bond")
    assert packed.time < limit.time
    assert "bonds.cement in closest packing of radius 0.001 m" in packed.subject


def test_findings_name_bonds_spheres_without_any_and_the_longest_step(tmp_path):
    def findings(step, **keys):
        case = case_of(tmp_path, **keys)
        return [str(one) for one in bond_findings(case, Population(initial_particles(case)), step)]

    weibull = {"distribution": "weibull", "mean": 5e6, "modulus": 8.0}
    lines = findings(1e-7, tensile_strength=weibull)
    assert lines[0] == "info: bonds: 2 join 3 spheres, 1.33 of each (1 to 2)"
    assert lines[1] == "info: bonds: 1 sphere has none: 3"
    assert any("break at a tension of" in line and "the weakest of 2 has" in line for line in lines)
    (limit,) = (one.time for one in step_limits(case_of(tmp_path)) if one.name == "bond")
    for share, level in ((0.4, "info"), (0.6, "warning"), (1.01, "error")):
        (line,) = (line for line in findings(share * limit) if "longest stable step" in line)
        assert line.startswith(level)
    assert any("they never break" in line for line in findings(1e-7))


def test_bonds_of_a_later_stage_are_named_and_limit_the_step(tmp_path):
    """They are not checked, since their pairs are not known; the step has the limit of closest packing."""
    stages = [{"name": "fall", "end": 1e-5}, {"name": "cure"}]
    bonds = {"cement": USUAL, "glue": {**USUAL, "gap": 1.0, "stage": "cure"}}
    case = pdem.Case.from_text(tomli_w.dumps(document(tmp_path, bonds, stages=stages)), tmp_path)
    lines = [str(one) for one in bond_findings(case, Population(initial_particles(case)), 1e-7)]
    assert lines[0].startswith("info: bonds: 2 join 3 spheres")
    assert lines[-1] == "info: bonds glue: are made at the beginning of stage cure, and are not checked before"
    subjects = [one.subject for one in step_limits(case) if one.name == "bond"]
    assert any("2 bonds" in one for one in subjects)
    assert any("bonds.glue in closest packing" in one for one in subjects)
    later = pdem.Case.from_text(tomli_w.dumps(document(tmp_path, {"glue": bonds["glue"]}, stages=stages)), tmp_path)
    (only,) = bond_findings(later, Population(initial_particles(later)), 1e-7)
    assert "stage cure" in str(only)


def test_keys_are_explained():
    assert "Young's modulus of the bonds, in Pa" in explain("bonds.NAME.youngs_modulus")

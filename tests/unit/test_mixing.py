"""Interactions of pairs that a case does not name, and friction and restitution by material."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pdem
from pdem.case.sections.mixing import mixed
from pdem.foundation.errors import CaseError

MATERIALS = """
[time]
step = 1e-6
end = 1.0
[domain]
lower = [0, 0, 0]
upper = [1, 1, 1]
[materials.glass]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
friction = 0.4
restitution = 0.9
[materials.steel]
friction = 0.1
restitution = 0.4
[materials.soft-wood]
density = 500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
"""
WOOD = "friction = 0.6\nrestitution = 0.3\n"
RULES = ("geometric", "arithmetic", "harmonic", "min")


def case_of(text, wood=WOOD):
    return pdem.Case.from_text(f"{MATERIALS}{wood}\n{text}")


def test_the_default_is_for_all_pairs_that_are_not_named():
    case = case_of(
        "[interactions.default]\nrolling_friction = 0.02\n"
        "[interactions.soft-wood-glass]\nfriction = 0.7\nrestitution = 0.2"
    )
    assert sorted(case.interactions) == [
        "glass-glass", "glass-steel", "soft-wood-glass", "soft-wood-soft-wood", "steel-soft-wood", "steel-steel",
    ]  # fmt: skip
    named, other = case.interactions["soft-wood-glass"], case.interactions["glass-steel"]
    assert (named.friction, named.restitution, named.rolling_friction) == (0.7, 0.2, 0.0)
    assert (other.friction, other.restitution) == (pytest.approx(0.2), pytest.approx(0.6))
    assert other.rolling_friction == 0.02
    assert case.interaction("steel", "glass") is other
    assert case.interactions["glass-glass"].friction == 0.4


def test_a_case_as_it_is_written_is_the_same_case():
    case = case_of('[interactions.default]\nmixing = "min"')
    assert pdem.Case.from_text(case.to_toml()).interactions == case.interactions
    case.override("materials.steel.friction=0.3")
    assert case.interactions["glass-steel"].friction == 0.3
    case.override('interactions.default.mixing="arithmetic"')
    assert case.interactions["glass-steel"].friction == pytest.approx(0.35)


def test_named_interactions_may_leave_constants_to_materials():
    case = case_of('[interactions.glass-steel]\nmixing = "harmonic"\nrestitution = 0.5')
    one = case.interactions["glass-steel"]
    assert (one.friction, one.restitution) == (pytest.approx(2 * 0.4 * 0.1 / 0.5), 0.5)
    assert list(case.interactions) == ["glass-steel"]


@given(st.floats(0.0, 2.0), st.floats(0.0, 2.0), st.sampled_from(RULES))
def test_a_mixture_is_symmetric_and_between_both(one, other, rule):
    found = mixed(one, other, rule)
    assert found == mixed(other, one, rule)
    slack = 1e-12 + 1e-9 * max(one, other)
    assert min(one, other) - slack <= found <= max(one, other) + slack
    assert mixed(one, one, rule) == one


def test_means():
    assert [mixed(0.1, 0.4, rule) for rule in RULES] == pytest.approx([0.2, 0.25, 0.16, 0.1])
    assert mixed(0.0, 0.0, "harmonic") == 0.0
    assert not math.isnan(mixed(0.0, 1.0, "harmonic"))


@pytest.mark.parametrize(
    ("text", "wood", "said"),
    [
        (
            "[interactions.default]", "",
            "interactions.default.friction: is missing; give it here, or friction in both materials of glass-soft-wood",
        ),
        ("[interactions.default]\nrestitution = 1.5", WOOD, "interactions.default.restitution = 1.5: must be at"),
        ('[interactions.default]\nmixing = "mean"', WOOD, 'interactions.default.mixing = "mean": must be "geometric"'),
        ("[interactions.default]\nstiffnes = 3", WOOD, "interactions.default.stiffnes = 3: is not a key"),
        ("[interactions.glass-glass]", "", ""),
        ("[interactions.glass-soft-wood]", "", "interactions.glass-soft-wood.friction: is missing; give it here, or"),
        ("", "friction = -0.1", "materials.soft-wood.friction = -0.1: must be at least 0"),
        ("[interactions.default]", "restitution = 2.0", "materials.soft-wood.restitution = 2.0: must be at most 1"),
        ("[[walls]]\nshape = 3", "", "walls[0]"),
        ("[interactions]\ndefault = 3", WOOD, "interactions.default = 3: must be a table"),
        (
            '[[particles]]\nmaterial = "glass"\nradius = 0.01\npositions = [[0.5, 0.5, 0.5]]', WOOD,
            "interactions.glass-glass: is missing; particles of 'glass' can touch particles of 'glass'; "
            "[interactions.default] is for all pairs",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_once_with_its_place_in_the_file(text, wood, said):
    if not said:
        assert case_of(text, wood).interactions["glass-glass"].restitution == 0.9
        return
    with pytest.raises(CaseError) as raised:
        case_of(text, wood)
    lines = str(raised.value).splitlines()
    assert any(said in line for line in lines), raised.value
    assert len(lines) == len(set(lines))

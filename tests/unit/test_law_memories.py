"""Plastic laws, resistances to rotation, two frictions: what contacts remember of them, and mistakes in their keys."""

from __future__ import annotations

import pytest

from helpers.cases import USUAL, Grains, make_case
from pdem.case.laws import law_of, recipe_by_key
from pdem.contact.law.parts import MaterialProperties
from pdem.foundation.errors import CaseError

SOFT = MaterialProperties(1000.0, 1e7, 0.2)
GRAINS = Grains([[0.0, 0.0, 0.0]], 1e-3)
LUDING = {"law": "luding", "normal_stiffness": 1e3, "unloading_stiffness": 5e3}


def case_with(folder, **law):
    return make_case(folder, GRAINS, law={**USUAL, **law}, step=1e-6)


def names(law):
    return [column.name for column in law.history]


def test_what_a_plastic_law_and_two_frictions_remember(tmp_path):
    base = ["overlap", "normal_force", "velocity_x", "velocity_y", "velocity_z"]
    force = [f"tangential_force_{axis}" for axis in "xyz"]
    plastic = law_of(case_with(tmp_path, **LUDING))
    assert names(plastic)[:9] == [*base, "plastic_overlap", *force]
    assert names(plastic)[9:] == ["normal_damping", "tangential", "sliding", "plastic"]
    two = law_of(case_with(tmp_path, dynamic_friction=0.3))
    assert names(two)[:9] == [*base, *force, "slips"]
    assert two.version != law_of(case_with(tmp_path)).version
    assert two.row(recipe_by_key(case_with(tmp_path, dynamic_friction=0.3), "grain-grain"), *(SOFT, SOFT))[
        two.coefficients.index("tangential.drop")
    ] == pytest.approx(0.4)


def test_models_of_one_role_share_what_they_remember(tmp_path):
    """Where pairs resist rolling by different models; a pair has one of them."""
    case = make_case(
        tmp_path, GRAINS, step=1e-6, law={**USUAL, "rolling": {"model": "spring", "friction": 0.1}},
        interactions={"grain-steel": {**USUAL, "rolling": {"model": "sds", "friction": 0.1, "stiffness": 10.0}}},
    )  # fmt: skip
    found = names(law_of(case))
    assert len(found) == len(set(found))
    assert found.count("rolling_torque_x") == 1


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"twisting": {"model": "marshal"}}, 'must be one of "marshall", "sds"'),
        ({"twisting": {"model": "sds", "friction": 0.1}}, "stiffness: is missing"),
        ({"twisting": {"model": "sds", "friction": 0.1, "stiffness": -1.0}}, "must be greater than 0"),
        ({"twisting": {"model": "marshall"}, "friction": 0.0}, "twisting: resists twisting of bodies that slide"),
        ({"rolling_friction": 0.1, "friction": 0.0}, "rolling_friction = 0.1: resists rolling of bodies that slide"),
        ({"rolling": {"model": "sds", "friction": 0.1}}, "give stiffness (N/m) or torque_stiffness (N m/rad)"),
        (
            {"rolling": {"model": "sds", "friction": 0.1, "stiffness": 1.0, "torque_stiffness": 1.0}},
            "has stiffness and torque_stiffness; give one of them",
        ),
        (
            {"rolling": {"model": "spring", "friction": 0.1, "dynamic_friction": 0.2}},
            "dynamic_friction is 0.2, more than friction, 0.1",
        ),
        ({"dynamic_friction": 0.6}, "dynamic_friction is 0.6, more than friction, 0.5"),
        ({"dynamic_friction": "low"}, "must be a number"),
        ({**LUDING, "unloading_stiffness": 500.0}, "unloading_stiffness is 500 N/m, less than normal_stiffness, 1000"),
        ({**LUDING, "plasticity_depth": 0.0}, "must be greater than 0"),
        ({**LUDING, "plasticity_depth": 1.5}, "must be at most 1"),
        ({**LUDING, "adhesion_stiffness": -1.0}, "must be at least 0"),
        ({**LUDING, "adhesion": {"model": "jkr", "work_of_adhesion": 0.1}}, "give its own adhesion_stiffness"),
        ({"law": "luding", "normal_stiffness": 1e3}, "unloading_stiffness: is missing"),
        ({"law": "eepa"}, "plasticity: is missing"),
        ({"law": "eepa", "plasticity": 1.0}, "must be at most 0.99"),
        (
            {"law": "eepa", "plasticity": 0.5, "adhesion": {"model": "jkr", "work_of_adhesion": 0.1}},
            "give its own work_of_adhesion",
        ),
        (
            {"law": "walton-braun", "normal_stiffness": 1e3, "adhesion": {"model": "jkr", "work_of_adhesion": 0.1}},
            'use law = "luding", which has its own',
        ),
        (
            {"law": "viscoelastic", "dissipative_time": 1e-5},
            "restitution = 0.5: has no use: by viscoelastic it follows",
        ),
        ({"law": "viscoelastic", "restitution": 1.0}, "dissipative_time: is missing"),
        ({"plasticity": 0.5}, 'belongs to law = "eepa"'),
    ],
)
def test_wrong_keys_are_named_with_what_is_allowed(tmp_path, keys, said):
    with pytest.raises(CaseError) as raised:
        case_with(tmp_path, **keys)
    assert said in str(raised.value)

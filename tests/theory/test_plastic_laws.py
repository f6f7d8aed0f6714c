"""Plastic normal forces as plain functions: their curves, what they lose, and what they can pull."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.law.models import LAWS
from pdem.contact.law.parts import MaterialProperties, Pair

R = 5e-4
SOFT = MaterialProperties(1000.0, 1e7, 0.25)
MODULUS = 1e7 / (2.0 * (1.0 - 0.25**2))
KEYS = {
    "luding": {
        "normal_stiffness": 1e3, "unloading_stiffness": 5e3, "adhesion_stiffness": 700.0, "plasticity_depth": 0.05,
    },
    "walton-braun": {"normal_stiffness": 1e3, "stiffening": 2e4, "restitution": 0.6},
    "eepa": {"plasticity": 0.6, "work_of_adhesion": 3.0, "constant_pull": 1e-3},
    "eepa-linear": {"plasticity": 0.6, "work_of_adhesion": 3.0, "constant_pull": 0.0, "normal_stiffness": 1e3},
}  # fmt: skip


class Pressed:
    """A contact that is led along a path of overlaps."""

    def __init__(self, law, **keys):
        self.part = LAWS[law].normal
        values = self.part.values(Pair(SOFT, SOFT, {"restitution": 0.5, **KEYS[law], **keys}))
        self.c = SimpleNamespace(**dict(zip(self.part.coefficients, values, strict=True)))
        self.history, self.overlap, self.lost, self.work = (0.0,) * len(self.part.history), 0.0, 0.0, 0.0
        self.force = self.part.elastic(0.0, R, self.c, self.history)[0]

    def lead(self, overlap, steps=1):
        """Go to an overlap and return the force there."""
        for place in np.linspace(self.overlap, overlap, steps + 1)[1:].tolist():
            force, _, held, self.history, lost = self.part.elastic(place, R, self.c, self.history)
            assert force >= -held * (1.0 + 1e-12)
            assert lost >= -1e-18
            self.lost += lost
            self.work += 0.5 * (force + self.force) * (place - self.overlap)
            self.force, self.overlap = force, place
        return self.force

    @property
    def stored(self):
        return self.part.energy(self.overlap, R, self.c, self.history)


def test_the_curve_of_luding():
    """k1 on loading; from the largest overlap h down with k2(h); the pull kc; up again from there, parallel."""
    contact, h = Pressed("luding"), 4e-5
    deepest = 5e3 / 4e3 * 0.05 * 2.0 * R  # where the stiffness is 5e3
    k2 = 1e3 + 4e3 * h / deepest
    rest = (1.0 - 1e3 / k2) * h  # no force
    for overlap in (1e-5, 2e-5, h):
        assert contact.lead(overlap) == pytest.approx(1e3 * overlap)
    assert contact.lead(0.5 * (h + rest)) == pytest.approx(0.5 * 1e3 * h)
    assert contact.lead(rest) == pytest.approx(0.0, abs=1e-12)
    meets = k2 * rest / (k2 + 700.0)
    assert contact.lead(meets) == pytest.approx(-700.0 * meets)
    assert contact.lead(rest) == pytest.approx(0.0, abs=1e-12)  # elastic between both lines
    assert contact.lead(h) == pytest.approx(1e3 * h)
    low = 0.5 * meets
    assert contact.lead(low) == pytest.approx(-700.0 * low)
    slope = (contact.lead(1.01 * low) + 700.0 * low) / (0.01 * low)
    assert 1e3 <= slope < k2  # with the stiffness of the smaller h
    assert contact.lead(1.4 * h) == pytest.approx(1.4e3 * h)


def test_beyond_the_largest_plastic_overlap_luding_is_elastic():
    contact = Pressed("luding")
    rest = 0.05 * 2.0 * R
    deepest = 5e3 / 4e3 * rest
    assert contact.lead(deepest) == pytest.approx(1e3 * deepest)
    lost = contact.lost
    for overlap in (2.0 * deepest, 1.2 * deepest, rest, 1.5 * deepest):
        assert contact.lead(overlap) == pytest.approx(5e3 * (overlap - rest), abs=1e-9)
    assert contact.lost == lost


def test_luding_with_equal_stiffnesses_is_a_spring():
    contact = Pressed("luding", unloading_stiffness=1e3)
    for overlap in (1e-5, 3e-4, 2e-5, 0.0):
        assert contact.lead(overlap) == pytest.approx(1e3 * overlap)
    assert contact.lost == 0.0


@pytest.mark.parametrize(("stiffening", "largest"), [(0.0, 1e-5), (0.0, 1e-4), (2e4, 1e-5), (2e4, 1e-4)])
def test_walton_and_braun_give_back_what_the_restitution_says(stiffening, largest):
    """e^2 = k1 / k2 of the work; without stiffening that of the case at any depth."""
    contact = Pressed("walton-braun", stiffening=stiffening)
    contact.lead(largest)
    k2 = 1e3 / 0.6**2 + stiffening * 1e3 * largest
    assert contact.stored / (0.5 * 1e3 * largest**2) == pytest.approx(1e3 / k2)
    assert contact.lead(0.0) == 0.0  # it does not pull
    assert contact.lost == pytest.approx(0.5 * 1e3 * largest**2 * (1.0 - 1e3 / k2))


@pytest.mark.parametrize(("law", "power"), [("eepa", 1.5), ("eepa-linear", 1.0)])
def test_the_curve_of_the_edinburgh_model(law, power):
    contact, h = Pressed(law), 8e-5
    k1 = 4.0 / 3.0 * MODULUS * math.sqrt(R) if law == "eepa" else 1e3
    k2, always = k1 / 0.4, contact.c.constant_pull
    assert contact.lead(0.0) == pytest.approx(-always)
    for overlap in (2e-5, h):
        assert contact.lead(overlap) == pytest.approx(k1 * overlap**power - always)
    plastic = 0.6 ** (1.0 / power) * h
    assert contact.lead(plastic) == pytest.approx(-always, abs=1e-9)
    middle = 0.5 * (plastic + h)
    assert contact.lead(middle) == pytest.approx(k2 * (middle**power - plastic**power) - always)
    pull = 1.5 * math.pi * 3.0 * math.sqrt(2.0 * R * plastic)
    meets = (plastic**power - pull / k2) ** (1.0 / power)
    lowest = min(contact.lead(overlap) for overlap in np.linspace(middle, 0.0, 20001))
    assert lowest == pytest.approx(-pull - always, rel=1e-4)
    again = Pressed(law)
    again.lead(h)
    assert again.lead(meets) == pytest.approx(-pull - always)
    half = 0.5 * meets
    assert again.lead(half) == pytest.approx(-pull * 0.5**power - always)


def test_the_pull_of_the_edinburgh_model_is_what_the_plastic_area_bears():
    """If the work of adhesion asks for more than unloading can reach, ka is k2 and the contact holds on half way."""
    contact, h = Pressed("eepa-linear", work_of_adhesion=1e3), 8e-5
    contact.lead(h)
    lowest = min(contact.lead(overlap) for overlap in np.linspace(h, 0.0, 2001))
    assert lowest == pytest.approx(-0.5 * 2.5e3 * 0.6 * h, rel=1e-3)


@pytest.mark.parametrize("law", KEYS)
@settings(max_examples=25, deadline=None)
@given(points=st.lists(st.floats(0.0, 1.5e-4), min_size=1, max_size=6))
def test_work_is_stored_or_lost_on_any_path(law, points):
    contact = Pressed(law)
    for point in points:
        contact.lead(point, 300)
    assert contact.work == pytest.approx(contact.stored + contact.lost, rel=2e-3, abs=2e-12)
    contact.lead(0.0, 300)
    assert contact.stored == pytest.approx(0.0, abs=1e-16)
    assert contact.lost == pytest.approx(contact.work, rel=2e-3, abs=2e-12)


@pytest.mark.parametrize("law", KEYS)
@given(points=st.lists(st.floats(0.0, 1.5e-4), min_size=1, max_size=6))
def test_what_is_lost_does_not_depend_on_the_steps(law, points):
    once, often = Pressed(law), Pressed(law)
    for point in points:
        once.lead(point)
        often.lead(point, 7)
    assert once.force == pytest.approx(often.force, rel=1e-9, abs=1e-12)
    assert once.lost == pytest.approx(often.lost, rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("law", KEYS)
def test_the_stiffness_declared_for_the_time_step_is_the_steepest(law):
    contact, h, step = Pressed(law), 6e-5, 1e-9
    top = contact.lead(h)
    assert (top - contact.lead(h - step)) / step == pytest.approx(contact.part.steepest(h, R, contact.c), rel=1e-3)

"""Angular velocities in revolutions per minute and angles in degrees, wherever rad/s and rad are."""

from __future__ import annotations

import math
import re
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.case.explain.key_texts import meaning_of, models_in
from pdem.case.explain.keys import explain
from pdem.case.model import Case
from pdem.case.sections.schema import CaseData
from pdem.case.sections.units import InDegrees, InRpm
from pdem.foundation.errors import CaseError

BASE = """
time = {end = 1.0, step = 1e-4}
domain = {lower = [-1, -1, -1], upper = [1, 1, 1]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
interactions.default = {friction = 0.5, restitution = 0.4}
shapes.pair = {spheres = [[0, 0, 0, 0.01], [0.01, 0, 0, 0.01]]}
[[particles]]
material = "grain"
radius = 0.05
positions = [[0.0, 0.0, 0.1]]
angular_velocity = [0, 0, 1]
[[particles]]
material = "grain"
shape = "pair"
positions = [[0.5, 0.0, 0.1]]
orientation = {axis = [0, 0, 1], angle = 3}
[[insertions]]
name = "inlet"
material = "grain"
radius = 0.01
count = 3
region = {lower = [-0.5, -0.5, 0.5], upper = [0.5, 0.5, 0.9]}
velocity = [0, 0, -1]
angular_velocity = [0, 0, 1]
[[walls]]
name = "shaken"
shape = "plane"
normal = [0, 0, 1]
material = "grain"
rotation = {rate = 1.0, axis = [0, 0, 1]}
swing = {amplitude = 0.1, frequency = 2.0, phase = 0.3, axis = [0, 0, 1]}
rotation_table = {times = [0, 1], angles = [0, 1], axis = [0, 0, 1]}
oscillation = {amplitude = [0.1, 0, 0], frequency = 2.0, phase = 0.3}
[[walls]]
name = "disc"
shape = "plane"
normal = [0, 0, 1]
material = "grain"
surface = {rotation = {rate = 1.0, axis = [0, 0, 1]}}
[[walls]]
name = "ramp"
shape = "chute"
start = [0, 0, 0]
direction = [1, 0, 0]
inclination = 0.5
length = 0.3
width = 0.1
material = "grain"
surface = {rotation_table = {times = [0, 1], rates = [0, 1], axis = [0, 0, 1]}}
[[walls]]
name = "lid"
shape = "plane"
normal = [0, 0, 1]
material = "grain"
[walls.servo]
axis = [0, 0, 1]
centre = [0, 0, 0]
torque = 1.0
largest_rate = 1.0
travel_limits = [-0.1, 0.1]
[[walls]]
name = "ball"
shape = "sphere"
radius = 0.1
centre = [0, 0, 0.5]
material = "grain"
body = {density = 1000.0, angular_velocity = [0, 0, 1]}
"""

RPM, HERTZ, DEGREES = math.pi / 30.0, 1.0 / 60.0, math.pi / 180.0
NUMBERS = [
    ("walls.0.rotation.rate", "rpm", RPM),
    ("walls.0.swing.amplitude", "degrees", DEGREES),
    ("walls.0.swing.phase", "degrees", DEGREES),
    ("walls.0.swing.frequency", "rpm", HERTZ),
    ("walls.0.oscillation.phase", "degrees", DEGREES),
    ("walls.0.oscillation.frequency", "rpm", HERTZ),
    ("walls.1.surface.rotation.rate", "rpm", RPM),
    ("walls.2.inclination", "degrees", DEGREES),
    ("walls.3.servo.largest_rate", "rpm", RPM),
    ("particles.1.orientation.angle", "degrees", 1.0),
]
LISTS = [
    ("walls.0.rotation_table.angles", "degrees", [0, 20], DEGREES),
    ("walls.2.surface.rotation_table.rates", "rpm", [0, 20], RPM),
    ("walls.3.servo.travel_limits", "degrees", [-20, 20], DEGREES),
    ("walls.4.body.angular_velocity", "rpm", [0, 0, 20], RPM),
    ("particles.0.angular_velocity", "rpm", [1, 2, 20], RPM),
    ("insertions.0.angular_velocity", "rpm", [1, 2, 20], RPM),
]


def value_of(case, key):
    """Return what a case holds at a key."""
    step = lambda one, part: one[int(part)] if part.isdecimal() else getattr(one, part)  # noqa: E731
    return reduce(step, key.split("."), case)


@pytest.mark.parametrize("form", ["{key}={{{unit} = {value}}}", "{key}.{unit}={value}"])
@pytest.mark.parametrize(
    ("key", "unit", "value", "factor"), [*((key, unit, 20, factor) for key, unit, factor in NUMBERS), *LISTS]
)
def test_units_are_understood_and_written_as_si(form, key, unit, value, factor):
    case = Case.from_text(BASE)
    case.override(form.format(key=key, unit=unit, value=value))
    found = value_of(case, key)
    many = isinstance(value, list)
    assert found == pytest.approx(tuple(one * factor for one in value) if many else value * factor, rel=1e-15)
    written = Case.from_text(case.to_toml())
    assert value_of(written, key) == found  # the same bits
    assert written.model_dump() == case.model_dump()
    plain = [0.01 * one for one in value] if many else 0.5
    case.override(f"{key}={plain}")  # the unit is replaced by a plain number, too
    assert value_of(case, key) == (tuple(plain) if many else plain)


@given(st.floats(1e-6, 1e6) | st.integers(-1000, -1))
def test_the_conversion_is_the_documented_one(rpm):
    text = BASE.replace("rotation = {rate = 1.0,", f"rotation = {{rate = {{rpm = {rpm!r}}},", 1)
    assert Case.from_text(text).walls[0].rotation.rate == rpm * math.pi / 30.0
    short = BASE.replace("rotation = {rate = 1.0,", f"rotation = {{rpm = {rpm!r},", 1)
    assert Case.from_text(short).walls[0].rotation.rate == rpm * math.pi / 30.0


def test_every_key_in_rad_or_rad_per_second_takes_units():
    """Also those that come later: a text that says rad, or Hz, promises it."""
    seen, taking = set(), []

    def look(model):
        if model in seen:
            return
        seen.add(model)
        for name, field in model.model_fields.items():
            inner = list(models_in(field))
            text = meaning_of(model, name)
            if name not in ("gain", "file", "rpm", "degrees") and re.search(r"\b(rad|Hz)\b", text):
                taken = [issubclass(one, (InRpm, InDegrees)) for one in inner]
                assert any(taken) or name == "rotation", (model, name)  # a table of which only one key is a rate
                taking.append(name)
            for one in inner:
                look(one)

    look(CaseData)
    assert {"rate", "amplitude", "phase", "angles", "travel_limits", "largest_rate"} <= set(taking)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("walls.0.rotation={rate=1, rpm=20, axis=[0, 0, 1]}", "rotation: has both rate and rpm; keep one"),
        ("walls.0.rotation.rate={rps = 3}", "rotation.rate.rps = 3: is not a key; did you mean 'rpm'?"),
        ("walls.0.rotation.rate={rpm = true}", "rotation.rate.rpm = true: must be a number"),
        ("walls.0.swing.frequency.rpm=0", "swing.frequency.rpm = 0: must be greater than 0"),
        ("walls.2.inclination.degrees=90", "inclination.degrees = 90: must be less than 90"),
        ("walls.0.rotation_table.angles.degrees=[1]", "angles.degrees = [1]: has 1 entries, at least 2"),
        (
            "walls.3.servo={axis=[0, 0, 1], force=1.0, largest_rate={rpm = 2}}",
            "walls[3].servo: moves along its axis: largest_rate is in m/s; only with a torque the wall turns",
        ),
    ],
)  # fmt: skip
def test_mistaken_units_are_refused(change, expected):
    case = Case.from_text(BASE)
    with pytest.raises(CaseError) as caught:
        case.override(change)
    assert expected in str(caught.value)


def test_explain_says_so():
    assert "value: number or {rpm = number}" in explain("walls.rotation.rate")
    assert "Revolutions per minute" in explain("walls.rotation.rate.rpm")
    assert "value: list of 3: number or {rpm = list of 3: number}" in explain("particles.angular_velocity")
    assert "{degrees = number greater than -90 less than 90}" in explain("walls.inclination")

"""Groups and meanings of columns on the page of `pdem watch`, and which of them is plotted at first."""

from __future__ import annotations

import pytest

from pdem.case.columns import box_columns, stress_columns
from pdem.case.model import Case
from pdem.features.registry import TERMS
from pdem.features.sensors.columns import columns_of_sensor
from pdem.features.wall_loads.columns import columns_of_wall
from pdem.run.files.outputs import _FIRST_COLUMNS, _LAST_COLUMNS
from pdem.run.files.wall_columns import load_columns
from pdem.watch.columns import CONTACTS, ENERGIES, OTHERS, RUN, STRESS, first_column, groups_of, texts_of

BED = """
[time]
end = 1.0
[domain]
lower = [0, 0, 0]
upper = [1, 1, 1]
periodic = [true, true, false]
[materials.red]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.blue]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.default]
restitution = 0.5
friction = 0.5
[[walls]]
name = "gate"
shape = "plane"
point = [0, 0, 0]
normal = [0, 0, 1]
material = "red"
[[walls]]
name = "gate_2"
shape = "plane"
point = [0, 0, 1]
normal = [0, 0, -1]
material = "red"
[[insertions]]
name = "feed"
material = "red"
radius = 0.01
region = {lower = [0.2, 0.2, 0.2], upper = [0.8, 0.8, 0.8]}
count = 10
every = 0.1
[[sensors]]
name = "bed"
region = {lower = [0, 0, 0], upper = [1, 1, 0.5]}
by = "material"
mixing = {materials = ["red", "blue"], cells = [2, 2, 2]}
residence = true
stress = true
[[sensors]]
name = "out"
plane = {point = [0, 0, 0.1], normal = [0, 0, -1]}
by = {radii = [0.002]}
[output]
stress = true
mean_wall_loads = ["*"]
"""


@pytest.fixture(scope="module")
def case():
    return Case.from_text(BED)


def test_every_column_has_a_group_and_a_meaning(case):
    """Those that any run has, whatever names walls and sensors have."""
    expected = dict.fromkeys(("step", "time", "particles", "detections", "particle_steps_per_second", "stage"), RUN)
    expected |= dict.fromkeys(("gravity_x", "liquid_in_films", "liquid_in_bridges"), RUN)
    expected |= dict.fromkeys((*TERMS.names, "residual"), ENERGIES)
    first = [name for name, *_ in (*_FIRST_COLUMNS, *_LAST_COLUMNS)]
    expected |= {name: CONTACTS for name in first if name not in expected}
    expected |= dict.fromkeys((name for name, *_ in [*stress_columns(3), *box_columns(case)]), STRESS)
    expected |= dict.fromkeys(("box_length_x", "strain_yy", "strain_rate_zz", "shear_strain", "shear_rate"), STRESS)
    for wall in ("gate", "gate_2"):
        own = [name for name, *_ in columns_of_wall(wall)]
        own += [name for name, _ in load_columns(case) if name.startswith(f"{wall}_") and "2_" not in name[4:7]]
        own += [f"{wall}_{name}" for name in ("travel", "rate", "load", "position_z", "angular_velocity_x", "angle")]
        expected |= dict.fromkeys(own, f"wall {wall}")
    expected |= {name: "wall gate_2" for name, _ in load_columns(case) if name.startswith("gate_2_")}
    for sensor in case.sensors:
        own = [name for name, *_ in columns_of_sensor(sensor, case.materials)]
        expected |= dict.fromkeys(own, f"sensor {sensor.name}")
    expected |= {f"feed_{name}": "insertion feed" for name in ("count", "mass", "waiting")}
    found = texts_of(list(expected), case)
    assert {name: one.group for name, one in found.items()} == expected
    assert not [name for name, one in found.items() if not one.meaning]
    assert found["bed_mass_blue"].meaning == "mass in the region, of blue"
    assert found["out_passed_count_below-0.002"].meaning.endswith("those that came back, of below-0.002")
    assert found["gate_force_max"].meaning.startswith("largest force")
    assert found["bed_contact_stress_xy"].meaning.startswith("stress by the forces of contacts")
    assert len({one.meaning for one in texts_of([name for name, *_ in stress_columns(3)], case).values()}) == 9
    assert texts_of(["my_number"], case)["my_number"] == (OTHERS, "")
    assert groups_of(case) == [
        "sensor bed", "sensor out", "insertion feed", "wall gate", "wall gate_2", RUN, CONTACTS, STRESS, ENERGIES,
        OTHERS,
    ]  # fmt: skip


def test_what_is_plotted_first_is_of_a_sensor(case):
    names = [name for sensor in case.sensors for name, *_ in columns_of_sensor(sensor, case.materials)]
    assert first_column(["time", "translation", *names], case) == "bed_mass"
    assert first_column(["time", "translation", "out_passed"], case) == "out_passed"
    assert first_column(["time", "translation", "feed_count", "feed_mass"], case) == "feed_mass"
    assert first_column(["time", "translation", "particles"], case) == "translation"
    assert first_column(["time", "particles"], case) == "particles"
    assert first_column(["time"], case) is None

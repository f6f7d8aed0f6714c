"""What the case file and the checks before a run say about insertions."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.inlets import BOX, DISC, case_of, inlet
from pdem.case.groups.initial import initial_particles
from pdem.containers.meshes.mesh import Mesh
from pdem.features.insertions.preflight import expected_number, insertion_findings
from pdem.foundation.errors import CaseError
from pdem.preflight.preflight import preflight

SQUARE = [[-0.03, -0.03, 0.05], [0.03, -0.03, 0.05], [0.03, 0.03, 0.05], [-0.03, 0.03, 0.05]]
BENT = [*SQUARE[:3], [-0.03, 0.03, 0.06]]
BOW = [SQUARE[0], SQUARE[1], SQUARE[3], SQUARE[2]]


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({}, "needs mass_rate or count_rate, or the mass or count of what comes in at once"),
        ({"mass_rate": 1.0, "count_rate": 5.0}, "count_rate = 5.0: is not allowed together with mass_rate"),
        ({"count": 5, "end": 1.0}, "end = 1.0: ends a rate"),
        ({"count_rate": 5.0, "start": 2.0, "end": 1.0}, r"end = 1.0: must be later than start \(2 s\)"),
        ({"count_rate": {"times": [0.0, 1.0], "values": [1.0, -1.0]}}, "values = .*must not be negative"),
        ({"count_rate": {"times": [1.0, 0.5], "values": [1.0, 1.0]}}, "must rise: 1.0 is followed by 0.5"),
        ({"count_rate": {"times": [1.0, 2.0]}}, "values: is missing; give times and values, or a file"),
        ({"count": 5, "face": None}, "needs exactly one of region and face, has none of them"),
        ({"count": 5, "face": {"corners": BENT}}, r"face: is no plane: its corner at .* more than 1e-05 of its extent"),
        ({"count": 5, "face": {"corners": BOW}}, "face: crosses itself|face: has no area"),
        ({"count": 5, "face": {"corners": [SQUARE[0]] * 3}}, "face: has no area"),
        ({"count": 5, "face": {**DISC, "normal": [0.0, 0.0, 0.0]}}, "face.normal = .*is not a direction"),
        ({"count": 5, "face": {**DISC, "radius": 0.003}}, r"face: is 0.006 m wide, less than the largest diameter"),
        ({"count": 5, "face": {**DISC, "radius": 0.2}}, "face: reaches from -0.2 to 0.2 m along [xy], out of"),
        ({"count": 5, "velocity": [1.0, 0.0, 0.0]}, "velocity = .*does not lead through the face"),
        ({"count": 5, "velocity": 0.0}, "does not lead through the face"),
        ({"count": 5, "material": "gold"}, "material = \"gold\": is not a material"),
        ({"count": 5, "material": "steel"}, "materials.steel.density: is missing"),
        ({"count": 5, "region": BOX, "velocity": 2.0}, "velocity = 2.0: is a speed through a face"),
        ({"count": 5, "region": {"lower": [0.0] * 3, "upper": [0.0, 1.0, 1.0]}}, "region.upper.* must be greater than"),
        ({"count": 5, "radius": {"distribution": "normal", "mean": 1.0, "sigma": 0.001, "min": 0.001, "max": 0.002}},
         "radius: only 0.0e.00 of the normal distribution lies inside"),
        ({"count": 5, "radius": {"distribution": "mixture", "parts": []}}, "parts = .*at least 1"),
        ({"count": 5, "radius": {"distribution": "gauss"}}, '"normal", "rosin-rammler", "tabulated", "mixture"'),
        ({"count": 5, "name": "a,b"}, "names columns of the series"),
        ({"count": 0}, "count = 0: must be at least 1"),
        ({"count": 5, "rate": 3}, "rate: is not a key|rate = 3: is not a key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(keys, match):
    with pytest.raises(CaseError, match=match):
        case_of(inlet(**keys))


def test_an_interval_is_needed_where_particles_stay():
    domain = {"lower": [-0.1] * 3, "upper": [0.1] * 3}
    with pytest.raises(CaseError, match=r"insertions\[0\].every: is missing; particles stay where they come in"):
        case_of(inlet(region=BOX, count=5, velocity=None), domain=domain)
    case_of(inlet(region=BOX, count=5, velocity=None, every=0.1), domain=domain)


def test_names_are_taken_once():
    with pytest.raises(CaseError, match=r"insertions\[1\].name = .*is taken by insertions\[0\]"):
        case_of(inlet(count=5), inlet(count=5))


def test_materials_that_come_in_need_interactions():
    materials = {
        "grain": case_of(inlet(count=1)).materials["grain"].model_dump(exclude_none=True),
        "sand": {"density": 1.0},
    }
    with pytest.raises(CaseError, match=r"interactions.sand-sand: is missing"):
        case_of(inlet(count=5, material="sand"), materials=materials, interactions={})


def test_the_automatic_step_knows_what_comes_in():
    fine = case_of(inlet(count=5, radius=0.001), time={"end": 1.0}).resolved_step()
    coarse = case_of(inlet(count=5, radius=0.002), time={"end": 1.0}).resolved_step()
    assert coarse == pytest.approx(2.0 * fine)


def test_a_face_in_a_file(tmp_path):
    Mesh(SQUARE, [[0, 1, 2, 3]]).write(tmp_path / "inlet.vtk")
    Mesh(BENT, [[0, 1, 2], [0, 2, 3]]).write(tmp_path / "bent.vtk")
    flat, bent = (
        case_of(inlet(count=5, face={"shape": "mesh", "mesh": f"{name}.vtk"}), folder=tmp_path)
        for name in ("inlet", "bent")
    )
    assert not [one for one in insertion_findings(flat, 2e-5) if one.level != "info"]
    with pytest.raises(CaseError, match=r"insertions\[0\].face: is no plane"):
        list(insertion_findings(bent, 2e-5))
    missing = case_of(inlet(count=5, face={"shape": "mesh", "mesh": "none.vtk"}), folder=tmp_path)
    with pytest.raises(CaseError, match=r"insertions\[0\].face.mesh"):
        list(insertion_findings(missing, 2e-5))


def levels(case):
    return {
        one.level: one.message for one in insertion_findings(case, case.resolved_step()) if one.subject[:3] == "ins"
    }


def test_rate_speed_and_room_have_to_go_together():
    area, each = np.pi * 0.03**2, 4.0 / 3.0 * np.pi * 0.004**3
    fits = area * 1.0 / each
    assert set(levels(case_of(inlet(count_rate=0.2 * fits)))) == {"info"}
    warned = levels(case_of(inlet(count_rate=0.4 * fits)))
    assert "40 % of the volume that the face lets in" in warned["warning"]
    assert f"which is {0.3 * fits:.3g} 1/s: some will wait" in warned["warning"]
    refused = levels(case_of(inlet(mass_rate=0.8 * fits * 2500.0 * each)))
    assert "they can never come in; lower the rate, raise velocity or widen the face" in refused["error"]


def test_too_fast_or_too_late():
    assert "move 200 % of the smallest radius" in levels(case_of(inlet(count=1, velocity=400.0)))["error"]
    assert "nothing comes in" in levels(case_of(inlet(count_rate=5.0, start=2.0)))["warning"]


def test_expected_numbers():
    case = case_of(
        inlet(count_rate={"times": [0.0, 0.5], "values": [0.0, 100.0]}, start=0.25),
        inlet(name="b", mass=1.0),
        inlet(name="c", mass_rate=1.0, count=3),
    )
    mass = 2500.0 * 4.0 / 3.0 * np.pi * 0.004**3
    numbers = [expected_number(case, one) for one in case.insertions]
    assert numbers == pytest.approx([0.5 * 0.25 * (50.0 + 100.0) + 0.5 * 100.0, 1.0 / mass, 3.0])


def test_a_case_of_insertions_alone_is_no_empty_case():
    case = case_of(inlet(count_rate=100.0))
    found = preflight(case, initial_particles(case, []), [])
    (warning,) = [str(one) for one in found if one.level != "info"]
    assert "no wall is below the middle of insertion inlet" in warning


def test_fills_take_a_mass():
    mass = 0.05
    fill = {"mass": mass, **BOX}
    for arrangement in ("random", "hexagonal"):
        group = {"material": "grain", "radius": {"distribution": "uniform", "min": 0.002, "max": 0.003}}
        case = case_of(particles=[{**group, "fill": {**fill, "arrangement": arrangement}}])
        masses = 2500.0 * 4.0 / 3.0 * np.pi * initial_particles(case)["radius"] ** 3
        assert abs(masses.sum() - mass) <= 0.5 * masses.max()
    with pytest.raises(CaseError, match=r"fill.mass = 0.05: is not allowed together with count"):
        case_of(particles=[{**group, "fill": {**fill, "count": 3}}])

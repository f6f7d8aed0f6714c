"""What a box that deforms by its stress warns of while a case runs, once each."""

from __future__ import annotations

import warnings

import pytest

from helpers.moving_boxes import PERIOD, gas, moving_case
from pdem.containers.meshes.mesh import Mesh
from pdem.features.deforming_box import warnings as box_warnings
from pdem.run.simulation import Simulation

MIDDLE = 0.5 * PERIOD
FLOOR = ({"name": "floor", "shape": "plane", "point": [MIDDLE, MIDDLE, 0.0], "normal": [0.0, 0.0, 1.0]},)


def square(low, high):
    """Return a level square that reaches so far along x and y."""
    corners = [[x, y, 0.0] for x, y in ((low, low), (high, low), (high, high), (low, high))]
    return Mesh(corners, [[0, 1, 2, 3]])


def warned(run, steps):
    """Return what a run warns of within some steps."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run.advance(steps)
    return [str(one.message) for one in found]


def on_floor(folder, mesh, stress):
    """Return the run of a gas on a square, in a box whose length along x is driven by a pressure."""
    deformation = {"x": {"stress": stress}, "largest_rate": 20.0}
    case = moving_case(folder, gas(3), deformation, walls=FLOOR, periodic=[True, True, False])
    return Simulation(case, threads=1, meshes=[mesh])


def test_a_wall_that_the_box_outgrows(tmp_path):
    """A gas under next to no pressure expands; a floor that is a little longer than the box is too short then."""
    run = on_floor(tmp_path, square(-0.01, PERIOD + 0.01), 1e-3)
    assert not warned(run, 200), "it still reaches from side to side"
    (text,) = warned(run, 600)
    assert "wall floor: at 0.0" in text
    assert "along x, and the box from -0.0" in text
    assert "grains pass beside it; make it longer" in text
    assert run.system.progress.notices.count(text) == 1
    assert not warned(run, 100)
    long = on_floor(tmp_path, square(-0.2, PERIOD + 0.2), 1e-3)
    assert not warned(long, 800)


def test_a_wall_that_is_outside_of_a_box_that_has_shrunk(tmp_path):
    run = on_floor(tmp_path, square(0.01, PERIOD - 0.01), 1e5)
    assert not warned(run, 100)
    (text,) = warned(run, 500)
    assert "wall floor: at 0.00" in text
    assert "what is outside the box meets no grains; make it smaller" in text


@pytest.mark.parametrize(("ratio", "runs_away"), [(0.95, True), (0.2, False)])
def test_a_shear_that_the_bed_does_not_bear(tmp_path, monkeypatch, ratio, runs_away):
    """Grains bear about four tenths of the pressure across the layers; for 0.95 of it the box shears on and on.

    Until the bed is dense it shears by a quarter in both cases.
    """
    monkeypatch.setattr(box_warnings, "RUNAWAY", 0.35)
    shear = {"velocity_along": "x", "gradient_along": "y", "stress": ratio * 2e3}
    deformation = {axis: {"stress": 2e3} for axis in "xyz"} | {"shear": shear, "largest_rate": 0.7}
    run = Simulation(moving_case(tmp_path, gas(4, speed=0.1), deformation), threads=1)
    found = warned(run, 26000)
    assert len(found) == runs_away, found
    if runs_away:
        assert "deformation: at 0.5" in found[0]
        assert "sheared by 0.35 at largest_rate (0.7 1/s), and bears" in found[0]
        assert "of the shear stress of 1.9e+03 Pa that is wanted, under a pressure of" in found[0]
        assert "want less, give a shear rate" in found[0]
        assert not warned(run, 300)

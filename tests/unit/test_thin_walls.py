"""Particles that push each other through a thin wall are found before a run, and named once while it runs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pdem
from helpers.rank_cases import communicator
from pdem.case.groups.initial import initial_particles
from pdem.case.wall_files import read_walls
from pdem.preflight.preflight import preflight
from pdem.preflight.thin_walls import THIN
from pdem.run.thin_walls import warn_of_thin_walls

R = 0.02
FRAME = """
[time]
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[materials.glass]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.steel]
[interactions.default]
friction = 0.5
restitution = 0.5
"""


def case_of(positions, wall, radius=R):
    """Return a case of particles at some places and one wall, a table of TOML."""
    group = f'[[particles]]\nmaterial = "glass"\nradius = {radius}\npositions = {np.asarray(positions).tolist()}\n'
    return pdem.Case.from_text(f'{FRAME}{group}[[walls]]\nname = "it"\nmaterial = "steel"\n{wall}')


def plate(thickness, normal=(0.0, 0.0, 1.0)):
    """Return a plate of some thickness, a sheet for 0, through the origin."""
    axis = np.cross(normal, (0.3, 0.4, 0.5))
    return (
        f'shape = "blade"\naxis = {axis.tolist()}\nnormal = {list(normal)}\nlength = 0.6\nwidth = 0.6\n'
        f"thickness = {thickness}\n"
    )


def findings(case):
    """Return levels and texts of what is found of thin walls."""
    meshes = read_walls(case)
    found = preflight(case, initial_particles(case, meshes), meshes)
    return [(one.level, one.message) for one in found if "through it" in one.message]


def warnings_of(simulation):
    """Return what a simulation warns of now."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_thin_walls(simulation.system)
    return [str(one.message) for one in caught]


def two(gap, thickness, normal=(0.0, 0.0, 1.0), aside=0.0):
    """Return the places of two particles on both sides of a plate; `gap` over the radius, negative for overlaps."""
    unit = np.asarray(normal) / np.linalg.norm(normal)
    along = np.cross(unit, (0.3, 0.4, 0.5))
    offset = aside * along / np.linalg.norm(along)
    away = (0.5 * thickness + (1.0 + gap) * R) * unit
    return [offset + away, offset - away]


vectors = st.tuples(*[st.integers(-9, 9)] * 3).filter(lambda one: np.linalg.norm(np.cross(one, (0.3, 0.4, 0.5))) > 1.0)


@given(normal=vectors, thickness=st.sampled_from([0.0, 0.5 * THIN * R]), gap=st.floats(-0.02, 0.3))
def test_a_plate_too_thin_for_both_sides_is_warned_of(normal, thickness, gap):
    case = case_of(two(gap, thickness, normal), plate(thickness, normal))
    ((level, text),) = findings(case)
    assert level == "warning"
    assert ("sheet without thickness" if thickness == 0.0 else "a thin plate") in text
    assert f"{THIN * R:.2g} m" in text


@given(normal=vectors, gap=st.floats(-0.02, 0.3))
def test_a_plate_that_is_thick_enough_is_not(normal, gap):
    thickness = 1.5 * THIN * R
    assert findings(case_of(two(gap, thickness, normal), plate(thickness, normal))) == []


@given(normal=vectors, gap=st.floats(-0.02, 0.3))
def test_particles_on_one_side_or_far_away_are_not(normal, gap):
    near, other = two(gap, 0.0, normal)
    assert findings(case_of([near], plate(0.0, normal))) == []
    assert findings(case_of([near, 2.0 * other], plate(0.0, normal))) == []
    beside = np.asarray(two(gap, 0.0, normal, aside=0.9)[1])
    assert findings(case_of([near, beside], plate(0.0, normal))) == []


@pytest.mark.parametrize("thickness", [0.0, 0.001])
def test_a_sheet_that_moves_is_noted(thickness):
    wall = plate(thickness) + "rotation = {rate = 1.0, axis = [0, 0, 1], centre = [0, 0, 0]}\n"
    found = findings(case_of([[0.0, 0.0, 2.0 * R]], wall))
    assert [level for level, _ in found] == (["info"] if thickness == 0.0 else [])


def test_inside_and_outside_of_a_container_with_thick_walls():
    wall = 'shape = "tube"\naxis = [0, 0, 1]\ninner_radius = 0.1\nouter_radius = 0.11\nlength = 0.5\n'
    assert findings(case_of([[0.08, 0.0, 0.0], [0.13, 0.0, 0.0]], wall)) == []


@pytest.mark.parametrize(
    ("thickness", "overlap"), [(0.0, 0.01), (0.0, 0.04), (0.01 * R, 0.02), (0.05 * R, 0.02), (0.05 * R, 0.03)]
)
@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.6, -0.3, 0.2)])
def test_a_run_warns_if_particles_touch_through_it(thickness, overlap, normal):
    """They do if their overlaps with it are together larger than its thickness."""
    simulation = pdem.Simulation(case_of(two(-overlap, thickness, normal), plate(thickness, normal)), threads=1)
    touching = 2.0 * overlap * R - thickness
    found = warnings_of(simulation)
    assert len(found) == (touching > 0.0)
    if found:
        assert f"1 pair of particles touches through it, with overlaps up to {touching:.3g} m" in found[0]
        assert "wall it" in found[0]
    assert warnings_of(simulation) == []  # once is enough


def test_a_run_does_not_warn_of_particles_beside_each_other():
    """Two on one side, two around the edge of a block, two between the walls of a slot."""
    block = 'shape = "box"\nlower = [-0.3, -0.3, -0.3]\nupper = [0.0, 0.3, 0.0]\n'
    slot = 'shape = "box"\nlower = [0.0, -0.3, -0.3]\nupper = [0.0397, 0.3, 0.3]\nopen = ["-x"]\n'
    for wall, places in (
        (plate(0.0), [[0.0, 0.0, 0.99 * R], [1.98 * R, 0.0, 0.99 * R]]),
        (block, [[-0.2 * R, 0.0, 0.99 * R], [0.99 * R, 0.0, -0.45 * R]]),
        (slot, [[0.0197, 0.0, 0.0], [0.0197, 0.0, 0.0396]]),
    ):
        simulation = pdem.Simulation(case_of(places, wall), threads=1)
        assert len(simulation.system.contacts.pairs.touching) == 1
        assert warnings_of(simulation) == []


@pytest.mark.ranks(1, 2, 3)
def test_ranks_count_the_same_pairs(ranks):
    rng = np.random.default_rng(4)
    foot = np.column_stack((rng.permutation(np.arange(-6, 7) * 2.5 * R), rng.permutation(np.arange(-6, 7) * 2.5 * R)))
    places = [[x, y, side * 0.98 * R] for x, y in foot for side in (1.0, -1.0)]
    comm = communicator()
    simulation = pdem.Simulation(case_of(places, 'shape = "plane"\nnormal = [0, 0, 1]\nsize = 1.4\n'), comm)
    found = warnings_of(simulation)
    assert len(found) == (comm is None or comm.rank == 0)
    assert all(f"{len(foot)} pairs of particles touch through it" in text for text in found)
    assert "through it" in simulation.system.progress.notices[-1]

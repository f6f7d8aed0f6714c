"""Facets near particles are tested when they may be touched: the contacts are those of tests in every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.cases import box, state_of
from helpers.falling_heap import FLOOR, FREE, PRESSED, TURNING, falling, heap
from helpers.generated_machines import STEPS, machine
from helpers.rank_cases import require_same_bits, state
from helpers.surfaces import flat_polygon
from pdem.contact.geometry.sphere_facet import nearest_feature, nearest_within
from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
from pdem.contact.walls.due_facets import BOTH, OF_WALLS, SLACK
from pdem.engine.contact_forces import ContactSteps

BOX = {"mesh": box((-0.06, -0.06, 0.0), (0.06, 0.06, 0.2)), "material": "steel"}
TUMBLING = {**BOX, "rotation": {"rate": 30.0, "axis": [0.3, 1.0, 0.2], "centre": [0.0, 0.0, 0.05]}}


@pytest.mark.parametrize("method", ["signed", "h2"])
@pytest.mark.parametrize(
    "wall", [FLOOR, TURNING, PRESSED, FREE, BOX, TUMBLING],
    ids=["floor", "turning", "pressed", "free", "box", "tumbling"],
)  # fmt: skip
def test_contacts_are_those_of_tests_in_every_step(tmp_path, wall, method):
    """Contacts of all steps: their numbers, and what follows from them."""
    found = []
    for always in (False, True):
        folder = tmp_path / str(always)
        folder.mkdir()
        simulation = falling(folder, wall, grains=heap(seed=2, speed=2.0), detection={"walls": method, "skin": 0.5})
        contacts, tested = simulation.system.contacts.walls, []
        for _ in range(250):
            if always:
                contacts.test_all()
            simulation.advance(1)
            rows = contacts._start[len(contacts._near)]
            tested.append((contacts.count, int((contacts._due[:rows] <= contacts.path[BOTH]).sum()), rows))
        found.append((np.array(tested), state_of(simulation)))
    (some, one), (_, other) = found
    np.testing.assert_array_equal(found[0][0][:, 0], found[1][0][:, 0])
    assert some[:, 0].sum() > 0
    assert some[:, 1].sum() < 0.8 * some[:, 2].sum()
    for group, columns in other.items():
        for name, values in columns.items():
            np.testing.assert_array_equal(one[group][name], values, err_msg=f"{group}.{name}")


@pytest.mark.parametrize("seed", range(6))
def test_machines_do_not_depend_on_due_values(monkeypatch, seed):
    """Many steps in one kernel, walls that are placed by it and by Python, clusters, all laws."""
    states = []
    for always in (False, True):
        if always:
            note = ContactSteps.note_wall_step

            def far(self, note=note):
                note(self)
                self._system.contacts.walls.path[BOTH] = np.inf

            monkeypatch.setattr(ContactSteps, "note_wall_step", far)
        run = pdem.Simulation(machine(seed))
        run.advance(STEPS)
        assert (run.system.contacts.walls.path[BOTH] == np.inf) >= always
        states.append(state(run))
    require_same_bits(*states)


@pytest.mark.parametrize("single", [False, True], ids=["placed by a kernel", "placed by Python"])
def test_the_path_of_walls_is_that_of_their_fastest_point(tmp_path, single):
    simulation = falling(tmp_path, TURNING, grains=heap(speed=0.0))
    for _ in range(20 if single else 1):
        simulation.advance(1 if single else 20)
    rim, dt = 0.5 * np.sqrt(2.0), simulation.system.constants.time_step.dt
    assert simulation.system.contacts.walls.path[OF_WALLS] == pytest.approx(20.0 * rim * dt, rel=1e-3)


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sides=st.integers(3, 9), squeeze=st.sampled_from([1.0, 1e-3, 1e-6]))
def test_a_facet_that_is_dismissed_is_no_nearer_than_is_said(seed, sides, squeeze):
    generator = np.random.default_rng(seed)
    mesh = flat_polygon(generator, sides, squeeze)
    surface = SurfaceArrays.of(mesh)
    for centre in generator.normal(size=(10, 3)) * [1.5, 1.5 * squeeze, 0.5]:
        true = nearest_feature(*centre, 0, surface)[-1]
        for radius in np.sqrt(true) * np.array([0.01, 0.5, 0.99, 1.01, 2.0]):
            kind, *_, squared = nearest_within(Sphere(*centre, radius), 0, surface)
            assert squared <= true * (1.0 + SLACK)
            assert kind >= 0 or squared >= radius**2 * (1.0 - 1e-9)

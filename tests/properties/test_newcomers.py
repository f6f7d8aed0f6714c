"""Particles that come in are checked as those of a case are, before anything has changed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.cases import GRAIN, Grains, box, make_case, quad, simulate, state_of
from pdem.foundation.errors import CaseError, InputError, PdemError
from pdem.run.simulation import Simulation

R = 0.01
MATERIALS = {
    "grain": GRAIN, "gold": {**GRAIN, "density": 19300.0}, "paint": {"youngs_modulus": 1e7, "poisson_ratio": 0.2},
    "steel": {},
}  # fmt: skip
LAW = {"friction": 0.5, "restitution": 0.6}
PAIRS = {f"{a}-{b}": LAW for a, b in (("grain", "grain"), ("grain", "steel"), ("gold", "gold"), ("paint", "paint"))}


def run_of(folder, **options):
    """Return one grain over a floor, in materials of which only some interact."""
    given = {
        "materials": MATERIALS, "interactions": PAIRS, "lower": [-0.2] * 3, "upper": [0.2] * 3,
        "walls": ({"mesh": quad(half=0.3, height=-0.1), "name": "floor"},), "step": 2e-5,
    }  # fmt: skip
    grains = Grains([[0.0, 0.0, 0.05]], R)
    case = make_case(folder, grains, **{**given, **options})
    # make_case lets every two materials interact; here some do not
    for key in list(case.interactions):
        if key not in {**PAIRS, **(options.get("interactions") or {})}:
            del case.interactions[key]
    return Simulation(case, threads=1, meshes=[wall["mesh"] for wall in {**given, **options}["walls"]])


def unchanged(run, attempt, error, match):
    """Require that an attempt is refused, and that no bit of the state has changed by it."""
    before, energies = state_of(run), run.energies()
    with pytest.raises(error, match=match):
        attempt()
    after = state_of(run)
    for group in before:
        for name, column in before[group].items():
            assert column.tobytes() == after[group][name].tobytes(), f"{group}/{name}"
    assert run.energies() == energies


PLACE = [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"radius": 2e-4}, InputError, r"time step: 2e-05 s is \d+ % of the Rayleigh time .* use at most .*s$"),
        ({"velocity": [0, 0, 600.0]}, InputError, r"time step: position\[0\] moves 120 % of its radius in one step"),
        ({"material": "gold"}, CaseError, "interactions.gold-grain: is missing; particles of 'gold' can touch part"),
        ({"material": "gold"}, CaseError, "interactions.gold-steel: is missing; particles of 'gold' can touch walls"),
        ({"material": "paint"}, CaseError, "materials.paint.density: is missing; particles are made of this"),
        ({"position": [[0.0, 0.0, -0.095]]}, InputError, r"position\[0\] = .* overlaps wall floor \(facet 0\) by 50 %"),
        ({"position": [[0.0, 0.0, 0.3]]}, InputError, r"outside \[-0.2, 0.2\] m, .* is position\[0\] at z = 0.3"),
        ({"position": [[0.0, 0.0, 0.06]]}, InputError, "touches another one"),
        ({"position": [[0.0, 0.0], [0.1, 0.1], [0.0, 0.1]]}, InputError, "position must be numbers of shape"),
        ({"position": [["a", "b", "c"]]}, InputError, "position must be numbers of shape"),
        ({"position": np.zeros((1, 1, 3))}, InputError, "position must be numbers of shape"),
        ({"radius": 1e-30}, InputError, "beyond all reason|of the Rayleigh time"),
        ({"radius": "wide"}, InputError, "radius must be a length"),
        ({"radius": True}, InputError, "radius must be a length"),
        ({"velocity": [0.0, np.nan, 0.0]}, InputError, r"velocity\[0\] is .* must be finite"),
        ({"angular_velocity": [[0.0, np.inf, 0.0]]}, InputError, r"angular_velocity\[0\] is .* must be finite"),
        ({"material": 0}, InputError, "material must be a name in quotes, not 0"),
        ({"material": None}, InputError, "material must be a name in quotes, not None"),
        ({"material": "grian"}, InputError, "'grian' is none of the case.* did you mean 'grain'"),
    ],
)  # fmt: skip
def test_what_cannot_come_changes_nothing(tmp_path, change, error, match):
    run = run_of(tmp_path)
    given = {"position": PLACE, "radius": R, "material": "grain"} | change
    unchanged(run, lambda: run.insert(**given), error, match)
    assert run.insert(PLACE, R, "grain").tolist() == [1]


def test_a_periodic_width_of_less_than_two_diameters_is_refused(tmp_path):
    """One contact of two images was counted."""
    run = run_of(tmp_path, periodic=(True, False, False), step=1e-6)
    given = {"position": [[0.0, 0.0, 0.0]], "radius": 0.101, "material": "grain"}
    unchanged(run, lambda: run.insert(**given), CaseError, "less than two of the largest diameters")


def test_what_meets_only_its_like_may_come_where_nothing_else_is(tmp_path):
    """`particles = []`: the walls are the only partner, and here there are none."""
    case = make_case(tmp_path, materials=MATERIALS, interactions=PAIRS, step=1e-6)
    del case.interactions["grain-gold"]
    run = Simulation(case, threads=1, meshes=[])
    assert run.insert(PLACE, R, "gold").tolist() == [0]
    unchanged(run, lambda: run.insert([[0.1, 0, 0]], R, "grain"), CaseError, "interactions.grain-gold: is missing")
    run.remove([0])
    assert run.insert(PLACE, R, "grain").tolist() == [1]


def test_walls_count_where_they_are_now(tmp_path):
    walls = ({"mesh": quad(half=0.3, height=-0.1), "name": "lid", "translation": {"velocity": [0.0, 0.0, 10.0]}},)
    run = run_of(tmp_path, walls=walls, step=2e-5)
    run.remove([0])
    run.advance(500)  # 0.1 m up
    unchanged(run, lambda: run.insert([[0.05, 0, 0.005]], R, "grain"), InputError, "overlaps wall lid")
    assert len(run.insert([[0.05, 0, -0.1]], R, "grain")) == 1


def test_driven_walls_count_where_they_are_now(tmp_path):
    servo = {"axis": [0.0, 0.0, -1.0], "force": -20.0, "largest_rate": 1.0}
    walls = ({"mesh": quad(half=0.3, height=0.15), "name": "lid", "servo": servo},)
    run = run_of(tmp_path, walls=walls, step=2e-5)
    run.remove([0])
    run.advance(2500)
    height = 0.15 - run.driven_walls()["lid"]["travel"]
    assert height < 0.12
    unchanged(run, lambda: run.insert([[0, 0, height - 0.9 * R]], R, "grain"), InputError, "overlaps wall lid")
    assert len(run.insert([[0.1, 0, height - 1.1 * R], [0, 0, 0.15]], R, "grain")) == 2


def test_large_meshes_are_looked_at_where_they_are_near(tmp_path, monkeypatch):
    """Of those a rank has only places of what its particles are near."""
    monkeypatch.setattr("pdem.detection.walls.facets.LARGE", 3)
    walls = ({"mesh": box([-0.1] * 3, [0.1] * 3), "name": "box", "translation": {"velocity": [0.0, 0.0, 10.0]}},)
    run = run_of(tmp_path, walls=walls, step=2e-5)
    assert run.system.lists.facet_tree is not None
    run.advance(100)  # 0.02 m up
    for z in (0.12, -0.08):
        place = [[0.05, 0.05, z + 0.5 * R]]
        unchanged(run, lambda place=place: run.insert(place, R, "grain"), InputError, "overlaps wall box")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.insert([[0.05, 0.05, 0.1 - R]], R, "grain")


def test_a_sphere_may_lie_on_a_wall(tmp_path):
    run = run_of(tmp_path)
    run.insert([[0.1 * x, 0.0, -0.1 + R] for x in (-1, 1)], R, "grain")
    assert run.energies()["elastic"] < 1e-20


def test_none_at_all_may_come(tmp_path):
    run = run_of(tmp_path)
    for nothing in ([], np.zeros((0, 3))):
        assert run.insert(nothing, R, "grain").tolist() == []
    with pytest.raises(InputError, match="none of the case"):
        run.insert([], R, "iron")
    assert run.insert(PLACE, R, "grain").tolist() == [1]
    assert run.insert([0.1, 0.0, 0.0], R, "grain").tolist() == [2]


def test_doubts_are_told_once(tmp_path):
    run = run_of(tmp_path)
    with pytest.warns(RuntimeWarning, match="time step: 2e-05 s is .* of the Rayleigh time") as caught:
        run.insert([[0.1, 0.0, 0.0]], 8e-4, "grain")
    assert len(caught) >= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.insert([[-0.1, 0.0, 0.0]], 7.9e-4, "grain")


def test_a_case_in_the_plane_refuses_motion_out_of_it(tmp_path):
    run = run_of(tmp_path, dimension=2, walls=())
    place = [[0.1, 0.0, 0.05]]
    unchanged(
        run, lambda: run.insert(place, R, "grain", velocity=[0, 0, 1.0]), InputError, r"position\[0\] has velocity"
    )
    run.insert(place, R, "grain", velocity=[1.0, 0, 0], angular_velocity=[0, 0, 1.0])


@pytest.mark.parametrize("ids", [[1.0], 1.7, "a", [[0.5]], [True], None])
def test_ids_to_remove_are_whole_numbers(tmp_path, ids):
    run = run_of(tmp_path)
    unchanged(run, lambda: run.remove(ids), InputError, "ids is .*; give ids of particles, which are whole numbers")


numbers = st.floats(-1e3, 1e3) | st.sampled_from([0.0, np.nan, np.inf, 1e-300, 1e300, -0.05])


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    place=st.lists(st.lists(numbers, min_size=3, max_size=3), max_size=3),
    radius=numbers | st.floats(1e-4, 0.05),
    velocity=st.lists(numbers, min_size=3, max_size=3) | st.just([0.0, 0.0, 0.0]),
    material=st.sampled_from([*MATERIALS, "x"]),
)
def test_anything_comes_in_whole_or_not_at_all(fuzzed, place, radius, velocity, material):
    """Whatever is asked for, it either follows, finite, or is refused by an error of pdem's and no bit changes."""
    before = state_of(fuzzed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            ids = fuzzed.insert(place, radius, material, velocity=velocity)
    except PdemError:
        after = state_of(fuzzed)
        assert all(
            column.tobytes() == after["particles"][name].tobytes() for name, column in before["particles"].items()
        )
        return
    assert len(ids) == len(place)
    fuzzed.advance(2)
    assert np.isfinite(fuzzed.gather()["position"]).all()
    fuzzed.remove(ids)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("fuzz"), largest_overlap=1.0)


def columns(**change):
    given = {
        "id": np.arange(2), "material": np.zeros(2, np.int32), "radius": np.full(2, R),
        "position": np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]),
    }  # fmt: skip
    return {name: value for name, value in {**given, **change}.items() if value is not None}


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"radius": None}, InputError, r"particles\['radius'\] is missing; needed are id, material, radius, position"),
        ({"id": None}, InputError, r"particles\['id'\] is missing"),
        ({"raduis": np.ones(2)}, InputError, r"particles\['raduis'\] is no field of particles; did you mean 'radius'"),
        ({"radius": np.ones(3)}, InputError, r"particles\['id'\] is int64 of shape \(2,\)"),
        ({"radius": np.ones((2, 1)) * R}, InputError, r"particles\['radius'\] is float64 of shape \(2, 1\)"),
        ({"position": np.zeros((2, 2))}, InputError, r"must be numbers of shape \(n, 3\)"),
        ({"position": np.full((2, 3), np.nan)}, InputError, r"particles\['position'\]\[0\] is .* must be finite"),
        ({"radius": np.array([R, -R])}, InputError, r"particles\['radius'\]\[1\] is -0.01"),
        ({"id": np.array([1, 1])}, InputError, "has 1 twice, in rows 0 and 1"),
        ({"id": np.array([0, -1])}, InputError, r"particles\['id'\]\[1\] is -1"),
        ({"id": np.array([0.0, 1.0])}, InputError, "must be whole numbers"),
        ({"material": np.array([0, 7])}, InputError, r"particles\['material'\]\[1\] is 7; .* 0 \(grain\), 1 \(gold\)"),
        ({"material": np.array([0, 1])}, CaseError, "interactions.grain-gold: is missing"),
        ({"material": np.array([2, 2])}, CaseError, "materials.paint.density: is missing"),
        ({"radius": np.array([R, 2e-4])}, CaseError, "time step: 2e-05 s is .* of the Rayleigh time"),
        ({"position": np.array([[0, 0, 0], [0, 0, 0.0]])}, CaseError, "particles 0 and 1 are at one point"),
        ({"position": np.array([[0, 0, 0], [0, 0, 0.005]])}, CaseError, "overlaps: 1 pairs overlap, at most 150 %"),
        ({"position": np.array([[0, 0, 0], [0, 0, 7.0]])}, CaseError, r"the first is particle 1 at z = 7 m"),
        ({"position": np.array([[0, 0, 0], [0, 0, -0.1]])}, CaseError, "wall floor: 1 particle overlaps it"),
    ],
)  # fmt: skip
def test_given_particles_are_checked_as_those_of_a_case(tmp_path, change, error, match):
    case = run_of(tmp_path).case
    with pytest.raises(error, match=match):
        Simulation(case, threads=1, particles=columns(**change), meshes=[quad(half=0.3, height=-0.1)])


def test_given_particles_begin_a_simulation(tmp_path):
    case = run_of(tmp_path).case
    run = Simulation(case, threads=1, particles=columns(id=np.array([7, 3])), meshes=[quad(half=0.3, height=-0.1)])
    assert run.gather()["id"].tolist() == [3, 7]
    assert run.insert([[-0.1, 0.0, 0.0]], R, "grain").tolist() == [8]
    with pytest.raises(InputError, match="must be columns by name"):
        Simulation(case, threads=1, particles=[[0.0, 0.0, 0.0]], meshes=[quad(half=0.3, height=-0.1)])


def test_simulate_is_not_in_the_way(tmp_path):
    """Given particles that a simulation has gathered can begin another one."""
    first = simulate(tmp_path, Grains([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]], R, [1.0, 0.0, 0.0]), step=2e-5)
    first.advance(10)
    second = Simulation(first.case, threads=1, particles=first.gather(), meshes=[])
    assert second.gather()["position"].tobytes() == first.gather()["position"].tobytes()

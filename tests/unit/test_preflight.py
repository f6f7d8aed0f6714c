"""Checks before the first step: each finding has its level and number."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import CaseError
from pdem.preflight import preflight as preflight_module
from pdem.preflight.findings import Finding
from pdem.preflight.preflight import preflight

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1], gravity = [0, 0, -9.81]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
materials.steel = {}
interactions.grain-grain = {friction = 0.5, restitution = 0.4}
interactions.grain-steel = {friction = 0.5, restitution = 0.4}
[[particles]]
material = "grain"
radius = 0.05
positions = [[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.5, 0.8, 0.1]]
[[walls]]
name = "floor"
mesh = "unused.stl"
material = "steel"
"""
FLOOR = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])


def findings(*overrides: str, mesh: Mesh = FLOOR, ranks: int = 1, threads: int = 1) -> list[Finding]:
    case = Case.from_text(BASE)
    for assignment in overrides:
        case.override(assignment)
    return preflight(case, initial_particles(case), [mesh] * len(case.walls), ranks, threads)


def bad(*overrides: str, **options) -> list[str]:
    return [str(one) for one in findings(*overrides, **options) if one.level != "info"]


def test_a_good_case_has_no_errors_and_no_warnings() -> None:
    assert bad() == []
    assert {one.subject for one in findings()} == {
        "time step",
        "stiffness",
        "overlaps",
        "wall floor",
        "memory",
        "processes",
        "sizes",
    }


@pytest.mark.parametrize(
    ("place", "radius", "warned"), [(5e6, 0.05, False), (5e6, 0.001, True), (100.0, 1e-6, False), (1e9, 0.05, True)]
)
def test_places_far_from_the_origin_are_told(place: float, radius: float, warned: bool) -> None:
    """A domain may be wide: only where particles are matters, and where they come in."""
    there = [f"{place + part}" for part in (0.3, 0.5, 0.7)]
    points = ", ".join(f"[0.5, 0.5, {one}]" for one in there)
    case = ["domain.upper=[1, 1, 1e10]", f"particles.0.radius={radius}"]
    assert not [one for one in bad(*case) if "are rounded to" in one]
    found = [one for one in bad(*case, f"particles.0.positions=[{points}]") if "are rounded to" in one]
    assert len(found) == int(warned)
    assert all("put the origin near the particles, meshes by offset" in one for one in found)


@pytest.mark.parametrize(("fraction", "level"), [(0.3, None), (0.5, "warning"), (1.1, "error")])
def test_the_step_is_compared_with_the_rayleigh_time(fraction: float, level: str | None) -> None:
    limit = 0.05 / 0.0035 * 1.8735e-4
    lines = [line for line in bad(f"time.step={fraction * limit}") if "Rayleigh" in line]
    assert len(lines) == (level is not None)
    if level:
        assert lines[0].startswith(f"{level}: time step: ")
        assert f"{100 * fraction:.3g} %" in lines[0]
        assert 'or step = "auto"' in lines[0]


def test_the_step_is_compared_with_the_contact_time() -> None:
    overrides = ["particles[0].velocity=[1000, 0, 0]", "domain.gravity=[0, 0, 0]", "time.step=8e-4"]
    assert any("error: time step" in line and "Hertz contact time" in line for line in bad(*overrides))
    law = 'interactions.grain-grain={law="linear", normal_stiffness=1e5, friction=0, restitution=1}'
    assert any("linear contact time" in line for line in bad(law, "time.step=2e-3"))


HEAVY = "interactions.grain-steel.restitution=0.05"


def test_heavily_damped_impacts_have_a_finer_automatic_step() -> None:
    """The program warned of its own choice."""
    usual = Case.from_text(BASE).resolved_step()
    case = Case.from_text(BASE)
    case.override(HEAVY)
    assert case.resolved_step() == pytest.approx(usual / 3.0, rel=1e-12)
    assert bad(HEAVY) == []
    texts = [one.message for one in findings(HEAVY) if one.subject == "time step"]
    text = f"{usual / 3.0:.4g} s, 33.3 % of the usual one, for restitution 0.05 of grain-steel"
    assert text in texts
    case.override("time.step_fraction=0.02")  # finer than that already
    assert case.resolved_step() == pytest.approx(0.2 * usual, rel=1e-12)
    assert not any("of the usual one" in one.message for one in findings(HEAVY, "time.step_fraction=0.02"))


def test_heavily_damped_impacts_need_a_finer_step_where_it_is_given() -> None:
    usual = Case.from_text(BASE).resolved_step()
    (line,) = bad(HEAVY, f"time.step={usual}")
    assert line.startswith("warning: time step: interactions.grain-steel.restitution = 0.05: up to 0.1 a ")
    assert f"{usual:.4g} s is above a third of {usual:.4g} s, the automatic step for other contacts" in line
    assert line.endswith('s, or step = "auto"')
    at_most = line.partition("use at most ")[2].partition(" s")[0]
    assert float(at_most) == pytest.approx(usual / 3.0, rel=0.01)
    assert bad(HEAVY, f"time.step={at_most}") == []
    assert len(bad(HEAVY, f"time.step={0.34 * usual}")) == 1


def test_only_heavily_damped_impacts_that_can_happen_are_named() -> None:
    step = f"time.step={Case.from_text(BASE).resolved_step()}"
    both = ["interactions.grain-grain.restitution=0.1", HEAVY, step]
    assert [line.split()[3] for line in bad(*both)] == [
        "interactions.grain-grain.restitution",
        "interactions.grain-steel.restitution",
    ]
    assert bad("interactions.grain-steel.restitution=0.11", step) == []
    assert bad("interactions.steel-steel={friction=0, restitution=0.01}", step) == []
    assert not any("restitution" in line for line in bad(HEAVY, step, "particles=[]"))


def test_the_step_and_what_sets_it_are_shown() -> None:
    (first,) = (one.message for one in findings("time.step=2e-5") if "; " in one.message and "steps" in one.message)
    assert first == "2e-05 s, given by time.step; 50,000 steps"
    line = next(one.message for one in findings() if one.message.endswith(" steps"))
    assert "s, automatic: 10 % of the Rayleigh time" in line
    assert "of grain of radius 0.05 m; " in line


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("materials.grain.youngs_modulus=0.005", "materials.grain.youngs_modulus = 0.005 Pa is below all materials"),
        ("materials.grain.youngs_modulus=5e3", "is it in GPa or MPa? It has to be in Pa"),
        ("materials.grain.youngs_modulus=5e15", "materials.grain.youngs_modulus = 5e+15 Pa is above all materials"),
        ("materials.grain.density=2.5", "is it in g/cm3? It has to be in kg/m3 (as 2.5 g/cm3 it is 2500)"),
        ("materials.grain.density=2.5e6", "materials.grain.density = 2.5e+06 kg/m3 is above all materials"),
        ("domain.gravity=[0, 0, -9810]", "domain.gravity of 9810 looks like mm/s2; it has to be in m/s2"),
        ("domain.gravity=[0, 981, 0]", "domain.gravity of 981 looks like cm/s2"),
        ("particles[0].radius=1.5", "the largest diameter is 3 m, more than the domain's side of 1 m; check the unit"),
        ("particles[0].radius=1e-9", "radii are 1e-09 to 1e-09 m, beyond grains"),
    ],
)
def test_slips_of_units_are_warned_of(change: str, text: str) -> None:
    assert any(line.startswith("warning: units: ") and text in line for line in bad(change))


@pytest.mark.parametrize("gravity", [[0, 0, -1.62], [0, 0, -1e-4], [0, 0, -3000.0], [0, 0, -98.1], [0, 0, 0]])
def test_gravity_elsewhere_is_no_slip(gravity: list[float]) -> None:
    assert not any("gravity" in line for line in bad(f"domain.gravity={gravity}"))


def test_how_deep_an_impact_goes_is_told() -> None:
    """The closed form of Hertz, at sqrt(e) of the speed of a fall from where the highest sphere is onto the floor."""
    modulus, speed = 1e7 / (1.0 - 0.2**2), np.sqrt(2.0 * 9.81 * 0.45)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * 0.05**3
    depth = (15.0 * 0.5 * mass * 0.4 * speed**2 / (16.0 * np.sqrt(0.025) * 0.5 * modulus)) ** 0.4 / 0.05
    apart = "particles[0].positions=[[0.2, 0.2, 0.5], [0.8, 0.8, 0.5]]"
    (one,) = (one for one in findings(apart) if one.subject == "stiffness")
    assert one.level == "info"
    assert f"an impact at {speed:.3g} m/s of grain on grain overlaps by " in one.message
    assert one.message.endswith(", for a moment (a fall of 0.45 m onto wall floor)")
    found = float(one.message.partition("overlaps by ")[2].partition(" %")[0]) / 100.0
    assert found == pytest.approx(depth, rel=1e-2)
    (line,) = (line for line in bad(apart, "materials.grain.youngs_modulus=3e4") if "stiffness" in line)
    assert line.startswith(f"warning: stiffness: an impact at {speed:.3g} m/s of grain on grain overlaps by ")
    assert line.endswith(
        "a run ends at 50 % (limits.largest_overlap): check the unit of youngs_modulus and of lengths, or make it "
        "larger"
    )
    assert bad(apart, "materials.grain.youngs_modulus=3e4", "limits.largest_overlap=1.0") == []


def test_the_linear_law_is_judged_by_its_largest_spheres() -> None:
    law = 'interactions.grain-{}={{law="linear", normal_stiffness=1e6, friction=0, restitution=1}}'
    laws = [law.format(name) for name in ("grain", "steel")]
    sizes = 'particles[0].radius={distribution="uniform", min=0.01, max=0.05}'
    (one,) = (one for one in findings(*laws, sizes) if one.subject == "stiffness")
    radius = max(initial_particles(Case.from_text(BASE))["radius"])
    mass = 1000.0 * 4.0 / 3.0 * np.pi * radius**3
    speed = float(one.message.partition("impact at ")[2].partition(" m/s")[0])
    found = float(one.message.partition("overlaps by ")[2].partition(" %")[0]) / 100.0
    assert found == pytest.approx(speed * np.sqrt(mass / 1e6) / radius, rel=3e-2)


def test_a_case_in_the_plane_moves_in_it() -> None:
    flat = ["domain.gravity=[0, -9.81, 0]", "domain.dimension=2", 'domain.outside="remove"']
    places = "particles[0].positions=[[0.5, 0.5, 0.5], [0.2, 0.5, 0.5]]"
    assert bad(*flat, places) == []
    (line,) = bad(*flat, places, "particles[0].velocity=[0, 0, 1]")
    assert line.startswith("error: domain: particle 0 has velocity [0.0, 0.0, 1.0]; in a case of dimension 2")
    (line,) = bad(*flat, places, "particles[0].angular_velocity=[0, 1, 1]")
    assert line.endswith("component y must be 0")
    (line,) = bad(*flat, "particles[0].positions=[[0.5, 0.5, 0.5], [0.2, 0.5, 0.4]]")
    assert line.startswith("warning: domain: centres of a case of dimension 2 are at z = 0.4 to 0.5 m")


def test_fast_particles_are_reported() -> None:
    (line,) = (line for line in bad("time.step=1e-4", "particles[0].velocity=[200, 0, 0]") if "moves" in line)
    assert "particle 0 moves 40 % of its radius in one step" in line
    fast = ["time.step=1e-4", "particles[0].velocity=[600, 0, 0]"]
    assert any(line.startswith("error: time step: particle 0 moves 120 %") for line in bad(*fast))


def test_particles_outside_are_counted_by_axis() -> None:
    places = "particles[0].positions=[[0.5, 0.5, 0.5], [0.5, 0.5, 1.2], [0.2, 0.2, -2.5]]"
    (line,) = bad(places)
    assert line.startswith("error: domain: 2 particles are outside [0, 1] m, the first is particle 1 at z = 1.2 m")
    assert not any("outside" in line for line in bad("domain.periodic=[false, false, true]", places))


@pytest.mark.parametrize(("x", "level"), [(0.5999, "info"), (0.59, "warning"), (0.56, "error")])
def test_overlaps_are_graded(x: float, level: str) -> None:
    positions = f"particles[0].positions=[[0.5, 0.5, 0.5], [0.2, 0.2, 0.2], [{x}, 0.5, 0.5]]"
    (finding,) = (one for one in findings(positions) if one.subject == "overlaps")
    assert finding.level == level
    share = (0.6 - x) / 0.05
    assert f"1 pairs overlap, at most {100 * share:.3g} % of the smaller radius (particles 0 and 2)" in finding.message


@pytest.mark.parametrize(("z", "level"), [(0.0499, "info"), (0.04, "warning"), (0.01, "error"), (-0.01, "error")])
def test_particles_in_walls_are_graded(z: float, level: str) -> None:
    positions = f"particles[0].positions=[[0.5, 0.5, 0.5], [0.2, 0.2, {z}]]"
    hits = [one for one in findings("domain.lower=[0, 0, -1]", positions) if "it, at most" in one.message]
    assert [one.level for one in hits] == [level]
    assert "(particle 1, facet 0)" in hits[0].message
    assert "1 particle overlaps it" in hits[0].message


def test_meshes_are_described() -> None:
    lines = [str(one) for one in findings() if one.subject == "wall floor"]
    assert (
        "info: wall floor: 1 facet (0 triangles, 1 quad, 0 polygons), 4 vertices, open (4 open edges), 1 piece" in lines
    )
    assert any("smallest angle 90 degrees" in line for line in lines)
    assert any("the largest radius is 0.05 of the smallest" in line for line in lines)


def test_doubtful_meshes_are_warned_of() -> None:
    needle = Mesh([[0, 0, 0], [1, 0, 0], [1, 0.005, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    assert any("smallest angle is 0.29 degrees" in line for line in bad(mesh=needle))
    turned = Mesh(FLOOR.vertices, [[0, 1, 2], [0, 3, 2]])
    assert any("normals disagree across 1 edges" in line for line in bad(mesh=turned))
    doubled = Mesh(FLOOR.vertices, [[0, 1, 2, 3], [1, 2, 3, 0]])
    assert any("1 facets repeat others" in line for line in bad(mesh=doubled))
    far = Mesh(FLOOR.vertices * 1000.0 + 5000.0, [[0, 1, 2, 3]])
    assert any("wholly outside the domain; check the unit" in line for line in bad(mesh=far))
    fine = Mesh(FLOOR.vertices * 0.001, [[0, 1, 2, 3]])
    assert any("the largest radius is 50 of the smallest" in line for line in bad(mesh=fine))


def slab(axis: int, first: float, last: float) -> Mesh:
    """Return a floor that reaches from `first` to `last` along one axis, and from -1 to 2 along the other."""
    vertices = FLOOR.vertices * 3.0 - [1.0, 1.0, 0.0]
    vertices[:, axis] = np.where(vertices[:, axis] < 0.5, first, last)
    return Mesh(vertices, [[0, 1, 2, 3]])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("first", "last"), [(0.0, 1.0), (-0.05, 1.0), (-0.04, 1.06), (0.05, 1.5), (0.04, 0.96)])
def test_walls_that_span_a_periodic_box_reach_beyond_it(axis: int, first: float, last: float) -> None:
    mesh = slab(axis, first, last)
    (line,) = bad("domain.periodic=[true, true, false]", mesh=mesh)
    assert line == (
        "warning: wall floor: walls are not repeated along the periodic axis "
        f"{'xy'[axis]}, and this one reaches from {first:g} to {last:g} m, not beyond both sides (0 and 1 m) "
        "by the largest radius 0.05 m: extend it to at least -0.05 and 1.05 m"
    )
    assert bad(f"domain.periodic=[{['false, true', 'true, false'][axis]}, false]", mesh=mesh) == []


@pytest.mark.parametrize(("first", "last"), [(-0.05, 1.05), (-0.05, np.float32(1.05)), (-3.0, 2.0)])
def test_walls_that_reach_beyond_a_periodic_box_are_fine(first: float, last: float) -> None:
    assert bad("domain.periodic=[true, true, false]", mesh=slab(0, first, last)) == []


@pytest.mark.parametrize(
    ("first", "last", "side"), [(0.3, 0.96, 1), (0.9, 1.2, 1), (0.04, 0.2, 0), (-0.3, 0.2, 0), (1.0, 1.0, 1)]
)
def test_walls_near_one_periodic_side_are_warned_of(first: float, last: float, side: int) -> None:
    mesh = Mesh([[first, 0.2, 0], [last, 0.3, 0], [0.5 * (first + last), 0.25, 0.2]], [[0, 1, 2]])
    at_rest = "domain.gravity=[0, 0, 0]"
    (line,) = bad(at_rest, "domain.periodic=[true, false, false]", mesh=mesh)
    assert f"periodic axis x, and this one reaches from {first:g} to {last:g} m, across the side at {side} m" in line
    assert line.endswith("than the largest radius 0.05 m: move it away, or repeat it 1 m further in the same mesh")
    assert bad(at_rest, mesh=mesh) == []


@pytest.mark.parametrize(("first", "last"), [(0.05, 0.95), (0.4, 0.6)])
def test_walls_away_from_periodic_sides_are_fine(first: float, last: float) -> None:
    assert bad("domain.periodic=[true, true, false]", mesh=slab(0, first, last)) == []


def test_walls_at_periodic_sides_do_not_matter_without_particles() -> None:
    lines = bad("particles=[]", "time.step=1e-3", "domain.periodic=[true, true, false]")
    assert lines == ["warning: particles: there are none; the run only moves walls"]


def test_closed_meshes_say_where_their_normals_point() -> None:
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, -1]]
    outward = Mesh(corners, [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    texts = [one.message for one in findings(mesh=outward)]
    assert any("normals point" in text for text in texts)


def test_intervals_shorter_than_the_step_are_warned_of() -> None:
    (line,) = bad("output.series_every=1e-9")
    assert "output.series_every = 1e-09 s is shorter than the time step" in line


def test_memory_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight_module, "memory_size", lambda: 220 * 2**20)
    assert any(line.startswith("warning: memory: about 0.2 GiB") for line in bad())
    monkeypatch.setattr(preflight_module, "memory_size", lambda: 100 * 2**20)
    assert any(line.startswith("error: memory: ") for line in bad())
    monkeypatch.setattr(preflight_module, "memory_size", lambda: None)
    assert bad() == []


def test_ranks_and_threads_are_compared_with_cores_and_particles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(preflight_module, "has_openmp", lambda: True)
    assert bad(ranks=2) == []
    (line,) = bad(ranks=2, threads=2)
    assert "2 ranks x 2 threads on 2 cores" in line
    assert any("5 ranks for 3 particles" in line for line in bad(ranks=5))


def test_threads_that_have_to_be_woken_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(preflight_module, "has_openmp", lambda: False)
    assert bad(threads=1) == []
    (line,) = bad(threads=2)
    assert "no OpenMP library" in line
    assert "install libgomp" in line


def test_a_case_without_particles_is_no_error() -> None:
    none = ["warning: particles: there are none; the run only moves walls"]
    assert bad("particles=[]", "time.step=1e-3") == none
    assert bad("particles=[]", "materials.grain={youngs_modulus=1e7, poisson_ratio=0.2}") == none
    with pytest.raises(CaseError, match=r'time\.step = "auto": there are no particles to take it from'):
        bad("particles=[]")


def test_findings_do_not_change_their_input() -> None:
    case = Case.from_text(BASE)
    particles = initial_particles(case)
    copies = {name: values.copy() for name, values in particles.items()}
    preflight(case, particles, [FLOOR])
    assert all(np.array_equal(particles[name], copies[name]) for name in copies)

"""What a case says of walls that particles drive: read, completed, refused with a reason."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import pdem
from helpers.cases import box, quad
from pdem.case.drives import drives_of
from pdem.case.groups.initial import initial_particles
from pdem.case.timestep import automatic_step
from pdem.case.wall_motions import motion_of
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.solid import solid_of
from pdem.foundation.errors import CaseError
from pdem.numerics.sums import LIMBS, ExactSums, exact_values
from pdem.preflight.preflight import preflight

CASE = """
[time]
end = 1.0
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
gravity = [0.0, 0.0, -9.81]
dimension = {dimension}
[materials.grain]
density = 1000.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[materials.steel]
[interactions.grain-grain]
friction = 0.5
restitution = 0.5
[interactions.grain-steel]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.5, 0.5, 0.5]]
[motions.arm]
translation = {{velocity = [1.0, 0.0, 0.0]}}
[[walls]]
name = "one"
mesh = "one.stl"
material = "steel"
{wall}
[output]
folder = "unused"
"""


def case_of(wall, folder=".", dimension=3):
    text = CASE.format(wall=wall, dimension=dimension)
    if dimension == 2:
        text = text.replace("[0.0, 0.0, -9.81]", "[0.0, -9.81, 0.0]")
    return pdem.Case.from_text(text, folder)


GOOD = "inertia = [1e-3, 1e-3, 1e-3], centre = [0, 0, 0]"


@pytest.mark.parametrize(
    ("wall", "message"),
    [
        ("servo = {axis = [0, 0, 1], force = 1.0}", r"servo.largest_rate: is missing"),
        ("servo = {axis = [0, 0, 1], largest_rate = 1.0}", "needs exactly one of force, torque.*has none of them"),
        (
            "servo = {axis = [0, 0, 1], centre = [0, 0, 0], force = 1.0, torque = 1.0, largest_rate = 1.0}",
            "has force and torque",
        ),
        ("servo = {axis = [0, 0, 1], torque = 1.0, largest_rate = 1.0}", "servo.centre: is missing; torque turns"),
        ("servo = {axis = [0, 0, 1], centre = [0, 0, 0], force = 1.0, largest_rate = 1.0}", "belongs to a torque"),
        ("servo = {axis = [0, 0, 0], force = 1.0, largest_rate = 1.0}", "servo.axis.*is not a direction"),
        ("servo = {axis = [0, 0, 1], force = 0.0, largest_rate = 1.0}", "servo.gain: is missing; with force = 0"),
        ("servo = {axis = [0, 0, 1], force = 1.0, largest_rate = 0.0}", "largest_rate.*must be greater than 0"),
        ("servo = {axis = [0, 0, 1], force = 1.0, largest_rate = 1.0, travel_limits = [0.1, 0.2]}", "begins at 0"),
        (
            "servo = {axis = [0, 0, 1], force_table = {times = [0.0, 1.0]}, largest_rate = 1.0}",
            "force_table.values: is missing",
        ),
        (
            "servo = {axis = [0, 0, 1], force_table = {times = [1.0, 0.0], values = [1.0, 1.0]}, largest_rate = 1.0}",
            "must rise: 1.0",
        ),
        ('on = "arm"\nservo = {axis = [0, 0, 1], force = 1.0, largest_rate = 1.0}', "on.*servo cannot be combined"),
        (
            "body = {mass = 1.0}\nservo = {axis = [0, 0, 1], force = 1.0, largest_rate = 1.0}",
            "body.*servo cannot be combined",
        ),
        ("body = {mass = 1.0}\nrotation = {rate = 1.0, axis = [0, 0, 1]}", "body.*rotation cannot be combined"),
        ('body = {mass = 1.0}\non = "arm"', "body.*and on cannot be combined"),
        ("body = {mass = 0.0}", "body.mass.*must be greater than 0"),
        ("body = {velocity = [0, 0, 1]}", "exactly one of mass and density"),
        ("body = {mass = 1.0, density = 1.0}", "exactly one of mass and density"),
        ("body = {density = 1.0, centre = [0, 0, 0]}", "centre.*not allowed together with density"),
        ("body = {mass = 1.0, inertia = [1, 1, 1]}", "body.centre: is missing"),
        ("body = {mass = 1.0, centre = [1, 1, 1]}", "body.inertia: is missing"),
        ("body = {mass = 1.0, centre = [0, 0, 0], inertia = [1, 1, 0]}", "principal moment 0 kg"),
        ("body = {mass = 1.0, centre = [0, 0, 0], inertia = [1, 1, 2.1]}", "larger than the sum of the others"),
        ("body = {mass = 1.0, centre = [0, 0, 0], inertia = [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]}", "must be symmetric"),
        ("body = {mass = 1.0, centre = [0, 0, 0], inertia = [[1, 2, 0], [2, 1, 0], [0, 0, 1]]}", "principal moment -1"),
        ("body = {mass = 1.0, free_rotation = [true, true, false]}", "free one or all, or give a hinge"),
        ("body = {mass = 1.0, velocity = [0, 0, 1], free_translation = [true, true, false]}", "goes where free_tr"),
        (f"body = {{mass = 1.0, {GOOD}, hinge = {{axis = [0, 0, 0]}}}}", "hinge.axis.*is not a direction"),
        (
            f"body = {{mass = 1.0, {GOOD}, hinge = {{axis = [0, 0, 1]}}, angular_velocity = [0, 1, 1]}}",
            "along hinge.axis",
        ),
        (f"body = {{mass = 1.0, {GOOD}, hinge = {{axis = [0, 0, 1]}}, velocity = [0, 1, 1]}}", "give angular_velocity"),
        (
            f"body = {{mass = 1.0, {GOOD}, hinge = {{axis = [0, 0, 1]}}, free_rotation = [true, false, true]}}",
            "not allowed together with hinge",
        ),
        ("body = {mas = 1.0}", "did you mean 'mass'"),
        ('rotation_table = {axis = [0, 0, 1], file = "a.csv", times = [0.0, 1.0]}', "not allowed together with times"),
        ("rotation_table = {axis = [0, 0, 1]}", "rotation_table.times: is missing; give times and angles, or a file"),
    ],
)
def test_what_is_wrong_with_a_driven_wall_is_said(wall, message):
    with pytest.raises(pdem.PdemError, match=message):
        case_of(wall)


@pytest.mark.parametrize(
    ("wall", "message"),
    [
        ("body = {mass = 1.0, velocity = [0, 0, 1]}", "must be 0 in a case of dimension 2"),
        (f"body = {{mass = 1.0, {GOOD}, hinge = {{axis = [0, 1, 1]}}}}", "along z"),
        ("servo = {axis = [0, 0, 1], force = 1.0, largest_rate = 1.0}", "must lie in the plane"),
    ],
)
def test_a_plane_case_has_plane_drives(wall, message):
    with pytest.raises(pdem.PdemError, match=message):
        case_of(wall, dimension=2)


def test_in_the_plane_a_body_turns_about_z_alone():
    (body,) = drives_of(case_of(f"body = {{mass = 2.0, {GOOD}}}", dimension=2), [quad()]).values()
    np.testing.assert_array_equal(body.inverse_mass, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(body.inverse_inertia(), np.diag([0.0, 0.0, 1e3]))


def test_a_driven_case_reads_the_same_again():
    for wall in (
        "body = {mass = 1.0, centre = [0, 0, 0], inertia = [1, 2, 2.5], hinge = {axis = [0, 1, 0]}}",
        "servo = {axis = [0, 0, 1], torque_table = {times = [0.0, 1.0], values = [1.0, 2.0]}, centre = [0, 0, 0], "
        "largest_rate = 1.0}",
    ):
        case = case_of(wall)
        again = pdem.Case.from_text(case.to_toml())
        (one,), (other,) = (list(drives_of(each, [quad()]).values()) for each in (case, again))
        assert vars(one).keys() == vars(other).keys()
        np.testing.assert_array_equal(one.state(), other.state())
        assert again.walls[0].model_dump(exclude_unset=False) == case.walls[0].model_dump(exclude_unset=False)


@pytest.mark.parametrize("seed", range(8))
def test_a_turned_box_has_its_volume_centre_and_inertia(seed):
    """With facets turned at random, somewhere in space."""
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(seed)
    turn, sides, place = (
        Rotation.random(random_state=seed).as_matrix(),
        rng.uniform(0.01, 0.1, 3),
        rng.uniform(-3, 3, 3),
    )
    plain = box(-0.5 * sides, 0.5 * sides)
    loops = [plain.loop(facet)[:: rng.choice([-1, 1])] for facet in range(6)]
    solid = solid_of(Mesh(plain.vertices @ turn.T + place, loops))
    x, y, z = sides**2
    inertia = sides.prod() / 12.0 * np.diag([y + z, x + z, x + y])
    assert solid.volume == pytest.approx(sides.prod(), rel=1e-12)
    np.testing.assert_allclose(solid.centre, place, atol=1e-13)
    np.testing.assert_allclose(solid.inertia, turn @ inertia @ turn.T, atol=1e-9 * inertia.max())


def findings(wall, mesh, step=None):
    case = case_of(wall)
    case.override('domain.outside="remove"')  # nothing is below the particle
    if step is not None:
        case.override(f"time.step={step}")
    return [str(one) for one in preflight(case, initial_particles(case, [mesh]), [mesh]) if one.level != "info"]


def test_a_body_without_volume_is_refused():
    mesh = quad(0.1)
    (error,) = findings("body = {density = 1000.0}", mesh)
    assert "error: wall one: 1 of 1 facets close no volume; close the mesh, or give mass, centre and inertia" in error
    with pytest.raises(pdem.PdemError, match=r"walls\[0\].body: wall one: 1 of 1 facets"):
        pdem.Simulation(case_of("body = {density = 1000.0}"), meshes=[mesh])


def test_a_light_body_shortens_the_step():
    rest = automatic_step(case_of(""))
    assert automatic_step(case_of("body = {mass = 1e-9, free_rotation = [false, false, false]}")) < 0.2 * rest
    heavy = automatic_step(case_of("body = {mass = 1e3, free_rotation = [false, false, false]}"))
    assert heavy == pytest.approx(rest, rel=1e-6)
    mesh = box([-0.1] * 3, [0.1] * 3)
    assert not findings("body = {density = 1000.0}", mesh)
    (warning,) = findings("body = {density = 1e-4}", mesh)
    assert "warning: time step" in warning
    assert "at once, on a body of 8e-07 kg; use at most" in warning


def test_a_servo_too_fast_for_its_load_is_warned_of():
    mesh = quad(0.1)
    assert not findings("servo = {axis = [0, 0, -1], force = -1.0, largest_rate = 0.1}", mesh, 2e-5)
    (warning,) = findings("servo = {axis = [0, 0, -1], force = -1e-3, largest_rate = 1.0}", mesh, 2e-5)
    assert "warning: wall one: one step at servo.largest_rate presses a sphere by" in warning


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time, angle\n0, 0\n1, 0.5\n2, x\n", r'line 4: "x" is not a number'),
        ("0 0\n1 0.5\n1 0.7\n", r"line 3: time 1 s follows 1 s; times must rise"),
        ("0 0 0\n1 0.5 0\n", r"line 1 has 3 columns; needed: time, angle"),
        ("# nothing\n0 0\n", "has 1 rows of numbers; a table needs two or more"),
        ("0 0\n1 nan\n", 'line 2: "nan" is not a finite'),
    ],
)
def test_what_is_wrong_with_a_table_file_is_said(tmp_path, text, message):
    (tmp_path / "table.csv").write_text(text)
    case = case_of('rotation_table = {axis = [0, 0, 1], file = "table.csv"}', tmp_path)
    with pytest.raises(CaseError, match=rf"table.csv: {message}"):
        motion_of(case.walls[0], case.motions, case.directory)


def test_tables_from_files_are_those_in_the_case(tmp_path):
    with pytest.raises(CaseError, match=r"none\.csv: cannot be read.*folder of the case"):
        case_of('rotation_table = {axis = [0, 0, 1], file = "none.csv"}', tmp_path).resolved_step()
    (tmp_path / "a.csv").write_text("t;angle\n0.0;0.0\n1.0;0.5 # a comment\n\n2.0;0.25\n")
    (tmp_path / "b.txt").write_text("0.0 0 0 0\n1.0 0.1 0.2 0.3\n")
    one = case_of('rotation_table = {axis = [0, 0, 1], file = "a.csv"}\ntranslation_table = {file = "b.txt"}', tmp_path)
    other = case_of(
        "rotation_table = {axis = [0, 0, 1], times = [0.0, 1.0, 2.0], angles = [0.0, 0.5, 0.25]}\n"
        "translation_table = {times = [0.0, 1.0], displacements = [[0, 0, 0], [0.1, 0.2, 0.3]]}"
    )
    first, second = (motion_of(case.walls[0], case.motions, case.directory) for case in (one, other))
    assert first.parts == second.parts


def nearest(limbs):
    """Return the double nearest to a sum, without haste."""
    total = sum(limb << (32 * place) for place, limb in enumerate(limbs.tolist()))
    return float(Fraction(total, 1 << 1152))


def test_exact_values_are_those_of_exact_sums():
    rng = np.random.default_rng(1)
    sums = ExactSums(["a", "b", "c", "none"])
    for name in "abc":
        sums.add(name, rng.normal(size=50) * 10.0 ** rng.uniform(-200, 200, 50))
    sums.add("c", -np.array([1e300, 5e-324]))
    values = exact_values(sums.limbs)
    assert sums.limbs.shape[1] == LIMBS
    assert values.tolist() == [nearest(row) for row in sums.limbs]
    assert list(sums.values().values()) == values.tolist()

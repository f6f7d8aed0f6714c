"""Particles in text files: names of columns, dividers and encodings of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.fills import case_of
from helpers.text_files import ENDS, WAYS
from pdem.case.groups.particle_files import read_particle_file
from pdem.foundation.errors import CaseError

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.array([[0.1, 0.2, 0.3, 0.01], [0.4, 0.5, 0.6, 0.02], [0.7, 0.25, 0.125, 0.03]])


def read(path: Path, content: str | bytes, parts: int = 1) -> dict[str, np.ndarray]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    case = case_of(f'file = "{path.name}"', directory=path.parent)
    found = [read_particle_file(case, 0, part, parts) for part in range(parts)]
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def lines_of(rows: np.ndarray, divider: str, heading: str = "") -> list[str]:
    return [heading] * bool(heading) + [divider.join(map(repr, row)) for row in rows.tolist()]


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("divider", [",", ";", "\t"])
@pytest.mark.parametrize("heading", ["", "x,y,z,radius", "# x,y,z,r", "# K\u00f6", '"X [m]","Y [m]","Z [m]","R [m]"'])
def test_files_of_all_programs_are_read_by_parts(tmp_path, heading, divider, way, end, parts):
    text = end.join(lines_of(ROWS, divider, heading.replace(",", divider)))
    for content in (WAYS[way](text + end), text.encode("cp1252")):
        found = read(tmp_path / "grains.csv", content, parts)
        np.testing.assert_array_equal(found["position"], ROWS[:, :3])
        np.testing.assert_array_equal(found["radius"], ROWS[:, 3])
        assert not found["velocity"].any()


@settings(max_examples=60)
@given(
    st.permutations(["x", "y", "z", "radius", "vx", "vy", "vz", "omega_x", "omega_y", "omega_z"]),
    st.integers(1, 4),
    st.integers(0, 30),
    st.sampled_from([",", ";", "\t", " "]),
)
def test_columns_are_read_by_their_names(tmp_path_factory, names, parts, count, divider):
    table = np.random.default_rng(count).uniform(0.1, 0.9, (count, 10))
    text = "\n".join(lines_of(table, divider, divider.join(names)))
    found = read(tmp_path_factory.mktemp("named") / "a.csv", text, parts)
    place = {name: table[:, names.index(name)] for name in names}
    np.testing.assert_array_equal(found["radius"], place["radius"])
    for vector, letters in (("position", "{}"), ("velocity", "v{}"), ("angular_velocity", "omega_{}")):
        expected = np.column_stack([place[letters.format(axis)] for axis in "xyz"])
        np.testing.assert_array_equal(found[vector], expected)


def test_names_that_say_nothing_leave_the_usual_order(tmp_path):
    found = read(tmp_path / "a.csv", "\n".join(lines_of(ROWS, ";", "one;two;three;four")))
    np.testing.assert_array_equal(found["radius"], ROWS[:, 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y,z,d\n0.1,0.2,0.3,0.01\n", 'line 1 names a column "d", the diameter; pdem takes the radius, which'),
        ("# x y z d\n0.1 0.2 0.3 0.01\n", 'line 1 names a column "d", the diameter'),
        ("X;Y;Z;Diameter [m]\n0.1;0.2;0.3;0.01\n", 'names a column "Diameter [m]", the diameter'),
        ("x,y,z,radius,diameter\n0.1,0.2,0.3,0.01,0.02\n", 'names a column "diameter"'),
        ("x [mm],y,z,radius\n0.1,0.2,0.3,0.01\n", 'column "x [mm]" is in mm; numbers are in SI units, convert it to m'),
        ("# x_mm,y_mm,z_mm,r_mm\n0.1,0.2,0.3,0.01\n", 'column "x_mm" is in mm'),
        ("x,y,z,radius,vx\n0.1,0.2,0.3,0.01,0\n", "line 1 has 5 columns, named x, y, z, radius, vx; allowed: x, y, z"),
        ("id,x,y,z,r\n1,0.1,0.2,0.3,0.01\n", "each once: take the others out"),
        ("x,y,z,size\n0.1,0.2,0.3,0.01\n", "line 1 has 4 columns, named x, y, z, size; allowed"),
        ("x,y,x,r\n0.1,0.2,0.3,0.01\n", "named x, y, x, r; allowed"),
        ("# z y x r\n0.1 0.2 0.3 0.01\n", "line 1 names the columns z, y, x, r in a comment, where x, y, z, radius"),
        ("x,y,z,r\n0.1,0.2,0.3\n", "line 2 has 3 columns; allowed: 4, as the line of names"),
        ("x,y,z,r\nx,y,z,r\n0.1,0.2,0.3,0.01\n", 'line 2: "x" is not a number'),
        ("0,1;0,2;0,3;0,01\n", 'line 1: "0,1" is not a number; decimals are written with a point'),
        ("0,1 0,2 0,3 0,01\n", 'line 1: "0,1" is not a number; decimals are written with a point'),
        ("0,1\t0,2\t0,3\t5\n", 'line 1: "0,1" is not a number; decimals are written with a point'),
        ("O.1,0.2,0.3,0.01\n0.1,0.2,0.3,0.01\n", 'line 1: "O.1" is not a number'),
        ("0.1,,0.3,0.01\n", "line 1: column 2 is empty"),
        ("0.1 0.2 0.3 0.01 5\n", "line 1 has 5 columns; allowed: 4 (x y z radius) or 7"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, message, mark):
    with pytest.raises(CaseError) as caught:
        read(tmp_path / "a.csv", mark + text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_know_the_number_of_a_wrong_line(tmp_path, parts):
    lines = lines_of(np.repeat(ROWS, 20, axis=0), ",", "\ufeffx,y,z,r")
    lines[50] = "0.1,0.2,zero,0.01"
    with pytest.raises(CaseError, match='line 51: "zero" is not a number'):
        read(tmp_path / "a.csv", "\n".join(lines), parts)

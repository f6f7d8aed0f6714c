"""Tables against time in files: what Excel, Matlab and editors write is read, and no row is lost in silence."""

from __future__ import annotations

import codecs

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.text_files import ENDS, WAYS
from pdem.case.time_tables import read_table
from pdem.foundation.errors import CaseError

TIMES, ANGLES = (0.0, 0.5, 2.0), ((0.0,), (0.25,), (-1e-3,))


def table(path, content, names=("angle",)):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, names)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize("divider", [",", ";", "\t", " ", " , ", " ; "])
@pytest.mark.parametrize(
    "heading", ["", "time,angle", '"Time [s]","angle (rad)"', "s,rad", "# time,angle", "# Gr\u00f6\u00dfe", "t,W\u00fc"]
)  # fmt: skip
def test_all_rows_are_read(tmp_path, heading, divider, way, end):
    lines = [heading] * bool(heading) + ["0,0", "0.5,0.25", "2,-1e-3"]
    text = end.join(line.replace(",", divider) for line in lines) + end
    for content in (WAYS[way](text), text.encode("cp1252")):
        assert table(tmp_path / "angles.csv", content) == (TIMES, ANGLES)


@given(
    st.lists(st.tuples(st.floats(0.01, 10.0), st.floats(-1e6, 1e6)), min_size=2, max_size=30),
    st.sampled_from([",", ";", "\t", ", "]),
    st.booleans(),
    st.booleans(),
)
def test_tables_come_back(tmp_path_factory, rows, divider, mark, heading):
    times = np.cumsum([step for step, _ in rows]).tolist()
    lines = [f"{time!r}{divider}{value!r}" for time, (_, value) in zip(times, rows, strict=True)]
    content = codecs.BOM_UTF8 * mark + "\r\n".join([f"t{divider}phi"] * heading + lines).encode()
    found = table(tmp_path_factory.mktemp("table") / "a.csv", content)
    assert found == (tuple(times), tuple((value,) for _, value in rows))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("O,0\n1,1\n2,2\n", 'line 1: "O" is not a number'),
        ("0.,O\n1,1\n2,2\n", 'line 1: "O" is not a number'),
        ("time,angle\nO,0\n1,1\n", 'line 2: "O" is not a number'),
        ("time,angle\ns,rad\n0,0\n1,1\n", 'line 2: "s,rad" are no numbers; the first line alone may name the columns'),
        ("0,0;0,5\n1,0;0,7\n", 'line 1: "0,0" is not a number; decimals are written with a point'),
        ("0,0\t0,5\n1,0\t0,7\n", 'line 1: "0,0" is not a number; decimals are written with a point'),
        ("0,0,0,5\n1,0,0,7\n", "line 1 has 4 columns; needed: time, angle; if commas are decimal signs, write points"),
        ("0,1\n1\n", "line 2 has 1 columns; needed: time, angle"),
        ("0,,1\n1,,2\n", 'line 1: column 2 is empty in "0,,1"'),
        (",0,1\n", 'line 1: column 1 is empty in ",0,1"'),
        ("0,1\n1,nan\n", 'line 2: "nan" is not a finite number'),
        ("0,1\n1,1e999\n", 'line 2: "1e999" is not a finite number'),
        ("0,1\n0,2\n", "line 2: time 0 s follows 0 s; times must rise"),
        ("angle,time\n0,0\n1,1\n", 'line 1: column 1 is named "angle", and time is read there; the columns are'),
        ("# angle time\n0,0\n1,1\n", 'line 1: column 1 is named "angle"'),
        ("time,angle [deg]\n0,0\n1,1\n", 'line 1: column "angle [deg]" is in deg; numbers are in SI units'),
        ("time_ms angle\n0 0\n1 1\n", 'column "time_ms" is in ms'),
        ("time;angle\n", "has 0 rows of numbers; a table needs two or more"),
        ("0 1\n", "has 1 rows of numbers"),
        (b"PK\3\4\0\0", "is no text"),
        ("<html></html>", "is a web page"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path, content, message):
    with pytest.raises(CaseError) as caught:
        table(tmp_path / "a.csv", content)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'a.csv'}: ")
    assert "\n" not in str(caught.value)


def test_vectors_are_named_by_their_letters(tmp_path):
    text = "time,vx [m/s],vy,vz\n0,1,2,3\n1,4,5,6\n"
    assert table(tmp_path / "v.csv", text, ("x", "y", "z"))[1] == ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    with pytest.raises(CaseError, match='column 2 is named "vy", and x is read there'):
        table(tmp_path / "v.csv", text.replace("vx [m/s],vy", "vy,vx"), ("x", "y", "z"))
    with pytest.raises(CaseError, match=r"is in mm/s; .* convert it to m/s"):
        table(tmp_path / "v.csv", text.replace("[m/s]", "[mm/s]"), ("x", "y", "z"))

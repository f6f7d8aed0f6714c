"""Tables of drop-weight tests: units, and mistakes with their lines; the command, its text and its picture."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.drop_weights import drawn
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.laboratory.drop_weights import drop_weights_of, read_drop_weights
from pdem.laboratory.fracture_fit import FRACTURE_KEYS, fit_drop_weights
from pdem.laboratory.fracture_report import goodness, report_lines

HEAD = "size [mm],energy [J/kg],broken,tested\n"
ROWS = "5,100,1,20\n5,200,9,20\n"


def written(path, text):
    path.write_text(text)
    return path


def test_columns_have_any_order_and_units(tmp_path):
    text = "# ore\ntested; place; broken; Energy [kWh/t]; size (mm)\n20; a; 3; 0.05; 5\n20; b; 12; 0.1; 10 # two\n\n"
    table = read_drop_weights(written(tmp_path / "ore.csv", text))
    assert table.size == pytest.approx([0.005, 0.01])
    assert table.energy == pytest.approx([180.0, 360.0])
    assert table.broken.tolist() == [3, 12]
    assert table.tested.tolist() == [20, 20]
    text = "size energy broken tested\n0.005 100 1 9\n0.005 200 4 9\n"
    plain = read_drop_weights(written(tmp_path / "plain.csv", text))
    assert plain.size.tolist() == [0.005, 0.005]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("", "has no rows; give a table with the columns size"),
        (ROWS, "line 1: .* has no names of columns; begin with size"),
        ("size [mm],energy [J/kg],broken\n5,100,1\n", "line 1: the column tested is missing"),
        ("size,size,energy,broken,tested\n", "line 1: the column size is there twice"),
        ("size [inch],energy,broken,tested\n" + ROWS, "line 1: the column size is in inch; give m or cm or mm"),
        ("size [mm],energy [J],broken,tested\n" + ROWS, r"the column energy is in J; give J/kg or kJ/kg or kWh/t"),
        (HEAD, "the table has no rows, which determines no spread"),
        (HEAD + "5,100,1,20\n", "the table has 1 row, which determines no spread; give two energies at least"),
        (HEAD + "5,100,1,20\n5,100,3,20\n", "all rows have the size 0.005 m and the energy 100 J/kg"),
        (HEAD + ROWS + "5,300,21,20\n", "line 4: 21 of 20 tested particles broke; broken is a number of particles"),
        (HEAD + ROWS + "5,300,-1,20\n", "line 4: broken is -1; give a whole number of at least 0"),
        (HEAD + ROWS + "5,300,0.5,20\n", "line 4: broken is 0.5; give a whole number"),
        (HEAD + ROWS + "5,300,0,0\n", "line 4: tested is 0; give a whole number of at least 1"),
        (HEAD + ROWS + "-5,300,2,20\n", "line 4: size is -0.005; give sizes above 0"),
        (HEAD + ROWS + "5,0,2,20\n", "line 4: energy is 0; give energies above 0"),
        (HEAD + ROWS + "5,nan,2,20\n", "line 4: .*nan.* is not a finite number"),
        (HEAD + ROWS + "5,many,2,20\n", "line 4: .*many.* is not a number"),
        (HEAD + ROWS + "5,300,2\n", "line 4: .* has 3 columns, not 4 numbers"),
        (HEAD + "5,100,0,20\n5,200,0,20\n", "none of the particles broke, .* give higher energies"),
        (HEAD + "5,100,20,20\n5,200,9,9\n", "all of the particles broke, .* give lower energies"),
        ("size,energy,broken,tested\n" + ROWS, r"sizes up to 5 m are no sizes of particles; give m, or the heading"),
    ],
)  # fmt: skip
def test_mistakes_in_tables_are_named(tmp_path, text, fact):
    path = written(tmp_path / "ore.csv", text)
    with pytest.raises(InputError, match=fact) as caught:
        read_drop_weights(path)
    assert str(path) in str(caught.value)


def test_mistakes_in_columns_are_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_drop_weights(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no column 'tested'"):
        drop_weights_of({"size": [1], "energy": [1], "broken": [1]})
    with pytest.raises(InputError, match="one number for each row"):
        drop_weights_of(drawn(0) | {"tested": [1, 2]})
    with pytest.raises(InputError, match=r"row 2: broken is nan"):
        drop_weights_of(drawn(0) | {"broken": np.where(np.arange(36) == 2, np.nan, 1.0)})


def table_file(path, columns):
    rows = np.column_stack([columns[name] for name in ("size", "energy", "broken", "tested")])
    lines = [f"{1e3 * a:.9g},{b:.9g},{c:.0f},{d:.0f}\n" for a, b, c, d in rows.tolist()]
    return written(path, HEAD + "".join(lines))


def invoke(*arguments):
    return CliRunner().invoke(main, ["fit", "breakage", *(str(one) for one in arguments)])


def test_the_command_prints_keys_and_draws(tmp_path):
    path = table_file(tmp_path / "ore.csv", drawn(1))
    found = invoke(path, "--material", "ore")
    assert found.exit_code == 0, found.output
    assert f"wrote {tmp_path / 'ore_fit.png'}" in found.output
    assert (tmp_path / "ore_fit.png").stat().st_size > 20000
    begin = found.output.index("[materials.ore.breakage]")
    keys = tomllib.loads(found.output[begin : found.output.index("\nwrote")])["materials"]["ore"]["breakage"]
    fit = fit_drop_weights(path)
    assert keys.pop("model") == "tavares"
    assert keys.pop("greatest") == 4.0
    assert keys == {name: pytest.approx(fit[name].value, rel=1e-3) for name in FRACTURE_KEYS}
    assert "36 rows, 1080 particles of 6 sizes" in found.output
    assert "degrees of freedom, p = " in found.output


def test_a_table_that_tells_less_ends_with_code_1(tmp_path):
    one = invoke(table_file(tmp_path / "one.csv", drawn(1, sizes=(5e-3,))), "--no-picture")
    assert one.exit_code == 1
    assert "one size determines no fracture_energy, size and exponent: test 3 sizes or more" in one.output
    assert "exponent = 1.0  # assumed: one size does not determine it" in one.output
    two = table_file(tmp_path / "two.csv", drawn(1, sizes=(5e-3, 10e-3)))
    found = invoke(two, "-o", tmp_path / "two.svg")
    assert found.exit_code == 1
    assert (
        "2 sizes determine no fracture_energy, size and exponent: test 3 sizes or more, or fix 1 of these"
        in found.output
    )
    assert "exponent =" not in found.output
    assert "<!-- 5 mm -->" in (tmp_path / "two.svg").read_text()
    assert invoke(two, "--no-picture", "--fix", "exponent=1.22").exit_code == 0
    small = invoke(table_file(tmp_path / "small.csv", drawn(0, sizes=(0.1e-3, 0.2e-3, 0.5e-3))), "--no-picture")
    assert small.exit_code == 1
    assert "the table does not determine fracture_energy: at most" in small.output
    assert "# not determined by the table; holds with the others from 0.0001 to 0.0005 m" in small.output
    assert not list(tmp_path.glob("*_fit.png"))


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--fix", "exponent"), "--fix 'exponent': has no '='; give KEY=VALUE, such as exponent=1.2"),
        (("--fix", "exponent=x"), "is not a number; give KEY=VALUE"),
        (("--fix", "phi=1"), "'phi' cannot be fixed"),
        (("--greatest", "0.5"), "greatest is 0.5; give a number above 1"),
        (("-o", "fit.xyz"), "no such picture format"),
    ],
)
def test_wrong_options_are_named(tmp_path, monkeypatch, options, fact):
    monkeypatch.chdir(tmp_path)
    found = invoke(table_file(tmp_path / "ore.csv", drawn(1)), *options)
    assert found.exit_code == 2
    assert fact in found.output


def test_how_well_the_model_fits_is_said():
    good = fit_drop_weights(drawn(1))
    assert goodness(good).endswith(": the model fits the table")
    noisy = drawn(1)
    noisy["broken"] = np.where(np.arange(36) % 2, np.minimum(noisy["broken"] + 8, 30), noisy["broken"])
    assert "the table scatters more than the model allows; errors are at least" in goodness(fit_drop_weights(noisy))
    single = {name: np.repeat(values, 20) for name, values in drawn(2, tested=1).items()}
    assert "rows of so few particles cannot contradict" in goodness(fit_drop_weights(single))
    exact = fit_drop_weights({"size": [0.01] * 2, "energy": [100, 200], "broken": [3, 10], "tested": [20, 20]})
    assert "as many unknowns as rows" in goodness(exact)
    assert "\n".join(report_lines(exact)).count("degrees of freedom") == 1

"""[[fields]] of a case: what is refused, what is doubtful, defaults; files and results of a run."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from pdem.features.fields.preflight import field_findings
from pdem.foundation.errors import CaseError, CheckpointError, InputError
from pdem.foundation.fields import Field
from pdem.output.snapshots.image_series import ImageSeries, Lattice, field_file, read_image, read_image_times

CASE = """
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.2, 0.1, 0.4]
periodic = [true, false, false]
[materials.glass]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.2
[interactions.glass-glass]
friction = 0.5
restitution = 0.5
[[particles]]
material = "glass"
radius = 0.01
positions = [[0.1, 0.05, 0.2]]
"""
FIELDS = {"name": '"a"', "cells": "[4, 1, 8]", "width": "0.01", "average": "0.1"}


def case(*several, text=CASE):
    tables = ["\n".join(f"{key} = {value}" for key, value in {**FIELDS, **one}.items()) for one in several or ({},)]
    return pdem.Case.from_text(text + "".join(f"\n[[fields]]\n{table}\n" for table in tables))


def test_corners_and_times_have_defaults():
    one = case({"average": "0.05"}).fields[0]
    assert (one.lower, one.upper) == ((0.0, 0.0, 0.0), (0.2, 0.1, 0.4))
    assert one.interval == pytest.approx(0.005)
    short = dict(FIELDS)
    del short["average"]
    text = CASE + "[output]\nsnapshots_every = 0.25\n[[fields]]\n" + "\n".join(f"{k} = {v}" for k, v in short.items())
    assert pdem.Case.from_text(text).fields[0].average == 0.25


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": '"a/b"'}, r'fields\[0\].name = "a/b": is part of the name of a file'),
        ({"upper": "[0.1, -0.1, 0.2]"}, r"fields\[0\].upper\[1\] = -0.1: must be greater than lower \(0\) along y"),
        ({"lower": "[0.0, 0.3, 0.0]", "upper": "[0.1, 0.4, 0.1]"}, "lies wholly outside the domain"),
        ({"upper": "[0.4, 0.1, 0.4]"}, r"longer than the periodic box \(0.2 m\) along x: what is there would count"),
        ({"lower": "[0.0, -0.5, 0.0]"}, r"cells of 0.6 m along y, longer than the domain \(0.1 m\) with three widths"),
        ({"cells": "[4, 1]"}, r"fields\[0\].cells"),
        ({"cells": "[4, 0, 1]"}, r"fields\[0\].cells\[1\]"),
        ({"cells": "[1000, 1000, 1000]"}, "make 1,000,000,000 cells, more than 10,000,000"),
        ({"width": "0.0"}, r"fields\[0\].width"),
        ({"width": "-1.0"}, r"fields\[0\].width"),
        ({"width": "0.25"}, r"width = 0.25: is longer than the domain \(0.2 m along x\), .* narrow it: it is in m"),
        ({"width": "0.09", "cells": "[99, 99, 99]"}, r"0.09: shares a particle among [0-9,]* cells, more than 2,0"),
        ({"kernel": '"lucie"'}, r"fields\[0\].kernel"),
        ({"every": "0.2"}, r"every = 0.2: is longer than average \(0.1 s\)"),
        ({"average": "2.0"}, r"average = 2.0: is longer than the run \(1 s\): nothing would be written"),
        ({"by": '"size"'}, r"fields\[0\].by"),
        ({"cell": "1"}, r"fields\[0\].cell .*cells"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(given, said):
    with pytest.raises(CaseError, match=said):
        case(given)


def test_names_are_different():
    with pytest.raises(CaseError, match=r"fields\[1\].name = .*\('a'\) is taken by fields\[0\]"):
        case({}, {})


def test_in_two_dimensions_there_is_one_cell_along_z():
    flat = CASE.replace("[domain]", "[domain]\ndimension = 2")
    with pytest.raises(CaseError, match=r"fields\[0\].cells\[2\] = 8: must be 1"):
        case(text=flat)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"every": "1e-6"}, "shorter than the time step"),
        ({"width": "0.001"}, "less than a quarter of the smallest radius"),
        ({"width": "0.1", "cells": "[40, 20, 80]"}, "up to 20 times as short as the width"),
        ({"lower": "[0.0, -0.02, 0.0]"}, r"cells are 0.12 m long along y, longer than the domain (0.1 m)"),
        ({}, "4x1x8 cells of 0.05 x 0.1 x 0.05 m, means of 10 samples every 0.1 s"),
    ],
)
def test_what_is_doubtful_is_told_before_a_run(given, said):
    texts = [str(finding) for finding in field_findings(case(given), 1e-5, 0.01)]
    assert any(said in text for text in texts)
    assert len(texts) == 1 + bool(given)


FIELDS_OF_FILE = (Field("a", np.float64, (), "1", "one"), Field("s", np.float64, (3, 3), "Pa", "nine"))
LATTICE = Lattice((2, 3, 4), (0.0, 1.0, 2.0), (0.1, 0.2, 0.3))


def written(path, steps=(0, 10, 20), **options):
    series, columns = ImageSeries(path, LATTICE, FIELDS_OF_FILE, {"pdem": "x"}, **options), []
    for step in steps:
        rng = np.random.default_rng(step)
        columns.append({"a": rng.random((2, 3, 4)), "s": rng.random((2, 3, 4, 3, 3))})
        series.write(0.1 * step, step, columns[-1], step + 1)
    return series, columns


def test_vtk_reads_all_steps(tmp_path):
    hdf, numpy_support = (
        pytest.importorskip("vtkmodules.vtkIOHDF"), pytest.importorskip("vtkmodules.util.numpy_support")
    )  # fmt: skip
    path = tmp_path / field_file("x")
    _, columns = written(path)
    reader = hdf.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == 3
    for number, expected in enumerate(columns):
        reader.SetStep(number)
        reader.Update()
        image = reader.GetOutput()
        np.testing.assert_allclose(image.GetBounds(), [0.0, 0.2, 1.0, 1.6, 2.0, 3.2])
        for name, column in expected.items():
            found = numpy_support.vtk_to_numpy(image.GetCellData().GetArray(name))
            turned = column.transpose(2, 1, 0, *range(3, column.ndim)).reshape(24, -1)
            np.testing.assert_array_equal(found.reshape(24, -1), turned)


def test_a_file_goes_on_where_the_run_does(tmp_path):
    path = tmp_path / "x.vtkhdf"
    _, columns = written(path)
    series, again = written(path, (15, 25), resume_step=12)
    assert not series.conflict
    np.testing.assert_allclose(read_image_times(path), [0.0, 1.0, 1.5, 2.5])
    image = read_image(path, 1)
    np.testing.assert_array_equal(image.columns["a"], columns[1]["a"])
    np.testing.assert_array_equal(read_image(path).columns["s"].reshape(2, 3, 4, 3, 3), again[1]["s"])
    assert (image.step, image.samples, image.lattice) == (10, 11, LATTICE)
    other = ImageSeries(path, LATTICE._replace(cells=(3, 3, 4)), FIELDS_OF_FILE, resume_step=12)
    assert other.conflict
    with pytest.raises(InputError, match="has 4 steps and step 7 was asked for"):
        read_image(path, 7)
    with pytest.raises(InputError, match="lacks s"):
        series.write(1.0, 100, {"a": columns[0]["a"]})


def test_a_torn_file_is_kept_aside(tmp_path, caplog):
    path = tmp_path / "x.vtkhdf"
    path.write_bytes(b"torn")
    written(path, (5,), resume_step=3)
    assert "kept as x.vtkhdf.torn-1 and a new file begun" in caplog.text
    assert len(read_image_times(path)) == 1
    with pytest.raises(CheckpointError, match="is no file of fields of pdem"):
        read_image(tmp_path / "x.vtkhdf.torn-1")


def test_a_run_writes_them_and_results_have_them(tmp_path):
    text = CASE.replace("end = 1.0", "end = 1e-3") + f'[output]\nfolder = "{tmp_path / "out"}"\n'
    run = pdem.Simulation(case({"average": "4e-4", "every": "1e-4"}, text=text), threads=1)
    run.run()
    results = pdem.Results(tmp_path / "out")
    assert results.field_names == ["a"]
    series = results.fields("a")
    np.testing.assert_allclose(series.times, [4e-4, 8e-4])
    assert len(list(series)) == 2
    assert series.at(5e-4).density.sum() == series[0].density.sum() > 0.0
    mean, mass = series.mean(), 2500.0 * 4.0 / 3.0 * np.pi * 0.01**3
    assert mean.density.sum() * mean.cell_volume == pytest.approx(mass, rel=1e-12)
    assert run.fields["a"].density.sum() == pytest.approx(mean.density.sum())
    assert "2 fields until 0.0008 s" in repr(series)
    with pytest.raises(InputError, match=r"no fields 'b' have been written; .*a"):
        results.fields("b")
    with pytest.raises(InputError, match="no fields from 5 to"):
        series.mean(5.0)
    with pytest.raises(InputError, match="holds a run"):
        pdem.Simulation(run.case).run()
    run = pdem.Simulation(run.case)
    run.run(overwrite=True)
    assert len(results.fields("a")) == 2

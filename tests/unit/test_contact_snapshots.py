"""Files of contacts read back exactly, by our reader and by the one ParaView uses, also after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.foundation.errors import InputError
from pdem.output.compare import compare
from pdem.output.snapshots import vtkhdf
from pdem.output.snapshots.contact_snapshots import ENDS, ContactSnapshots, contact_fields, read_contacts
from pdem.output.snapshots.growing_snapshots import last_snapshot

FIELDS = contact_fields(energies=True, ages=True)
COUNTS = [3, 0, 5, 3, 0, 1]


def contacts(count, seed=0):
    rng = np.random.default_rng(seed)
    columns = {one.name: (1e3 * rng.normal(size=(count, *one.shape))).astype(one.dtype) for one in FIELDS}
    return columns | {"first": np.arange(count), "second": np.arange(count) + 7, ENDS: rng.normal(size=(count, 2, 3))}


@pytest.fixture
def path(tmp_path):
    file = ContactSnapshots(tmp_path / "contacts.vtkhdf", FIELDS, {"title": "test"})
    for step, count in enumerate(COUNTS):
        file.write(0.1 * step, 10 * step, contacts(count, step))
    file.close()
    return file.path


def require(path, counts):
    assert len(vtkhdf.read_times(path)) == len(counts)
    for step, count in enumerate(counts):
        found, expected = read_contacts(path, step), contacts(count, step)
        for one in FIELDS:
            assert found[one.name].dtype == one.dtype
            assert found[one.name].tobytes() == expected[one.name].tobytes()
        assert found["centre"].tobytes() == expected[ENDS][:, 0].tobytes()
        assert np.array_equal(found["branch"], expected[ENDS][:, 1] - expected[ENDS][:, 0])


def test_every_step_reads_back(path):
    require(path, COUNTS)
    assert last_snapshot(path) == (50, 0.5)


def test_vtk_reads_the_same(path):
    io, numpy_support = (
        pytest.importorskip("vtkmodules.vtkIOHDF"), pytest.importorskip("vtkmodules.util.numpy_support")
    )  # fmt: skip
    reader = io.vtkHDFReader()
    reader.SetFileName(str(path))
    for step, count in enumerate(COUNTS):
        reader.SetStep(step)
        reader.Update()
        lines, expected = reader.GetOutput(), contacts(count, step)
        assert lines.GetNumberOfLines() == lines.GetNumberOfCells() == count
        for number in range(count):
            cell = lines.GetCell(number)
            ends = [lines.GetPoint(cell.GetPointId(end)) for end in range(2)]
            assert np.array_equal(ends, expected[ENDS][number])
        for one in FIELDS if count else ():
            column = numpy_support.vtk_to_numpy(lines.GetCellData().GetArray(one.name))
            assert np.array_equal(column, expected[one.name])


@pytest.mark.parametrize("kept", range(1, len(COUNTS)))
def test_a_continued_file_drops_what_is_later(path, kept):
    file = ContactSnapshots(path, FIELDS, {}, resume_step=10 * (kept - 1))
    file.open()
    require(path, COUNTS[:kept])
    for step in range(kept, len(COUNTS)):
        file.write(0.1 * step, 10 * step, contacts(COUNTS[step], step))
    file.close()
    require(path, COUNTS)


def test_other_columns_conflict(path):
    assert ContactSnapshots(path, contact_fields(energies=True, ages=False), {}, resume_step=10).conflict
    assert not ContactSnapshots(path, FIELDS, {}, resume_step=10).conflict


def test_contacts_are_compared_by_their_bodies(path, tmp_path):
    other = ContactSnapshots(tmp_path / "other.vtkhdf", FIELDS)
    changed = contacts(1, 5)
    changed["force"] = changed["force"] + 1.0
    other.write(0.5, 50, changed)
    other.close()
    assert compare(path, path).equal
    found = compare(path, other.path)
    assert not found.equal
    assert "contacts/force: 1 of 1 rows differ, first first/second/wall 0-7" in str(found)


def test_a_column_that_is_missing_is_named(tmp_path):
    file = ContactSnapshots(tmp_path / "contacts.vtkhdf", FIELDS)
    columns = contacts(2)
    del columns["overlap"]
    with pytest.raises(InputError, match="needs overlap for all 2 contacts"):
        file.write(0.0, 0, columns)

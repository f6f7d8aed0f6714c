"""Results of a run in Python, and what the commands make of them."""

from __future__ import annotations

import csv
import shutil
import sys

import meshio
import numpy as np
import pytest
from click.testing import CliRunner

import pdem
from helpers.cases import quad
from helpers.inlets import BOX, case_of, inlet
from pdem.cli import main
from pdem.foundation.errors import InputError

REGION = {"lower": [-0.1, -0.1, 0.0], "upper": [0.0, 0.1, 0.1]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a simulation at its end, and its folder."""
    folder = tmp_path_factory.mktemp("results")
    quad(half=0.2, height=-0.001).write(folder / "floor.vtk")
    case = case_of(
        inlet(region=BOX, velocity=[0.0, 0.0, -2.0], count=30), folder=folder, title="thirty <grains>",
        walls=[{"name": "floor", "mesh": "floor.vtk", "material": "steel"}],
        time={"step": 2e-5, "end": 4e-3},
        output={"folder": str(folder / "out"), "snapshots_every": 1e-3, "series_every": 4e-4},
    )  # fmt: skip
    simulation = pdem.Simulation(case, threads=1)
    simulation.run()
    return simulation, folder / "out"


def test_the_series_has_names_and_units(run):
    simulation, folder = run
    series = pdem.Results(folder).series
    assert len(series) == 11
    np.testing.assert_allclose(series["time"], np.arange(11) * 4e-4, rtol=1e-12)
    assert series.units["inlet_mass"] == "kg"
    assert series["inlet_count"][-1] == 30
    assert series["translation"][-1] == simulation.energies()["translation"]
    assert "time [s]" in repr(series)
    with pytest.raises(InputError, match="no column 'inlet_coutn'; did you mean 'inlet_count'"):
        series["inlet_coutn"]


def test_series_and_snapshots_are_frames_of_pandas(run):
    pytest.importorskip("pandas")
    results = pdem.Results(run[1])
    series, last = results.series.to_pandas(), results[-1]
    assert list(series) == list(results.series.names)
    assert series["inlet_mass"].tolist() == results.series["inlet_mass"].tolist()
    assert series.attrs["units"]["inlet_mass"] == "kg"
    frame = last.to_pandas()
    assert len(frame) == 30
    assert frame["id"].tolist() == last.id.tolist()
    for axis, end in enumerate("xyz"):
        assert frame[f"velocity_{end}"].tolist() == last.velocity[:, axis].tolist()
        assert frame.attrs["units"][f"velocity_{end}"] == "m/s"
    flat = sum(column.size // 30 for column in last.columns.values())
    assert frame.shape == (30, flat), "every component of every field is a column"
    assert frame["image_x"].dtype == last.image.dtype


def test_without_pandas_the_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    results = pdem.Results(run[1])
    for table in (results.series, results[-1]):
        with pytest.raises(InputError, match=r"pandas is not installed: pip install 'polydem\[pandas\]'"):
            table.to_pandas()


def test_contacts_that_have_not_been_written_are_explained(run):
    """Whatever is asked of them: no bare KeyError."""
    results = pdem.Results(run[1])
    absent = r"the run has written no contacts at 0.004 s: run it with output.contacts_every"
    assert not results[-1].contacts
    for ask in (lambda: results[-1].contacts["first"], lambda: results[-1].contacts.to_pandas()):
        with pytest.raises(InputError, match=absent):
            ask()
    with pytest.raises(InputError, match=r"the run has written no contacts: run it with output.contacts_every"):
        results.contacts_at(0.004)["normal_force"]


def test_snapshots_by_time(run):
    simulation, folder = run
    results = pdem.Results(folder)
    np.testing.assert_allclose(results.times, np.arange(5) * 1e-3, rtol=1e-12)
    assert [snapshot.step for snapshot in results] == [0, 50, 100, 150, 200]
    assert results.at(2.4e-3).step == 100
    last, gathered = results[-1], simulation.gather()
    for name in ("id", "position", "velocity", "radius", "force"):
        assert last[name].tobytes() == gathered[name].tobytes()
    assert last.position is last.columns["position"]
    inside = ((last.position >= REGION["lower"]) & (last.position <= REGION["upper"])).all(axis=1)
    assert last.inside(REGION).tolist() == inside.tolist()
    assert 0 < np.count_nonzero(inside) < 30
    assert len(last) == 30
    with pytest.raises(IndexError):
        results[5]
    assert [one.time for one in results[-2:]] == [one.time for one in results][-2:]
    with pytest.raises(TypeError, match=r"have numbers, results\[0\], .* not 0\.01; results\.at\(time\)"):
        results[0.01]
    with pytest.raises(AttributeError, match="no field 'positon'"):
        _ = last.positon
    with pytest.raises(InputError, match="no field 'positon'; did you mean 'position'"):
        last["positon"]
    with pytest.raises(InputError, match="is no region"):
        last.inside({"shape": "cone"})


def test_walls_have_their_loads(run):
    simulation, folder = run
    walls, loads = pdem.Results(folder)[-1].walls, simulation.wall_loads()
    floor = walls["floor"]
    assert floor.force.tobytes() == loads["floor"]["force"].tobytes()
    assert floor.force[2] < 0.0
    np.testing.assert_allclose(floor.facet_force.sum(axis=0), floor.force, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(floor.node_force.sum(axis=0), floor.force, rtol=1e-9, atol=1e-12)
    assert floor.vertices.shape == (4, 3)
    assert sorted(floor.facets[0].tolist()) == [0, 1, 2, 3]
    assert floor.pressure[0] > 0.0
    with pytest.raises(InputError, match="there is no wall 'flor'; did you mean 'floor'"):
        pdem.Results(folder)[-1].walls["flor"]


def test_case_log_and_pictures_of_notebooks(run):
    results = pdem.Results(run[1])
    assert results.case.insertions[0].count == 30
    assert "insertion inlet: 30 particles" in results.log
    shown = results._repr_html_()
    assert "thirty &lt;grains&gt;" in shown
    assert "inlet_count</td><td>30</td>" in shown
    assert "5 snapshots until 0.004 s" in repr(results)


def test_what_notebooks_show(run, monkeypatch):
    """Tables with escaped texts; pictures where they can be drawn, and no error where they cannot."""
    simulation, folder = run
    shown = simulation._repr_html_()
    assert "thirty &lt;grains&gt;" in shown
    assert f"translation</td><td>{simulation.energies()['translation']:.6g} J" in shown
    case = simulation.case._repr_html_()
    assert "materials.grain.density</td><td>2500.0" in case
    assert "output.checkpoints" not in case
    assert repr(simulation.case) == (
        "Case('thirty <grains>': 0.004 s, 2 materials, 2 interactions, 1 insertions, 1 walls)"
    )
    drawn = []
    for module in ("output.notebook", "run.reading.results", "run.reading.snapshot"):
        monkeypatch.setattr(f"pdem.{module}.picture_of", lambda *given: drawn.append(given) or b"\x89PNG")
    results = pdem.Results(folder)
    last = results[-1]
    snapshot = last._repr_html_()
    assert f"radius</td><td>{last.radius.min():.6g}</td>" in snapshot
    assert f"|velocity|</td><td>{np.linalg.norm(last.velocity, axis=1).min():.6g}" in snapshot
    assert "data:image/png;base64,iVBORw" in snapshot
    assert "data:image/png" in results._repr_html_()
    assert drawn == [(folder, last.time), (folder,)]
    monkeypatch.undo()
    monkeypatch.setattr("pdem.output.pictures.render.draw", lambda *given: 1 / 0)
    monkeypatch.setitem(__import__("sys").modules, "pyvista", None)
    assert "data:image" not in last._repr_html_()


def test_folders_without_results(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        pdem.Results(tmp_path / "none")
    with pytest.raises(InputError, match="holds no results"):
        pdem.Results(tmp_path)


def invoke(*arguments):
    found = CliRunner().invoke(main, [str(one) for one in arguments], standalone_mode=False)
    if found.exception is not None:
        raise found.exception
    return found


def test_plots(run, tmp_path):
    folder = run[1]
    assert "inlet_mass" in invoke("plot", folder, "--list").output
    path = tmp_path / "picture.svg"
    invoke("plot", folder, "inlet_*", "time", "--with", folder, "-o", path)
    text = path.read_text()
    assert text.count('<g id="axes_') == 3  # numbers, kilograms, seconds
    invoke("plot", folder, "inlet_count")
    assert (folder / "plot.png").stat().st_size > 5000


def test_plots_have_words_and_the_title_of_the_case(run, tmp_path):
    folder, path = run[1], tmp_path / "picture.svg"
    invoke("plot", folder, "inlet_count", "inlet_mass", "--mean", "-o", path)
    text = path.read_text()
    assert "thirty" in text, "the title of the case"
    assert "<!-- inlet_mass: mass that has come in; dashed: mean " in text
    twin = shutil.copytree(folder, tmp_path / "twin")
    invoke("plot", folder, "inlet_mass", "--with", twin, "--title", "Feed", "--label", "inlet_mass=fed mass",
           "--label", f"{folder}=before", "--from", "0", "-o", path)  # fmt: skip
    text = path.read_text()
    assert "<!-- Feed -->" in text
    assert "<!-- fed mass (before) -->" in text
    assert "<!-- mass [" in text


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--label", "inlet_mass"), "--label 'inlet_mass' has no '='; give NAME=TEXT"),
        (("--label", "inlet_mas=fed"), "no column or run of the plot; did you mean 'inlet_mass'"),
        (("--from", "1", "--to", "0.5"), "from 1 to 0.5 s are no range"),
        (("--from", "1e9"), "no line of the series is in the range; there are 0 to "),
    ],
)
def test_impossible_plots_are_named(run, tmp_path, options, fact):
    result = CliRunner().invoke(main, ["plot", str(run[1]), "inlet_mass", *options, "-o", str(tmp_path / "p.png")])
    assert result.exit_code == 2
    assert fact in result.output
    assert not list(tmp_path.iterdir())


def test_exports(run, tmp_path):
    folder, last = run[1], pdem.Results(run[1])[-1]
    for kind in ("extxyz", "csv", "vtu"):
        invoke("export", folder, "--format", kind, "--time", 1.0, "-o", tmp_path)
    head, keys, *rows = (tmp_path / "particles-000000200.xyz").read_text().splitlines()
    assert int(head) == len(rows) == 30
    assert keys.startswith("Properties=pos:R:3:")
    assert ":radius:R:1:" in keys
    np.testing.assert_array_equal(np.array([row.split()[:3] for row in rows], float), last.position)
    with (tmp_path / "particles-000000200.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["radius [m]"]) for row in table] == last.radius.tolist()
    assert [int(row["id [1]"]) for row in table] == last.id.tolist()
    mesh = meshio.read(tmp_path / "particles-000000200.vtu")
    assert mesh.points.tobytes() == last.position.tobytes()
    assert mesh.point_data["velocity"].tobytes() == last.velocity.tobytes()
    assert len(invoke("export", folder).output.splitlines()) == 2
    assert len(list((folder / "export").iterdir())) == 5

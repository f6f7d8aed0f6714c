"""Results of runs with bonds: snapshots, pictures, exports, replays of the fracture, and the first difference."""

from __future__ import annotations

import shutil
from functools import cache

import meshio
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import pdem
from helpers.bonded_blocks import CASE, bonded_case, lattice
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.output.pictures.render import render

pytestmark = pytest.mark.shares_law("bonds")

STEP, STEPS = 5e-7, 200
WEAK = "tensile_strength = 2e5\nshear_strength = 3e5"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function that runs a block with some strengths, once for each."""
    base, block = tmp_path_factory.mktemp("bonded"), lattice((4, 3, 3))
    speed = np.random.default_rng(1).normal(0.0, 0.8, (36, 3))
    np.savetxt(base / "block.csv", np.column_stack((block["position"], block["radius"], speed)), delimiter=",")

    @cache
    def make(keys):
        folder = base / f"run{len(list(base.iterdir()))}"
        outputs = [f'output.folder="{folder}"', f"time.end={STEPS * STEP}", "output.snapshots_every=1e-5"]
        particles = f'{keys}\n[[particles]]\nmaterial = "rock"\nfile = "{base / "block.csv"}"'
        case = bonded_case(particles, step=STEP).changed([*outputs, "output.checkpoint_every=2e-5"])
        pdem.Simulation(case).run()
        return folder

    return make


def test_snapshots_have_the_bonds_that_have_not_broken(made):
    results = pdem.Results(made(WEAK))
    assert len(results) == 11
    begin = results[0].bonds
    pairs = set(zip(begin["first"].tolist(), begin["second"].tolist(), strict=True))
    assert len(pairs) == 75
    for snapshot in results:
        bonds, gone = snapshot.bonds, results.breaks.ids[results.breaks.step <= snapshot.step]
        left = set(zip(bonds["first"].tolist(), bonds["second"].tolist(), strict=True))
        assert left == pairs - {tuple(pair) for pair in gone.tolist()}
        rows = np.argsort(snapshot.id)
        first, second = (snapshot.position[rows][bonds[end]] for end in ("first", "second"))
        np.testing.assert_allclose(bonds["centre"], first, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(bonds["branch"], second - first, rtol=0.0, atol=1e-15)
        assert bonds["energy"].sum() == pytest.approx(
            results.series["bond_energy"][results.series["step"] == snapshot.step][-1], rel=1e-9
        )
        largest = np.maximum(bonds["tensile_stress"] / 2e5, bonds["shear_stress"] / 3e5)
        np.testing.assert_allclose(bonds["stress"], largest, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(bonds["radius"], 1e-3)
    assert results.breaks.step.size > 3


def test_a_run_without_bonds_says_why_it_has_none(made, tmp_path):
    folder = shutil.copytree(made(WEAK), tmp_path / "copy")
    (folder / "bonds.vtkhdf").unlink()
    with pytest.raises(InputError, match=r"the run has written no bonds; give the case \[bonds.NAME\]"):
        assert pdem.Results(folder)[0].bonds["force"].size
    with pytest.raises(InputError, match="holds no bonds to draw"):
        render(folder, tmp_path / "bonds.png", bonds=True)


def test_a_case_without_bonds_has_no_fragments(tmp_path):
    text = CASE.format(step=1e-6, gap=1e-4, more="", periodic="false")
    begin, rest = text.split("[bonds.cement]")
    plain = pdem.Case.from_text(f"{begin}[output]{rest.split('[output]')[1]}")
    case = plain.changed([f'output.folder="{tmp_path / "out"}"', "time.end=2e-6", "output.snapshots_every=1e-6"])
    simulation = pdem.Simulation(case, particles=lattice((2, 1, 1)))
    with pytest.raises(InputError, match=r"simulation.fragments\(\): the case has no bonds; give it \[bonds.NAME\]"):
        simulation.fragments()
    simulation.run()
    results = pdem.Results(tmp_path / "out")
    with pytest.raises(InputError, match=r"the run has no fragments; give the case \[bonds.NAME\]"):
        results.fragments(0.0)
    assert "fragment" not in results[0].columns
    assert not {"bonds.vtkhdf", "fragments.csv", "breaks.csv"} & {path.name for path in results.folder.iterdir()}


def test_tables_of_pandas_have_units(made):
    pytest.importorskip("pandas")
    snapshot = pdem.Results(made(WEAK))[-1]
    bonds, fragments = snapshot.bonds.to_pandas(), snapshot.fragments.to_pandas()
    assert bonds["force_x"].tolist() == snapshot.bonds["force"][:, 0].tolist()
    assert bonds.attrs["units"]["tensile_stress"] == "Pa"
    assert fragments["mass"].tolist() == snapshot.fragments.mass.tolist()
    assert fragments.attrs["units"]["equivalent_diameter"] == "m"
    assert snapshot.to_pandas().attrs["units"]["fragment"] == "1"


def test_pictures_of_bonds_and_fragments(made, tmp_path):
    """Bonds have the colours of their stress, and fragments colours of their own."""
    folder = made(WEAK)
    snapshot = pdem.Results(folder)[-1]
    for name, options in (("bonds", {"bonds": True}), ("grains", {"colour_by": "fragment"})):
        render(folder, tmp_path / f"{name}.png", size=(200, 150), view="front", **options)
    images = {name: Image.open(tmp_path / f"{name}.png") for name in ("bonds", "grains")}
    seen = {name: np.asarray(image).reshape(-1, 3).astype(int) for name, image in images.items()}
    colourful = {name: np.count_nonzero(np.ptp(image, axis=1) > 60) for name, image in seen.items()}
    assert colourful["bonds"] > 300
    assert colourful["grains"] > 300
    hues = {tuple((one > one.mean()).tolist()) for one in seen["grains"][np.ptp(seen["grains"], axis=1) > 60]}
    assert len(np.unique(snapshot.fragment)) > 1
    assert len(hues) > 1
    with pytest.raises(InputError, match="choose one of both"):
        render(folder, tmp_path / "both.png", bonds=True, contacts=True)


def test_exports_have_bonds_as_lines(made, tmp_path):
    folder = made(WEAK)
    bonds = pdem.Results(folder)[-1].bonds
    for kind in ("vtu", "csv", "extxyz"):
        options = ["export", str(folder), "--format", kind, "--time", "1e-4", "-o", str(tmp_path / kind)]
        shown = CliRunner().invoke(main, options)
        assert shown.exit_code == 0, shown.output
    mesh = meshio.read(tmp_path / "vtu" / f"bonds-{STEPS:09d}.vtu")
    ends = mesh.points[mesh.cells_dict["line"]]
    np.testing.assert_array_equal(ends[:, 0], bonds["centre"])
    np.testing.assert_array_equal(mesh.cell_data["first"][0], bonds["first"])
    np.testing.assert_array_equal(mesh.cell_data["force"][0], bonds["force"])
    head, *rows = (tmp_path / "csv" / f"bonds-{STEPS:09d}.csv").read_text().splitlines()
    columns = head.split(",")
    assert len(rows) == len(bonds["first"])
    stress = [float(row.split(",")[columns.index("tensile_stress [Pa]")]) for row in rows]
    assert stress == bonds["tensile_stress"].tolist()
    assert not list((tmp_path / "extxyz").glob("bonds*"))
    assert "fragment" in (tmp_path / "extxyz" / f"particles-{STEPS:09d}.xyz").read_text().splitlines()[1]


def test_a_replay_shows_the_moment_of_a_break(made, tmp_path):
    """Step by step again: the bond is there until the snapshot before its break, with almost its strength."""
    folder = made(WEAK)
    first = pdem.Results(folder)
    at = int(first.breaks.step[first.breaks.step > 45][0])
    done = pdem.replay(folder, (at - 3) * STEP, (at + 2) * STEP, output=tmp_path / "again", snapshots_every=STEP)
    assert done.proved
    again = pdem.Results(tmp_path / "again")
    pair = first.breaks.ids[first.breaks.step == at][0].tolist()
    present, stress = [], []
    for snapshot in again:
        bonds = snapshot.bonds
        rows = np.flatnonzero((bonds["first"] == pair[0]) & (bonds["second"] == pair[1]))
        present.append(len(rows))
        stress += bonds["stress"][rows].tolist()
    steps = [snapshot.step for snapshot in again]
    assert present == [int(step < at) for step in steps]
    assert 0.8 < stress[-1] < 1.05
    until = first.breaks.step <= again.breaks.step.max()
    assert again.breaks.ids.tolist() == first.breaks.ids[until].tolist()


def test_two_strengths_differ_first_at_the_bond_that_breaks(made):
    weak, strong = made(WEAK), made("tensile_strength = 2.5e5\nshear_strength = 3e5")
    breaks = [pdem.Results(folder).breaks for folder in (weak, strong)]
    events = [list(zip(one.step.tolist(), map(tuple, one.ids.tolist()), strict=True)) for one in breaks]
    step, pair = min(set(events[0]) ^ set(events[1]))
    found = pdem.first_difference(weak, strong, threads=1)
    assert (found.kind, found.step, found.before) == ("motion", step, step - 1)
    letter = "B" if (step, pair) in events[0] else "A"
    assert f"bonds: 1 rows only in {letter} (lower/higher {pair[0]}-{pair[1]})" in str(found)
    assert found.entry.number in pair
    assert ("bonds.cement.tensile_strength", "200000.0", "250000.0") in found.changes


def test_strengths_that_nothing_reaches_make_no_difference(made):
    found = pdem.first_difference(made("tensile_strength = 1e9"), made("tensile_strength = 2e9"), threads=1)
    assert (found.kind, found.step) == ("none", STEPS)

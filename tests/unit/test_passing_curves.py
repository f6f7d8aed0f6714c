"""Sizes of the particles of snapshots by mass: the passing curve, passing sizes, and their plot."""

from __future__ import annotations

import math

import numpy as np
import pytest
import tomli_w
from click.testing import CliRunner

import pdem
from helpers.clusters import PAIR, document
from pdem.cli import main
from pdem.foundation.errors import InputError
from pdem.run.reading.passing_curve import distribution_of

RADII = (0.001, 0.002, 0.004)
LEFT = {"lower": [-0.2, -0.2, -0.2], "upper": [-0.005, 0.2, 0.2]}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the results of a run with spheres of two materials, a pair and a fixed sphere, all apart."""
    folder = tmp_path_factory.mktemp("sizes") / "out"
    grains = [
        {"material": "grain", "radius": radius, "positions": [[0.02 * number - 0.02, 0.0, 0.0]]}
        for number, radius in enumerate(RADII)
    ]
    ore = {"material": "ore", "radius": 0.003, "positions": [[0.0, 0.05, 0.0], [0.0, 0.07, 0.0]]}
    pair = {"material": "grain", "shape": "pair", "positions": [[0.0, -0.05, 0.0]], "orientation": "aligned"}
    table = document([*grains, ore, pair], {"pair": PAIR}, time={"step": 1e-6, "end": 2e-5})
    table["materials"]["ore"] = {"density": 3000.0}
    table["interactions"] |= dict.fromkeys(("grain-ore", "steel-ore", "ore-ore"), table["interactions"]["grain-grain"])
    table["particles"].append({"material": "steel", "radius": 0.005, "positions": [[0.1, 0.1, 0.1]], "fixed": True})
    table["output"] = {"folder": str(folder), "snapshots_every": 1e-5}
    pdem.Simulation(pdem.Case.from_text(tomli_w.dumps(table)), threads=1).run()
    return pdem.Results(folder)


def expected(radius, density, pair_too=True):
    """Return diameters and mass fractions passing of spheres, and of the pair of two spheres of 1 mm radius."""
    bodies = [(2.0 * r, d * r**3) for r, d in zip(radius, density, strict=True)]
    if pair_too:
        bodies.append((2.0 * 0.001 * 2.0 ** (1.0 / 3.0), 1000.0 * 2.0 * 0.001**3))
    sizes = sorted({round(size, 9) for size, _ in bodies})
    whole = sum(mass for _, mass in bodies)
    return sizes, [sum(mass for size, mass in bodies if size <= one * (1 + 1e-6)) / whole for one in sizes]


def test_the_curve_counts_spheres_and_clusters_by_mass(run):
    sizes = run.sizes(2e-5)
    diameter, passing = expected([*RADII, 0.003, 0.003], [1000.0] * 3 + [3000.0] * 2)
    assert sizes.diameter == pytest.approx(diameter, rel=1e-6)
    assert sizes.passing == pytest.approx(passing, rel=1e-6)
    assert sizes.passing[-1] == 1.0
    assert sizes.number.tolist() == [1, 1, 1, 2, 1]
    assert sizes.mass[-1] == pytest.approx(1000.0 * 4.0 / 3.0 * math.pi * 0.004**3, rel=1e-6)
    assert sizes.time == pytest.approx(2e-5, rel=1e-12)
    assert repr(sizes) == "PassingCurve(2e-05 s, 6 particles of 0.002 to 0.008 m, P50 0.006 m, P80 0.008 m)"
    assert sizes.percentile(50) == pytest.approx(0.006)
    assert sizes.percentile([50, 80]) == pytest.approx([0.006, 0.008])
    assert run[0].sizes().percentile(80) == sizes.percentile(80)


def test_materials_and_regions_choose_particles(run):
    ore = run.sizes(0.0, material="ore")
    assert ore.diameter == pytest.approx([0.006])
    assert ore.number.tolist() == [2]
    left = run.sizes(0.0, region=LEFT)
    assert left.diameter == pytest.approx([0.002])
    assert not len(run.sizes(0.0, material="ore", region=LEFT))
    assert not len(run.sizes(0.0, material="steel"))
    with pytest.raises(InputError, match="no material 'roe'; did you mean 'ore'"):
        run.sizes(0.0, material="roe")


def test_sizes_of_a_curve():
    sizes = distribution_of(1.0, np.array([4.0, 1.0, 2.0, 1.0]), np.array([4.0, 1.0, 2.0, 1.0]))
    assert sizes.diameter.tolist() == [1.0, 2.0, 4.0]
    assert sizes.passing.tolist() == [0.25, 0.5, 1.0]
    assert sizes.percentile([1, 25, 26, 50, 80, 100]).tolist() == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert sizes.share_below([0.5, 1.0, 3.9, 4.0, 9.0]).tolist() == [0.0, 0.25, 0.5, 1.0, 1.0]
    assert sizes.share_below(2.0) == 0.5
    for wrong in (0, -1, 101, math.nan, [50, 200]):
        with pytest.raises(InputError, match="above 0 and up to 100, such as 80 for P80"):
            sizes.percentile(wrong)
    none = distribution_of(1.0, np.zeros(0), np.zeros(0))
    assert math.isnan(none.percentile(80))
    assert math.isnan(none.share_below(1.0))
    assert "no particles" in repr(none)


def test_order_makes_no_difference():
    random = np.random.default_rng(5)
    diameter = np.repeat(random.uniform(0.001, 0.1, 50), 10)
    mass = random.uniform(1.0, 2.0, 500) * diameter**3
    order = random.permutation(500)
    one, other = distribution_of(0.0, diameter, mass), distribution_of(0.0, diameter[order], mass[order])
    assert one.passing.tobytes() == other.passing.tobytes()
    assert one.mass.tobytes() == other.mass.tobytes()


def test_the_table_is_a_frame_of_pandas(run):
    pytest.importorskip("pandas")
    frame = run.sizes(0.0).to_pandas()
    assert list(frame) == ["diameter", "number", "mass", "passing"]
    assert frame.attrs["units"]["diameter"] == "m"


def invoke(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_passing_curves_are_drawn(run, tmp_path):
    path, folder = tmp_path / "sizes.svg", run.folder
    assert invoke("plot", folder, "--sizes", "-o", path).output == f"wrote {path}\n"
    text = path.read_text()
    assert "<!-- 0 s: P80 8 mm -->" in text
    assert "<!-- 2e-05 s: P80 8 mm -->" in text
    assert "<!-- diameter [mm] -->" in text
    invoke(
        "plot", folder, "--sizes", "--time", "1e-5", "--material", "ore", "--with", folder, "--title", "Ore", "-o", path
    )
    text = path.read_text()
    assert f"<!-- 1e-05 s ({folder}): P80 6 mm -->" in text
    assert "<!-- Ore -->" in text
    assert invoke("plot", folder, "--sizes").output == f"wrote {folder / 'sizes.png'}\n"
    assert (folder / "sizes.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (("--sizes", "translation"), "--sizes draws snapshots, not columns against time; leave out NAME"),
        (("--sizes", "--mean"), "--sizes draws snapshots"),
        (("--sizes", "--material", "roe"), "no material 'roe'; did you mean 'ore'"),
        (("--sizes", "--material", "steel"), "no particles in 0 s, 2e-05 s; give other times or another material"),
        (("translation", "--time", "1"), "--time and --material choose the particles of --sizes"),
    ],
)
def test_impossible_plots_are_named(run, tmp_path, options, fact):
    result = invoke("plot", run.folder, *options, "-o", tmp_path / "p.png")
    assert result.exit_code == 2
    assert fact in result.output
    assert not list(tmp_path.iterdir())

"""docs/speed.md and its plot are those of docs/speed_rates.csv."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from PIL import Image

from pdem.benchmark.cases import CASES

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "speed.py"


@pytest.fixture(scope="module")
def speed():
    """Return the script that makes the table and the plot."""
    spec = importlib.util.spec_from_file_location("speed_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_the_page_has_the_measured_rates(speed):
    text = speed.PAGE.read_text(encoding="utf-8")
    assert text == speed.page_with(text, speed.read_rates()), "run python scripts/speed.py"
    assert text != speed.page_with(text, speed.read_rates()[1:])
    assert f"]({speed.PLOT.name})" in text
    with pytest.raises(ValueError, match="has no lines"):
        speed.page_with("# Speed", speed.read_rates())


def test_rates_are_of_cases_and_machines_that_exist(speed):
    for one in speed.read_rates():
        assert one.benchmark in {case.name for case in CASES}
        assert one.machine in speed.KINDS
        assert 0.0 < float(one.lowest) <= float(one.highest)


def test_the_plot_is_drawn_from_the_rates(speed, tmp_path, monkeypatch):
    with Image.open(speed.PLOT) as kept:
        size = kept.size
        assert kept.mode == "RGB"
    monkeypatch.setattr(speed, "PLOT", tmp_path / "plot.png")
    speed.draw(speed.read_rates())
    with Image.open(tmp_path / "plot.png") as drawn:
        assert drawn.mode == "RGB"
        assert drawn.size == size
        assert len(drawn.getcolors(maxcolors=1 << 20)) > 50


def test_the_time_of_a_million_steps(speed):
    """The worked example of the page: 30,000 spheres, 500,000 steps."""
    one = speed.Rate("", "", 30_000, ("AVX-512", 1), "12.0", "13.0")
    assert one.time == pytest.approx(30_000 * 1e6 / 12.5e6)
    assert one.text == "12.0 to 13.0"
    drum = {rate.machine: rate.time / 120 for rate in speed.read_rates() if rate.benchmark == "bladed-drum"}
    page = " ".join(speed.PAGE.read_text(encoding="utf-8").split())
    for machine, text in {
        ("AVX-512", 1): "{:.0f} minutes on one core with AVX-512",
        ("AVX2", 1): "{:.0f} minutes with AVX2",
        ("AVX-512", 2): "{:.0f} minutes on two ranks",
    }.items():
        assert text.format(drum[machine]) in page

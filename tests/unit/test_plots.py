"""Plots of series: ranges of times, means, units, words, lines that hide each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.output.pictures import plots
from pdem.output.pictures.plots import PlotStyle, mean_over_time, plot_series

pytest.importorskip("matplotlib")

TIME = np.linspace(0.0, 10.0, 101)
UNITS = {"time": "s", "force": "N", "same": "N", "mass": "kg", "rate": "rad/s", "share": "1"}
ROWS = {
    "time": TIME, "force": np.where(TIME < 1.0, 1e6, 20.0 + TIME), "same": np.where(TIME < 1.0, 1e6, 20.0 + TIME),
    "mass": 1e-3 * TIME, "rate": np.full(101, np.pi), "share": np.full(101, np.nan),
}  # fmt: skip


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    kept: list[Any] = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: kept.append(figure))
    return kept


def panels(figures: list[Any], *columns: str, runs: Any = None, **style: Any) -> list[Any]:
    plot_series(Path("unused.png"), runs or {"": ROWS}, columns, UNITS, PlotStyle(**style))
    return list(figures[-1].axes)


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_peak_outside_the_range_does_not_determine_the_axis(figures: list[Any]) -> None:
    (axes,) = panels(figures, "force", begin=2.0, end=8.0)
    assert axes.get_ylim()[1] < 30.0
    assert axes.get_xlim() == (2.0, 8.0)
    (whole,) = panels(figures, "force")
    assert (whole.get_ylim()[1] > 1.0, whole.get_ylabel()) == (True, "force [MN]")


def test_means_are_those_of_the_range(figures: list[Any]) -> None:
    (axes,) = panels(figures, "force", begin=2.0, end=8.0, means=True)
    assert legend(axes) == ["force; dashed: mean 25 N"]
    assert [line.get_ydata()[0] for line in axes.get_lines() if len(line.get_ydata()) == 2] == [pytest.approx(25.0)]


def test_units_are_those_that_people_use(figures: list[Any]) -> None:
    mass, rate, share = panels(figures, "mass", "rate", "share", means=True, labels={"mass": "fed mass"})
    assert legend(mass) == ["fed mass; dashed: mean 5 g"]
    assert (mass.get_ylabel(), rate.get_ylabel(), share.get_ylabel()) == ("mass [g]", "rotation [rpm]", "number")
    assert rate.get_lines()[0].get_ydata() == pytest.approx(30.0)
    assert legend(share) == ["share"], "no mean without numbers"
    (plain,) = panels(figures, "mass")
    assert plain.get_ylabel() == "mass [g]"


def test_lines_that_hide_each_other_are_dashed(figures: list[Any]) -> None:
    (axes,) = panels(figures, "force", "same", runs={"a": ROWS, "b": ROWS}, labels={"b": "again"}, title="Two")
    assert len({line.get_linestyle() for line in axes.get_lines()}) == 4
    assert legend(axes) == ["force (a)", "same (a)", "force (again)", "same (again)"]
    assert figures[-1].get_suptitle() == "Two"


@given(st.lists(st.tuples(st.floats(0.01, 5.0), st.floats(-1e3, 1e3)), min_size=1, max_size=20))
def test_the_mean_over_time_does_not_depend_on_more_lines(steps: list[tuple[float, float]]) -> None:
    """A straight line between two lines of the series has the same integral with a line in the middle, and without."""
    time = np.cumsum([step for step, _ in steps])
    values = np.array([value for _, value in steps])
    middle = (time[1:] + time[:-1]) / 2, (values[1:] + values[:-1]) / 2
    order = np.argsort(np.concatenate((time, middle[0])), kind="stable")
    more = np.concatenate((time, middle[0]))[order], np.concatenate((values, middle[1]))[order]
    mean = mean_over_time(time, values)
    assert mean_over_time(*more) == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert values.min() - 1e-9 <= mean <= values.max() + 1e-9
    with_gap = np.append(values, np.nan)
    assert mean_over_time(np.append(time, time[-1] + 1.0), with_gap) == pytest.approx(mean, rel=1e-12)

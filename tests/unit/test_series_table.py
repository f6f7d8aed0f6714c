"""The series of a run as a mapping of columns."""

from __future__ import annotations

import numpy as np

from pdem.run.reading.results import SeriesTable


def test_a_series_is_walked_through_by_the_names_of_its_columns():
    rows = np.array([(0.0, 3), (0.5, 4)], [("time", float), ("particles", int)])
    series = SeriesTable(rows, {"time": "s", "particles": "1"})
    assert list(series) == ["time", "particles"]
    assert "time" in series
    assert "speed" not in series
    columns = dict(series)
    assert list(columns) == ["time", "particles"]
    np.testing.assert_array_equal(columns["particles"], [3, 4])
    assert len(series) == 2

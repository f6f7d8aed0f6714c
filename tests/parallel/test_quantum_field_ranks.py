"""A scalar that flows through contacts and into walls: the same bits on all ranks, and after a restart on others."""

from __future__ import annotations

from fractions import Fraction

import pytest

from helpers import warmth
from helpers.rank_cases import DRUM, compare, compare_restart, divided
from pdem.case.example_meshes.mixer import drum


@pytest.fixture(autouse=True)
def warmth_is_a_feature(monkeypatch):
    warmth.register(monkeypatch)


@pytest.mark.ranks(1, 2, 3, 4, timeout=400)
def test_heat_in_a_drum(ranks):
    """Across cuts that move, in a drum that turns; ghosts have the values of their owners in each step."""
    run = compare(divided(DRUM, "bisection" if ranks % 2 else "slabs", "always"), 200, meshes=[drum()])
    (feature,) = (one for one in run.system.features if one.name == "warmth")
    warm, into = run.gather(), feature.exchange.into_walls(run.system)
    if warm is not None:
        begin = warmth.CAPACITY * warmth.SPHERE * 0.01**3 * (50 * warmth.HOT + 100 * 300.0)
        total = sum(map(Fraction, warm["warmth"])) + sum(map(Fraction, into.values()))
        assert float(total) == pytest.approx(begin, rel=1e-12)
        assert into["drum"] < 0.0


@pytest.mark.ranks(2, 3, timeout=400)
def test_a_warm_drum_goes_on_on_another_number_of_ranks(ranks):
    states = compare_restart(divided(DRUM, "slabs"), 150, 100, meshes=[drum()])
    if states is not None:
        assert states[0]["warmth_into_walls"]["amount"].any()
        middle, end = (Fraction(0) + sum(map(Fraction, one["particles"]["warmth"])) for one in states)
        assert middle != end

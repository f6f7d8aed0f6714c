"""The choice of the skin: by times that are given, not measured."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.simulation.skin_tuner import (
    _FRACTIONS,
    LARGEST,
    SMALLEST,
    Lists,
    SkinTuner,
    Window,
    best_fraction_index,
)

LISTS = Lists(candidates=50_000, contacts=20_000, particles=10_000)


def made(steps: int, detecting: float) -> Window:
    """Return a window of a run whose contacts take 10 ms per step."""
    return Window(steps, steps // 20, 0.01 * steps, detecting)


@pytest.mark.parametrize("detecting", [1e-6, 1e-4, 1e-3, 1e-2, 1.0])
def test_it_is_the_least_of_what_the_model_says(detecting: float) -> None:
    """Candidates fill the shell of the skin; they have a part in what a step and a detection take."""
    place = best_fraction_index(0.3, made(100, 100 * detecting), LISTS)

    def cost(f: float) -> float:
        ordering = 18.0 * 20_000 / 20  # of a step: lists are made every twentieth
        each = 0.01 / (50_000 + 8.0 * 20_000 + 8.0 * 10_000 + ordering)
        apart = 30_000 * ((1 + f) ** 3 - 1) / (1.3**3 - 1)
        return each * apart + (detecting + each * ordering) * (110_000 + apart) / (110_000 + 30_000) * 0.3 / f

    costs = [cost(float(f)) for f in _FRACTIONS]
    assert place == int(np.argmin(costs))


def test_costly_detections_widen_the_skin_and_cheap_ones_narrow_it() -> None:
    dear, cheap = SkinTuner(0.3), SkinTuner(0.3)
    for step in range(200, 4000, 200):
        dear.next_fraction(made(step, 1.0 * step), LISTS, lambda place: place)
        cheap.next_fraction(made(step, 1e-9 * step), LISTS, lambda place: place)
    assert dear.fraction == LARGEST
    assert cheap.fraction == SMALLEST


def test_the_first_rank_decides_and_changes_are_bounded() -> None:
    tuner = SkinTuner(0.3)
    assert not tuner.is_due(199)
    assert tuner.is_due(200)
    wide = len(_FRACTIONS) - 1
    assert tuner.next_fraction(made(200, 1e-9), LISTS, lambda _: wide) == pytest.approx(0.6)
    assert not tuner.is_due(399)
    near = int(np.argmin(np.abs(_FRACTIONS - 0.6)))
    assert tuner.next_fraction(made(400, 1e-9), LISTS, lambda _: near) == 0.6


def test_lists_are_asked_for_until_the_skin_has_come_near_to_the_best() -> None:
    """A skin that holds for ever would else never be changed."""
    tuner, best = SkinTuner(0.3), int(np.argmin(np.abs(_FRACTIONS - 0.05)))
    assert not tuner.needs_detection(199)
    later = SkinTuner(0.3)
    later.start(1000)
    assert not later.needs_detection(1199)
    assert later.needs_detection(1200)
    fractions = []
    for step in (200, 400, 600):
        assert tuner.needs_detection(step)
        fractions.append(tuner.next_fraction(made(step, 1e-9), LISTS, lambda _: best))
    assert fractions == pytest.approx([0.15, 0.075, float(_FRACTIONS[best])])
    assert not any(tuner.needs_detection(step) for step in range(600, 10_000, 50))
    assert tuner.is_due(800)


@pytest.mark.parametrize("lists", [Lists(0, 0, 0), Lists(5, 5, 10)])
def test_without_candidates_it_stays(lists: Lists) -> None:
    place = best_fraction_index(0.3, made(100, 1.0), lists)
    assert float(_FRACTIONS[place]) == pytest.approx(0.3, rel=0.05)

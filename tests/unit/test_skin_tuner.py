"""The choice of the skin: by times that are given, not measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.engine.tuning.skin_tuner import (
    _FRACTIONS,
    FIRST_WINDOW,
    GUESSED,
    LARGEST,
    SMALLEST,
    ListSizes,
    SkinTuner,
    TunedWindow,
    best_fraction_index,
)

LISTS = ListSizes(candidates=50_000, contacts=20_000, particles=10_000)


def made(steps: int, detecting: float) -> TunedWindow:
    """Return a window of a run whose contacts take 10 ms per step."""
    return TunedWindow(steps, steps // 20, 0.01 * steps, detecting)


def measuring(fraction: float, step: int = 0) -> SkinTuner:
    """Return a tuner that has had its first look, at this step, and begins to measure."""
    tuner = SkinTuner(fraction)
    tuner.start(step)
    assert tuner.next_fraction(made(step + 1, 0.0), LISTS, lambda place: place) == fraction
    return tuner


class Machine:
    """A run on a machine whose times are given: what steps and lists take by the skin.

    A skin holds for `held` steps times its fraction of the radius; `listing` is the time of a list over that of a step
    for the same candidate, and a contact and a particle take `contact` and `particle` times as long as a candidate.
    """

    particles, touching = 10_000, 20_000

    def __init__(self, shell, held, listing, contact, particle):
        self.shell, self.held, self.listing, self.contact, self.particle = (shell, held, listing, contact, particle)

    def lists(self, fraction):
        apart = self.shell * ((1 + fraction) ** 3 - 1)
        return ListSizes(int(self.touching + self.particles * apart), self.touching, self.particles)

    def run(self, fraction, steps):
        """Return numbers of lists made, and seconds of all steps and of all lists."""
        made_of, number = self.lists(fraction), steps / max(1.0, self.held * fraction)
        rest = self.contact * self.touching + self.particle * self.particles
        return (
            number,
            1e-9 * steps * (made_of.candidates + rest),
            1e-9 * number * self.listing * (made_of.candidates + 6 * self.particles),
        )

    def cost(self, fraction):
        return sum(self.run(fraction, 1_000_000)[1:])


@given(
    shell=st.floats(2.0, 8.0), held=st.floats(30.0, 3000.0), listing=st.floats(1.0, 40.0),
    contact=st.floats(4.0, 16.0), particle=st.floats(4.0, 16.0), first=st.sampled_from([0.05, 0.15, 0.5]),
)  # fmt: skip
def test_it_comes_near_to_the_fastest_skin_of_any_machine(shell, held, listing, contact, particle, first):
    """Whatever times a machine takes, though the model assumes some of their ratios."""
    machine, tuner = Machine(shell, held, listing, contact, particle), SkinTuner(first)
    total = np.zeros(4)
    for steps in (1, 50, 100, *(38 * [200])):
        total += steps, *machine.run(tuner.fraction, steps)
        done = TunedWindow(int(total[0]), int(total[1]), *total[2:].tolist())
        tuner.next_fraction(done, machine.lists(tuner.fraction), lambda place: place)
    best = min(machine.cost(float(f)) for f in np.geomspace(SMALLEST, LARGEST, 200))
    assert machine.cost(tuner.fraction) < 1.1 * best


def test_costly_detections_widen_the_skin_and_cheap_ones_narrow_it() -> None:
    dear, cheap = SkinTuner(0.3), SkinTuner(0.3)
    for step in range(200, 4200, 200):
        dear.next_fraction(made(step, 1.0 * step), LISTS, lambda place: place)
        cheap.next_fraction(made(step, 1e-9 * step), LISTS, lambda place: place)
    assert dear.fraction == LARGEST
    assert cheap.fraction == SMALLEST


def test_the_first_rank_decides_and_changes_are_bounded() -> None:
    tuner = measuring(0.3)
    assert not tuner.is_due(FIRST_WINDOW)
    assert tuner.is_due(FIRST_WINDOW + 1)
    wide = len(_FRACTIONS) - 1
    assert tuner.next_fraction(made(200, 1e-9), LISTS, lambda _: wide) == pytest.approx(0.6)
    assert not tuner.is_due(200 + 2 * FIRST_WINDOW - 1)
    near = int(np.argmin(np.abs(_FRACTIONS - 0.6)))
    assert tuner.next_fraction(made(400, 1e-9), LISTS, lambda _: near) == 0.6


def test_lists_are_asked_for_until_the_skin_has_come_near_to_the_best() -> None:
    """A skin that holds for ever would else never be changed."""
    tuner, best = measuring(0.3), int(np.argmin(np.abs(_FRACTIONS - 0.05)))
    assert not tuner.needs_detection(FIRST_WINDOW)
    later = measuring(0.3, 1000)
    assert not later.needs_detection(1000 + FIRST_WINDOW)
    assert later.needs_detection(1001 + FIRST_WINDOW)
    fractions = []
    for step in (200, 400, 600):
        assert tuner.needs_detection(step)
        fractions.append(tuner.next_fraction(made(step, 1e-9), LISTS, lambda _: best))
    assert fractions == pytest.approx([0.15, 0.075, float(_FRACTIONS[best])])
    assert not any(tuner.needs_detection(step) for step in range(600, 10_000, 50))
    assert tuner.is_due(800)


@pytest.mark.parametrize("lists", [ListSizes(0, 0, 0), ListSizes(5, 5, 10)])
def test_without_candidates_it_stays(lists: ListSizes) -> None:
    place = best_fraction_index(0.3, made(100, 1.0), lists)
    assert float(_FRACTIONS[place]) == pytest.approx(0.3, rel=0.05)


@given(shell=st.floats(2.0, 8.0), held=st.floats(30.0, 3000.0), first=st.sampled_from([0.05, 0.15, 0.5]))
def test_speeds_decide_before_anything_is_measured(shell, held, first):
    """For a machine of the usual times the guess is as good as what measuring would find, within its limits."""
    machine, tuner = Machine(shell, held, 15.0, 8.0, 8.0), SkinTuner(first)
    assert tuner.needs_detection(1)
    guess = tuner.next_fraction(TunedWindow(1, 1, 1.0, 1.0), machine.lists(first), lambda place: place, held)
    possible = [float(f) for f in _FRACTIONS if GUESSED[0] <= f <= GUESSED[1]]
    assert machine.cost(guess) < 1.1 * min(map(machine.cost, possible))
    assert not tuner.needs_detection(FIRST_WINDOW)


@pytest.mark.parametrize("lists", [ListSizes(0, 0, 0), LISTS])
def test_without_speeds_or_candidates_the_first_skin_stays(lists: ListSizes) -> None:
    life = math.inf if lists.candidates else 100.0
    first = SkinTuner(0.3).next_fraction(TunedWindow(1, 1, 1.0, 1.0), lists, lambda place: place, life)
    assert first == pytest.approx(0.3, rel=0.05)

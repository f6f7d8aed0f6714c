"""A small gas to be observed, and observers of it, for tests."""

from __future__ import annotations

import numpy as np
import tomli_w

import pdem
from helpers.cases import GRAIN, USUAL

STEP = 1e-4
DOCUMENT = {
    "time": {"step": STEP, "end": 0.01},
    "domain": {"lower": [0.0] * 3, "upper": [0.1] * 3, "periodic": [True] * 3},
    "materials": {"grain": {**GRAIN, "youngs_modulus": 1e6}},
    "interactions": {"grain-grain": USUAL},
    "particles": [
        {
            "material": "grain", "radius": 0.012, "fill": {"count": 40, "seed": 2},
            "velocity": {"random": 2.0, "seed": 1},
        }
    ],
}  # fmt: skip


def case_in(folder, **output):
    shown = {"folder": str(folder), "series_every": 5 * STEP, "snapshots_every": 50 * STEP, **output}
    return pdem.Case.from_text(tomli_w.dumps({**DOCUMENT, "output": {"checkpoint_every": 25 * STEP, **shown}}))


def series(folder):
    return np.genfromtxt(folder / "series.csv", delimiter=",", names=True, deletechars="")


class Calls:
    """An observer that remembers when it was called."""

    def __init__(self, name="calls", said=None):
        self.__name__, self.steps, self.said = name, [], said

    def __call__(self, simulation):
        self.steps.append(simulation.step)
        return self.said(simulation) if self.said else None


def fastest(simulation):
    speeds = np.sqrt((simulation.particles.velocity**2).sum(axis=1))
    return {"fastest": ("m/s", simulation.maximum(speeds)), "many": simulation.sum()}


def run_with(folder, observers, until=100):
    case = case_in(folder)
    case.override(f"time.end={until * STEP}")
    run = pdem.Simulation(case)
    run.run(observers=observers)
    return run

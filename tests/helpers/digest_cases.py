"""Short runs whose states are committed as digests: examples, generated machines and boxes, all laws, bonds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tomli_w

import pdem
from helpers.bonded_blocks import bonded_case, lattice
from helpers.everything import case_in
from helpers.generated_boxes import deforming_box
from helpers.generated_machines import machine
from helpers.law_models import INTERACTIONS, MATERIALS, MODELS
from pdem.case.explain.example_cases import example_names, write_example

FEW = 300
"""Largest number of particles of a group of an example."""

SIZES = {"distribution": "log-normal", "median": 6e-4, "sigma": 0.2, "min": 4e-4, "max": 8e-4}
BREAKING = "tensile_strength = 2e4\nshear_strength = 2e4\ndamping_ratio = 0.05"


class DigestCase(NamedTuple):
    """A run, made in a folder, and the steps after which its state is compared."""

    make: Callable[[Path], pdem.Simulation]
    steps: tuple[int, ...]


def _example(name: str, folder: Path) -> pdem.Simulation:
    case = pdem.Case.read(next(iter(write_example(name, folder))))
    for number, group in enumerate(case.particles):
        if (getattr(group.fill, "count", None) or 0) > FEW:
            case.override(f"particles[{number}].fill.count={FEW}")
    return pdem.Simulation(case, threads=1)


def _everything(folder: Path) -> pdem.Simulation:
    return pdem.Simulation(case_in(folder), threads=1)


def _machine(seed: int, folder: Path) -> pdem.Simulation:
    return pdem.Simulation(machine(seed), threads=1)


def _box(seed: int, folder: Path) -> pdem.Simulation:
    case, meshes = deforming_box(folder, seed)
    return pdem.Simulation(case, meshes=meshes, threads=1)


def _laws(folder: Path) -> pdem.Simulation:
    """Return grains of all models, which fly about in a narrow box with a floor."""
    box = {"lower": [-0.004, -0.004, 0.0005], "upper": [0.004, 0.004, 0.012]}
    groups = [
        {"material": name, "radius": SIZES,
         "fill": {"count": 12, "seed": seed, **box}, "velocity": {"random": 1.5, "seed": seed}}
        for seed, name in enumerate(MODELS)
    ]  # fmt: skip
    return pdem.Simulation(pdem.Case.from_text(tomli_w.dumps({
        "time": {"step": 2e-6, "end": 1.0}, "materials": MATERIALS, "particles": groups,
        "interactions": {"default": MODELS["hertz"], **INTERACTIONS},
        "domain": {"lower": [-0.004, -0.004, -0.001], "upper": [0.004, 0.004, 0.014], "periodic": [True, True, False],
                   "gravity": [0.0, 0.0, -50.0]},
        "walls": [{"name": "floor", "shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0],
                   "material": "steel"}],
        "output": {"folder": str(folder)},
    })), threads=1)  # fmt: skip


def _bonds(folder: Path) -> pdem.Simulation:
    """Return a block whose particles have velocities that break some of its bonds."""
    particles = lattice((5, 4, 3), seed=3, shake=2e-5)
    shape = particles["velocity"].shape
    particles["velocity"] = 0.4 * np.random.Generator(np.random.PCG64(3)).integers(-9, 10, shape) / 9.0
    return pdem.Simulation(bonded_case(BREAKING), particles=particles, threads=1)


SHORT, LONG = (0, 1, 30, 400), (0, 1, 100, 300)

CASES: dict[str, DigestCase] = {
    **{f"example-{name}": DigestCase(partial(_example, name), SHORT) for name in example_names()},
    **{f"machine-{seed}": DigestCase(partial(_machine, seed), LONG) for seed in range(8)},
    **{f"box-{seed}": DigestCase(partial(_box, seed), LONG) for seed in range(8)},
    "everything": DigestCase(_everything, (0, 1, 150, 300, 600)),
    "laws": DigestCase(_laws, (0, 1, 1000, 3000)),
    "bonds": DigestCase(_bonds, (0, 1, 100, 600)),
}
"""All runs by name; random numbers of tests are whole, so that only pdem's own arithmetic matters."""

"""Small crowds in periodic boxes that deform, put together at random: shears, strains, stresses, floors, stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.cases import Grains
from helpers.choices import Choices
from helpers.moving_boxes import PERIOD, STEP, lattice, moving_case
from helpers.tube_case import grid

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.model import Case
    from pdem.containers.meshes.mesh import Mesh

STEPS = 300
_CELLS = 12
"""Of a floor, which extends half a box beyond each side, along each of its edges."""


def deforming_box(folder: Path, seed: int, **detection: Any) -> tuple[Case, list[Mesh] | None]:
    """Return a case of grains in a box that deforms, some keys of its detection given, and its floors."""
    box = _Box(folder, seed)
    return box.case(detection), box.meshes


class _Box(Choices):
    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(seed)
        self._folder = folder
        order = self._random.permutation(3)
        self._velocity, self._gradient, self._third = ("xyz"[axis] for axis in order)
        self._closed = self._has(0.5)
        self.meshes = [floor("xyz".index(self._third), place) for place in (0.0, PERIOD)] if self._closed else None

    def case(self, detection: dict[str, Any]) -> Case:
        periodic = [not (self._closed and axis == self._third) for axis in "xyz"]
        deformation, domain = self._deformation(), {}
        if self._has(0.3):
            domain["gravity"] = [20.0 * (axis == self._third and self._closed) for axis in "xyz"]
        more: dict[str, Any] = {
            "domain": domain,
            "decomposition": {
                "method": self._one_of(("bisection", "slabs")),
                "balance": self._one_of(("auto", "always")),
            },
        }
        if self._has(0.5):
            half = 0.5 * STEPS * STEP
            more["stages"] = [
                {"name": "first", "end": half},
                {"name": "second", "end": half, "deformation": self._deformation()},
            ]
        return moving_case(
            self._folder, self._grains(), deformation, periodic=periodic, end=STEPS * STEP, more=more,
            detection={"skin": self._one_of(("auto", 0.05, 0.5)), **detection},
            walls=tuple({"mesh": mesh} for mesh in self.meshes or ()),
        )  # fmt: skip

    def _deformation(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._has(0.7):
            found["shear"] = {
                "velocity_along": self._velocity, "gradient_along": self._gradient,
                **self._one_of(({"rate": 80.0}, {"rate": -40.0}, {"stress": 100.0})),
            }  # fmt: skip
        for axis in (self._velocity, self._gradient, *(() if self._closed else (self._third,))):
            if self._has(0.4):
                found[axis] = self._one_of(({"strain_rate": -5.0}, {"strain_rate": 3.0}, {"stress": 200.0}))
        if self._has(0.2) and len(found) < 2:
            found["mean_stress"] = 300.0
        return found

    def _grains(self) -> Grains:
        sites = lattice()
        radius = np.where(self._random.random(len(sites)) < 0.3, 0.012, 0.006)
        velocity = self._random.uniform(0.5, 2.5) * self._random.normal(size=sites.shape)
        spin = 50.0 * self._random.normal(size=sites.shape)
        return Grains(sites, radius, velocity - velocity.mean(axis=0), spin)


def floor(axis: int, place: float) -> Mesh:
    """Return a square across an axis made of small triangles."""
    along = (one.ravel() for one in np.mgrid[: _CELLS + 1, : _CELLS + 1] / _CELLS)
    points = np.insert(np.column_stack([PERIOD * (2.0 * one - 0.5) for one in along]), axis, place, axis=1)
    return grid(points, _CELLS + 1, _CELLS + 1, False)

"""Small machines full of grains, put together at random from what a case can have."""

from __future__ import annotations

from typing import Any

import tomli_w

import pdem
from helpers.choices import Choices
from helpers.clusters import TETRAPOD
from helpers.everything import LAW as LINEAR

STEP = 2e-5
STEPS = 300
HALF, HEIGHT = 0.008, 0.016
ROLLING = {"friction": 0.5, "restitution": 0.4, "rolling": {"model": "spring", "friction": 0.2}}
WET = {
    **ROLLING,
    "adhesion": {"model": "liquid-bridge", "surface_tension": 0.072, "contact_angle": 20.0, "carried_volume": 0.03},
}  # fmt: skip
LAWS = {"linear": LINEAR, "rolling": ROLLING, "wet": WET}
GRAIN = {"density": 1000.0, "youngs_modulus": 2e6, "poisson_ratio": 0.25}
SIZES: tuple[Any, ...] = (
    0.0009,
    {"distribution": "uniform", "min": 0.0006, "max": 0.0012},
    {"distribution": "uniform", "min": 0.0004, "max": 0.0016},
)
BLADE = {"name": "tool", "shape": "box", "lower": [-0.006, -0.001, 0.002], "upper": [-0.001, 0.001, 0.005]}
PIVOT = {"axis": [0.0, 0.0, 1.0], "centre": [-0.003, 0.0, 0.0]}
TABLE = {"times": [0.0, 0.002, 0.004], "displacements": [[0.0] * 3, [0.0, 0.0, 1e-3], [1e-3, 0.0, 0.0]]}
TOOLS: tuple[dict[str, Any], ...] = (
    {**BLADE, "rotation": {"rate": 100.0, **PIVOT}},
    {**BLADE, "swing": {"amplitude": 0.3, "frequency": 50.0, **PIVOT}},
    {**BLADE, "oscillation": {"amplitude": [0.0005, 0.0, 0.001], "frequency": 100.0}},
    {**BLADE, "translation_table": TABLE},
    {**BLADE, "servo": {"axis": [0.0, 0.0, -1.0], "force": -0.01, "largest_rate": 0.2}},
    {**BLADE, "body": {"density": 800.0}},
    {"name": "tool", "shape": "cylinder", "axis": [0.0, 1.0, 0.0], "radius": 0.0075, "length": 0.016,
     "centre": [0.0, 0.0, 0.0075], "caps": "none",
     "rotation": {"rate": 50.0, "axis": [0.0, 1.0, 0.0], "centre": [0.0, 0.0, 0.0075]}},
)  # fmt: skip
FORCES: tuple[dict[str, Any], ...] = (
    {"kind": "uniform", "acceleration": [5.0, 3.0, 0.0]},
    {"kind": "drag", "linear": 1e-6},
    {"kind": "drag", "viscosity": 1e-3, "density": 1.2, "fluid_velocity": [1.0, 0.0, 0.0]},
)


def machine(seed: int, laws: tuple[str, ...] = tuple(LAWS)) -> pdem.Case:
    """Return a case of grains in a box with a floor, a tool that moves, and some of what else there is."""
    return pdem.Case.from_text(tomli_w.dumps(_Machine(seed, laws).document()))


class _Machine(Choices):
    def __init__(self, seed: int, laws: tuple[str, ...]) -> None:
        super().__init__(seed)
        self._seed = seed
        self._law = self._one_of(laws)
        self._wet = self._law == "wet"
        self._clusters = not self._wet and self._has(0.4)

    def document(self) -> dict[str, Any]:
        law = LAWS[self._law]
        found: dict[str, Any] = {
            "time": {"step": STEP, "end": STEPS * STEP},
            "domain": {
                "lower": [-HALF, -HALF, -HALF], "upper": [HALF, HALF, HEIGHT], "outside": "remove",
                "periodic": [self._has(0.4), self._has(0.4), False],
                "gravity": [0.0, 0.0, -float(self._one_of((9.81, 100.0, 200.0)))],
            },
            "materials": {"grain": GRAIN, "steel": {}},
            "interactions": {"grain-grain": law, "grain-steel": {**law, "friction": self._one_of((0.1, 0.6))}},
            "particles": self._particles(), "walls": self._walls(), "sensors": self._sensors(),
            "decomposition": {
                "method": self._one_of(("bisection", "slabs")), "balance": self._one_of(("auto", "always", "never")),
            },
            "output": {"folder": "unused", "contact_ages": law is not LINEAR and self._has(0.3)},
        }  # fmt: skip
        if self._clusters:
            found["shapes"] = {"tetrapod": {"spheres": TETRAPOD}}
        if self._has(0.5):
            found["insertions"] = [self._insertion()]
        if self._has(0.3):
            found["forces"] = [self._one_of(FORCES)]
        if self._has(0.4):
            found["stages"] = self._stages()
        if self._has(0.5):
            found["detection"] = {"skin": self._one_of((0.0, 0.05, 0.3, 1.0))}
        return found

    def _particles(self) -> list[dict[str, Any]]:
        room = {"lower": [-HALF, -HALF, 0.001], "upper": [HALF, HALF, 0.015]}
        flight = {"velocity": {"random": self._one_of((0.1, 1.0, 2.0)), "seed": self._seed}}
        count, size = int(self._one_of((60, 150, 300))), self._one_of(SIZES)
        count = min(count, 200) if size is SIZES[-1] else count  # large ones need more room
        groups = [{
            "material": "grain", "radius": size, "angular_velocity": [30.0, -50.0, 80.0],
            "fill": {"count": count, "seed": self._seed, **room}, **flight, **({"liquid": 0.02} if self._wet else {}),
        }]  # fmt: skip
        if self._clusters:
            fill = {"count": 10, "seed": 2, **room}
            groups.insert(0, {"material": "grain", "shape": "tetrapod", "fill": fill, **flight})
        return groups

    def _walls(self) -> list[dict[str, Any]]:
        floor: dict[str, Any] = {
            "name": "floor", "shape": "box", "lower": [-HALF, -HALF, -0.002], "upper": [HALF, HALF, 0.0],
        }  # fmt: skip
        if self._has(0.3):
            floor["surface"] = {"velocity": [0.5, 0.1, 0.0]}
        if self._has(0.3):
            floor["wear"] = {"model": self._one_of(("archard", "finnie")), "coefficient": 1e-12}
        return [{**wall, "material": "steel"} for wall in (floor, self._one_of(TOOLS))]

    def _insertion(self) -> dict[str, Any]:
        size = {"shape": "tetrapod"} if self._clusters and self._has(0.5) else {"radius": 0.0008}
        return {
            "name": "inlet", "material": "grain", "count_rate": 5e3, "velocity": [0.0, 0.0, -2.0], **size,
            "region": {"lower": [-0.006, -0.006, 0.012], "upper": [0.006, 0.006, 0.0155]},
            **({"liquid": 0.01} if self._wet else {}),
        }  # fmt: skip

    def _sensors(self) -> list[dict[str, Any]]:
        outlet = {
            "name": "outlet", "plane": {"point": [0.0, 0.0, 0.004], "normal": [1.0, 0.0, 0.0]}, "remove": True,
            "every": 6 * STEP,
        }  # fmt: skip
        region = {"lower": [-HALF, -HALF, 0.0], "upper": [HALF, HALF, 0.008]}
        box = {"name": "box", "region": region, "residence": True, "stress": self._has(0.5)}
        return [one for one in (outlet, box) if self._has(0.5)]

    def _stages(self) -> list[dict[str, Any]]:
        half = 0.5 * STEPS * STEP
        second: dict[str, Any] = {"name": "second", "end": half}
        if self._has(0.5):
            second["gravity"] = [3.0, 0.0, -50.0]
        if self._has(0.5):
            second["walls"] = {"tool": {"remove": True}}
        if not self._wet and self._has(0.5):
            second["interactions"] = {"grain-grain": {"friction": 0.2}}
        return [{"name": "first", "end": half}, second]

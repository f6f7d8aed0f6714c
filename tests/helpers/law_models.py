"""One law with all plastic and viscoelastic models, resistances with constant stiffness, and two frictions.

Tests that use it share its kernels. Each model is a material of grains, which meets its like and steel.
"""

from __future__ import annotations

from typing import Any

from helpers.cases import GRAIN, simulate

SDS = {"model": "sds", "friction": 0.1, "stiffness": 200.0, "damping": 2e-3}
MARSHALL = {"model": "marshall", "damping": 0.1}
MODELS: dict[str, dict[str, Any]] = {
    "hertz": {"friction": 0.8, "restitution": 0.5, "rolling": SDS, "twisting": MARSHALL},
    "slipping": {
        "friction": 0.5, "dynamic_friction": 0.3, "restitution": 0.5,
        "rolling": {"model": "sds", "friction": 10.0, "torque_stiffness": 1e-2, "torque_damping": 4e-6},
    },
    "luding": {
        "law": "luding", "normal_stiffness": 1e3, "unloading_stiffness": 5e3, "adhesion_stiffness": 500.0,
        "plasticity_depth": 0.05, "friction": 0.5, "restitution": 1.0,
        "twisting": {"model": "sds", "friction": 0.05, "stiffness": 1e-5, "damping": 1e-10},
    },
    "walton": {
        "law": "walton-braun", "normal_stiffness": 1e3, "friction": 0.5, "restitution": 0.6, "stiffening": 2e3,
        "twisting": {"model": "marshall", "friction": 0.3},
    },
    "eepa": {
        "law": "eepa", "plasticity": 0.6, "work_of_adhesion": 0.5, "constant_pull": 1e-5, "friction": 0.5,
        "restitution": 0.8, "rolling": {**SDS, "friction": 0.2},
    },
    "straight": {
        "law": "eepa-linear", "normal_stiffness": 1e3, "plasticity": 0.5, "work_of_adhesion": 0.2, "friction": 0.5,
        "restitution": 0.9,
    },
    "viscous": {"law": "viscoelastic", "dissipative_time": 3e-5, "friction": 0.5},
}  # fmt: skip
"""The interaction of each model with itself and with steel."""

INTERACTIONS = {f"{name}-{other}": law for name, law in MODELS.items() for other in (name, "steel")}
MATERIALS = {**dict.fromkeys(MODELS, GRAIN), "steel": {}}


def with_all_models(folder: Any, *groups: Any, changes: dict[str, dict[str, Any]] | None = None, **options: Any) -> Any:
    """Return a simulation of a case in which materials meet by these models; `changes` are of keys of some of them.

    Grains of different models pass the interaction of the Hertzian ones.
    """
    models = {name: {**law, **(changes or {}).get(name, {})} for name, law in MODELS.items()}
    pairs = {f"{name}-{other}": law for name, law in models.items() for other in (name, "steel")}
    return simulate(folder, *groups, law=MODELS["hertz"], interactions=pairs, materials=MATERIALS, **options)

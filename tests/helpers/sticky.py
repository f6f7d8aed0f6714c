"""One contact law with all models of adhesion: tests share it, since a law is compiled once."""

from __future__ import annotations

from typing import Any

ADHESION: dict[str, dict[str, Any]] = {
    "jkr": {"model": "jkr", "work_of_adhesion": 0.1},
    "dmt": {"model": "dmt", "work_of_adhesion": 0.1},
    "linear": {"model": "linear", "cohesion_energy_density": 2e5},
    "wet": {"model": "liquid-bridge", "surface_tension": 0.07, "contact_angle": 30.0, "relative_volume": 1e-3},
}
"""By the name of a material, whose particles stick to each other and to walls so."""

MODULUS = 1e7
"""Effective modulus of two particles of one of these materials, and of a particle and a wall [Pa]."""


def sticky_law(name: str, *, friction: float = 0.5, restitution: float = 1.0, **changes: Any) -> dict[str, Any]:
    """Return the interaction of a material, with other values of its adhesion."""
    adhesion = {**ADHESION[name], **changes}
    return {
        "friction": friction, "restitution": restitution, "rolling": {"model": "spring", "friction": 0.2},
        "adhesion": {key: value for key, value in adhesion.items() if value is not None},
    }  # fmt: skip


def sticky_case(*, wall: bool = False, **laws: dict[str, Any]) -> dict[str, Any]:
    """Return materials and interactions for `cases.simulate`, with all models whatever particles there are.

    A particle meets others of its material, or a rigid wall, with the same effective modulus. Different materials meet
    without adhesion. `laws` replace the interactions of a material.
    """
    grain = {"density": 1000.0, "youngs_modulus": MODULUS * (1.0 if wall else 2.0), "poisson_ratio": 0.0}
    interactions = {}
    for name in ADHESION:
        law = laws.get(name, sticky_law(name))
        interactions |= {f"{name}-{name}": law, f"{name}-steel": law}
    plain = {key: value for key, value in sticky_law("dmt").items() if key != "adhesion"}
    materials = dict.fromkeys((*ADHESION, "dry"), grain) | {"steel": {}}
    interactions |= {f"dry-{name}": laws.get("dry", plain) for name in ("dry", "steel")}
    return {"materials": materials, "interactions": interactions, "law": plain}


def with_all_models(materials: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return materials and interactions for `cases.simulate` with those of `sticky_case` beside these materials."""
    own = sticky_case()["interactions"]
    beside = {name: own[f"{name}-{name}"] for name in (*ADHESION, "dry")}
    grain = next(iter(materials.values()))
    return {
        "materials": materials | dict.fromkeys(beside, grain),
        "interactions": {f"{name}-{name}": law for name, law in beside.items()},
    }

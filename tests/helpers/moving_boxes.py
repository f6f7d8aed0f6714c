"""Small crowds of grains in periodic boxes that deform, for tests: all share their kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.cases import Grains, make_case

if TYPE_CHECKING:
    from pathlib import Path

    from pdem.case.model import Case

R, PERIOD, STEP = 0.01, 0.15, 2e-5
SMOOTH = {"friction": 0.0, "restitution": 1.0}
ROUGH = {"friction": 0.5, "restitution": 0.8}
LINEAR = {"law": "linear", "normal_stiffness": 1e3, "friction": 0.5, "restitution": 0.5}
SHEAR = {"velocity_along": "x", "gradient_along": "y", "rate": 60.0}
MIXED = {
    "z": {"strain_rate": -3.0}, "x": {"strain_rate": 2.0},
    "shear": {"velocity_along": "z", "gradient_along": "x", "rate": 60.0},
}  # fmt: skip


def isotropic(rate: float) -> dict[str, Any]:
    return {axis: {"strain_rate": rate} for axis in "xyz"}


def lattice(count: int = 6) -> np.ndarray:
    """Return the sites of a simple cubic lattice that fills the box."""
    return (np.stack(np.meshgrid(*[np.arange(count)] * 3), axis=-1).reshape(-1, 3) + 0.5) * (PERIOD / count)


def gas(seed: int, *, sizes: bool = False, speed: float = 1.0) -> Grains:
    """Return grains on a lattice with random velocities and no momentum, all of one size or of two."""
    rng = np.random.default_rng(seed)
    sites = lattice()
    radius = np.where(rng.random(len(sites)) < 0.3, 0.012, 0.006) if sizes else R
    velocity = speed * rng.normal(size=sites.shape)
    return Grains(sites, radius, velocity - velocity.mean(axis=0), 50.0 * rng.normal(size=sites.shape))


def moving_case(folder: Path, group: Grains | None, deformation: dict[str, Any] | None, **options: Any) -> Case:
    """Return the case of a group in a box that deforms; without one `more` has the particles."""
    more = dict(options.pop("more", {}))
    if deformation is not None:
        more["domain"] = {**more.get("domain", {}), "deformation": deformation}
    # Springs share kernels with Hertzian contacts: steel, of which there is none here, meets itself by springs.
    if options.get("law", ROUGH).get("friction") or "law" not in options.get("law", ROUGH):
        options["interactions"] = {"steel-steel": LINEAR, **options.get("interactions", {})}
    settings: dict[str, Any] = {
        "lower": [0.0] * 3, "upper": [PERIOD] * 3, "periodic": [True] * 3, "step": STEP, "law": ROUGH,
    }  # fmt: skip
    return make_case(folder, *([] if group is None else [group]), **{**settings, **options}, more=more)

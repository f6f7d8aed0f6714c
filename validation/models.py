"""Study of contact models: each beside the exact values of its theory, with a picture, and equal bits on any ranks.

A model is an entry of `MODELS`: its interaction as in a case, and its checks, which are functions of
`validation.model_checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.benchmark.launch import check_launcher, default_launcher
from pdem.verification.bits import EXAMPLES, Example, compare_variants
from pdem.verification.bits_variants import Variant
from pdem.verification.study import FindingTable
from validation.model_checks import (
    COHESION,
    ROLLING_FRICTION,
    WORK,
    Model,
    drawing_out,
    loading,
    plastic_spheres,
    plastic_springs,
    pressed_by_area,
    pressed_by_dmt,
    pulling,
    resting_heap,
    restitution,
    rolling_out,
    slope,
    slow_impacts,
    sticking,
    twisting_out,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import Notebook, StudyResult


def run(notebook: Notebook) -> Iterator[StudyResult]:
    """Yield a table for each model, and one on equal bits over ranks, threads and restarts.

    Raises
    ------
    LaunchError
        If ranks cannot be started.
    """
    for model in MODELS:
        findings = []
        with notebook.plot(model.name, len(model.checks)) as panels:
            for check, axes in zip(model.checks, np.atleast_1d(panels), strict=True):
                findings += check(model, axes)
        yield FindingTable(f"{model.name}: {model.source}", "exact", findings)
    launcher = check_launcher(default_launcher())
    for example in ON_RANKS:
        yield next(compare_variants(example, notebook.folder.resolve() / example.name, launcher, VARIANTS))


_GRAINS = {"friction": 0.5, "restitution": 0.5}
_SPRING = {"model": "spring", "friction": ROLLING_FRICTION}
MODELS = (
    Model("hertz-mindlin", "Hertz 1882; the damping of pdem", _GRAINS, (loading, restitution)),
    Model(
        "linear", "a spring and a dashpot", {**_GRAINS, "law": "linear", "normal_stiffness": 1e3},
        (loading, restitution),
    ),
    Model(
        "jkr", "Johnson, Kendall, Roberts, Proc. R. Soc. Lond. A 324 (1971) 301",
        {**_GRAINS, "adhesion": {"model": "jkr", "work_of_adhesion": WORK}}, (pulling, sticking),
    ),
    Model(
        "dmt", "Derjaguin, Muller, Toporov, J. Colloid Interface Sci. 53 (1975) 314",
        {**_GRAINS, "adhesion": {"model": "dmt", "work_of_adhesion": WORK}}, (pressed_by_dmt,),
    ),
    Model(
        "linear-adhesion", "cohesion energy density times the contact area, with Hertz's force",
        {**_GRAINS, "adhesion": {"model": "linear", "cohesion_energy_density": COHESION}}, (pressed_by_area,),
    ),
    Model(
        "liquid-bridge", "Willett et al., Langmuir 16 (2000) 9396; Lian et al., J. Colloid Interface "
        "Sci. 161 (1993) 138",
        {
            **_GRAINS,
            "adhesion": {"model": "liquid-bridge", "surface_tension": 0.072, "contact_angle": 20.0, "volume": 1e-12},
        },
        (drawing_out,),
    ),
    Model(
        "luding", "Luding, Granular Matter 10 (2008) 235",
        {
            **_GRAINS, "law": "luding", "normal_stiffness": 1e3, "unloading_stiffness": 2e3, "adhesion_stiffness": 5e2,
            "plasticity_depth": 0.05, "restitution": 1.0,
        },
        (plastic_springs,),
    ),
    Model(
        "eepa", "Morrissey, Thakur, Ooi, Granular Matter 16 (2014) 383, without adhesion",
        {**_GRAINS, "law": "eepa", "plasticity": 0.5, "restitution": 1.0}, (plastic_spheres,),
    ),
    Model(
        "rolling-spring", "Ai, Chen, Rotter, Ooi, Powder Technology 206 (2011) 269, type C",
        {**_GRAINS, "rolling": _SPRING}, (slope, rolling_out, resting_heap),
    ),
    Model(
        "constant-torque", "Wensrich, Katterfeld, Powder Technology 217 (2012) 409, type A",
        {**_GRAINS, "rolling": {"model": "constant-torque", "friction": ROLLING_FRICTION}}, (rolling_out,),
    ),
    Model(
        "rolling-sds", "Luding, Granular Matter 10 (2008) 235",
        {
            **_GRAINS,
            "rolling": {"model": "sds", "friction": ROLLING_FRICTION, "stiffness": 200.0, "damping": 0.4},
        },
        (slope, rolling_out),
    ),
    Model(
        "twisting-sds", "Luding, Granular Matter 10 (2008) 235",
        {**_GRAINS, "twisting": {"model": "sds", "friction": 0.1, "stiffness": 1e-5, "damping": 1e-8}},
        (twisting_out,),
    ),
    Model(
        "twisting-marshall", "Marshall, J. Comput. Phys. 228 (2009) 1541",
        {**_GRAINS, "twisting": {"model": "marshall"}}, (twisting_out,),
    ),
    Model(
        "walton-braun", "Walton, Braun, J. Rheology 30 (1986) 949: the same rebound at all speeds",
        {"friction": 0.5, "law": "walton-braun", "normal_stiffness": 1e3, "restitution": 0.5}, (restitution,),
    ),
    Model(
        "viscoelastic", "Schwager, Poeschel, Phys. Rev. E 57 (1998) 650",
        {"friction": 0.5, "law": "viscoelastic", "dissipative_time": 2e-6}, (slow_impacts,),
    ),
)  # fmt: skip
"""The models of the study; add an entry for a new model."""

VARIANTS = [
    Variant(1), Variant(1, 2), Variant(2, 1, "slabs", "always"), Variant(3, 2, "bisection", "never"),
    Variant(4, 1, "bisection", "always"), Variant(2, 2, "bisection", "never", before=1),
    Variant(3, 1, "slabs", "always", before=2),
]  # fmt: skip
"""Ranks, threads, partitions and restarts for comparisons of runs with all models."""


def _with(name: str, interaction: str) -> Example:
    """Return the shear box of the study of equal bits with one interaction of all materials."""
    pairs = ("grain-grain", "grain-steel")
    settings = tuple(f"interactions.{pair}={{friction=0.5, restitution=0.5, {interaction}}}" for pair in pairs)
    return _BOX._replace(name=name, settings=(*_BOX.settings, *settings))


_BOX = EXAMPLES[1]
ON_RANKS = (
    _with(
        "jkr and rolling spring",
        'adhesion={model="jkr", work_of_adhesion=0.05}, rolling={model="spring", friction=0.2}',
    ),
    _with("linear and constant torque", 'law="linear", normal_stiffness=1e4, rolling_friction=0.1'),
    _with(
        "eepa, sds and marshall",
        'law="eepa", plasticity=0.5, work_of_adhesion=0.05, rolling={model="sds", friction=0.2, stiffness=20.0}, '
        'twisting={model="marshall"}',
    ),
    _with(
        "liquid bridges",
        'adhesion={model="liquid-bridge", surface_tension=0.05, contact_angle=10.0, relative_volume=1e-3}',
    ),
)
"""Cases with the models for comparisons over ranks."""

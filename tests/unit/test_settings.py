"""``--set`` with keys that name nothing: what was probably meant."""

from __future__ import annotations

import pytest

from pdem.case.explain.example_texts import example_text
from pdem.case.model import Case
from pdem.foundation.errors import CaseError


@pytest.mark.parametrize(
    ("example", "setting", "meant"),
    [
        ("screw", "rotation.rate=3", "rotation.rate is not a key; did you mean walls.0.rotation.rate (screw)?"),
        ("screw", "rotation.rate.rpm=20", "walls.0.rotation.rate.rpm (screw)?"),
        ("screw", "walls.rotation.rate=3", "numbered from 0: did you mean walls.0.rotation.rate (screw)?"),
        ("screw", "walls.screw.rotation.rate=3", "numbered from 0: did you mean walls.0.rotation.rate (screw)?"),
        ("screw", "walls.screw.rotation.rpm=3", "numbered from 0: did you mean walls.0.rotation.rpm (screw)?"),
        ("drum", "rotation.rate=3", "did you mean motions.drum.rotation.rate?"),
        ("drum", "motions.rotation.rate=3", "did you mean motions.drum.rotation.rate?"),
        ("drum", "walls.lifter_2.width=0.1", "did you mean walls.2.width (lifter_2)?"),
        ("drum", "particles.radius=0.1", "did you mean particles.0.radius (grain) or particles.1.radius (grain)?"),
        ("drum", "gravity=[0, 0, -1.6]", "did you mean domain.gravity?"),
        ("drum", "timestep=1e-5", "did you mean time.step?"),
        ("drum", "dt=1e-5", "did you mean time.step?"),
        ("drum", "materials.youngs_modulus=1e7", "did you mean materials.grain.youngs_modulus"),
        ("silo", "stages.discharge.until.below=5", "did you mean stages.1.until.below (discharge)?"),
        ("silo", "friction=0.1", "interactions.grain-grain.friction or interactions.grain-steel.friction?"),
        ("pouring", "mass_rate=0.1", "did you mean insertions.0.mass_rate (inlet)?"),
        ("pouring", "insertions.inlet.mass=1.0", "did you mean insertions.0.mass (inlet)?"),
        ("wet_sand", "surface_tension=0.05", "interactions.sand-sand.adhesion.surface_tension or "),
    ],
)  # fmt: skip
def test_the_key_that_is_meant_is_named(example: str, setting: str, meant: str) -> None:
    case = Case.from_text(example_text(example))
    before = case.model_dump()
    with pytest.raises(CaseError) as caught:
        case.override(setting)
    assert meant in str(caught.value)
    assert "perturbation" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert case.model_dump() == before


def test_what_is_suggested_is_accepted() -> None:
    """Each suggestion, with the value that was given."""
    settings = {"screw": "rotation.rate=3.0", "silo": "friction=0.1", "pouring": "mass=0.5", "repose": "end=2.5"}
    for example, setting in settings.items():
        case = Case.from_text(example_text(example))
        with pytest.raises(CaseError) as caught:
            case.override(setting)
        meant = str(caught.value).partition("did you mean ")[2].rstrip("?").split(" or ")
        assert meant
        for one in meant:
            case.override(f"{one.partition(' (')[0]}={setting.partition('=')[2]}")


def test_new_tables_and_entries_are_still_made() -> None:
    case = Case.from_text(example_text("silo"))
    case.override("materials.rubber={friction = 0.9}")
    case.override("limits.largest_overlap=0.4")
    case.override("motions.lift.translation.velocity=[0, 0, 1]")
    assert case.motions["lift"].translation.velocity == (0.0, 0.0, 1.0)

"""The heat that walls have received: the same sums, limb by limb, on all ranks, and in pdem compare."""

from __future__ import annotations

import pytest

from helpers.rank_cases import DRUM, compare, divided
from pdem.case.example_meshes.mixer import drum

GRAIN = "conductivity = 2.0\nheat_capacity = 800.0\n"
STEEL = "conductivity = 40.0\ncontact_modulus = 2e11\n"


@pytest.mark.ranks(1, 2, 3, timeout=400)
def test_a_hot_drum(ranks):
    """Each rank has a part of the heat; sums of parts were not in normal form once."""
    text = DRUM.replace("[materials.steel]\n", f"{GRAIN}[materials.steel]\n{STEEL}")
    text = text.replace('mesh = "drum.vtk"\n', 'mesh = "drum.vtk"\ntemperature = 900.0\n') + "[heat]\n"
    run = compare(divided(text, "slabs", "always"), 300, meshes=[drum()])
    energies = run.energies()
    assert energies["heat_walls"] < 0.0
    assert energies["heat_from_motion"] > 0.0

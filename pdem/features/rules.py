"""Rules of the case file on features, in the order of the checks: one line for each feature."""

from __future__ import annotations

from pdem.features.bonds.rules import bond_problems
from pdem.features.breakage.rules import breakage_problems
from pdem.features.collisions.rules import collision_problems
from pdem.features.external_forces.rules import force_problems
from pdem.features.fields.rules import field_problems
from pdem.features.heat.rules import heat_problems
from pdem.features.sensors.rules import sensor_problems
from pdem.features.wall_loads.columns import mean_load_problems

RULES = (
    sensor_problems,
    field_problems,
    collision_problems,
    mean_load_problems,
    force_problems,
    bond_problems,
    heat_problems,
    breakage_problems,
)
"""Functions of a case that yield problems; insertions and wear are checked group by group and wall by wall."""

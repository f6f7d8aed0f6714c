"""All features, in the order of their columns in the series: the one place that names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.engine import state
from pdem.engine.energy_terms import EnergyTerms
from pdem.engine.feature_set import fields_in, observing, row_keys
from pdem.features.bonds.feature import Bonds
from pdem.features.breakage.feature import Breakage
from pdem.features.collisions.feature import Collisions
from pdem.features.contact_ends.feature import EndedContacts
from pdem.features.deforming_box.feature import DeformingBox
from pdem.features.departures.feature import Departures
from pdem.features.external_forces.feature import ExternalForces
from pdem.features.fields.feature import Fields
from pdem.features.gravity.feature import ChangingGravity
from pdem.features.heat.feature import HeatFeature
from pdem.features.insertions.feature import Insertions
from pdem.features.liquid.feature import Liquid
from pdem.features.observers.feature import Observers
from pdem.features.sensors.feature import Sensors
from pdem.features.stages.feature import StageEnds
from pdem.features.stress.feature import StressOfAll
from pdem.features.wall_loads.feature import WallLoads
from pdem.features.wear.feature import WearFeature
from pdem.foundation.fields import with_further

if TYPE_CHECKING:
    from pdem.case.sections.schema import CaseData
    from pdem.engine.feature import Feature
    from pdem.foundation.fields import Field

FEATURES: tuple[type[Feature], ...] = (
    Departures,
    WallLoads,
    Insertions,
    Sensors,
    Fields,
    WearFeature,
    Collisions,
    EndedContacts,
    StressOfAll,
    DeformingBox,
    ExternalForces,
    Liquid,
    Bonds,
    HeatFeature,
    Breakage,
    StageEnds,
    ChangingGravity,
    Observers,
)

ROW_KEYS = state.ROW_KEYS | row_keys(FEATURES)
"""Groups of a checkpoint with rows on each rank, and the columns that sort them."""

OBSERVING = observing(FEATURES)
"""Groups of a checkpoint that do not influence the motion."""

COMPARED = {table.name: table for one in FEATURES for table in one.tables if table.motion}
"""Groups of features that are compared step by step to find the first difference of two runs."""

TERMS = EnergyTerms(FEATURES)
"""All terms of the energy balance."""

PARTICLE_FIELDS = with_further(field for one in FEATURES for field in (*one.fields, *one.snapshot_fields))
"""All fields of particles in snapshots of any case, by name."""


def fields_of_features(case: CaseData) -> tuple[Field, ...]:
    """Return the fields that particles of a case have for its features."""
    return fields_in(FEATURES, case)

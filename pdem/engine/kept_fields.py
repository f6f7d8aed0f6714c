"""Which fields of particles files of a case have: those that something of the case needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.case.deformation import deforms
from pdem.case.groups.fixed_groups import has_fixed
from pdem.case.groups.shapes import has_clusters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pdem.case.sections.schema import CaseData
    from pdem.engine.feature import Feature
    from pdem.foundation.fields import Field


def kept_fields(fields: Iterable[Field], case: CaseData, features: Iterable[Feature | type[Feature]]) -> list[Field]:
    """Return the fields that files of a case have: none of clusters, of a moving box or of a feature that it has not.

    `features` are those of a run, or their classes.
    """
    used = {"cluster": has_clusters(case), "box_work": deforms(case), "fixed": has_fixed(case)}
    used |= {name: feature.uses_table_fields(case) for feature in features for name in feature.table_fields}
    return [field for field in fields if used.get(field.name, True)]

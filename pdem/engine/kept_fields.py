"""Fields of particles in the files of a case: only fields that the case needs."""

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
    """Return the fields in the files of a case: fields of clusters, a deforming box or a feature only if it has these.

    `features` are the features of a run, or their classes.
    """
    used = {"cluster": has_clusters(case), "box_work": deforms(case), "fixed": has_fixed(case)}
    used |= {name: feature.uses_table_fields(case) for feature in features for name in feature.table_fields}
    return [field for field in fields if used.get(field.name, True)]

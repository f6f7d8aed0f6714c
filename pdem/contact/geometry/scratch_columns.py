"""Columns of the scratch in which the geometry of wall contacts works, one row per touched facet."""

from __future__ import annotations

REAL_COLUMNS = 8
"""Columns of the real scratch: sort key, distance, vector from the point to the centre (3), normal (3)."""

INTEGER_COLUMNS = 4
"""Columns of the integer scratch: facet, kind, feature, whether it is a contact."""

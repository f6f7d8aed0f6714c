"""Columns of the scratch in which the geometry of wall contacts works, one row per touched facet."""

from __future__ import annotations

ON_FACET, ON_EDGE, ON_VERTEX = 0, 1, 2
"""Kinds of features, in the order of the contact type hierarchy."""

REAL_COLUMNS = 8
KEY, DISTANCE, RX, RY, RZ, NX, NY, NZ = range(REAL_COLUMNS)
"""Columns of the real scratch:

==================  ============================================================
`KEY`               by which rows are sorted: the distance, with a bias by kind
`DISTANCE`          of the nearest point of the facet from the centre [m]
`RX`, `RY`, `RZ`    vector from this point to the centre [m]
`NX`, `NY`, `NZ`    unit normal towards the centre
==================  ============================================================
"""

INTEGER_COLUMNS = 4
FACET, KIND, FEATURE, WEIGHT, PATCH, SIDE = range(6)
"""Columns of the integer scratch, the last two of which only the signed contact sum has:

===========  ===================================================================================================
`FACET`      number of the facet
`KIND`       kind of its nearest feature: `ON_FACET`, `ON_EDGE` or `ON_VERTEX`
`FEATURE`    number of this feature
`WEIGHT`     double hierarchy: 1 if the row is a contact, else 0; signed sum: number of features of the row that push
`PATCH`      first row of the patch to which the row belongs, or a row that leads to it
`SIDE`       side of its closed body on which the centre is, 1 or -1; 0 where that makes no difference
===========  ===================================================================================================
"""

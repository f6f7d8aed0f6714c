"""The benchmarks of the double hierarchy paper, from case files that ``pdem new`` writes.

Santasusana, Irazabal, Onate, Carbonell, Comput. Part. Mech. 3 (2016) 407-428, doi 10.1007/s40571-016-0109-4. All
run with both resolutions of wall contacts, which must agree except for the limits of sect. 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from validation.h2_clusters import on_meshes, sliding_down_meshes
from validation.h2_holes import holes
from validation.h2_impacts import continuity, impacts
from validation.h2_limits import across_facets, concave
from validation.h2_mixer import mixer
from validation.h2_sliding import sliding, sliding_as_published
from validation.parts import in_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdem.verification.study import FindingTable, Notebook


PARTS = (
    impacts, continuity, holes, sliding, sliding_as_published, concave, across_facets, on_meshes, sliding_down_meshes,
    mixer,
)  # fmt: skip
"""Parts of the study; add an entry for a new part."""


def run(notebook: Notebook) -> Iterator[FindingTable]:
    """Yield the tables of the study, each when it is complete."""
    yield from in_parts(notebook, PARTS)

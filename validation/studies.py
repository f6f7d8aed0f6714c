"""The studies of `pdem verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pdem.foundation.errors import InputError, name_hint
from pdem.verification import bits
from pdem.verification.study import Study
from validation import breakage, clusters, h2, heat, hgrid, models, nbs
from validation.bonds import buckling, elastica, waves
from validation.gallery import (
    beverloo,
    bouncing,
    chain,
    compression,
    dam_break,
    dosta_drum,
    dosta_impact,
    dosta_silo,
    haff,
    janssen,
    lattices,
    mixer,
    oblique_impact,
    opposite_spins,
    plane_shear,
    promises,
    repose,
    restitutions,
    rolling,
    sandpile,
    sphere_on_plane,
    spheres_collide,
    spinning_sphere,
    tangential_speed,
    thornton,
    triaxial,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

STUDIES = (
    Study(
        "hgrid",
        "Hierarchical grid: levels, work of a search, free cooling",
        hgrid.run,
        source="Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372",
    ),
    Study(
        "h2",
        "Double hierarchy: contacts with meshed walls, rotary mixer",
        h2.run,
        source="Santasusana, Irazabal, Onate, Carbonell, Comput. Part. Mech. 3 (2016) 407-428",
    ),
    Study(
        "nbs",
        "Detection without binary search, and a jet of discs",
        nbs.run,
        source="Munjiza, Andrews, Int. J. Numer. Meth. Engng 43 (1998) 131-149",
    ),
    Study("models", "Contact models beside the exact values of their theories", models.run),
    Study("clusters", "Rigid clusters of spheres beside closed forms of rigid bodies", clusters.run),
    Study(
        "heat",
        "Heat beside exact solutions",
        heat.run,
        source="closed forms; G. K. Batchelor, R. W. O'Brien, Proc. R. Soc. Lond. A 355 (1977) 313",
        parameters=heat.PARAMETERS,
    ),
    Study(
        "breakage",
        "Breakage beside the theory of Tavares",
        breakage.run,
        source="L. M. Tavares, R. P. King, Int. J. Miner. Process. 54 (1998) 1-28; L. M. Tavares, Powder Technol. 190 "
        "(2009) 327-339",
        parameters=breakage.PARAMETERS,
    ),
    spheres_collide.STUDY,
    sphere_on_plane.STUDY,
    restitutions.STUDY,
    oblique_impact.STUDY,
    tangential_speed.STUDY,
    spinning_sphere.STUDIES[0],
    opposite_spins.STUDY,
    spinning_sphere.STUDIES[1],
    thornton.STUDY,
    *rolling.STUDIES,
    *bouncing.STUDIES,
    beverloo.STUDY,
    janssen.STUDY,
    dam_break.STUDY,
    repose.STUDY,
    sandpile.STUDY,
    dosta_silo.STUDY,
    dosta_drum.STUDY,
    dosta_impact.STUDY,
    mixer.STUDY,
    haff.STUDY,
    chain.STUDY,
    compression.STUDY,
    triaxial.STUDY,
    plane_shear.STUDY,
    lattices.STUDY,
    elastica.STUDY,
    buckling.STUDY,
    waves.STUDY,
    *promises.STUDIES,
    bits.STUDY,
)
"""All studies, in the order in which they run."""


def find_studies(names: Sequence[str]) -> list[Study]:
    """Return the studies with these names or groups, each once; all studies if there are no names.

    Raises
    ------
    InputError
        If there is no study of a name.
    """
    known = {name for study in STUDIES for name in (study.name, study.group) if name}
    for name in names:
        if name not in known:
            raise InputError(f"{name!r} is no study; {name_hint(name, sorted(known))}")
    return [study for study in STUDIES if not names or study.name in names or study.group in names]


def find_study(name: str) -> Study:
    """Return the study of this name.

    Raises
    ------
    InputError
        If there is no such study.
    """
    return find_studies([name])[0]

"""The studies of `pdem verify`."""

from __future__ import annotations

from pdem.foundation.errors import InputError, name_hint
from pdem.verification import bits, clusters, h2, hgrid, models, nbs
from pdem.verification.study import Study

STUDIES = (
    Study("hgrid", "Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372", hgrid.run),
    Study("h2", "Santasusana, Irazabal, Onate, Carbonell, Comput. Part. Mech. 3 (2016) 407-428", h2.run),
    Study("nbs", "Munjiza, Andrews, Int. J. Numer. Meth. Engng 43 (1998) 131-149", nbs.run),
    Study("models", "contact models beside the exact values of their theories", models.run),
    Study("clusters", "rigid clusters of spheres beside closed forms of rigid bodies", clusters.run),
    Study("bits", "the same bits on any ranks, threads and division, and after any restart", bits.run),
)
"""All studies, in the order in which they run."""


def find_study(name: str) -> Study:
    """Return the study of this name.

    Raises
    ------
    InputError
        If there is none.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise InputError(f"{name!r} is no study; {name_hint(name, [study.name for study in STUDIES])}")

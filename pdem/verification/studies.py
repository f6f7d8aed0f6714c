"""All studies that `pdem verify` knows."""

from __future__ import annotations

from difflib import get_close_matches

from pdem.foundation.errors import InputError
from pdem.verification import hgrid, nbs
from pdem.verification.study import Study

STUDIES = (
    Study("hgrid", "Krijgsman, Ogarko, Luding, Comput. Part. Mech. 1 (2014) 357-372", hgrid.run),
    Study("nbs", "Munjiza, Andrews, Int. J. Numer. Meth. Engng 43 (1998) 131-149", nbs.run),
)
"""In the order in which they run."""


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
    names = [study.name for study in STUDIES]
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"give one of {', '.join(names)}"
    raise InputError(f"{name!r} is no study; {hint}")

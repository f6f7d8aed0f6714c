"""The fines of particles that have broken, by size: fragments that were too small for spheres."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdem.features.breakage.fragment_sizes import passing
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import size_rows
from pdem.foundation import exact_math
from pdem.foundation.interpolation import interpolated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pdem.case.sections.schema import CaseData
    from pdem.features.breakage.results.breakage_file import BrokenParticles
    from pdem.foundation.array_types import Floats


def fines_below(broken: BrokenParticles, case: CaseData, diameters: ArrayLike) -> Floats:
    """Return the mass of fines below some diameters (d,) [kg].

    The fines of each particle have the sizes of the passing curve of its t10 below the smallest sphere; mass that the
    spheres of a single particle could not take up belongs to the largest of them.

    Parameters
    ----------
    broken : BrokenParticles
        The particles that have broken.
    case : CaseData
        The case of the run.
    diameters : (d,) array_like
        Diameters [m].
    """
    limits = np.asarray(diameters, np.float64)
    found = np.zeros(len(limits))
    for name, material in case.materials.items():
        if (section := material.breakage) is None:
            continue
        model = SizeModel(size_rows(section.fragments.table), section.smallest)
        for row in np.flatnonzero(broken.material == name).tolist():
            sizes, share = passing(model, float(broken.t10[row]))
            width = 2.0 * float(broken.radius[row])
            cut = _share_at(2.0 * section.smallest / width, sizes, share)
            below = _share_at(np.minimum(limits, 2.0 * section.smallest) / width, sizes, share)
            part = below / cut if cut > 0.0 else np.zeros(len(limits))
            found += float(broken.fines[row]) * np.where(limits >= 2.0 * section.smallest, 1.0, part)
    return found


def _share_at(size: ArrayLike, sizes: Floats, share: Floats) -> Floats:
    """Return the mass fraction below sizes over that of the particle, linear in the logarithm of the size."""
    within = np.maximum(np.asarray(size, np.float64), sizes[0])
    return np.asarray(interpolated(exact_math.log(within), exact_math.log(sizes), share))

"""The keys of a material on the sizes of its fragments, checked without kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pdem.features.breakage.fragment_curve import LEAST_SIZE
from pdem.foundation.errors import InputError
from pdem.foundation.incomplete_beta import incomplete_beta

if TYPE_CHECKING:
    from pdem.features.breakage.fragment_curve import Rows


@dataclass(frozen=True)
class SizeModel:
    """Sizes of fragments of a material.

    Parameters
    ----------
    rows : tuple of (float, float, float)
        Rows (n, alpha, beta) of a table such as one of `pdem.features.breakage.size_tables.SIZE_TABLES`, n rising.
    smallest : float
        Smallest radius of fragments [m].
    keeps_fines : bool, optional
        Whether the mass of smaller fragments becomes spheres of the smallest size; otherwise it is left out.

    Raises
    ------
    InputError
        If there is no row, n does not rise from above 1, n is 10 (where the fraction is t10 itself), alpha or beta is
        out of range, or the radius is not positive.
    """

    rows: Rows
    smallest: float
    keeps_fines: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.smallest < math.inf:
            raise InputError(f"smallest fragments of {self.smallest!r} m: give a positive radius")
        sizes = [row[0] for row in self.rows]
        if not sizes or not all(low < high for low, high in zip([1.0, *sizes], sizes, strict=False)):
            raise InputError(f"table of fragment sizes with n = {sizes}: give rising numbers above 1, at least one")
        if 10.0 in sizes or not sizes[-1] < 0.5 / LEAST_SIZE:
            raise InputError(f"table of fragment sizes with n = {sizes}: leave out 10, and give n below 5000")
        for _, alpha, beta in self.rows:
            incomplete_beta(alpha, beta, 0.5)

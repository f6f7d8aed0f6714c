"""Names of the modes in which bonds break, and of their columns of the series."""

from __future__ import annotations

MODES = ("tension", "shear", "bending", "twist")
"""Names of the modes, from `.potential.IN_TENSION` on."""

BROKEN_COLUMNS = {f"bonds_broken_{mode}": mode for mode in MODES}
"""Columns with the numbers of broken bonds, and their modes."""

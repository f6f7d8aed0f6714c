"""Names of the energy term and of the columns of the series of breakage."""

from __future__ import annotations

BREAKAGE = "breakage"
"""Term of the energy balance: energy of motion and contacts that breakage has taken."""

BREAKAGE_COLUMNS = (
    ("broken", "1", "i8"), ("fragments_inserted", "1", "i8"), ("fines_mass", "kg"), ("fracture_needed", "J"),
)  # fmt: skip
"""Numbers of particles that have broken and of fragments, mass of fines, and energy that strengths required."""

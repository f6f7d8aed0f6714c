"""Tables of the sizes of fragments, by name.

A row is [n, alpha, beta]: the mass fraction of fragments smaller than 1/n of the parent's size is the regularised
incomplete beta function with alpha and beta of t10, the fraction smaller than a tenth, as in the breakage model of
Tavares.
"""

from __future__ import annotations

SIZE_TABLES = {
    "copper": (
        (1.2, 0.51, 11.95), (1.5, 1.07, 13.87), (2.0, 1.01, 8.09), (4.0, 1.08, 3.03), (25.0, 1.01, 0.53),
        (50.0, 1.03, 0.36), (75.0, 1.03, 0.30),
    )
}  # fmt: skip
"""Rows by name. Copper: sample constants of a copper ore, which circulate with the model of Tavares. They have not been
compared with their publication: a material has a table of its own tests."""


def size_rows(table: str | tuple[tuple[float, float, float], ...]) -> tuple[tuple[float, float, float], ...]:
    """Return the rows of a table with a name, or the rows themselves."""
    return SIZE_TABLES[table] if isinstance(table, str) else table

"""The keys of each model of strength, and the smallest sphere that breaks."""

from __future__ import annotations

from pdem.case.python_files import FROM_FILE

KEYS_OF_MODELS = {
    "tavares": (("fracture_energy", "size", "exponent", "spread"), ("greatest", "damage")),
    "ab-t10": (("rate", "size"), ("threshold",)),
    "stress": (("strength", "size", "spread"), ("exponent",)),
    FROM_FILE: ((), ("damage",)),
}
"""Keys of each model that a case must have, and that it may have."""

SMALLEST_PARENT = 2.0
"""Radius of the smallest sphere that breaks, over that of the smallest fragments: there is room for several of them."""

"""Numbers with a unit, in usual notations, and their conversion to SI units."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

RPM, DEGREES = "rpm", "degrees"
"""Units that a case accepts directly, in a table: ``{rpm = 20}``."""

_LENGTHS = {
    "m": 1.0, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "um": 1e-6, "µm": 1e-6, "μm": 1e-6, "micron": 1e-6, "microns": 1e-6,
    "nm": 1e-9, "km": 1e3, "in": 0.0254, "inch": 0.0254, "inches": 0.0254, '"': 0.0254, "ft": 0.3048, "feet": 0.3048,
    "meter": 1.0, "metre": 1.0, "meters": 1.0, "metres": 1.0,
}  # fmt: skip
_TIMES = {
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9,
    "min": 60.0, "h": 3600.0, "hours": 3600.0,
}  # fmt: skip
_MASSES = {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "ton": 1e3, "tons": 1e3, "tonnes": 1e3, "lb": 0.45359237}
_PRESSURES = {
    "Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "bar": 1e5, "mbar": 100.0, "psi": 6894.757293168, "N/m2": 1.0,
    "N/mm2": 1e6, "kN/m2": 1e3, "J/m3": 1.0,
}  # fmt: skip
_DENSITIES = {
    "kg/m3": 1.0, "g/cm3": 1e3, "g/cc": 1e3, "g/ml": 1e3, "kg/l": 1e3, "kg/dm3": 1e3, "g/l": 1.0, "t/m3": 1e3,
    "lb/ft3": 16.01846337, "kg/mm3": 1e9, "g/mm3": 1e6, "t/mm3": 1e12,
}  # fmt: skip
_SPEEDS = {
    "m/s": 1.0, "mm/s": 1e-3, "cm/s": 1e-2, "km/h": 1.0 / 3.6, "m/min": 1.0 / 60.0, "ft/s": 0.3048, "in/s": 0.0254,
}  # fmt: skip
_ACCELERATIONS = {"m/s2": 1.0, "mm/s2": 1e-3, "cm/s2": 1e-2, "ft/s2": 0.3048}
_FLOWS = {
    "kg/s": 1.0, "g/s": 1e-3, "kg/min": 1.0 / 60.0, "kg/h": 1.0 / 3600.0, "t/h": 1.0 / 3.6, "lb/s": 0.45359237,
}  # fmt: skip
_OTHERS = {
    "N": 1.0, "mN": 1e-3, "kN": 1e3, "MN": 1e6, "N m": 1.0, "Nm": 1.0, "kN m": 1e3, "kNm": 1e3, "N mm": 1e-3,
    "Nmm": 1e-3,
    "N/m": 1.0, "mN/m": 1e-3, "kN/m": 1e3, "N/mm": 1e3, "kN/mm": 1e6, "MN/m": 1e6, "J": 1.0, "mJ": 1e-3, "kJ": 1e3,
    "J/m2": 1.0, "mJ/m2": 1e-3, "W": 1.0, "kW": 1e3, "Pa s": 1.0, "Pas": 1.0, "Pa.s": 1.0, "mPa s": 1e-3, "cP": 1e-3,
    "Hz": 1.0, "kHz": 1e3, "1/s": 1.0, "rad": 1.0, "rad/s": 1.0, "%": 1e-2, "percent": 1e-2,
    "-": 1.0, "m2": 1.0, "m3": 1.0,
}  # fmt: skip

FACTORS: dict[str, float] = {
    **_LENGTHS, **_TIMES, **_MASSES, **_PRESSURES, **_DENSITIES, **_SPEEDS, **_ACCELERATIONS, **_FLOWS, **_OTHERS
}  # fmt: skip
"""Factors from each unit to SI units."""

_IN_TABLES = {
    "rpm": RPM, "r/min": RPM, "rev/min": RPM, "1/min": RPM, "min-1": RPM, "deg": DEGREES, "degree": DEGREES,
    "degrees": DEGREES, "°": DEGREES,
}  # fmt: skip

_QUANTITY = re.compile(r"([-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?)\s*[\[(]?\s*([^\d\s\[(].*?)\s*[\])]?\Z")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eEdD][-+]?\d+)?\Z")
_POWERS = str.maketrans({"²": "2", "³": "3", "^": None, "·": " ", "*": " "})


class UnitQuantity(NamedTuple):
    """A number with a unit.

    Attributes
    ----------
    value : float
        Number in this unit.
    unit : str
        Unit as the user has written it.
    """

    value: float
    unit: str

    def __str__(self) -> str:
        """Return the notation in a case: a number in SI units, or a table with a unit that a case accepts."""
        unit = _plain(self.unit)
        if unit in _IN_TABLES:
            return f"{{{_IN_TABLES[unit]} = {number_text(self.value)}}}"
        return number_text(self.value * FACTORS[unit])


def quantity_of(text: str) -> UnitQuantity | None:
    """Return the number and the unit in a text such as ``5 mm`` or ``2,5 g/cm^3``; None for any other text."""
    found = _QUANTITY.match(text.strip())
    if found is None or not (_plain(found[2]) in FACTORS or _plain(found[2]) in _IN_TABLES):
        return None
    return UnitQuantity(_float(found[1]), found[2])


def number_of(text: str) -> float | None:
    """Return the number in a text, even with a decimal comma or a Fortran exponent; None if it is not a number."""
    return _float(text.strip()) if _NUMBER.match(text.strip()) else None


def number_text(value: float) -> str:
    """Return a number in the notation of a case file, without rounding noise of its conversion."""
    if not math.isfinite(value):
        return repr(value)
    if value == int(value) and abs(value) < 1e6:
        return repr(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:.12g}"
    digits, exponent = f"{value:.11e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def _float(text: str) -> float:
    return float(text.replace(",", ".").replace("d", "e").replace("D", "e"))


def _plain(unit: str) -> str:
    """Return a unit without the signs of powers and products."""
    return " ".join(unit.replace("**", "").translate(_POWERS).split())

"""How far the functions of a law are looked at, and what they may be off by."""

DEEPEST = 0.3
"""Overlap over the effective radius up to which functions are looked at."""

POINTS = 40

TOUCH = 1e-9
"""Force at the touch over that at the depth of an impact."""

SOFTER = 0.05
"""By how much a declared stiffness may be less than the derivative of the force, over that."""

UNLIKE = 1e-2
"""By how much the energy of a part may differ from the work of its force, over that."""

"""Adhesion of elastic spheres after Johnson, Kendall and Roberts, Proc. R. Soc. Lond. A 324 (1971) 301.

With the contact radius a, the effective modulus E and radius R, and the work of adhesion w per area [J/m^2] (twice the
surface energy of like materials):

``F = 4 E a^3 / (3 R) - sqrt(8 pi w E a^3)``, ``overlap = a^2 / R - sqrt(2 pi w a / E)``.

In units of ``a0 = (9 pi w R^2 / (2 E))^(1/3)``, ``F_c = 3/2 pi w R`` and ``delta_c = a0^2 / (2 6^(1/3) R)``, with
``x = sqrt(a / a0)``: ``F = 4 F_c (x^6 - x^3)``, ``overlap = 6^(1/3) delta_c (2 x^4 - 4/3 x)``. A contact begins when
the bodies touch, with a pull of 8/9 F_c; pulled apart it lasts, stretched, up to ``-delta_c`` (where the distance is
given), or up to the largest pull F_c, at ``-0.481 delta_c`` (where the force is given). The energy is

``U = F_c delta_c 6^(1/3) (16/5 x^10 - 16/3 x^7 + 4/3 x^4)``, counted from the touch; what is stored when the contact
ends is lost: 0.936 F_c delta_c, or 0.462.

Frictions are proportional to the normal force plus twice the largest pull (Thornton, J. Phys. D 24 (1991) 1942).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.contact.law.adhesion_part import AdhesionPart
from pdem.contact.law.parts import TINY, Energy, Key
from pdem.foundation import exact_math

if TYPE_CHECKING:
    from pdem.contact.law.parts import Pair

SIXTH_ROOT = exact_math.cbrt(6.0)
FOLD = 1.0 / SIXTH_ROOT
"""Value of x, and of minus the overlap over ``6^(1/3) delta_c``, at the largest distance of a contact."""

LARGEST_PULL = 0.4807498567691361
"""Minus the overlap over delta_c at the largest pull."""

WORK_OF_ADHESION = Key("work_of_adhesion", "J/m2", "Twice the surface energy of like materials.", above=0.0)

_FOURTH_ROOT = exact_math.power(0.5, 0.25)
_SLOPES = -0.1292798962, 0.09872434718, -0.08213702882, 0.03967764561, -0.00934331795
"""Coefficients of the first guess of x, to 1.7e-6 of its distance from `FOLD`."""

_ABOVE = 0.012509309, 4.6834341, 104.02881, 352.21903, 190.87499, 9.5526495
_BELOW = 1.0, 46.317459, 285.78249, 291.19454, 37.077787
"""Quotient of polynomials for ``u^(2/3)``, to 1e-5 between 0.03 and 4."""


def inverse_cube_root(value: float) -> float:
    """Return one over the cube root of a positive number, in vector code with one division.

    With the eighth root u it is ``u^-2`` times a quotient of polynomials for ``u^(-2/3)``, and two steps of a series in
    ``e = 1 - value y^3``, to its third power, for the root y: numbers from 1e-18 to 1e7 have it to the last digits.
    """
    u = math.sqrt(math.sqrt(math.sqrt(abs(value))))
    a, b, c, d, e, f = _ABOVE
    p, q, r, s, t = _BELOW
    under = u * u * (a + u * (b + u * (c + u * (d + u * (e + u * f)))))
    root = (p + u * (q + u * (r + u * (s + u * t)))) / under
    for _ in range(2):
        off = 1.0 - value * root * root * root
        root = root + root * off * (1.0 / 3.0 + off * (2.0 / 9.0 + 14.0 / 81.0 * off))
    return root


def cube_root(value: float) -> float:
    """Return the cube root of a positive number, see `inverse_cube_root`."""
    root = inverse_cube_root(value)
    return value * root * root


def contact_radius_root(depth: float) -> float:
    """Return x for an overlap over ``6^(1/3) delta_c``: the larger root of 2 x^4 - 4/3 x = depth.

    With t the root of the distance from the end of the contact, x is nearly linear in ``sqrt(1 + t)``; the remainder is
    a polynomial of its inverse. One step of Halley's method, with a third-order error, gives x to the last digit.
    """
    depth = max(depth, -FOLD)
    far = math.sqrt(1.0 + math.sqrt(depth + FOLD))
    s = 1.0 / far
    a, b, c, d, e = _SLOPES
    rest = (FOLD - _FOURTH_ROOT) + (1.0 - s) * (a + s * (b + s * (c + s * (d + s * e))))
    x = _FOURTH_ROOT * far + s * rest
    cube = 2.0 * x * x * x
    missed, slope, bend = (cube - 4.0 / 3.0) * x - depth, 4.0 * cube - 4.0 / 3.0, 12.0 * cube
    # the slope is 0 where the contact ends; there the guess is exact
    step = 2.0 * missed * slope * x / (2.0 * slope * slope * x - missed * bend + TINY)
    return max(x - step, FOLD)


def elastic(overlap: float, radius: float, c: Any, force: float, factor: float) -> tuple[float, float, float]:
    """Return the force [N], the radius of the contact area [m], and twice the largest pull [N] (Thornton)."""
    root = inverse_cube_root(radius)
    x = contact_radius_root(c.per_depth * root * overlap)
    pull = c.pull * radius
    square = x * x
    cube = square * x
    return 4.0 * pull * cube * (cube - 1.0), c.size * radius * root * square, 2.0 * pull


def energy(overlap: float, radius: float, c: Any, elastic_energy: float) -> float:
    """Return the energy [J], 0 at the touch."""
    root = inverse_cube_root(radius)
    x, size = contact_radius_root(c.per_depth * root * overlap), c.size * radius * root
    unit = 0.5 * c.pull * size * size
    return unit * (_shape(x) - _shape(TOUCH))


def _shape(x: float) -> float:
    square = x * x
    fourth = square * square
    return fourth * (16.0 / 5.0 * fourth * square - 16.0 / 3.0 * square * x + 4.0 / 3.0)


TOUCH = exact_math.cbrt(2.0 / 3.0)
"""x where the overlap is 0."""


def gap(radius: float, c: Any) -> float:
    """Return how far a contact can be stretched [m]."""
    return c.stretch * c.size * c.size * cube_root(radius) / (2.0 * SIXTH_ROOT)


def stiffness(radius: float, c: Any) -> float:
    """Return the stiffness where the force is 0 [N/m], 6/5 E a0: a bound without any load."""
    return 0.6 * c.modulus * c.size * radius * inverse_cube_root(radius)


def _values(pair: Pair) -> tuple[float, float, float, float]:
    work, modulus = pair.keys["work_of_adhesion"], pair.effective_modulus
    size = exact_math.cbrt(4.5 * math.pi * work / modulus)
    stretch = 1.0 if pair.keys["detach"] == "displacement" else LARGEST_PULL
    return size, 2.0 / (size * size), 1.5 * math.pi * work, stretch


JKR = AdhesionPart(
    role="adhesion",
    model="jkr",
    text="Elastic spheres that attract each other over a short range: soft, large, strongly adhesive ones.",
    keys=(
        WORK_OF_ADHESION,
        Key(
            "detach",
            "",
            "Where a pulled contact ends: at its largest distance, or at its largest pull.",
            default="displacement",
            required=False,
            choices=("displacement", "force"),
        ),
    ),
    coefficients=("size", "per_depth", "pull", "stretch"),
    values=_values,
    energies=(Energy("adhesion", None, "adhesion"),),
    elastic=elastic,
    energy=energy,
    gap=gap,
    stiffness=stiffness,
)
"""``size`` is a0 over R^(2/3), ``per_depth`` 2 over its square, ``pull`` F_c over R, ``stretch`` the largest distance
over delta_c."""

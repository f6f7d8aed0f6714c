"""The normal force of a contact: an elastic force and damping ``2 gamma sqrt(m k) v_n``.

A step of central differences has positions at its end and velocities in its middle. Damping needs the velocity of the
end, which is extrapolated from the velocities of this step and of the last one. The change of this velocity by the
normal force itself is solved for instead of extrapolated. A contact begins somewhere within a step, with damping from
the touch on: its first force is the mean of the force from the touch to the middle of the next step. Both measures give
the restitution within 1 % at twenty steps per impact, where explicit damping is wrong by 10 % and more. With adhesion
the same holds for the elastic force, which begins with a jump.

The contact of the solids, including damping, never pulls: only adhesion and plastic forces pull, up to their limit. The
function is branch-free, so that a loop over contacts becomes vector code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.contact.law.elastic import elastic_of, onset_of
from pdem.contact.law.parts import TINY
from pdem.numerics.kernel_factory import inlined_closure, inlined_exactly
from pdem.numerics.vectors import square_root

if TYPE_CHECKING:
    from pdem.contact.law.contact_law import ContactLaw
    from pdem.contact.law.parts import Contact
    from pdem.motion.time_step import TimeStep
    from pdem.numerics.vectors import Vector


class Before(NamedTuple):
    """History of a contact from the last step.

    Attributes
    ----------
    known : bool
        Whether the bodies touched in the last step; otherwise the other fields are zeros.
    force : float
        Normal force [N].
    velocity : tuple of 3 float
        Relative velocity at the contact in the middle of the last step [m/s].
    history : tuple of float
        History of the normal part.
    """

    known: bool
    force: float
    velocity: Vector
    history: tuple[float, ...]


class Normal(NamedTuple):
    """The normal force of a contact, and its results for later stages.

    Attributes
    ----------
    force : float
        Normal force [N].
    lost : float
        Energy that damping dissipates in this step [J].
    velocity : tuple of 3 float
        Tangential velocity at the end of the step [m/s].
    stiffness, damping : float
        Normal stiffness and damping [N/m, N s/m].
    shrink, time : float
        See `pdem.contact.law.parts.Load`.
    held : float
        Difference of the load for friction and the normal force [N].
    history : tuple of float
        New history of the normal part.
    plastic : float
        Energy that the normal part itself loses in this step [J].
    """

    force: float
    lost: float
    velocity: Vector
    stiffness: float
    damping: float
    shrink: float
    time: float
    held: float
    history: tuple[float, ...]
    plastic: float


@inlined_exactly
def scaled(factor: float, first: float, second: float) -> tuple[float, float]:
    """Return two numbers times a factor, without contraction with later operations."""
    return factor * first, factor * second


def normal_force_of(law: ContactLaw) -> Any:
    """Make the function that returns the normal force of a contact.

    Its arguments are a `TimeStep`, a `Contact`, the coefficients of the pair of materials (``damping`` is gamma) and
    `Before`; it returns `Normal`.
    """
    elastic, onset, may_pull, relaxes = elastic_of(law), onset_of(law), law.may_pull, law.relaxes
    stretches = law.may_stretch

    @inlined_closure
    def normal_force(step: TimeStep, contact: Contact, c: Any, before: Before) -> Normal:
        dt, n, u = step.dt, contact.normal, contact.velocity
        gain = 0.5 * dt * contact.inverse_mass

        # the first force of a contact acts from the touch to the middle of the next step, over the way `reach`
        deep = contact.overlap if may_pull else max(contact.overlap, 0.0)
        earlier = contact.overlap_before if may_pull else max(contact.overlap_before, 0.0)
        gained = contact.overlap - contact.overlap_before
        begins = (not before.known) & (contact.overlap_before < 0.1 * gained) & (dt > 0.0)
        reach = deep + 0.5 * gained if begins else deep
        # a contact that begins has no stiffness before: that factor is free for the one at its reach, and with a force
        # that begins with a jump for the mean of this
        other = reach if begins else earlier
        if stretches:
            other = 0.5 * reach if begins else earlier
        force, factor, held, history, plastic = elastic(deep, contact.radius, c, before.history)
        mean, other_factor, mean_held, _, _ = elastic(other, contact.radius, c, before.history)
        stiffness = c.modulus * factor
        # unloading shrinks forces that have grown with the stiffness; a contact that begins has nothing to shrink and
        # slips from the touch on: one quotient for both
        quotient = (contact.overlap if begins else factor) / (gained if begins else max(other_factor, TINY))
        if stretches:
            acting = 0.5 + quotient if begins else 1.0
            force, held = scaled(acting, mean if begins else force, mean_held if begins else held)

        # velocity at the end of the step; its normal part without what the change of the normal force adds
        half = 0.5 if before.known else 0.0
        ex = u[0] + half * (u[0] - before.velocity[0])
        ey = u[1] + half * (u[1] - before.velocity[1])
        ez = u[2] + half * (u[2] - before.velocity[2])
        en = ex * n[0] + ey * n[1] + ez * n[2]
        tx, ty, tz = ex - en * n[0], ey - en * n[1], ez - en * n[2]
        en -= gain * before.force
        at_reach = other_factor if begins else factor
        damping = 2.0 * c.damping * square_root(contact.mass * c.modulus * at_reach)
        if relaxes:
            damping += c.relaxation * c.modulus * at_reach
        # of the damping over that way either what it is at its end, times a mean, or what it is in its middle
        share = 1.0 if stretches else onset(c)
        closing = share * reach * step.rate if begins else -en
        normal = (force + damping * closing) / (1.0 + gain * damping)
        normal = max(normal, -held) if may_pull else max(normal, 0.0)
        en += gain * normal

        return Normal(
            normal, (force - normal) * en * dt, (tx, ty, tz), stiffness, damping, min(1.0, quotient),
            dt * quotient if begins else dt, held, history, plastic,
        )  # fmt: skip

    return normal_force

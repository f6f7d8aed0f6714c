"""Amounts that particles carry and contacts exchange, in whole quanta, so that nothing is lost or made.

A *flow* is a plain function of one acting contact that says how much goes from its first particle to its second one in
a step. It is rounded to whole quanta (`pdem.numerics.quanta`) and applied to both with opposite signs. A contact
between ranks is evaluated by both of them: the first particle is that of the lower id on both sides, values of ghosts
are those that their owners had at the begin of the pass, and both run the same kernel. So they get the same number,
each applies its side, and nobody sends anything back: the way that forces go. Sums over the contacts of a particle are
sums of integers, which are the same in any order.

`flows` compiles these functions; `pair_flows` has the pass over contacts between particles, `wall_flows` that over
contacts with walls. Both also list contacts (*choices*) and add up whole numbers over the contacts of each particle
(*parts*), for those whose flows are limited by what all contacts of a particle ask for together. The engine does all
this for a field of particles in `pdem.engine.quantum_field`.
"""

"""Amounts that particles carry and contacts exchange, in whole quanta, so that their sum is conserved exactly.

A *flow* is a plain function of one acting contact; it returns the amount from the first particle to the second one in a
step. The amount is rounded to whole quanta (`pdem.numerics.quanta`) and applied to both with opposite signs. Both ranks
evaluate a contact between them: the first particle is the one of lower id on both sides, ghosts have the values of
their owners at the begin of the pass, and both run the same kernel. So they get the same number, and each applies its
side; no results are sent back, as with forces. Sums over the contacts of a particle are sums of integers, which are the
same in any order.

`flows` compiles these functions; `pair_flows` has the pass over contacts between particles, `wall_flows` the pass over
contacts with walls. Both also list contacts (*choices*) and add up integers over the contacts of each particle
(*parts*), for flows with a limit that depends on all contacts of a particle. `pdem.engine.quantum_field` applies them
to a field of particles.
"""

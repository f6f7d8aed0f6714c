"""Ownership of particles by ranks, and messages between ranks: the only code that knows MPI.

Goal: the implementation of `pdem.containers.exchange.Exchange` on several ranks: cuts of space, ghosts, migration,
balance. No rank asks all ranks, and no rank holds all particles.

Not here: physics. Nothing here knows a force, a law, a wall or a feature; only `foundation`, `numerics` and
`containers` of pdem are imported.
"""

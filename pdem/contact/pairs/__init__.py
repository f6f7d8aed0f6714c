"""Contacts between particles, from candidate pairs to forces.

`contacts` holds the state of one rank and is what the time step calls; `evaluate` is the kernel of a step, one page;
`stages` are the stages of the contact law over a block of contacts; `arguments` names what kernels are given.
`history_storage` and `force_storage` say where histories and contact forces are kept, `schedule` when forces can be
summed, `force_sums` how.
"""

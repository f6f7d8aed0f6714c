"""Contacts between particles, from candidate pairs to forces.

The time step calls `contacts`, which holds the state of one rank. `evaluate` is the kernel of a step, on one page;
`stages` has the stages of the contact law over a block of contacts; `arguments` names the arguments of kernels.
`history_storage` and `force_storage` assign memory to histories and contact forces, `schedule` decides when forces are
summed, `force_sums` sums them.
"""

"""Contacts between particles and walls, from candidate facets to forces and loads.

`contacts` holds the state of one rank and is what the time step calls; `evaluate` is the kernel of a step; `stages` is
what a wall does in place of a particle in the stages of the contact law; `arguments` names what kernels are given.
`facet_lists` and `storage` say where lists and histories are kept, `history_matching` which contact of the last step a
contact continues. What is touched is found in `pdem.contact.geometry`.
"""

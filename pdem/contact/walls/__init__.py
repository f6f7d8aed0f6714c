"""Contacts between particles and walls, from candidate facets to forces and loads.

The time step calls `contacts`, which holds the state of one rank. `evaluate` is the kernel of a step; `stages` has the
stages of the contact law with a wall instead of a particle; `arguments` names the arguments of kernels. `facet_lists`
and `storage` have the memory of lists and histories, `history_matching` decides which contact of the last step a
contact continues. The touched features come from `pdem.contact.geometry`.
"""

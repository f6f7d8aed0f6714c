"""From overlap to force: geometry of contacts, contact laws, pair contacts and wall contacts.

Goal: the force and torque of every contact, with its history and its energies, in vector code and in a fixed order.

Not here: the search of candidates (`detection`), integration (`motion`), ranks (ghosts are ordinary rows here), and
texts for users beyond those of the parts of laws.
"""

"""Tables of pairs of particles by ids. The particles of a pair need not touch; a pair lasts until it is removed.

A feature with such tables names them in `Feature.pair_tables`. The engine then makes ghosts, so that every rank that
owns an end of a pair has both ends at any distance (`halo`). It sends pairs along with their particles to other ranks
and removes the pairs of removed particles (`moves`). It leaves pairs out of the lists of contacts if a table says so
(`no_contact`).
"""

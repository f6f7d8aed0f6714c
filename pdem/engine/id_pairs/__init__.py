"""Tables of pairs of particles by ids: pairs that need not touch, and that last until somebody takes them out.

A feature with such tables names them in `Feature.pair_tables`. The engine then keeps both ends of each pair on every
rank that owns one of them, whatever their distance (`halo`), lets pairs follow their particles to other ranks
(`moves`), takes out the pairs of particles that are removed, and leaves contacts of pairs out of lists if a table says
so (`no_contact`).
"""

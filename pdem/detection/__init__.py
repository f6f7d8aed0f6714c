"""Candidate pairs of spheres and candidate facets near spheres.

Goal: neighbour lists by the hierarchical grid, its cell sizes and cost model, skins, facets near particles; rival
methods for comparison.

Not here: the decision that a pair is in contact (`contact`), ghosts (`decomposition`), and the choice of times at
which lists are made (`engine`).
"""

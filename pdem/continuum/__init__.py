"""Continuum fields: density, velocity and stress on grids of cells.

Goal: exact sums of the shares that particles and contacts have in cells, with the same bits on any number of ranks.

Not here: the times of samples and averages (`features.fields`), files (`output`), and plots.
"""

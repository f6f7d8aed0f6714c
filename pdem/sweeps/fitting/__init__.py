"""Fit of noisy responses over a space of parameters, the parameters that meet targets, and the choice of next runs.

A location is a point of this space: the parameters as shares of their ranges, in the unit cube.
"""

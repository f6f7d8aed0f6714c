"""Surfaces by their measures: planes, boxes, plates, chutes, cylinders, cones, tubes, spheres and screws.

Each function returns parts: arrays (facets, sides, 3) of the corners around facets [m], those of closed surfaces
against the clock as seen from outside. Corners that facets share are equal up to rounding, so that a mesh joins them.
"""

"""Surfaces from dimensions: planes, boxes, plates, chutes, cylinders, cones, tubes, spheres and screws.

Each function returns parts: arrays (facets, sides, 3) of the corners around facets [m], counter-clockwise as seen from
outside for closed surfaces. Common corners of facets are equal up to rounding, so that a mesh joins them.
"""

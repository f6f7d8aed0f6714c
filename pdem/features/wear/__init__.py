"""Wear: what particles take off walls, step by step, and the depth that this leaves on each facet."""

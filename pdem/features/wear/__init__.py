"""Wear: volume that particles remove from walls, step by step, and its depth on each facet."""

"""Walls within a step: driven walls, loads, and the margin of their lists."""

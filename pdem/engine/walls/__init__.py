"""Walls within a step: those that particles drive, loads, and the margin of their lists."""

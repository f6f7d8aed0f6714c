"""Checks before a run that need its particles and meshes, and what they say: `preflight.preflight` is the door."""

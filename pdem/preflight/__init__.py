"""Checks before a run that need its particles and meshes; the entry point is `preflight.preflight`."""

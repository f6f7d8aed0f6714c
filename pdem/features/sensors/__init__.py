"""Sensors: counts of particles that pass planes, are in regions, or are removed, while a case runs."""

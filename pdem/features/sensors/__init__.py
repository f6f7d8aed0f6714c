"""Sensors: particles that pass planes, are in regions, or are taken out, counted while a case runs."""

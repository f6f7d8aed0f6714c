"""Insertions: particles that are inserted while a case runs, by rates and in portions, at free positions."""

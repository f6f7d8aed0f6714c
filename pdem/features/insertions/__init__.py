"""Insertions: particles that come in while a case runs, by rates and in portions, where there is a free place."""

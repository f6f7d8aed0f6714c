"""Ended contacts: counted by reason in the series, and listed for scripts."""

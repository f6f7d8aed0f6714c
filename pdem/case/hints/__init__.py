"""Additions to messages besides the fact: usual causes, the required form, words of foreign programs, units."""

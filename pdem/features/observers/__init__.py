"""Observers of scripts: when they are called, and the columns they give."""

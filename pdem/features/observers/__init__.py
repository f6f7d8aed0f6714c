"""Observers of scripts: when they are called, and the columns that they return."""

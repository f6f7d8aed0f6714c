"""Gravity that changes, by tables and stages."""

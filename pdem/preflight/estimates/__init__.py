"""Estimates of a run from its case: falls and impacts, beds at rest, cost of stiffness, plausible lengths."""

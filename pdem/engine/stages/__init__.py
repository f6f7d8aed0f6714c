"""The stages of a run: which one is present, and what changes when the next one begins."""

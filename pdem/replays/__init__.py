"""Finished runs again: any interval of one, with more output, and the proof that it is the same motion."""

"""Replays of finished runs: any interval with additional output, and the proof that the motion is the same."""

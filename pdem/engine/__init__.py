"""The simulation: physics on this rank's particles, whoever owns the others."""

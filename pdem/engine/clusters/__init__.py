"""Rigid clusters within a step: states, energies, and the particles that they move."""

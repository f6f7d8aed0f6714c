"""Collisions that have ended, counted by the energy that they have lost."""

"""Ended collisions, counted by the energy that they have lost."""

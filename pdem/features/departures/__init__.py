"""Particles that leave the domain, and the balance of mass."""

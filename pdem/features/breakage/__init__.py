"""Breakage: particles that break are replaced by fragments, smaller spheres inside the particle.

The goal is a replacement that conserves mass, momentum and angular momentum and creates no energy.
"""

"""Arithmetic of kernels with the same bits on every processor: rounding by a rule or name, elementary functions."""

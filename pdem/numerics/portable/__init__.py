"""Arithmetic of kernels with the same bits on every processor: fused operations by a rule or name, powers, angles."""

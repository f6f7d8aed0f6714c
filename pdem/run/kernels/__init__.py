"""Kernels that are compiled before the first step."""

"""Compilation of kernels before the first step."""

"""The case: its file, its checks, and the initial particles and walls of a simulation."""

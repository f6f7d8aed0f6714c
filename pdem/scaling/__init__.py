"""Scaling of runs: measured over ranks and threads, reports with comparison to a plan, and batch scripts."""

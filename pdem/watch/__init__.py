"""A page in a browser that shows a run while it is running.

Goal: progress, plots and the newest picture of a run, from the files that it writes, on this machine only.

Not here: control of the run, and access from other machines.
"""

"""Values of a case from tables of laboratory tests of single particles, without runs.

Goal: keys of the case file with their errors, how well the model fits the table, and the keys that stay undetermined.

Not here: values for which runs reproduce an experiment (`pdem.sweeps`), and how particles break in a run.
"""

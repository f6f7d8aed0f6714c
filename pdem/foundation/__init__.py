"""Common ground of all rooms: errors, particle fields, files, signals, the terminal, the machine.

Goal: one definition of each thing that every room needs: the classes of errors and the form of their texts, the table
of particle fields, files that are written whole or not at all, signals, output to the terminal.

Not here: physics, MPI, numba and the case file. A helper of a single room stays in that room.
"""

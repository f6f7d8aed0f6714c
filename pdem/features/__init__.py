"""Features of a case, one room each; `registry` has one line for each of them.

Goal: everything about one feature in one room: its keys, rules, checks, state, columns and files.

Not here: imports between features. Data for several features are a view of the engine (`engine.views`).
"""

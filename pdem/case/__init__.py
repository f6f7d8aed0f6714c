"""The case: its file, its checks, and the initial particles and walls of a simulation.

Goal: keys with texts, units and defaults (`sections`), conflicts between keys (`rules`), messages and explanations
(`hints`, `explain`), initial particles (`groups`), limits of the time step, examples.

Not here: checks that need particles and meshes (`preflight`), and the use of the values during a run (`engine`,
`features`). Keys of a feature are in the room of the feature.
"""

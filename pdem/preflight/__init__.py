"""Checks before a run that need its particles and meshes; `preflight.preflight` calls all of them.

Goal: findings (error, warning, info) with the fact, the limit and the remedy, and estimates: impacts, beds at rest,
stiffness, duration.

Not here: rules on the text of the case alone (`case.rules`), and checks during a run (`engine`).
"""

"""Tags of point-to-point messages: one for each use of the communicator of a run, so that none is taken for another."""

from __future__ import annotations

NOTICE, NEXT_NOTICE = 10, 11
"""`Messages.notify`: of one round and the next, since a rank may be a round ahead."""

ANSWER = 12
"""`Messages.introduce`: to a rank that has sent a notice."""

SWAP, DELIVERY, TELL = 13, 14, 15
"""The methods of `Messages` of these names: `swap`, `deliver`, `tell`."""

GHOST_ROWS, SPHERE_ROWS, CLUSTER_STATES = 16, 17, 18
"""Persistent messages of each step: packed rows of all ghosts; or those of ghosts that are no members of clusters, and
states of clusters."""

GHOST_COLUMNS = 19
"""Persistent messages of each step as well: the first column that ghosts get besides their rows; others follow on."""

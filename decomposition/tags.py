"""Tags of point-to-point messages: one for each use of the communicator of a run, so that messages cannot mix."""

from __future__ import annotations

NOTICE, NEXT_NOTICE = 10, 11
"""`Messages.notify`: tags of one round and of the next, since a rank may be a round ahead."""

ANSWER = 12
"""`Messages.introduce`: answer to a rank that has sent a notice."""

SWAP, DELIVERY, TELL = 13, 14, 15
"""The methods of `Messages` of these names: `swap`, `deliver`, `tell`."""

GHOST_ROWS, SPHERE_ROWS, CLUSTER_STATES = 16, 17, 18
"""Persistent messages of each step: packed rows of all ghosts; or, with clusters, packed rows of ghosts that are no
members of clusters, and states of clusters."""

GHOST_COLUMNS = 19
"""Persistent messages of each step: the first further column of ghosts; the tags of more columns follow this one."""

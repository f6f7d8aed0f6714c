"""The nodes of a run, and their description in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NODES_SHOWN = 4


@dataclass(frozen=True)
class Node:
    """A node of a run.

    Attributes
    ----------
    host : str
        Name of the node.
    ranks, threads, cores : int
        Ranks of the node, threads of each rank, and cores that the ranks may use together.
    """

    host: str
    ranks: int
    threads: int
    cores: int

    @property
    def crowded(self) -> bool:
        """Whether the ranks of the node have more threads than cores."""
        return self.ranks * self.threads > self.cores


def layout_text(nodes: Sequence[Node]) -> str:
    """Return one line with the ranks and threads of each node; empty for a single node."""
    if len(nodes) == 1:
        return ""
    hosts: dict[tuple[int, int], list[str]] = {}
    for node in nodes:
        hosts.setdefault((node.ranks, node.threads), []).append(node.host)
    parts = []
    for (ranks, threads), names in hosts.items():
        shown = ", ".join(names[:_NODES_SHOWN]) + (" ..." if len(names) > _NODES_SHOWN else "")
        parts.append(f"{share_text(ranks, threads)} on {'each of ' * (len(names) > 1)}{shown}")
    return f"{len(nodes)} nodes: {'; '.join(parts)}"


def share_text(ranks: int, threads: int) -> str:
    """Return the numbers of ranks and of threads per rank as text."""
    return f"{ranks} rank{'s' * (ranks > 1)} x {threads} thread{'s' * (threads > 1)}"


def crowded_text(nodes: Sequence[Node]) -> list[str]:
    """Return a line for each node with more threads than cores."""
    return [
        f"{one.host}: {share_text(one.ranks, one.threads)} on {one.cores} core{'s' * (one.cores > 1)}"
        for one in nodes
        if one.crowded
    ]

"""Large arrays once per node: one rank of each node creates them, and its other ranks map the same memory.

An object is pickled without its buffers. A window of MPI shared memory contains the buffers in sequence, and each
rank builds its own object around them. Thus only arrays are shared, and nobody may write into them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from decomposition.mpi import load_mpi, patient_barrier
from pdem.foundation.errors import PdemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Made = TypeVar("Made")

LEAST_BUFFER = 1 << 12
"""Size below which each rank has its own copy of an array [bytes]."""

LEAST_WINDOW = 1 << 20
"""Total size of all arrays below which each rank has its own copies [bytes]."""

_ALIGNMENT = 64  # of cache lines, and more than any kernel needs
_SHARED_FOLDER = "/dev/shm"
_RESERVE = 1.1


@dataclass
class _Window:
    """A window of shared memory that arrays of this rank may use."""

    node: Any
    window: Any
    memory: weakref.ref[Any]


_key: list[int] = []  # attribute key of a communicator's windows: they end with the communicator


def _windows_of(communicator: Any) -> list[_Window]:
    if not _key:
        _key.append(load_mpi().Comm.Create_keyval())
    windows: list[_Window] | None = communicator.Get_attr(_key[0])
    if windows is None:
        windows = []
        communicator.Set_attr(_key[0], windows)
    return windows


@dataclass(frozen=True)
class Held:
    """Memory that contains the arrays of an object.

    Attributes
    ----------
    shared, copied : int
        Size of the memory that the ranks of this node share, and of the copies of this rank [B].
    lacking : int
        Size for which shared memory had no room, so that each rank has a copy; 0 if it had [B].
    """

    shared: int = 0
    copied: int = 0
    lacking: int = 0


def once_per_node(communicator: Any, make: Callable[[], Made]) -> tuple[Made, Held]:
    """Call `make` on one rank of each node and return its result on all ranks. Collective.

    Parameters
    ----------
    communicator : mpi4py.MPI.Intracomm
        Ranks of a run.
    make : callable
        Returns any object that can be pickled. Its large arrays are shared: nobody may write into them.

    Returns
    -------
    made : object
        Equal on all ranks. Its shared memory is freed by the next call, or by `release`, when no rank of the node
        refers to it.
    held : Held
        Memory that contains its arrays.

    Raises
    ------
    PdemError
        On all ranks the error of the lowest rank, if `make` raised any.
    """
    release(communicator)
    node = communicator.Split_type(load_mpi().COMM_TYPE_SHARED)
    made: list[Made] = []
    problem = _attempt(make, made) if node.rank == 0 else None
    patient_barrier(node)
    problems = [one for one in communicator.allgather(problem) if one is not None]
    if problems:
        node.Free()
        raise problems[0]
    return _spread(communicator, node, made)


def _attempt(make: Callable[[], Made], made: list[Made]) -> PdemError | None:
    try:
        made.append(make())
    except PdemError as error:
        return error
    return None


def _spread(communicator: Any, node: Any, made: list[Made]) -> tuple[Made, Held]:
    """Distribute the object of a node's first rank to the other ranks of the node."""
    buffers: list[memoryview] = []
    plan = None
    if node.rank == 0:
        content = pickle.dumps(made.pop(), protocol=5, buffer_callback=lambda one: _keep_apart(one, buffers))
        sizes = [len(one) for one in buffers]
        plan = content, sizes, _lacking(_places(sizes)[-1])
    content, sizes, lacking = node.bcast(plan)
    total = _places(sizes)[-1]
    if total < LEAST_WINDOW or lacking:
        copies = [bytearray(one) for one in buffers] if node.rank == 0 else [bytearray(size) for size in sizes]
        for one in copies:
            node.Bcast([one, load_mpi().BYTE])
        node.Free()
        return pickle.loads(content, buffers=copies), Held(copied=total, lacking=lacking)
    views = _in_window(communicator, node, sizes, buffers)
    return pickle.loads(content, buffers=views), Held(shared=total)


def _keep_apart(buffer: pickle.PickleBuffer, buffers: list[memoryview]) -> bool:
    """Move a large buffer from the pickle stream to `buffers`; return whether the buffer stays in the stream."""
    raw = buffer.raw()
    if raw.nbytes < LEAST_BUFFER:
        return True
    buffers.append(raw)
    return False


def _places(sizes: Sequence[int]) -> list[int]:
    """Return the offset of each buffer, and the total number of bytes."""
    places = [0]
    for size in sizes:
        places.append(places[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
    return places


def _lacking(size: int) -> int:
    """Return `size` if shared memory has no room for it, else 0: a write beyond its end would end the process."""
    try:
        free = os.statvfs(_SHARED_FOLDER)
    except OSError:  # no such system: MPI stores windows elsewhere
        return 0
    return size if _RESERVE * size > free.f_bavail * free.f_frsize else 0


def _in_window(communicator: Any, node: Any, sizes: Sequence[int], buffers: Sequence[memoryview]) -> list[memoryview]:
    """Copy the buffers of the first rank into a new window; return views of the copies. Collective on the node."""
    mpi, places = load_mpi(), _places(sizes)
    window = mpi.Win.Allocate_shared(places[-1] if node.rank == 0 else 0, 1, comm=node)
    address = window.Shared_query(0)[0].address
    # arrays refer to this object as long as any of them exists
    memory = (ctypes.c_ubyte * places[-1]).from_address(address)
    whole: Any = np.frombuffer(memoryview(memory), np.uint8)
    whole = memoryview(whole)
    views = [whole[place : place + size] for place, size in zip(places, sizes, strict=False)]
    window.Fence(mpi.MODE_NOPRECEDE)
    for view, buffer in zip(views, buffers, strict=False):
        view[:] = buffer
    window.Fence(mpi.MODE_NOSUCCEED)
    _windows_of(communicator).append(_Window(node, window, weakref.ref(memory)))
    return views


def release(communicator: Any) -> int:
    """Free windows that no rank of this node refers to; return the number of remaining windows. Collective.

    The ranks of a node have the same windows in the same order; a different node may have none, for lack of room.
    """
    windows = _windows_of(communicator)
    if any(one.memory() is not None for one in windows):
        gc.collect()  # removes unused reference cycles
    for one in list(windows):
        if one.node.allreduce(one.memory() is None, op=load_mpi().LAND):
            one.window.Free()
            one.node.Free()
            windows.remove(one)
    return len(windows)

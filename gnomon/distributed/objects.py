"""Python objects between ranks, by PyTorch's names: pickled, so only among trusted ranks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from gnomon.distributed.collectives import first_or
from gnomon.distributed.groups import Group, resolve
from gnomon.distributed.point_to_point import recv, send
from gnomon.dtypes import int64, uint8
from gnomon.errors import ShapeError, TraceError
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.creation import tensor, zeros
from gnomon.tensor.sharing import frombuffer
from gnomon.tensor.state import is_capturing

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def gather_objects(group: ProcessGroup, given: Any) -> list[Any]:
    """Gather one object of every rank, in rank order."""
    refuse_capture()
    return list(map(pickle.loads, group.link.tell(pickle.dumps(given))))


def refuse_capture() -> None:
    """Refuse to pickle in a compiled function."""
    if is_capturing():
        raise TraceError(
            "distributed: objects do not travel in a compiled function. Do it outside."
        )


def send_object_list(
    object_list: Sequence[Any],
    dst: int | None = None,
    group: Group = None,
    device: object = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to a rank, which asks for as many."""
    refuse_capture()
    if resolve(group) is None:
        return
    pickled = [pickle.dumps(each) for each in object_list]
    send(tensor(list(map(len, pickled)), dtype=int64), dst, group, group_dst=group_dst)
    send(frombuffer(bytearray(b"".join(pickled)), dtype=uint8), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list,
    src: int | None = None,
    group: Group = None,
    device: object = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Store a rank's objects in a list; returns the rank, or -1 outside of the group.

    Objects are unpickled: use it only between trusted ranks.
    """
    refuse_capture()
    if resolve(group) is None:
        return -1
    sizes = zeros(len(object_list), dtype=int64)
    recv(sizes, src, group, group_src=group_src)
    counts = sizes.tolist()
    row = zeros(sum(counts), dtype=uint8)
    source = recv(row, src, group, group_src=group_src)
    whole, start = bytes(row.numpy()), 0
    for k, size in enumerate(counts):
        object_list[k] = pickle.loads(whole[start : start + size])
        start += size
    return source


def all_gather_object(object_list: list, obj: Any, group: Group = None) -> None:
    """Put every rank's object into a list, in rank order."""
    known = resolve(group)
    if known is not None:
        filled("all_gather_object", object_list, known)[:] = gather_objects(known, obj)


def filled(name: str, objects: list, group: ProcessGroup) -> list:
    """A list with a place for each rank, checked."""
    if len(objects) != group.size():
        raise ShapeError(
            f"{name}: expected a list of {group.size()}, a place for each rank: got {len(objects)}."
        )
    return objects


def broadcast_object_list(
    object_list: list,
    src: int | None = None,
    group: Group = None,
    device: object = None,
    group_src: int | None = None,
) -> None:
    """Put one rank's objects into every rank's list."""
    known = resolve(group)
    if known is not None:
        root = first_or(known, src, group_src, "objects")
        object_list[:] = gather_objects(known, object_list if known.rank() == root else None)[root]


def gather_object(
    obj: Any,
    object_gather_list: list | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Put every rank's object into one rank's list."""
    known = resolve(group)
    if known is None:
        return
    root = first_or(known, dst, group_dst, "objects")
    every = gather_objects(known, obj)
    if known.rank() == root:
        filled("gather_object", object_gather_list or [], known)[:] = every


def scatter_object_list(
    scatter_object_output_list: list,
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Group = None,
    group_src: int | None = None,
) -> None:
    """Put each rank's object of one rank's list into the first place of its own."""
    known = resolve(group)
    if known is None:
        return
    root = first_or(known, src, group_src, "objects")
    given = scatter_object_input_list if known.rank() == root else None
    every = gather_objects(known, given)[root]
    scatter_object_output_list[0] = filled("scatter_object_list", every, known)[known.rank()]

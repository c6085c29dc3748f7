"""Python objects between ranks, by PyTorch's names: pickled, so only among trusted ranks."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from gnomon.distributed.collectives import first_or
from gnomon.distributed.groups import Group, found
from gnomon.errors import ShapeError, TraceError
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.state import state

__all__ = ["all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list"]


def told(group: ProcessGroup, given: Any) -> list[Any]:
    """The objects of all ranks, in rank order."""
    if state.capture is not None:
        raise TraceError(
            "distributed: objects do not travel in a compiled function. Do it outside."
        )
    return list(map(pickle.loads, group.link.tell(pickle.dumps(given))))


def all_gather_object(object_list: list, obj: Any, group: Group = None) -> None:
    """Put every rank's object into a list, in rank order."""
    known = found(group)
    if known is not None:
        filled("all_gather_object", object_list, known)[:] = told(known, obj)


def filled(name: str, objects: list, group: ProcessGroup) -> list:
    """A list that has a place for each rank."""
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
    known = found(group)
    if known is not None:
        root = first_or(known, src, group_src, "objects")
        object_list[:] = told(known, object_list if known.rank() == root else None)[root]


def gather_object(
    obj: Any,
    object_gather_list: list | None = None,
    dst: int | None = None,
    group: Group = None,
    group_dst: int | None = None,
) -> None:
    """Put every rank's object into one rank's list."""
    known = found(group)
    if known is None:
        return
    root = first_or(known, dst, group_dst, "objects")
    every = told(known, obj)
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
    known = found(group)
    if known is None:
        return
    root = first_or(known, src, group_src, "objects")
    given = scatter_object_input_list if known.rank() == root else None
    every = told(known, given)[root]
    scatter_object_output_list[0] = filled("scatter_object_list", every, known)[known.rank()]

"""Process groups by PyTorch's names: which ranks there are, and which of them meet.

Ranks are processes that MPI connects, threads of `run_ranks`, or one rank that only seems to be
many (fake); which, the environment says where the caller does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from gnomon.distributed.backends import BACKENDS, check, connected
from gnomon.distributed.rendezvous import address_of, file_of, meet_by
from gnomon.distributed.stores import FileStore, Store
from gnomon.errors import ArgumentError, CollectiveError, ConfigError
from gnomon.runtime.comm import nccl
from gnomon.runtime.comm.base import Backend
from gnomon.runtime.comm.environment import declare, environment
from gnomon.runtime.comm.fake import FakeBackend
from gnomon.runtime.comm.groups import ProcessGroup, default_group, membership
from gnomon.runtime.comm.threads import World

__all__ = [
    "GroupMember",
    "destroy_process_group",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "new_group",
    "resolve",
    "split_group",
]


class GroupMember:
    """The stand-in for a group on ranks outside of it."""

    WORLD = None
    NON_GROUP_MEMBER = "not in this group"


class group:
    """The names of the predefined groups."""

    WORLD = None


Group = ProcessGroup | str | None
SPELLINGS = {"gloo", "cpu:gloo", "cpu:gloo,cuda:nccl"}
"""Backends of others, for whatever connects ranks here."""


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    **ignored: Any,
) -> None:
    """Connect this rank with all others, by "mpi", "node", "tcp", "threads" or "fake".

    None, and PyTorch's "gloo", is what is there. Which rank this is a launcher's variables say;
    where there are none, `rank` and `world_size` do, as in processes that a program starts itself.
    Ranks find each other where `init_method` says, "tcp://HOST:PORT" or "file:///PATH", by a
    `store` that they share, or else by MASTER_ADDR and MASTER_PORT.

    Errors: ConfigError for words that contradict the launcher, or don't say where ranks meet.
    """
    if is_initialized():
        raise CollectiveError("init_process_group: there is a group already. Destroy it first.")
    patience = None if timeout is None else timeout.total_seconds()
    if store is not None and (init_method is not None or world_size < 1 or rank < 0):
        raise ConfigError(
            "init_process_group: a store takes world_size= and rank= beside it, and no init_method:"
            f" got world_size={world_size}, rank={rank}, init_method={init_method!r}."
        )
    where, name = address_of(init_method), backend and str(backend).lower()
    name, file = None if name in SPELLINGS else name, file_of(init_method)
    if world_size > 1 and name in (None, "tcp", "node") and not has_rank():
        declare(rank, world_size)
        store = FileStore(file, world_size) if file is not None else store
        where = where if store is None else meet_by(store, rank, world_size)
    made = backend_of(name, world_size, rank, patience, where)
    if file is not None and made.rank == 0:
        file.unlink(missing_ok=True)  # all have met: a job that comes later begins with none
    if world_size not in (-1, made.size) or rank not in (-1, made.rank):
        raise ConfigError(
            f"init_process_group: rank={rank}, world_size={world_size}: this is rank {made.rank} "
            f"of {made.size}. Leave both out, or launch as many: gnomon launch -n {world_size} ..."
        )
    membership().join(made)


def has_rank() -> bool:
    """Whether a launcher set this process's rank, or it is a thread among ranks."""
    return environment().size > 1 or membership().seat is not None


def backend_of(
    name: str | None,
    world_size: int,
    rank: int,
    patience: float | None,
    where: tuple[str, int] | None,
) -> Backend:
    """The backend of a name, connected with the other ranks."""
    seat = membership().seat
    if name == "fake":
        return FakeBackend(max(rank, 0), max(world_size, 1))
    if name == "nccl":
        nccl.refuse()
    if name is not None:
        check("init_process_group: backend", name)
    if seat is not None:
        return seat  # threads stand for processes
    if environment().size > 1 if name is None else BACKENDS[name].processes:
        return connected(patience, name, where)
    return World(1, patience).backend(0)


def resolve(group: Group = None) -> ProcessGroup | None:
    """A group, by default of all ranks; None if this rank is not in it."""
    if group is None:
        return membership().world()
    if isinstance(group, ProcessGroup):
        if membership().groups.get(group.name) is not group:
            raise CollectiveError(f"distributed: {group.name!r} was destroyed. Make a new group.")
        return group
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    raise ArgumentError(f"distributed: expected a process group: got {group!r}.")


def is_available() -> bool:
    """Whether process groups are available: True."""
    return True


def is_initialized() -> bool:
    """Whether this rank is connected."""
    return default_group() is not None


def get_rank(group: Group = None) -> int:
    """The index of this rank in a group, -1 outside of it."""
    known = resolve(group)
    return -1 if known is None else known.rank()


def get_world_size(group: Group = None) -> int:
    """The number of ranks in a group, -1 outside of it."""
    known = resolve(group)
    return -1 if known is None else known.size()


def get_backend(group: Group = None) -> str:
    """The name of a group's backend."""
    known = resolve(group)
    if known is None:
        raise ArgumentError("get_backend: this rank is not in the group.")
    return known.backend.name


def get_process_group_ranks(group: Group) -> list[int]:
    """The global ranks of a group."""
    known = resolve(group)
    return [] if known is None else list(known.ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global rank of a rank in a group."""
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The index in a group of a global rank."""
    return group.place_of(global_rank)


def new_group(ranks: Sequence[int] | None = None, *args: Any, **ignored: Any) -> Any:
    """A group of some ranks, in order; all ranks call it, members or not."""
    world = membership().world()
    made = membership().make(list(world.ranks) if ranks is None else sorted(ranks))
    return GroupMember.NON_GROUP_MEMBER if made is None else made


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: Sequence[Sequence[int]] = (), **ignored: Any
) -> ProcessGroup | None:
    """The group of this rank among the parts of another group; None if it is in none."""
    parent = resolve(parent_pg)
    if parent is None:
        return None
    made = [membership().make([parent.ranks[k] for k in ranks]) for ranks in split_ranks]
    return next((group for group in made if group is not None), None)


def destroy_process_group(group: Group = None) -> None:
    """Leave a group; leaving the group of all ranks leaves all."""
    known = resolve(group)
    if known is not None:
        membership().remove(known)

"""Messages between two ranks by PyTorch's names, one by one or in batches.

Both sides of a pair name their messages in the same order, for each tag by itself. In a batch what
is received is asked for first, so that no order of its operations can keep ranks waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter

from gnomon.distributed.collectives import root_of
from gnomon.distributed.complex_parts import real
from gnomon.distributed.groups import Group, resolve
from gnomon.errors import ArgumentError
from gnomon.tensor.collectives import TAGS, Part, move, rounds
from gnomon.tensor.state import is_capturing
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.works import Done, Work

__all__ = ["P2POp", "Works", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor to a rank."""
    return P2POp(isend, tensor, dst, group, tag, group_dst).begin()


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive a tensor from a rank; it is written when the Work is waited for."""
    return P2POp(irecv, tensor, src, group, tag, group_src).begin()


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to a rank."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from a rank; gives the rank, or -1 where this one is not in the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    known = resolve(group)
    return src if src is not None or known is None else known.ranks[group_src or 0]


class P2POp:
    """A message of a batch: isend or irecv, a tensor, the other rank, and a tag."""

    def __init__(
        self,
        op: Callable,
        tensor: Tensor,
        peer: int | None = None,
        group: Group = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        self.sends = op is isend
        name = getattr(op, "__name__", repr(op))
        if not self.sends and op is not irecv:
            raise ArgumentError(f"P2POp: expected isend or irecv: got {name}.")
        if not 0 <= tag < TAGS:
            raise ArgumentError(f"{name}: tag: expected 0 to {TAGS - 1}: got {tag}.")
        self.op, self.tensor, self.tag, self.group = op, real(tensor), tag, resolve(group)
        if self.group is not None and peer is None and group_peer is None:
            raise ArgumentError(f"{name}: name the other rank: no backend takes any that comes.")
        self.place = -1 if self.group is None else root_of(self.group, peer, group_peer, name)

    @property
    def part(self) -> Part:
        """The whole tensor as a message's part, to the other rank or from it."""
        return Part(self.place, self.tensor, 0, self.tensor.numel(), self.tag)

    def begin(self) -> Work | None:
        """Start the message by itself; None if this rank is not in the group."""
        if self.group is None:
            return None
        return move(self.group, *(([self.part], []) if self.sends else ([], [self.part])))


class Works(list):
    """The Works of a batch's operations, in order."""

    def wait_all(self) -> None:
        """Return when all are done."""
        for work in self:
            work.wait()


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> Works:
    """Start several messages together; returns a Work for each, in order.

    Two ranks have a bounded number of them under way: a round starts once the one before is over.
    """
    if len({id(op.group) for op in p2p_op_list}) > 1:
        raise ArgumentError("batch_isend_irecv: all operations of a batch are of one group.")
    ours = [op for op in p2p_op_list if op.group is not None]
    if is_capturing():
        sends, receives = ([op.part for op in ours if op.sends is to] for to in (True, False))
        if ours:
            move(ours[0].group, sends, receives)
        return Works(Done() for _ in ours)
    numbers = [number for number, _ in rounds([(op.sends, op.part) for op in ours])]
    begun: dict[int, Work] = {}
    latest: list[Work] = []
    ordered = sorted(zip(numbers, ours, strict=True), key=order_of)
    for _, numbered in groupby(ordered, itemgetter(0)):
        for work in latest:
            work.wait()
        batch = [op for _, op in numbered]
        latest = [op.begin() for op in batch]
        begun |= zip(map(id, batch), latest, strict=True)
    return Works(begun[id(op)] for op in ours)


def order_of(numbered: tuple[int, P2POp]) -> tuple[int, bool, int]:
    """The sort key of a message: its round, receives first, and pairs of ranks in turn.

    In this order ranks meet as in a tournament: each with another one at a time.
    """
    number, op = numbered
    return number, op.sends, (op.group.rank() + op.place) % op.group.size()

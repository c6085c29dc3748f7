"""Collectives in a program: each transfer is started as early, and waited for as late as can be.

Between the two the operand is read and the result is written by others, so both stay where they
are: liveness sees them in either call. All ranks have the same program, so a group's transfers
start in the same order everywhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from gnomon.codegen.kernels.fold_rows import RowsSpec, fold_rows_code
from gnomon.codegen.kernels.transfer import transfer_code
from gnomon.ir.node import Node
from gnomon.program.blocks import ControlCall
from gnomon.program.buffer_assignment import places_of
from gnomon.program.kernel import Kernel, traffic
from gnomon.program.overlap import BoundedReduction, TimedCall
from gnomon.program.reductions import BoundedRun, reductions_bounded
from gnomon.runtime.comm import base
from gnomon.schedule.clustering import operand_bases
from gnomon.schedule.memory import nbytes

__all__ = ["FIRST", "WAIT", "bytes_sent", "is_transfer", "started_and_awaited", "transfer"]

KINDS = {
    "gather_ranks": base.GATHER,
    "exchange_ranks": base.EXCHANGE,
    "fold_ranks": base.FOLD,
    "send_ranks": base.MESSAGES,
    "shift_ranks": base.RING,
}
STRETCHES = frozenset({"exchange_ranks", "fold_ranks"})
"""Transfers that send each rank its own part of the operand."""
WAIT = ".wait"
"""The ending of the names of calls that wait for a transfer."""
SENT = 1
"""The place, among a transfer's numbers, of the bytes that go to each rank."""
FIRST = 2
"""The place of the number that tells a transfer from others of its program."""
LISTED = 4
"""The place from which on a transfer's numbers list its messages."""


def transfer(node: Node) -> Kernel:
    """A transfer as one call, before it is split into start and wait."""
    (x, *after), p = operand_bases(node), node.params
    sent = nbytes(x) // p["ranks"] if node.op in STRETCHES else nbytes(x)
    size, messages = x.dtype.itemsize, p.get("messages", ())
    listed = [(peer, to, size * at, size * n, tag) for peer, to, at, n, tag in messages]
    folds = (fold_rows_code(rows_of(node)),) if node.op == "fold_ranks" else ()
    return Kernel(
        p["of"] or node.op,
        transfer_code("start"),
        (node, x),
        1,
        size=None,
        nodes=(node,),
        flops=x.size if folds else 0,
        mesh=p["mesh"],
        numbers=(
            *(KINDS[node.op], len(messages) or sent, 0, p.get("shift", 0)),
            *chain.from_iterable(listed),
        ),
        after=tuple(after),
        called=folds,
        bytes=nbytes(x) + nbytes(node),
    )


def rows_of(node: Node) -> RowsSpec:
    """The fold that a transfer of kind fold_ranks applies to what it receives."""
    p = node.params
    return RowsSpec(p["monoid"], node.dtype, p["ranks"], p["leaves"])


def is_transfer(part: Kernel | ControlCall) -> bool:
    """Whether a part moves bytes between ranks."""
    return isinstance(part, Kernel) and bool(part.mesh)


def started_and_awaited(
    parts: Sequence[Kernel | ControlCall],
) -> tuple[Sequence[Kernel | ControlCall], tuple[BoundedRun, ...]]:
    """The parts in order with transfers split; and the bounds of reductions that were compared."""
    if not any(map(is_transfer, parts)):
        return parts, ()
    order, runs = reductions_bounded(list(map(work, parts)))
    return in_two([parts[k] for k in order]), runs


def in_two(parts: Sequence[Kernel | ControlCall]) -> list[Kernel | ControlCall]:
    """The parts in order, each transfer split into start and wait."""
    touched, made_by = calls_by_value(parts)
    latest: dict[str, int] = {}
    """Mesh axis -> the start of its latest transfer: a group's transfers start in order."""
    starts: list[list[Kernel]] = [[] for _ in range(len(parts) + 1)]
    waits: list[list[Kernel]] = [[] for _ in range(len(parts) + 1)]
    # what is under way when a loop begins may be awaited behind it
    number = max(chain.from_iterable(map(numbers_inside, parts)), default=0)
    for place in [k for k, part in enumerate(parts) if is_transfer(part)]:
        start, wait = halves(parts[place], number)
        number += requests(start)
        made, read = start.buffers
        makers, readers = made_by.get(read, ()), touched[made]
        before, after = bisect_left(makers, place), bisect_right(readers, place)
        maker = makers[before - 1] if before else -1
        # what another transfer brings is there when that is waited for, and a unit has its turn
        held = gathers(parts[place]) or (maker >= 0 and is_transfer(parts[maker]))
        begin = place if held else maker + 1
        begin = latest[start.mesh] = max(begin, latest.get(start.mesh, 0))
        starts[begin].append(start)
        waits[readers[after] if after < len(readers) else len(parts)].append(wait)
    found: list[Kernel | ControlCall] = []
    for k, part in enumerate((*parts, None)):
        # what is waited for here may be what starts here reads
        found += waits[k]
        found += starts[k]
        if part is not None and not is_transfer(part):
            found.append(part)
    return found


def numbers_inside(part: Kernel | ControlCall) -> list[int]:
    """The number after that of each transfer in a conditional or a loop; empty for a kernel."""
    if isinstance(part, Kernel):
        return []
    return [k.numbers[FIRST] + requests(k) for k in part.kernels() if is_transfer(k)]


def calls_by_value(
    parts: Sequence[Kernel | ControlCall],
) -> tuple[Mapping[Node, Sequence[int]], Mapping[Node, Sequence[int]]]:
    """The positions of the parts that touch each value, and of those that make it, ascending."""
    touched: dict[Node, list[int]] = {}
    made: dict[Node, list[int]] = {}
    for k, part in enumerate(parts):
        for x in {x for x, _ in places_of(part)}:
            touched.setdefault(x, []).append(k)
        for x in written_values(part):
            made.setdefault(x, []).append(k)
    return touched, made


def work(part: Kernel | ControlCall) -> TimedCall:
    """A part's cost: reads, writes, flops and bytes, which order calls around transfers."""
    made = written_values(part)
    read = tuple(x for x, _ in places_of(part)[part.outputs :])
    kernels = [part] if isinstance(part, Kernel) else [*part.kernels()]
    flops = sum(k.flops * k.times for k in kernels)
    # what stands before a transfer has to have begun, and need not be there
    begun = [("begun", x) for x in (*made, *part.after)] if isinstance(part, Kernel) else []
    moved = sum((bytes_sent(k) if k.mesh else traffic(k)) * k.times for k in kernels)
    ends = gathers(part), reduces(part)
    is_ordered = is_transfer(part) and len(begun) > len(made)
    return TimedCall((*made, *begun), read, flops, moved, is_transfer(part), *ends, is_ordered)


def gathers(part: Kernel | ControlCall) -> bool:
    """The unit whose parameters a part gathers, if it does."""
    return serves(part, "gather_ranks")


def reduces(part: Kernel | ControlCall) -> BoundedReduction | None:
    """The bounded reduction of a unit's gradients that a part starts, if it does."""
    if not any(serves(part, op) for op in STRETCHES):
        return None
    (node,) = part.nodes
    return BoundedReduction(node.params["unit"].reductions, nbytes(node.inputs[0]))


def serves(part: Kernel | ControlCall, op: str) -> bool:
    """Whether a part is a transfer of this operation for a unit."""
    return is_transfer(part) and part.nodes[0].op == op and "unit" in part.nodes[0].params


def bytes_sent(kernel: Kernel) -> int:
    """The bytes that a rank sends to others in a transfer."""
    (node,) = kernel.nodes
    if node.op == "send_ranks":
        sent = sum(size for _, sends, _, size, _ in node.params["messages"] if sends)
        return sent * node.dtype.itemsize
    others = 1 if node.op == "shift_ranks" else node.params["ranks"] - 1
    return others * kernel.numbers[SENT]


def halves(part: Kernel | ControlCall, number: int) -> tuple[Kernel, Kernel]:
    """The call that starts a transfer and the one that waits for it."""
    assert isinstance(part, Kernel), "a transfer is a kernel"
    numbers = (*part.numbers[:FIRST], number, *part.numbers[FIRST + 1 :])
    start = replace(part, numbers=numbers)
    code = transfer_code("wait")
    begins = replace(start, bytes=0, flops=0)
    return begins, replace(start, name=f"{part.name}{WAIT}", code=code)


def requests(part: Kernel) -> int:
    """The number of MPI requests that a transfer needs."""
    if part.numbers[0] == base.FOLD:
        # what MPI has two of for each other rank, and a place for what comes
        return 2 * part.nodes[0].params["ranks"]
    return max(base.REQUESTS, (len(part.numbers) - LISTED) // len(base.Message._fields))


def written_values(part: Kernel | ControlCall) -> tuple[Node, ...]:
    """The values that a part writes."""
    if isinstance(part, Kernel):
        return tuple(x for x, _ in part.places[: part.outputs])
    return part.buffers[: part.outputs]

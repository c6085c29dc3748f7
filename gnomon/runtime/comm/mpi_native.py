"""The native side of MPI: transfers are started and waited for without Python, as IR text.

Handles of MPI are numbers of four bytes or addresses, by the library: both travel in a register, so
one text serves all. What runs waits by asking again and again, giving the core away in between, so
that a failure elsewhere and the end of patience are seen.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm import base, scratch, waiting
from gnomon.runtime.comm.waiting import COUNT, PLACE, REFUSED, group_of, request_of, store_number
from gnomon.runtime.device import Target
from gnomon.runtime.native import private, word, write_now, write_relax

__all__ = ["FUNCTIONS", "WORDS", "text_for"]

# the words of a group's block, after those of every backend that waits in native code
COMM, BYTE, STATUS, FLAG, SPARE, CALLED = range(waiting.OWN, waiting.OWN + 6)
FUNCTIONS = ("MPI_Iallgather", "MPI_Ialltoall", "MPI_Isend", "MPI_Irecv", "MPI_Test")
"""The MPI functions with addresses in a group's block, in order."""
ALLGATHER, ALLTOALL, ISEND, IRECV, TEST, WORDS = range(CALLED, CALLED + 6)


def text_for(target: Target) -> str:
    """The IR of `mpi_start`, `mpi_wait` and `mpi_forget`."""
    module = LLVMModule()
    write_now(module)
    write_relax(module, target)
    write_start(module)
    write_fold(module)
    write_wait(module)
    write_forget(module)
    return module.text()


def write_start(module: LLVMModule) -> None:
    """Define `mpi_start`, which starts the transfer in the slots of its call."""
    e = module.function("mpi_start", [("ptr", "slots")])
    group = group_of(e)
    store_number(e, group, base.STARTED)
    kinds = (
        *((base.EXCHANGE, "exchange"), (base.RING, "ring"), (base.MESSAGES, "messages")),
        (base.FOLD, "fold"),
    )
    cases = " ".join(f"i64 {kind}, label %{name}" for kind, name in kinds)
    e.do(f"switch i64 {word(e, '%slots', base.KIND)}, label %gather [{cases}]")
    for name, function in (("gather", ALLGATHER), ("exchange", ALLTOALL)):
        e.label(name)
        collective(e, group, function)
        e.ret()
    e.label("ring")
    ring(e, group)
    e.ret()
    e.label("messages")
    messages(e, group)
    e.ret()
    e.label("fold")
    stretches(e, group)
    e.ret()


def collective(e: Emitter, group: str, function: int) -> None:
    """Emit the call of a collective that MPI has itself, on bytes."""
    receive, send, nbytes, byte, comm, request = common(e, group)
    call(
        e,
        group,
        function,
        *(("ptr", send), nbytes, byte, ("ptr", receive), nbytes, byte, comm, ("ptr", request)),
    )


def ring(e: Emitter, group: str) -> None:
    """Emit a send to one rank and a receive from another; the second request follows the first."""
    receive, send, nbytes, byte, comm, request = common(e, group)
    place, count = word(e, group, PLACE), word(e, group, COUNT)
    shift = word(e, "%slots", base.SHIFT)
    back = e.add(place, e.sub(count, shift))
    tag = ("i64", "0")
    source = e.value(f"srem i64 {back}, {count}")
    call(
        e,
        group,
        IRECV,
        *(("ptr", receive), nbytes, byte, ("i64", source), tag, comm, ("ptr", request)),
    )
    to = e.value(f"srem i64 {e.add(place, shift)}, {count}")
    second = e.offset(request, 8)
    call(e, group, ISEND, *(("ptr", send), nbytes, byte, ("i64", to), tag, comm, ("ptr", second)))


def messages(e: Emitter, group: str) -> None:
    """Emit a list of messages, a request for each; received ones come first in the list."""
    receive, send, count, byte, comm, request = common(e, group)

    def one(number: str) -> None:
        row = e.offset(
            "%slots", e.mul(e.add(e.mul(number, len(base.Message._fields)), base.WORDS), 8)
        )
        peer, sent, start, nbytes, tag = (word(e, row, k) for k in range(5))
        goes = e.value(f"icmp ne i64 {sent}, 0")
        place = e.value(f"select i1 {goes}, ptr {send}, ptr {receive}")
        function = e.value(f"select i1 {goes}, i64 {8 * ISEND}, i64 {8 * IRECV}")
        ends = ("i64", peer), ("i64", tag), comm, ("ptr", e.offset(request, e.mul(number, 8)))
        given = ("ptr", e.offset(place, start)), ("i64", nbytes), byte, *ends
        call_at(e, group, e.offset(group, function), *given)

    e.loop(0, count[1], 1, one)


def stretches(e: Emitter, group: str) -> None:
    """Emit a send to and a receive from each other rank, nearest first, into scratch memory."""
    _, send, nbytes, byte, comm, request = common(e, group)
    place, count = word(e, group, PLACE), word(e, group, COUNT)
    bytes_ = nbytes[1]
    into = scratch.take(e, e.offset(group, 8 * SPARE), e.mul(e.sub(count, 1), bytes_))
    e.store(into, scratch_at(e, request, count), "ptr", 8)

    def pair(d: str) -> None:
        to = e.value(f"srem i64 {e.add(place, d)}, {count}")
        source = e.value(f"srem i64 {e.add(place, e.sub(count, d))}, {count}")
        before = e.sub(d, 1)
        first = e.offset(request, e.mul(before, 16))
        comes = ("ptr", e.offset(into, e.mul(before, bytes_))), nbytes, byte, ("i64", source)
        call(e, group, IRECV, *comes, ("i64", "0"), comm, ("ptr", first))
        goes = ("ptr", e.offset(send, e.mul(to, bytes_))), nbytes, byte, ("i64", to)
        call(e, group, ISEND, *goes, ("i64", "0"), comm, ("ptr", e.offset(first, 8)))

    e.loop(1, count, 1, pair)


def scratch_at(e: Emitter, request: str, count: str) -> str:
    """The address of the word behind a fold's requests that points to its scratch memory."""
    return e.offset(request, e.mul(e.sub(count, 1), 16))


def write_fold(module: LLVMModule) -> None:
    """Define `fold_here`, which folds the received rows with this rank's own, read in place."""
    e = private(module, "fold_here", ("ptr", "group"), ("ptr", "slots"), ("ptr", "request"))
    place, count = word(e, "%group", PLACE), word(e, "%group", COUNT)
    nbytes = word(e, "%slots", base.NBYTES)
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    into = e.load(scratch_at(e, "%request", count), "ptr", 8)
    rows = e.call("ptr", "malloc", ("i64", e.mul(count, 8)))
    e.store(e.offset(send, e.mul(place, nbytes)), e.offset(rows, e.mul(place, 8)), "ptr", 8)

    def row(d: str) -> None:
        source = e.value(f"srem i64 {e.add(place, e.sub(count, d))}, {count}")
        came = e.offset(into, e.mul(e.sub(d, 1), nbytes))
        e.store(came, e.offset(rows, e.mul(source, 8)), "ptr", 8)

    e.loop(1, count, 1, row)
    fold = word(e, "%slots", base.WORDS, "ptr")
    e.do(f"call void {fold}(ptr {receive}, ptr {rows}, i64 {nbytes})")
    e.call("void", "free", ("ptr", rows))
    scratch.give(e, e.offset("%group", 8 * SPARE), into)
    e.ret()


def common(e: Emitter, group: str) -> tuple:
    """The arguments that all MPI calls share: places, bytes, type, communicator, request."""
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    nbytes = ("i64", word(e, "%slots", base.NBYTES))
    byte, comm = (("i64", word(e, group, k)) for k in (BYTE, COMM))
    return receive, send, nbytes, byte, comm, request_of(e, group)


def call(e: Emitter, group: str, function: int, *arguments: tuple[str, str]) -> None:
    """Emit a call of an MPI function, whose address is in the group's block at this number."""
    call_at(e, group, e.offset(group, 8 * function), *arguments)


def call_at(e: Emitter, group: str, at: str, *arguments: tuple[str, str]) -> None:
    """Emit a call of the function whose address is stored here, and keep its error code."""
    given = ", ".join(f"{kind} {value}" for kind, value in arguments)
    code = e.value(f"call i32 {e.load(at, 'ptr', 8)}({given})")

    def refuse() -> None:
        wide = e.add(e.value(f"zext i32 {code} to i64"), REFUSED)
        e.store(wide, e.offset(group, 8 * base.FAILED), "i64", 8)

    e.when(e.value(f"icmp ne i32 {code}, 0"), refuse)


def write_wait(module: LLVMModule) -> None:
    """Define `mpi_wait`, which returns when all requests of a transfer are complete or one failed.

    A transfer with a fold then folds what it received.
    """
    e = module.function("mpi_wait", [("ptr", "slots")])
    group = group_of(e)
    store_number(e, group, base.AWAITED)
    request = request_of(e, group)
    kind, listed = (word(e, "%slots", k) for k in (base.KIND, base.NBYTES))
    twice, many, folds = (
        e.value(f"icmp eq i64 {kind}, {k}") for k in (base.RING, base.MESSAGES, base.FOLD)
    )
    others = e.sub(word(e, group, COUNT), 1)
    count = e.value(f"select i1 {twice}, i64 2, i64 1")
    count = e.value(f"select i1 {many}, i64 {listed}, i64 {count}")
    count = e.value(f"select i1 {folds}, i64 {e.mul(others, 2)}, i64 {count}")
    e.loop(0, count, 1, lambda k: wait_for(e, group, e.offset(request, e.mul(k, 8)), "one"))
    given = ("ptr", group), ("ptr", "%slots"), ("ptr", request)
    e.when(folds, lambda: e.call("void", "fold_here", *given))
    e.store("0", e.offset(group, 8 * base.AWAITED), "i64", 8)
    e.ret()


def write_forget(module: LLVMModule) -> None:
    """Define `mpi_forget`, which frees the scratch memory of a group's folds."""
    e = module.function("mpi_forget", [("ptr", "group")])
    scratch.forget(e, e.offset("%group", 8 * SPARE))
    e.ret()


def wait_for(e: Emitter, group: str, request: str, name: str) -> None:
    """Emit a loop that tests a request until it is complete, or the group fails."""
    flag, status = word(e, group, FLAG, "ptr"), word(e, group, STATUS, "ptr")

    def done() -> str:
        call(e, group, TEST, ("ptr", request), ("ptr", flag), ("ptr", status))
        return e.value(f"icmp ne i32 {e.load(flag, 'i32', 4)}, 0")

    waiting.wait_until(e, group, done, name)

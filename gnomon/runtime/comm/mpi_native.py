"""The native side of MPI: transfers are started and waited for without Python, as IR text.

Handles of MPI are numbers of four bytes or addresses, by the library: both travel in a register, so
one text serves all. What runs waits by asking again and again, giving the core away in between, so
that a failure elsewhere and the end of patience are seen.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm import base, waiting
from gnomon.runtime.comm.waiting import COUNT, PLACE, REFUSED, group_of, note, request_of
from gnomon.runtime.device import Target
from gnomon.runtime.native import word, write_now, write_relax

__all__ = ["FUNCTIONS", "WORDS", "text_for"]

# the words of a group's block, after those of every backend that waits in native code
COMM, BYTE, STATUS, FLAG, CALLED = range(waiting.OWN, waiting.OWN + 5)
FUNCTIONS = ("MPI_Iallgather", "MPI_Ialltoall", "MPI_Isend", "MPI_Irecv", "MPI_Test")
"""Whose addresses stand behind those words, in this order."""
ALLGATHER, ALLTOALL, ISEND, IRECV, TEST, WORDS = range(CALLED, CALLED + 6)


def text_for(target: Target) -> str:
    """The IR of `mpi_start` and `mpi_wait`."""
    module = LLVMModule()
    write_now(module)
    write_relax(module, target)
    write_start(module)
    write_wait(module)
    return module.text()


def write_start(module: LLVMModule) -> None:
    """`mpi_start` takes the slots of a transfer's call."""
    e = module.function("mpi_start", [("ptr", "slots")])
    group = group_of(e)
    note(e, group, base.STARTED)
    kinds = (base.EXCHANGE, "exchange"), (base.RING, "ring"), (base.MESSAGES, "messages")
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


def collective(e: Emitter, group: str, function: int) -> None:
    """MPI's own collective of bytes."""
    receive, send, nbytes, byte, comm, request = common(e, group)
    call(
        e,
        group,
        function,
        *(("ptr", send), nbytes, byte, ("ptr", receive), nbytes, byte, comm, ("ptr", request)),
    )


def ring(e: Emitter, group: str) -> None:
    """A message to one rank and one from another; the second request stands behind the first."""
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
    """A list of messages, a request for each; whoever made it put what is received first."""
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


def common(e: Emitter, group: str) -> tuple:
    """The arguments of every call of MPI: places, bytes, type, communicator, request."""
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    nbytes = ("i64", word(e, "%slots", base.NBYTES))
    byte, comm = (("i64", word(e, group, k)) for k in (BYTE, COMM))
    return receive, send, nbytes, byte, comm, request_of(e, group)


def call(e: Emitter, group: str, function: int, *arguments: tuple[str, str]) -> None:
    """Call one of MPI's functions, by the number of its word in the block."""
    call_at(e, group, e.offset(group, 8 * function), *arguments)


def call_at(e: Emitter, group: str, at: str, *arguments: tuple[str, str]) -> None:
    """Call the function whose address stands there, and keep the code of what it refuses."""
    given = ", ".join(f"{kind} {value}" for kind, value in arguments)
    code = e.value(f"call i32 {e.load(at, 'ptr', 8)}({given})")

    def refuse() -> None:
        wide = e.add(e.value(f"zext i32 {code} to i64"), REFUSED)
        e.store(wide, e.offset(group, 8 * base.FAILED), "i64", 8)

    e.when(e.value(f"icmp ne i32 {code}, 0"), refuse)


def write_wait(module: LLVMModule) -> None:
    """`mpi_wait` returns when all requests of a transfer are done, or something has failed."""
    e = module.function("mpi_wait", [("ptr", "slots")])
    group = group_of(e)
    note(e, group, base.AWAITED)
    request = request_of(e, group)
    kind, listed = (word(e, "%slots", k) for k in (base.KIND, base.NBYTES))
    twice, many = (e.value(f"icmp eq i64 {kind}, {k}") for k in (base.RING, base.MESSAGES))
    count = e.value(f"select i1 {twice}, i64 2, i64 1")
    count = e.value(f"select i1 {many}, i64 {listed}, i64 {count}")
    e.loop(0, count, 1, lambda k: wait_for(e, group, e.offset(request, e.mul(k, 8)), "one"))
    e.store("0", e.offset(group, 8 * base.AWAITED), "i64", 8)
    e.ret()


def wait_for(e: Emitter, group: str, request: str, name: str) -> None:
    """Ask MPI until a request is done."""
    flag, status = word(e, group, FLAG, "ptr"), word(e, group, STATUS, "ptr")

    def done() -> str:
        call(e, group, TEST, ("ptr", request), ("ptr", flag), ("ptr", status))
        return e.value(f"icmp ne i32 {e.load(flag, 'i32', 4)}, 0")

    waiting.until(e, group, done, name)

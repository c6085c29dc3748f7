"""Streams of messages between the ranks of a node, through shared memory, as IR text.

Each pair of ranks has a window each way: a ring of bytes, written by the one and read by the other.
A message is a line that says what it is, and its bytes; what doesn't fit goes in rounds, as the
reader makes place. What comes before it is asked for is kept. Transfers are node_native.py's part.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.native import atomic_load, private, word

__all__ = ["write_streams"]

# the words of a process's block: a lock, how many peers; these follow
LOCK, PEER_COUNT, FIRST_PEER = range(3)
# the words of a peer: the window to it and what waits to be sent; the window from it, what is
# asked for, what is coming in now, and what has come unasked
OUT, SENDS, IN, ASKED, COMING, KEPT, PEER_WORDS = range(7)

# the words of a message under way: the next of its list; MOVED is -1 before it begins, and less
# where another number of bytes came
NEXT, ADDRESS, NBYTES, MOVED, KEY, TAG, MESSAGE_WORDS = range(7)
MESSAGE_BYTES = 8 * MESSAGE_WORDS

# the bytes of a window: how many were written, how many were read, and the ring
WRITTEN, READ, RING = 0, 64, 128
RING_BYTES = 1 << 20
LINE = 64
"""Bytes of the line before each message; messages begin at a multiple of them."""
ROUND = 64 << 10
"""Bytes that are moved before they are shown to the reader."""


def write_streams(module: LLVMModule) -> None:
    """The functions that move messages, and find and forget them."""
    for write in (write_find, write_send, write_receive, write_progress, write_forget):
        write(module)


def put(e: Emitter, value: str | int, block: str, index: int) -> None:
    """Write a word."""
    e.store(str(value), e.offset(block, 8 * index), "i64", 8)


def put_pointer(e: Emitter, value: str, place: str) -> None:
    """Write an address."""
    e.store(value, place, "ptr", 8)


def copy(e: Emitter, to: str, source: str, nbytes: str) -> None:
    """Move bytes, but for those of a message that was given up, which has no place."""
    given = ("ptr", to), ("ptr", source), ("i64", nbytes), ("i1", "false")
    gone = e.value(f"or i1 {is_null(e, to)}, {is_null(e, source)}")
    there = e.value(f"xor i1 {gone}, true")

    def move() -> None:
        e.call("void", "llvm.memcpy.p0.p0.i64", *given)

    e.when(there, move)


def is_null(e: Emitter, pointer: str) -> str:
    """Whether an address is none."""
    return e.value(f"icmp eq ptr {pointer}, null")


def either(
    e: Emitter, condition: str, first: Callable[[], None], other: Callable[[], None]
) -> None:
    """Do the one or the other."""
    yes, no, after = e.fresh("yes"), e.fresh("no"), e.fresh("after")
    e.do(f"br i1 {condition}, label %{yes}, label %{no}")
    for label, do in ((yes, first), (no, other)):
        e.label(label)
        do()
        e.do(f"br label %{after}")
    e.label(after)


def lined(e: Emitter, nbytes: str) -> str:
    """Bytes, up to a whole line."""
    return e.value(f"and i64 {e.add(nbytes, LINE - 1)}, {-LINE}")


def write_find(module: LLVMModule) -> None:
    """`find` gives where a list names the first message of a group and a tag, or its end."""
    e = private(module, "find", ("ptr", "list"), ("i64", "key"), ("i64", "tag"), returns="ptr")
    e.do("br label %look")
    e.label("look")
    at = e.value("phi ptr [%list, %entry], [%next, %other]")
    message = e.load(at, "ptr", 8)
    e.do(f"br i1 {is_null(e, message)}, label %found, label %compare")
    e.label("compare")
    same = [
        e.value(f"icmp eq i64 {word(e, message, k)}, {wanted}")
        for k, wanted in ((KEY, "%key"), (TAG, "%tag"))
    ]
    e.do(f"br i1 {e.value(f'and i1 {same[0]}, {same[1]}')}, label %found, label %other")
    e.label("other")
    e.do(f"%next = getelementptr i8, ptr {message}, i64 {8 * NEXT}")
    e.do("br label %look")
    e.label("found")
    e.ret(f"ptr {at}")


def append(e: Emitter, listed: str, message: str) -> None:
    """Put a message at the end of a list."""
    end = e.call("ptr", "find", ("ptr", listed), ("i64", "-1"), ("i64", "-1"))
    put_pointer(e, message, end)


def unlink(e: Emitter, at: str, message: str) -> None:
    """Take a message out of its list."""
    following = e.offset(message, 8 * NEXT)
    put_pointer(e, e.load(following, "ptr", 8), at)
    put_pointer(e, "null", following)


def piece(e: Emitter, message: str, space: str, at: str) -> tuple[str, str]:
    """The bytes of a message that move now, and the place where the next one lies or goes."""
    moved = word(e, message, MOVED)
    left = e.sub(word(e, message, NBYTES), moved)
    in_ring = e.sub(RING_BYTES, at)
    nbytes = e.least(e.least(left, space), e.least(in_ring, ROUND))
    put(e, e.add(moved, nbytes), message, MOVED)
    address = word(e, message, ADDRESS, "ptr")
    behind = e.offset(address, moved)
    return nbytes, e.value(f"select i1 {is_null(e, address)}, ptr null, ptr {behind}")


def write_send(module: LLVMModule) -> None:
    """`send` writes one round of the first message that goes to a peer; whether it did."""
    e = private(module, "send", ("ptr", "peer"), returns="i64")
    message, window = word(e, "%peer", SENDS, "ptr"), word(e, "%peer", OUT, "ptr")
    e.do(f"br i1 {is_null(e, message)}, label %none, label %look")
    e.label("none")
    e.ret("i64 0")
    e.label("look")
    written = e.load(e.offset(window, WRITTEN), "i64", 8)
    space = e.sub(e.add(atomic_load(e, e.offset(window, READ), "acquire"), RING_BYTES), written)
    e.do(f"br i1 {e.value(f'icmp eq i64 {space}, 0')}, label %none, label %write")
    e.label("write")
    begins = e.value(f"icmp slt i64 {word(e, message, MOVED)}, 0")
    ring = e.offset(window, RING)

    def line() -> None:
        at = e.offset(ring, e.value(f"and i64 {written}, {RING_BYTES - 1}"))
        for k, index in enumerate((NBYTES, KEY, TAG)):
            put(e, word(e, message, index), at, k)
        put(e, 0, message, MOVED)

    e.when(begins, line)
    skipped = e.value(f"select i1 {begins}, i64 {LINE}, i64 0")
    start = e.add(written, skipped)
    at = e.value(f"and i64 {start}, {RING_BYTES - 1}")
    nbytes, source = piece(e, message, e.sub(space, skipped), at)
    copy(e, e.offset(ring, at), source, nbytes)
    shown = e.add(start, lined(e, nbytes))
    e.do(f"store atomic i64 {shown}, ptr {e.offset(window, WRITTEN)} release, align 8")
    over = e.value(f"icmp eq i64 {word(e, message, MOVED)}, {word(e, message, NBYTES)}")
    e.when(over, lambda: unlink(e, e.offset("%peer", 8 * SENDS), message))
    e.ret("i64 1")


def write_receive(module: LLVMModule) -> None:
    """`receive` reads one round of what comes from a peer; whether there was some."""
    e = private(module, "receive", ("ptr", "peer"), returns="i64")
    window = word(e, "%peer", IN, "ptr")
    read = e.load(e.offset(window, READ), "i64", 8)
    space = e.sub(atomic_load(e, e.offset(window, WRITTEN), "acquire"), read)
    e.do(f"br i1 {e.value(f'icmp eq i64 {space}, 0')}, label %none, label %look")
    e.label("none")
    e.ret("i64 0")
    e.label("look")
    ring, coming = e.offset(window, RING), e.offset("%peer", 8 * COMING)
    begins = is_null(e, e.load(coming, "ptr", 8))
    line = e.offset(ring, e.value(f"and i64 {read}, {RING_BYTES - 1}"))
    e.when(begins, lambda: begin(e, line, coming))
    message = e.load(coming, "ptr", 8)
    skipped = e.value(f"select i1 {begins}, i64 {LINE}, i64 0")
    start = e.add(read, skipped)
    at = e.value(f"and i64 {start}, {RING_BYTES - 1}")
    nbytes, target = piece(e, message, e.sub(space, skipped), at)
    copy(e, target, e.offset(ring, at), nbytes)
    shown = e.add(start, lined(e, nbytes))
    e.do(f"store atomic i64 {shown}, ptr {e.offset(window, READ)} release, align 8")
    over = e.value(f"icmp eq i64 {word(e, message, MOVED)}, {word(e, message, NBYTES)}")
    e.when(over, lambda: put_pointer(e, "null", coming))
    e.ret("i64 1")


def begin(e: Emitter, line: str, coming: str) -> None:
    """Find who asked for the message of a line, or keep it until somebody does."""
    nbytes, key, tag = (word(e, line, k) for k in range(3))
    asked = e.offset("%peer", 8 * ASKED)
    at = e.call("ptr", "find", ("ptr", asked), ("i64", key), ("i64", tag))
    message = e.load(at, "ptr", 8)

    def keep() -> None:
        made = e.call("ptr", "malloc", ("i64", e.add(nbytes, MESSAGE_BYTES)))
        fill(e, made, e.offset(made, MESSAGE_BYTES), nbytes, key, tag)
        append(e, e.offset("%peer", 8 * KEPT), made)
        put_pointer(e, made, coming)

    def take() -> None:
        unlink(e, at, message)
        wanted = e.value(f"icmp eq i64 {word(e, message, NBYTES)}, {nbytes}")

        def differ() -> None:
            put(e, e.sub(-2, nbytes), message, MOVED)
            keep()

        either(e, wanted, lambda: put_pointer(e, message, coming), differ)

    either(e, is_null(e, message), keep, take)
    put(e, 0, e.load(coming, "ptr", 8), MOVED)


def fill(e: Emitter, message: str, address: str, nbytes: str, key: str, tag: str) -> None:
    """Write down a message that has not begun."""
    put_pointer(e, "null", message)
    put_pointer(e, address, e.offset(message, 8 * ADDRESS))
    words = (NBYTES, nbytes), (MOVED, -1), (KEY, key), (TAG, tag)
    for index, value in words:
        put(e, value, message, index)


def peer_of(e: Emitter, k: str) -> str:
    """The words of a peer."""
    return e.offset("%process", e.mul(e.add(e.mul(k, PEER_WORDS), FIRST_PEER), 8))


def write_progress(module: LLVMModule) -> None:
    """`progress` moves a round to and from each peer; how many it moved."""
    e = private(module, "progress", ("ptr", "process"), returns="i64")

    def both(k: str, moved: str) -> list[str]:
        peer = peer_of(e, k)
        done = [e.call("i64", name, ("ptr", peer)) for name in ("send", "receive")]
        return [e.add(moved, e.add(*done))]

    (moved,) = e.loop(0, word(e, "%process", PEER_COUNT), 1, both, [("i64", "0")])
    e.ret(f"i64 {moved}")


def lock(e: Emitter, process: str, brief: str) -> None:
    """Wait until no other thread of this process moves messages."""
    at, before, look, more, mine = (
        e.offset(process, 8 * LOCK),
        e.block,
        *map(e.fresh, ("look", "more", "mine")),
    )
    e.do(f"br label %{look}")
    e.label(look)
    tries = e.value(f"phi i64 [0, %{before}], [%n{more}, %{more}]")
    held = e.value(f"atomicrmw xchg ptr {at}, i64 1 acquire, align 8")
    e.do(f"br i1 {e.value(f'icmp eq i64 {held}, 0')}, label %{mine}, label %{more}")
    e.label(more)
    e.call("void", "relax", ("i64", tries), ("i64", brief))
    e.do(f"%n{more} = add i64 {tries}, 1")
    e.do(f"br label %{look}")
    e.label(mine)


def unlock(e: Emitter, process: str) -> None:
    """Let other threads."""
    e.do(f"store atomic i64 0, ptr {e.offset(process, 8 * LOCK)} release, align 8")


def write_forget(module: LLVMModule) -> None:
    """`forget` gives up the messages of a group in a list: they have no place any more."""
    e = private(module, "forget", ("ptr", "list"), ("i64", "key"))
    e.do("br label %look")
    e.label("look")
    at = e.value("phi ptr [%list, %entry], [%next, %on]")
    message = e.load(at, "ptr", 8)
    e.do(f"br i1 {is_null(e, message)}, label %end, label %compare")
    e.label("compare")
    own = e.value(f"icmp eq i64 {word(e, message, KEY)}, %key")
    e.when(own, lambda: put_pointer(e, "null", e.offset(message, 8 * ADDRESS)))
    e.do("br label %on")
    e.label("on")
    e.do(f"%next = getelementptr i8, ptr {message}, i64 {8 * NEXT}")
    e.do("br label %look")
    e.label("end")
    e.ret()

"""Streams of messages between the ranks of a node, through shared memory, as IR text.

Each pair of ranks has a window each way: a ring of bytes, written by the one and read by the other.
A message is a line that says what it is, and its bytes; what doesn't fit goes in rounds, as the
reader makes place. Of a large one the line says its address: the reader fetches it there, and
answers by a line, where processes may read each other's memory. What comes before it is asked for
is kept. Transfers are node_native.py's part.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.native import atomic_load, private, word

__all__ = ["write_streams"]

# the words of a process's block: a lock, how many peers; these follow
LOCK, PEER_COUNT, FIRST_PEER = range(3)
# the words of a peer: the window to it and what waits to be sent; the window from it, what is
# asked for, what is coming in now, and what has come unasked; what is fetched; its process, if its
# memory may be read; the messages that it was shown and has not fetched; those that were shown
# here and are folded out of the sender's memory
OUT, SENDS, IN, ASKED, COMING, KEPT, FETCHED, PEER_PROCESS, SHOWN, HELD, PEER_WORDS = range(11)

# the words of a message under way: the next of its list; MOVED is -1 before it begins, and less
# where another number of bytes came; STAYS is 1 where its reader folds it out of that memory
NEXT, ADDRESS, NBYTES, MOVED, KEY, TAG, KIND, SOURCE, NUMBER, STAYS, MESSAGE_WORDS = range(11)
STREAMED, DIRECT, ANSWER, UNREADABLE = range(4)
"""Kinds: the bytes follow; they are at SOURCE, and the sender's NUMBER is answered; the answer;
the message there was refused, by the system's error that MOVED says."""
MESSAGE_BYTES = 8 * MESSAGE_WORDS

# the bytes of a window: how many were written, how many were read, and the ring
WRITTEN, READ, RING = 0, 64, 128
RING_BYTES = 1 << 20
LINE = 64
"""Bytes of the line before each message; messages begin at a multiple of them."""
ROUND = 64 << 10
"""Bytes that are moved before they are shown to the reader."""
LEAST_DIRECT = RING_BYTES
"""Least bytes of a message that is fetched from the sender's memory: it fits into no window."""
LEAST_FOLDED = 32 << 10
"""Least bytes of a message to fold that is read there: no window has to hold it."""
LINE_WORDS = (NBYTES, KEY, TAG, KIND, SOURCE, NUMBER)
"""The words of a message that its line has."""


def write_streams(module: LLVMModule) -> None:
    """Define the functions that find messages and move them."""
    for write in (write_find, write_send, write_receive):
        write(module)


def put(e: Emitter, value: str | int, block: str, index: int) -> None:
    """Emit a store of a word into a block, by its index."""
    e.store(str(value), e.offset(block, 8 * index), "i64", 8)


def put_pointer(e: Emitter, value: str, place: str) -> None:
    """Emit a store of an address."""
    e.store(value, place, "ptr", 8)


def copy(e: Emitter, to: str, source: str, nbytes: str) -> None:
    """Emit a copy of bytes; a canceled message has no address, and its bytes are skipped."""
    given = ("ptr", to), ("ptr", source), ("i64", nbytes), ("i1", "false")
    gone = e.value(f"or i1 {is_null(e, to)}, {is_null(e, source)}")
    there = e.value(f"xor i1 {gone}, true")

    def move() -> None:
        e.call("void", "llvm.memcpy.p0.p0.i64", *given)

    e.when(there, move)


def is_null(e: Emitter, pointer: str) -> str:
    """Emit whether a pointer is null."""
    return e.value(f"icmp eq ptr {pointer}, null")


def publish_count(e: Emitter, window: str, at: int, count: str) -> None:
    """Emit an atomic store that publishes to the other side how many bytes were written or read."""
    e.do(f"store atomic i64 {count}, ptr {e.offset(window, at)} release, align 8")


def free(e: Emitter, memory: str) -> None:
    """Emit a call of free()."""
    e.call("void", "free", ("ptr", memory))


def rounded_to_lines(e: Emitter, nbytes: str) -> str:
    """Emit a number of bytes rounded up to a whole line."""
    return e.value(f"and i64 {e.add(nbytes, LINE - 1)}, {-LINE}")


def write_find(module: LLVMModule) -> None:
    """Define `find`: the place in a list of the first message of a group and a tag, or its end."""
    e = private(module, "find", ("ptr", "list"), ("i64", "key"), ("i64", "tag"), returns="ptr")

    def wanted(message: str) -> str:
        same = [
            e.value(f"icmp eq i64 {word(e, message, k)}, {own}")
            for k, own in ((KEY, "%key"), (TAG, "%tag"))
        ]
        return e.value(f"and i1 {same[0]}, {same[1]}")

    e.ret(f"ptr {first(e, '%list', wanted)}")


def first(e: Emitter, listed: str, holds: Callable[[str], str]) -> str:
    """Emit a search for a list's first message that `holds`; its place, or the list's end."""
    before, look, compare, other, found = (
        e.block,
        *map(e.fresh, ("look", "compare", "other", "found")),
    )
    e.do(f"br label %{look}")
    e.label(look)
    at = e.value(f"phi ptr [{listed}, %{before}], [%n{other}, %{other}]")
    message = e.load(at, "ptr", 8)
    e.do(f"br i1 {is_null(e, message)}, label %{found}, label %{compare}")
    e.label(compare)
    e.do(f"br i1 {holds(message)}, label %{found}, label %{other}")
    e.label(other)
    e.do(f"%n{other} = getelementptr i8, ptr {message}, i64 {8 * NEXT}")
    e.do(f"br label %{look}")
    e.label(found)
    return at


def return_zero_if(e: Emitter, nothing: str) -> None:
    """Emit `return 0` if a condition holds."""
    none, some = e.fresh("none"), e.fresh("some")
    e.do(f"br i1 {nothing}, label %{none}, label %{some}")
    e.label(none)
    e.ret("i64 0")
    e.label(some)


def append(e: Emitter, listed: str, message: str) -> None:
    """Emit the insertion of a message at the end of a list."""
    end = e.call("ptr", "find", ("ptr", listed), ("i64", "-1"), ("i64", "-1"))
    put_pointer(e, message, end)


def unlink(e: Emitter, at: str, message: str) -> None:
    """Emit the removal of a message from its list, given the place that points to it."""
    following = e.offset(message, 8 * NEXT)
    put_pointer(e, e.load(following, "ptr", 8), at)
    put_pointer(e, "null", following)


def piece(e: Emitter, message: str, space: str, at: str) -> tuple[str, str]:
    """Emit the size of the next piece of a message, and its address."""
    moved = word(e, message, MOVED)
    left = e.sub(word(e, message, NBYTES), moved)
    in_ring = e.sub(RING_BYTES, at)
    nbytes = e.least(e.least(left, space), e.least(in_ring, ROUND))
    put(e, e.add(moved, nbytes), message, MOVED)
    address = word(e, message, ADDRESS, "ptr")
    behind = e.offset(address, moved)
    return nbytes, e.value(f"select i1 {is_null(e, address)}, ptr null, ptr {behind}")


def write_send(module: LLVMModule) -> None:
    """Define `send`, which writes one round of the first message to a peer, if there is one."""
    e = private(module, "send", ("ptr", "peer"), returns="i64")
    message, window = word(e, "%peer", SENDS, "ptr"), word(e, "%peer", OUT, "ptr")
    return_zero_if(e, is_null(e, message))
    written = e.load(e.offset(window, WRITTEN), "i64", 8)
    space = e.sub(e.add(atomic_load(e, e.offset(window, READ), "acquire"), RING_BYTES), written)
    return_zero_if(e, is_zero(e, space))
    begins = e.value(f"icmp slt i64 {word(e, message, MOVED)}, 0")
    ring = e.offset(window, RING)

    def line() -> None:
        at = e.offset(ring, e.value(f"and i64 {written}, {RING_BYTES - 1}"))
        for k, index in enumerate(LINE_WORDS):
            put(e, word(e, message, index), at, k)
        put(e, 0, message, MOVED)

    e.when(begins, line)
    streamed = e.value(f"icmp eq i64 {word(e, message, KIND)}, {STREAMED}")
    e.do(f"br i1 {streamed}, label %stream, label %short")
    e.label("short")
    publish_count(e, window, WRITTEN, e.add(written, LINE))
    unlink(e, e.offset("%peer", 8 * SENDS), message)
    answers = e.value(f"icmp eq i64 {word(e, message, KIND)}, {ANSWER}")
    e.either(
        answers,
        lambda: free(e, message),
        lambda: append(e, e.offset("%peer", 8 * SHOWN), message),
    )
    e.ret("i64 1")
    e.label("stream")
    skipped = e.value(f"select i1 {begins}, i64 {LINE}, i64 0")
    start = e.add(written, skipped)
    at = e.value(f"and i64 {start}, {RING_BYTES - 1}")
    nbytes, source = piece(e, message, e.sub(space, skipped), at)
    copy(e, e.offset(ring, at), source, nbytes)
    publish_count(e, window, WRITTEN, e.add(start, rounded_to_lines(e, nbytes)))
    over = e.value(f"icmp eq i64 {word(e, message, MOVED)}, {word(e, message, NBYTES)}")
    e.when(over, lambda: unlink(e, e.offset("%peer", 8 * SENDS), message))
    e.ret("i64 1")


def write_receive(module: LLVMModule) -> None:
    """Define `receive`, which reads one round of bytes from a peer, if there are some."""
    e = private(module, "receive", ("ptr", "peer"), returns="i64")
    window = word(e, "%peer", IN, "ptr")
    read = e.load(e.offset(window, READ), "i64", 8)
    space = e.sub(atomic_load(e, e.offset(window, WRITTEN), "acquire"), read)
    return_zero_if(e, is_zero(e, space))
    ring, coming = e.offset(window, RING), e.offset("%peer", 8 * COMING)
    begins = is_null(e, e.load(coming, "ptr", 8))
    line = e.offset(ring, e.value(f"and i64 {read}, {RING_BYTES - 1}"))
    short = e.value(f"icmp ne i64 {word(e, line, LINE_WORDS.index(KIND))}, {STREAMED}")
    e.do(f"br i1 {e.value(f'and i1 {begins}, {short}')}, label %short, label %stream")
    e.label("short")
    answers = e.value(f"icmp eq i64 {word(e, line, LINE_WORDS.index(KIND))}, {ANSWER}")
    e.either(answers, lambda: finish_sent(e, line), lambda: match_message(e, line, direct=True))
    publish_count(e, window, READ, e.add(read, LINE))
    e.ret("i64 1")
    e.label("stream")
    e.when(begins, lambda: match_message(e, line, direct=False))
    message = e.load(coming, "ptr", 8)
    skipped = e.value(f"select i1 {begins}, i64 {LINE}, i64 0")
    start = e.add(read, skipped)
    at = e.value(f"and i64 {start}, {RING_BYTES - 1}")
    nbytes, target = piece(e, message, e.sub(space, skipped), at)
    copy(e, target, e.offset(ring, at), nbytes)
    publish_count(e, window, READ, e.add(start, rounded_to_lines(e, nbytes)))
    over = e.value(f"icmp eq i64 {word(e, message, MOVED)}, {word(e, message, NBYTES)}")
    e.when(over, lambda: put_pointer(e, "null", coming))
    e.ret("i64 1")


def finish_sent(e: Emitter, line: str) -> None:
    """Emit the end of a sent message whose reader answered that it has been read."""
    message = word(e, line, LINE_WORDS.index(NUMBER), "ptr")
    put(e, word(e, message, NBYTES), message, MOVED)
    leave(e, e.offset("%peer", 8 * SHOWN), message)


def leave(e: Emitter, listed: str, message: str) -> None:
    """Emit the removal of a message from a list, at whatever place it is."""
    at = first(e, listed, lambda other: e.value(f"icmp eq ptr {other}, {message}"))
    unlink(e, at, message)


def match_message(e: Emitter, line: str, direct: bool) -> None:
    """Emit the match of an arriving message with its request; without one it is stored."""
    nbytes, key, tag, _, source, number = (word(e, line, k) for k in range(len(LINE_WORDS)))
    at = e.call("ptr", "find", ("ptr", e.offset("%peer", 8 * ASKED)), ("i64", key), ("i64", tag))
    message = e.load(at, "ptr", 8)

    def keep() -> None:
        more = "0" if direct else nbytes
        made = e.call("ptr", "malloc", ("i64", e.add(more, MESSAGE_BYTES)))
        fill(e, made, e.offset(made, MESSAGE_BYTES), nbytes, key, tag)
        append(e, e.offset("%peer", 8 * KEPT), made)
        if direct:
            set_source(e, made, source, number)
        else:
            comes(made)

    def comes(message: str) -> None:
        put(e, 0, message, MOVED)
        put_pointer(e, message, e.offset("%peer", 8 * COMING))

    def take() -> None:
        unlink(e, at, message)
        wanted = e.value(f"icmp eq i64 {word(e, message, NBYTES)}, {nbytes}")

        def go() -> None:
            if direct:
                set_source(e, message, source, number)
                list_readable(e, "%peer", message)
            else:
                comes(message)

        def differ() -> None:
            put(e, e.sub(-2, nbytes), message, MOVED)
            keep()

        e.either(wanted, go, differ)

    e.either(is_null(e, message), keep, take)


def set_source(e: Emitter, message: str, source: str, number: str) -> None:
    """Emit the mark of a message that is read from its sender's memory, at this address."""
    for index, value in ((KIND, DIRECT), (SOURCE, source), (NUMBER, number)):
        put(e, value, message, index)


def list_readable(e: Emitter, peer: str, message: str) -> None:
    """Emit the entry of a readable message in the list to fetch, or in that of folds."""
    put(e, 0, message, MOVED)
    stays = e.value(f"icmp ne i64 {word(e, message, STAYS)}, 0")
    listed = e.value(f"select i1 {stays}, i64 {8 * HELD}, i64 {8 * FETCHED}")
    append(e, e.offset(peer, listed), message)


def fill(e: Emitter, message: str, address: str, nbytes: str, key: str, tag: str) -> None:
    """Emit the initial words of a message."""
    put_pointer(e, "null", message)
    put_pointer(e, address, e.offset(message, 8 * ADDRESS))
    words = (NBYTES, nbytes), (MOVED, -1), (KEY, key), (TAG, tag), (KIND, STREAMED), (STAYS, 0)
    for index, value in words:
        put(e, value, message, index)


def is_zero(e: Emitter, number: str) -> str:
    """Emit whether a number is 0."""
    return e.value(f"icmp eq i64 {number}, 0")


def peer_of(e: Emitter, k: str) -> str:
    """The address of the block of peer k."""
    return e.offset("%process", e.mul(e.add(e.mul(k, PEER_WORDS), FIRST_PEER), 8))

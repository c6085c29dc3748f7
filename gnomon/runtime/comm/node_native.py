"""Transfers of ranks of one node, as IR text: messages of streams that this process moves itself.

Whoever waits moves all that this process sends and receives, so no rank waits for the order in
which another one asks.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm import base, fetching, streams, waiting
from gnomon.runtime.comm.streams import (
    ADDRESS,
    ASKED,
    COMING,
    DIRECT,
    FETCHED,
    KEPT,
    KEY,
    KIND,
    LEAST_DIRECT,
    LOCK,
    MESSAGE_BYTES,
    MOVED,
    NBYTES,
    NUMBER,
    PEER_COUNT,
    PEER_PROCESS,
    SENDS,
    SHOWN,
    SOURCE,
    UNREADABLE,
    append,
    copy,
    fetch,
    fill,
    first,
    free,
    is_null,
    is_zero,
    lies_at,
    peer_of,
    put,
    put_pointer,
    unlink,
)
from gnomon.runtime.comm.waiting import COUNT, PLACE, group_of, note, request_of
from gnomon.runtime.device import Target
from gnomon.runtime.native import private, wait_until, word, write_now, write_relax

__all__ = ["ENTRIES", "text_for"]

# the words of a group's block: the process, its own number, two numbers of an error, and where the
# places of its peers stand
PROCESS, GROUP_KEY, CAME, WANTED, PEERS, WORDS = range(waiting.OWN, waiting.OWN + 6)

MISMATCH, REFUSED = 3, 4
"""Numbers of failures: other bytes came than were asked for; the system let none be read."""
ENTRIES = ("node_start", "node_wait", "node_test", "node_sending", "node_owed", "node_forget")


def text_for(target: Target) -> str:
    """The IR of the entries."""
    module = LLVMModule()
    write_now(module)
    write_relax(module, target)
    streams.write_streams(module)
    fetching.write_read(module)
    fetching.write_fetch(module)
    for write in (write_progress, write_post, write_finished, write_test, write_start, write_wait):
        write(module)
    write_sending(module)
    write_owed(module)
    write_forget(module)
    return module.text()


def write_progress(module: LLVMModule) -> None:
    """`progress` moves a round to and from each peer; how many it moved."""
    e = private(module, "progress", ("ptr", "process"), returns="i64")

    def both(k: str, moved: str) -> list[str]:
        peer = peer_of(e, k)
        # what is there is fetched first, and its answer goes out with what else is sent
        done = [e.call("i64", name, ("ptr", peer)) for name in ("receive", "fetch", "send")]
        return [e.add(moved, e.add(done[0], e.add(*done[1:])))]

    (moved,) = e.loop(0, word(e, "%process", PEER_COUNT), 1, both, [("i64", "0")])
    e.ret(f"i64 {moved}")


def write_post(module: LLVMModule) -> None:
    """`post` begins a message to a place of a group, or from it."""
    given = ("ptr", "group"), ("i64", "place"), ("i1", "sent"), ("ptr", "message")
    e = private(module, "post", *given, ("ptr", "address"), ("i64", "nbytes"), ("i64", "tag"))
    peers, key = word(e, "%group", PEERS, "ptr"), word(e, "%group", GROUP_KEY)
    peer = e.load(e.offset(peers, e.mul("%place", 8)), "ptr", 8)
    fill(e, "%message", "%address", "%nbytes", key, "%tag")
    large = e.value(f"icmp sge i64 %nbytes, {LEAST_DIRECT}")
    open_to_read = e.value(f"icmp ne i64 {word(e, peer, PEER_PROCESS)}, 0")

    def send() -> None:
        number = e.value("ptrtoint ptr %message to i64")
        source = e.value("ptrtoint ptr %address to i64")
        direct = e.value(f"and i1 {large}, {open_to_read}")
        e.when(direct, lambda: lies_at(e, "%message", source, number))
        append(e, e.offset(peer, 8 * SENDS), "%message")

    def ask() -> None:
        kept = e.offset(peer, 8 * KEPT)
        at = e.call("ptr", "find", ("ptr", kept), ("i64", key), ("i64", "%tag"))
        found = e.load(at, "ptr", 8)
        e.either(
            is_null(e, found),
            lambda: append(e, e.offset(peer, 8 * ASKED), "%message"),
            lambda: take_kept(e, peer, at, found),
        )

    e.either("%sent", send, ask)
    e.ret()


def take_kept(e: Emitter, peer: str, at: str, found: str) -> None:
    """Take what came before it was asked for; what is still coming goes to its place."""
    came, moved = word(e, found, NBYTES), word(e, found, MOVED)
    wanted = e.value(f"icmp eq i64 {came}, %nbytes")

    def take() -> None:
        unlink(e, at, found)
        direct = e.value(f"icmp eq i64 {word(e, found, KIND)}, {DIRECT}")
        e.either(direct, take_direct, take_streamed)
        free(e, found)

    def take_direct() -> None:
        lies_at(e, "%message", word(e, found, SOURCE), word(e, found, NUMBER))
        fetch(e, peer, "%message")

    def take_streamed() -> None:
        copy(e, "%address", word(e, found, ADDRESS, "ptr"), moved)
        put(e, moved, "%message", MOVED)
        coming = e.offset(peer, 8 * COMING)
        now = e.value(f"icmp eq ptr {e.load(coming, 'ptr', 8)}, {found}")
        e.when(now, lambda: put_pointer(e, "%message", coming))

    e.either(wanted, take, lambda: put(e, e.sub(-2, came), "%message", MOVED))


def messages_of(e: Emitter, listed: str) -> Callable[[str], str]:
    """The places of the messages of a transfer, behind their number."""
    return lambda k: e.offset(listed, e.add(e.mul(k, MESSAGE_BYTES), 8))


def write_finished(module: LLVMModule) -> None:
    """`finished` tells whether all messages of a transfer are over."""
    e = private(module, "finished", ("ptr", "group"), ("ptr", "listed"), returns="i1")
    at = messages_of(e, "%listed")

    def one(k: str, left: str) -> list[str]:
        moved, nbytes = (word(e, at(k), index) for index in (MOVED, NBYTES))

        def refuse() -> None:
            shut = e.value(f"icmp eq i64 {word(e, at(k), KIND)}, {UNREADABLE}")
            why = e.value(f"select i1 {shut}, i64 {REFUSED}, i64 {MISMATCH}")
            for value, index in ((e.sub(-2, moved), CAME), (nbytes, WANTED), (why, base.FAILED)):
                put(e, value, "%group", index)

        e.when(e.value(f"icmp slt i64 {moved}, -1"), refuse)
        differs = e.value(f"icmp ne i64 {moved}, {nbytes}")
        return [e.add(left, e.value(f"zext i1 {differs} to i64"))]

    (left,) = e.loop(0, word(e, "%listed", 0), 1, one, [("i64", "0")])
    e.ret(f"i1 {is_zero(e, left)}")


def lock(e: Emitter, process: str, brief: str) -> None:
    """Wait until no other thread of this process moves messages."""
    at = e.offset(process, 8 * LOCK)
    take = f"atomicrmw xchg ptr {at}, i64 1 acquire, align 8"
    wait_until(e, brief, lambda: is_zero(e, e.value(take)))


def unlock(e: Emitter, process: str) -> None:
    """Let other threads."""
    e.do(f"store atomic i64 0, ptr {e.offset(process, 8 * LOCK)} release, align 8")


def write_test(module: LLVMModule) -> None:
    """`node_test` moves what can be moved, until a transfer is over; whether it is."""
    e = module.function("node_test", [("ptr", "group"), ("ptr", "request")], returns="i64")
    process, listed = word(e, "%group", PROCESS, "ptr"), word(e, "%request", 0, "ptr")
    lock(e, process, word(e, "%group", waiting.YIELD_AFTER))
    e.do("br label %look")
    e.label("look")
    over = e.call("i1", "finished", ("ptr", "%group"), ("ptr", listed))
    e.do(f"br i1 {over}, label %done, label %move")
    e.label("move")
    moved = e.call("i64", "progress", ("ptr", process))
    e.do(f"br i1 {is_zero(e, moved)}, label %done, label %look")
    e.label("done")
    unlock(e, process)
    e.ret(f"i64 {e.value(f'zext i1 {over} to i64')}")


def write_start(module: LLVMModule) -> None:
    """`node_start` takes the slots of a transfer's call."""
    e = module.function("node_start", [("ptr", "slots")])
    group = group_of(e)
    note(e, group, base.STARTED)
    process = word(e, group, PROCESS, "ptr")
    kind, nbytes = word(e, "%slots", base.KIND), word(e, "%slots", base.NBYTES)
    others = e.sub(word(e, group, COUNT), 1)
    count = others
    ring, many = (e.value(f"icmp eq i64 {kind}, {k}") for k in (base.RING, base.MESSAGES))
    count = e.value(f"select i1 {ring}, i64 1, i64 {others}")
    count = e.value(f"select i1 {many}, i64 {nbytes}, i64 {e.mul(count, 2)}")
    listed = e.call("ptr", "malloc", ("i64", e.add(e.mul(count, MESSAGE_BYTES), 8)))
    put(e, count, listed, 0)
    put_pointer(e, listed, request_of(e, group))
    lock(e, process, word(e, group, waiting.YIELD_AFTER))
    e.either(
        many,
        lambda: e.loop(0, count, 1, lambda k: post_listed(e, group, listed, k)),
        lambda: post_all(e, group, listed, ring),
    )
    e.call("i64", "progress", ("ptr", process))
    unlock(e, process)
    e.ret()


def ends(e: Emitter) -> tuple[str, str]:
    """The places where a transfer receives, and of what it sends."""
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    return receive, send


def post_listed(e: Emitter, group: str, listed: str, k: str) -> None:
    """Begin one of a list of messages."""
    (receive, send), size = ends(e), len(base.Message._fields)
    row = e.offset("%slots", e.mul(e.add(e.mul(k, size), base.WORDS), 8))
    peer, sent, start, nbytes, tag = (word(e, row, at) for at in range(size))
    goes = e.value(f"icmp ne i64 {sent}, 0")
    address = e.offset(e.value(f"select i1 {goes}, ptr {send}, ptr {receive}"), start)
    post(e, group, peer, goes, messages_of(e, listed)(k), (address, nbytes, tag))


def post(
    e: Emitter, group: str, place: str, sent: str, message: str, what: tuple[str, str, str]
) -> None:
    """Call `post`."""
    address, nbytes, tag = what
    ends_of = ("ptr", group), ("i64", place), ("i1", sent), ("ptr", message)
    e.call("void", "post", *ends_of, ("ptr", address), ("i64", nbytes), ("i64", tag))


def post_all(e: Emitter, group: str, listed: str, ring: str) -> None:
    """Begin a gather or an exchange, nearest ranks first, or a shift: one rank each way."""
    (receive, send), nbytes = ends(e), word(e, "%slots", base.NBYTES)
    place, count = word(e, group, PLACE), word(e, group, COUNT)
    exchange = e.value(f"icmp eq i64 {word(e, '%slots', base.KIND)}, {base.EXCHANGE}")
    step = e.value(f"select i1 {exchange}, i64 {nbytes}, i64 0")
    stride = e.value(f"select i1 {ring}, i64 0, i64 {nbytes}")
    shift = word(e, "%slots", base.SHIFT)
    first = e.value(f"select i1 {ring}, i64 {shift}, i64 1")
    end = e.value(f"select i1 {ring}, i64 {e.add(shift, 1)}, i64 {count}")
    at = messages_of(e, listed)

    def pair(d: str) -> None:
        to = e.value(f"srem i64 {e.add(place, d)}, {count}")
        source = e.value(f"srem i64 {e.add(place, e.sub(count, d))}, {count}")
        k = e.mul(e.sub(d, first), 2)
        into = e.offset(receive, e.mul(source, stride))
        post(e, group, source, "false", at(k), (into, nbytes, "0"))
        given = e.offset(send, e.mul(to, step))
        post(e, group, to, "true", at(e.add(k, 1)), (given, nbytes, "0"))

    e.loop(first, end, 1, pair)

    # others may read what is sent while the own part is copied
    e.call("i64", "progress", ("ptr", word(e, group, PROCESS, "ptr")))

    def own() -> None:
        given = e.offset(send, e.mul(place, step))
        copy(e, e.offset(receive, e.mul(place, stride)), given, nbytes)

    e.either(ring, lambda: None, own)


def write_wait(module: LLVMModule) -> None:
    """`node_wait` returns when a transfer is over, or something has failed."""
    e = module.function("node_wait", [("ptr", "slots")])
    group = group_of(e)
    note(e, group, base.AWAITED)
    request = request_of(e, group)

    def done() -> str:
        over = e.call("i64", "node_test", ("ptr", group), ("ptr", request))
        return e.value(f"icmp ne i64 {over}, 0")

    waiting.until(e, group, done, "one")
    free(e, e.load(request, "ptr", 8))
    put(e, 0, group, base.AWAITED)
    e.ret()


def write_sending(module: LLVMModule) -> None:
    """`node_sending` moves what can be moved, and tells whether something waits to be sent."""
    e = module.function("node_sending", [("ptr", "process"), ("i64", "k")], returns="i64")
    lock(e, "%process", "0")
    e.call("i64", "progress", ("ptr", "%process"))
    peer = peer_of(e, "%k")
    left = e.add(some(e, peer, SENDS, lambda _: "true"), some(e, peer, SHOWN, lambda x: lies(e, x)))
    unlock(e, "%process")
    e.ret(f"i64 {left}")


def some(e: Emitter, peer: str, listed: int, holds: Callable[[str], str]) -> str:
    """1 where a peer's list has a message of which something holds, else 0."""
    at = first(e, e.offset(peer, 8 * listed), holds)
    return e.value(f"select i1 {is_null(e, e.load(at, 'ptr', 8))}, i64 0, i64 1")


def lies(e: Emitter, message: str) -> str:
    """Whether a message was not given up."""
    return e.value(f"icmp ne i64 {word(e, message, SOURCE)}, 0")


def write_owed(module: LLVMModule) -> None:
    """`node_owed` counts what is under way with a peer: of all groups what it fetches, of one else.

    What comes in is taken first, so a peer that has ended owes that for ever.
    """
    given = ("ptr", "process"), ("i64", "k"), ("i64", "key")
    e = module.function("node_owed", given, returns="i64")
    lock(e, "%process", "0")
    e.do("br label %take")
    e.label("take")
    moved = e.call("i64", "progress", ("ptr", "%process"))
    e.do(f"br i1 {is_zero(e, moved)}, label %count, label %take")
    e.label("count")
    peer = peer_of(e, "%k")
    owed = some(e, peer, SHOWN, lambda message: lies(e, message))
    for listed in (SENDS, ASKED, FETCHED):
        owed = e.add(owed, some(e, peer, listed, lambda message: has_key(e, message)))
    unlock(e, "%process")
    e.ret(f"i64 {owed}")


def has_key(e: Emitter, message: str) -> str:
    """Whether a message is of the group that was named."""
    return e.value(f"icmp eq i64 {word(e, message, KEY)}, %key")


def write_forget(module: LLVMModule) -> None:
    """`node_forget` gives up the messages of a group: their memory is touched no more."""
    e = private(module, "forget", ("ptr", "list"), ("i64", "key"))

    def give_up(message: str) -> None:
        put_pointer(e, "null", e.offset(message, 8 * ADDRESS))
        put(e, 0, message, SOURCE)

    def own(message: str) -> str:
        e.when(has_key(e, message), lambda: give_up(message))
        return "false"

    first(e, "%list", own)
    e.ret()
    e = module.function("node_forget", [("ptr", "process"), ("i64", "key")])
    lock(e, "%process", "0")

    def one(k: str) -> None:
        for listed in (SENDS, SHOWN, ASKED, COMING, FETCHED):
            place = e.offset(peer_of(e, k), 8 * listed)
            e.call("void", "forget", ("ptr", place), ("i64", "%key"))

    e.loop(0, word(e, "%process", PEER_COUNT), 1, one)
    unlock(e, "%process")
    e.ret()

"""Transfers of ranks of one node, as IR text: messages of streams that this process moves itself.

Whoever waits moves all that this process sends and receives, so no rank waits for the order in
which another one asks.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.runtime.comm import base, fetching, node_folds, streams, waiting
from gnomon.runtime.comm.node_words import (
    CAME,
    GROUP_KEY,
    PROCESS,
    WANTED,
    lock,
    messages_of,
    peer_at,
    unlock,
)
from gnomon.runtime.comm.streams import (
    ADDRESS,
    ASKED,
    COMING,
    DIRECT,
    FETCHED,
    HELD,
    KEPT,
    KEY,
    KIND,
    LEAST_DIRECT,
    LEAST_FOLDED,
    MESSAGE_BYTES,
    MOVED,
    NBYTES,
    NUMBER,
    PEER_COUNT,
    PEER_PROCESS,
    SENDS,
    SHOWN,
    SOURCE,
    STAYS,
    UNREADABLE,
    append,
    copy,
    fill,
    first,
    free,
    is_null,
    is_zero,
    list_readable,
    peer_of,
    put,
    put_pointer,
    set_source,
    unlink,
)
from gnomon.runtime.comm.waiting import COUNT, PLACE, group_of, request_of, store_number
from gnomon.runtime.device import Target
from gnomon.runtime.native import private, word, write_now, write_relax

__all__ = ["ENTRIES", "text_for"]

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
    for write in (write_progress, write_post, write_finished, node_folds.write_arrived):
        write(module)
    write_test(module, "node_arrived", "arrived")
    write_test(module, "node_test", "finished")
    for write in (node_folds.write_fold, write_start, write_wait):
        write(module)
    write_sending(module)
    write_owed(module)
    write_forget(module)
    return module.text()


def write_progress(module: LLVMModule) -> None:
    """Define `progress`, which moves a round to and from each peer; returns how many moved."""
    e = private(module, "progress", ("ptr", "process"), returns="i64")

    def both(k: str, moved: str) -> list[str]:
        peer = peer_of(e, k)
        # what is there is fetched first, and its answer goes out with what else is sent
        done = [e.call("i64", name, ("ptr", peer)) for name in ("receive", "fetch", "send")]
        return [e.add(moved, e.add(done[0], e.add(*done[1:])))]

    (moved,) = e.loop(0, word(e, "%process", PEER_COUNT), 1, both, [("i64", "0")])
    e.ret(f"i64 {moved}")


def write_post(module: LLVMModule) -> None:
    """Define `post`, which starts a message to or from a member; `folds`: its reader folds it."""
    given = ("ptr", "group"), ("i64", "place"), ("i1", "sent"), ("i1", "folds"), ("ptr", "message")
    e = private(module, "post", *given, ("ptr", "address"), ("i64", "nbytes"), ("i64", "tag"))
    peer, key = peer_at(e, "%group", "%place"), word(e, "%group", GROUP_KEY)
    fill(e, "%message", "%address", "%nbytes", key, "%tag")
    least = e.value(f"select i1 %folds, i64 {LEAST_FOLDED}, i64 {LEAST_DIRECT}")
    large = e.value(f"icmp sge i64 %nbytes, {least}")
    open_to_read = e.value(f"icmp ne i64 {word(e, peer, PEER_PROCESS)}, 0")

    def send() -> None:
        number = e.value("ptrtoint ptr %message to i64")
        source = e.value("ptrtoint ptr %address to i64")
        direct = e.value(f"and i1 {large}, {open_to_read}")
        e.when(direct, lambda: set_source(e, "%message", source, number))
        append(e, e.offset(peer, 8 * SENDS), "%message")

    def ask() -> None:
        put(e, e.value("zext i1 %folds to i64"), "%message", STAYS)
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
    """Receive a message that arrived before it was requested; the rest of it goes on arriving."""
    came, moved = word(e, found, NBYTES), word(e, found, MOVED)
    wanted = e.value(f"icmp eq i64 {came}, %nbytes")

    def take() -> None:
        unlink(e, at, found)
        direct = e.value(f"icmp eq i64 {word(e, found, KIND)}, {DIRECT}")
        e.either(direct, take_direct, take_streamed)
        free(e, found)

    def take_direct() -> None:
        set_source(e, "%message", word(e, found, SOURCE), word(e, found, NUMBER))
        list_readable(e, peer, "%message")

    def take_streamed() -> None:
        copy(e, "%address", word(e, found, ADDRESS, "ptr"), moved)
        put(e, moved, "%message", MOVED)
        coming = e.offset(peer, 8 * COMING)
        now = e.value(f"icmp eq ptr {e.load(coming, 'ptr', 8)}, {found}")
        e.when(now, lambda: put_pointer(e, "%message", coming))

    e.either(wanted, take, lambda: put(e, e.sub(-2, came), "%message", MOVED))


def write_finished(module: LLVMModule) -> None:
    """Define `finished`: whether all messages of a transfer are complete."""
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


def write_test(module: LLVMModule, name: str, ends: str) -> None:
    """Define a function that moves bytes and returns whether a transfer has reached a state."""
    e = module.function(name, [("ptr", "group"), ("ptr", "request")], returns="i64")
    process, listed = word(e, "%group", PROCESS, "ptr"), word(e, "%request", 0, "ptr")
    lock(e, process, word(e, "%group", waiting.YIELD_AFTER))
    e.do("br label %look")
    e.label("look")
    over = e.call("i1", ends, ("ptr", "%group"), ("ptr", listed))
    e.do(f"br i1 {over}, label %done, label %move")
    e.label("move")
    moved = e.call("i64", "progress", ("ptr", process))
    e.do(f"br i1 {is_zero(e, moved)}, label %done, label %look")
    e.label("done")
    unlock(e, process)
    e.ret(f"i64 {e.value(f'zext i1 {over} to i64')}")


def write_start(module: LLVMModule) -> None:
    """Define `node_start`, which starts the transfer in the slots of its call."""
    e = module.function("node_start", [("ptr", "slots")])
    group = group_of(e)
    store_number(e, group, base.STARTED)
    process = word(e, group, PROCESS, "ptr")
    kind, nbytes = word(e, "%slots", base.KIND), word(e, "%slots", base.NBYTES)
    others = e.sub(word(e, group, COUNT), 1)
    count = others
    ring, many = (e.value(f"icmp eq i64 {kind}, {k}") for k in (base.RING, base.MESSAGES))
    count = e.value(f"select i1 {ring}, i64 1, i64 {others}")
    count = e.value(f"select i1 {many}, i64 {nbytes}, i64 {e.mul(count, 2)}")
    folds = e.value(f"icmp eq i64 {kind}, {base.FOLD}")
    rows = e.value(f"select i1 {folds}, i64 {node_folds.scratch_for(e, group, nbytes)}, i64 0")
    size = e.add(e.mul(count, MESSAGE_BYTES), 8)
    listed = e.call("ptr", "malloc", ("i64", e.add(size, rows)))
    put(e, count, listed, 0)
    put_pointer(e, listed, request_of(e, group))
    lock(e, process, word(e, group, waiting.YIELD_AFTER))
    e.either(
        many,
        lambda: e.loop(0, count, 1, lambda k: post_listed(e, group, listed, k)),
        lambda: post_all(e, group, listed, ring, folds),
    )
    e.call("i64", "progress", ("ptr", process))
    unlock(e, process)
    e.ret()


def ends(e: Emitter) -> tuple[str, str]:
    """Emit the addresses at which a transfer receives and from which it sends."""
    receive, send = (word(e, "%slots", k, "ptr") for k in (base.RECEIVE, base.SEND))
    return receive, send


def post_listed(e: Emitter, group: str, listed: str, k: str) -> None:
    """Emit the start of the k-th message of a list."""
    (receive, send), size = ends(e), len(base.Message._fields)
    row = e.offset("%slots", e.mul(e.add(e.mul(k, size), base.WORDS), 8))
    peer, sent, start, nbytes, tag = (word(e, row, at) for at in range(size))
    goes = e.value(f"icmp ne i64 {sent}, 0")
    address = e.offset(e.value(f"select i1 {goes}, ptr {send}, ptr {receive}"), start)
    message = messages_of(e, listed)(k)
    post(e, group, peer, (goes, "false"), message, (address, nbytes, tag))


def post(
    e: Emitter,
    group: str,
    place: str,
    flags: tuple[str, str],
    message: str,
    what: tuple[str, str, str],
) -> None:
    """Emit a call of `post`; `flags`: whether the message is sent, and whether it is folded."""
    address, nbytes, tag = what
    sent, folds = flags
    ends_of = ("ptr", group), ("i64", place), ("i1", sent), ("i1", folds), ("ptr", message)
    e.call("void", "post", *ends_of, ("ptr", address), ("i64", nbytes), ("i64", tag))


def post_all(e: Emitter, group: str, listed: str, ring: str, folds: str) -> None:
    """Emit the messages of a gather, an exchange, a fold or a shift, nearest ranks first."""
    (receive, send), nbytes = ends(e), word(e, "%slots", base.NBYTES)
    place, count = word(e, group, PLACE), word(e, group, COUNT)
    exchange = e.value(f"icmp eq i64 {word(e, '%slots', base.KIND)}, {base.EXCHANGE}")
    step = e.value(f"select i1 {e.value(f'or i1 {exchange}, {folds}')}, i64 {nbytes}, i64 0")
    stride = e.value(f"select i1 {ring}, i64 0, i64 {nbytes}")
    row, rows = node_folds.rows_of(e, group, listed, nbytes)
    stride = e.value(f"select i1 {folds}, i64 {row}, i64 {stride}")
    receive = e.value(f"select i1 {folds}, ptr {rows}, ptr {receive}")
    shift = word(e, "%slots", base.SHIFT)
    first = e.value(f"select i1 {ring}, i64 {shift}, i64 1")
    end = e.value(f"select i1 {ring}, i64 {e.add(shift, 1)}, i64 {count}")
    at = messages_of(e, listed)

    def pair(d: str) -> None:
        to = e.value(f"srem i64 {e.add(place, d)}, {count}")
        source = e.value(f"srem i64 {e.add(place, e.sub(count, d))}, {count}")
        k = e.mul(e.sub(d, first), 2)
        into = e.offset(receive, e.mul(source, stride))
        post(e, group, source, ("false", folds), at(k), (into, nbytes, "0"))
        given = e.offset(send, e.mul(to, step))
        post(e, group, to, ("true", folds), at(e.add(k, 1)), (given, nbytes, "0"))

    e.loop(first, end, 1, pair)

    # others may read what is sent while the own part is copied
    e.call("i64", "progress", ("ptr", word(e, group, PROCESS, "ptr")))

    def own() -> None:
        given = e.offset(send, e.mul(place, step))
        copy(e, e.offset(receive, e.mul(place, stride)), given, nbytes)

    e.either(e.value(f"or i1 {ring}, {folds}"), lambda: None, own)


def write_wait(module: LLVMModule) -> None:
    """Define `node_wait`, which returns when a transfer is complete or the group has failed."""
    e = module.function("node_wait", [("ptr", "slots")])
    group = group_of(e)
    store_number(e, group, base.AWAITED)
    request = request_of(e, group)

    def asked(name: str) -> Callable[[], str]:
        def ask() -> str:
            over = e.call("i64", name, ("ptr", group), ("ptr", request))
            return e.value(f"icmp ne i64 {over}, 0")

        return ask

    folds = e.value(f"icmp eq i64 {word(e, '%slots', base.KIND)}, {base.FOLD}")
    e.do(f"br i1 {folds}, label %fold, label %others")
    e.label("fold")
    waiting.wait_until(e, group, asked("node_arrived"), "come")
    listed = word(e, request, 0, "ptr")
    e.call("void", "fold_here", ("ptr", group), ("ptr", "%slots"), ("ptr", listed))
    e.do("br label %others")
    e.label("others")
    waiting.wait_until(e, group, asked("node_test"), "one")
    free(e, e.load(request, "ptr", 8))
    put(e, 0, group, base.AWAITED)
    e.ret()


def write_sending(module: LLVMModule) -> None:
    """Define `node_sending`, which moves bytes and returns whether some are not sent yet."""
    e = module.function("node_sending", [("ptr", "process"), ("i64", "k")], returns="i64")
    lock(e, "%process", "0")
    e.call("i64", "progress", ("ptr", "%process"))
    peer = peer_of(e, "%k")
    left = e.add(has(e, peer, SENDS, lambda _: "true"), has(e, peer, SHOWN, lambda x: alive(e, x)))
    unlock(e, "%process")
    e.ret(f"i64 {left}")


def has(e: Emitter, peer: str, listed: int, holds: Callable[[str], str]) -> str:
    """Emit 1 if a peer's list has a message with this property, else 0."""
    at = first(e, e.offset(peer, 8 * listed), holds)
    return e.value(f"select i1 {is_null(e, e.load(at, 'ptr', 8))}, i64 0, i64 1")


def alive(e: Emitter, message: str) -> str:
    """Emit whether a message is still wanted: it was not canceled."""
    return e.value(f"icmp ne i64 {word(e, message, SOURCE)}, 0")


def write_owed(module: LLVMModule) -> None:
    """Define `node_owed`, which counts the unfinished messages with a peer.

    Received bytes are processed first, so what a peer that ended still owes never comes.
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
    owed = has(e, peer, SHOWN, lambda message: alive(e, message))
    for listed in (SENDS, ASKED, FETCHED, HELD):
        owed = e.add(owed, has(e, peer, listed, lambda message: has_key(e, message)))
    unlock(e, "%process")
    e.ret(f"i64 {owed}")


def has_key(e: Emitter, message: str) -> str:
    """Emit whether a message belongs to the group of the key in question."""
    return e.value(f"icmp eq i64 {word(e, message, KEY)}, %key")


def write_forget(module: LLVMModule) -> None:
    """Define `node_forget`, which cancels a group's messages: their memory is not used again."""
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
        for listed in (SENDS, SHOWN, ASKED, COMING, FETCHED, HELD):
            place = e.offset(peer_of(e, k), 8 * listed)
            e.call("void", "forget", ("ptr", place), ("i64", "%key"))

    e.loop(0, word(e, "%process", PEER_COUNT), 1, one)
    unlock(e, "%process")
    # others see that a message was given up before anything else is written to its memory
    e.settle()
    e.ret()

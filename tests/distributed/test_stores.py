"""Stores: keys and values that threads and processes share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import gnomon.distributed as dist
from gnomon.distributed.stores import Request, StoreTable
from gnomon.errors import ArgumentError

KINDS = {
    "hash": lambda path: dist.HashStore(),
    "tcp": lambda path: dist.TCPStore("localhost", 0, is_master=True),
    "file": lambda path: dist.FileStore(path / "store", 1),
    "prefix": lambda path: dist.PrefixStore("part", dist.HashStore()),
}
SOON = timedelta(milliseconds=20)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> dist.Store:
    """A store of each kind."""
    return KINDS[request.param](tmp_path)


def answers(store: Any) -> list:
    """The answers of a store, ours or PyTorch's, to each kind of question."""
    store.set("a", "1")
    store.set("b", b"\x00\xff")
    found = [store.get("a"), store.get("b")]
    found += [store.add("n", 5), store.add("n", -2), store.get("n")]
    found += [store.check(["a", "b"]), store.check(["a", "none"]), store.delete_key("a")]
    found += [store.num_keys(), store.check(["a"])]
    pairs = [("x", "y"), ("", "y"), ("y", "z"), ("q", "w")]
    found += [store.compare_set("c", *pair) for pair in pairs]
    for value in "xy":
        store.append("ap", value)
    store.multi_set(["m1", "m2"], ["1", "2"])
    return [*found, *store.multi_get(["ap", "m1", "m2"]), sorted(store.list_keys())]


ANSWERS = [
    *(b"1", b"\x00\xff", 5, 3, b"3", True, False, True, 2, False, b"x", b"y", b"z", b"z"),
    *(b"xy", b"1", b"2", ["ap", "b", "c", "m1", "m2", "n"]),
]
"""The answers of PyTorch's HashStore."""


def test_a_store_answers_as_pytorchs_do(store: dist.Store):
    assert answers(store) == ANSWERS
    assert [store.delete_key("a"), store.has_extended_api()] == [False, True]


def test_what_does_not_come_in_time_is_said(store: dist.Store):
    store.set_timeout(SOON)
    assert store.timeout == SOON
    with pytest.raises(dist.DistStoreError, match=r"late did not come in 20 ms"):
        store.get("late")
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.wait(["late"], SOON)
    store.set("text", "words")
    with pytest.raises(ArgumentError, match="text' holds no number"):
        store.add("text", 1)
    with pytest.raises(TypeError, match="expected a string or bytes: got 5"):
        store.set("number", 5)


def test_a_key_is_waited_for(store: dist.Store):
    other = store.clone()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other.get, "key")
        store.set("key", "came")

        assert waiting.result(30) == b"came"
        other.wait(["key"])


def test_sums_of_many_threads_are_whole(store: dist.Store):
    def count(_: int) -> None:
        mine = store.clone()
        for _ in range(20):
            mine.add("sum", 1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(4)))

    assert store.get("sum") == b"80"


@pytest.mark.parametrize("kind", ["hash", "tcp", "prefix"])
def test_queues_give_what_was_put_in_first(kind: str, tmp_path: Path):
    store: dist.Store = KINDS[kind](tmp_path)
    for value in ("1", "2"):
        store.queue_push("q", value)
    assert [store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q")] == [2, b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", block=False)
    store.set_timeout(SOON)
    with pytest.raises(dist.DistStoreError, match="did not come"):
        store.queue_pop("q")


def test_a_file_has_no_queues(tmp_path: Path):
    with pytest.raises(NotImplementedError, match="queue support is not implemented"):
        dist.FileStore(tmp_path / "store").queue_push("q", "1")


def test_parts_of_a_store_are_apart():
    whole = dist.HashStore()
    one, two = dist.PrefixStore("one", whole), dist.PrefixStore("two", whole)
    one.set("key", "1")

    assert not two.check(["key"])
    assert one.list_keys() == ["key"]
    assert whole.list_keys() == ["one/key"]


def test_a_table_takes_no_other_questions():
    ask: Callable = StoreTable().answer

    with pytest.raises(ArgumentError, match="there is no question '__init__'"):
        ask(Request("__init__", []))
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"kind": 5}), type=Request)

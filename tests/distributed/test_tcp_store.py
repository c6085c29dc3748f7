"""TCPStore: who reaches it, who is sent away, and what happens when it is gone."""

from __future__ import annotations

import contextlib
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

import gnomon.distributed as dist
from gnomon.distributed.processes import free_port
from gnomon.runtime.comm.tcp import HEAD

SOON = timedelta(milliseconds=50)


def test_ranks_wait_for_each_other():
    port = free_port()

    def rank(number: int) -> tuple[int, int]:
        store = dist.TCPStore("localhost", port, 3, number == 0)
        return store.add("came", 1), store.port

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(rank, range(3)))

    assert sorted(count for count, _ in found) == [1, 2, 3]
    assert {where for _, where in found} == {port}


def test_a_master_says_how_many_came():
    with pytest.raises(dist.DistStoreError, match="1 of 2 processes came in 50 ms"):
        dist.TCPStore("localhost", 0, 2, True, SOON)


def test_a_store_that_is_not_there_is_said():
    port = free_port()
    with pytest.raises(dist.DistNetworkError, match=f"nobody answers at localhost:{port}"):
        dist.TCPStore("localhost", port, timeout=SOON)


def test_a_port_that_is_taken_is_said_or_shared():
    store = dist.TCPStore("localhost", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="Choose another port"):
        dist.TCPStore("localhost", store.port, is_master=True)
    shared = dist.TCPStore("localhost", store.port, is_master=True, multi_tenant=True)
    shared.set("key", "1")

    assert store.get("key") == b"1"


def test_a_client_hears_that_the_store_is_gone():
    store = dist.TCPStore("localhost", 0, is_master=True)
    client = dist.TCPStore("localhost", store.port)
    client.set("key", "1")
    client._connection.shutdown(socket.SHUT_RDWR)

    with pytest.raises(dist.DistNetworkError, match="is gone"):
        client.get("key")


class Harm:
    """An object whose pickle would end the test."""

    def __reduce__(self) -> tuple:
        return exit, (1,)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        HEAD.pack(1 << 62, 0),
        HEAD.pack(len(pickle.dumps(Harm())), 0) + pickle.dumps(Harm()),
        HEAD.pack(1, 0) + b"\xc0",
        HEAD.pack(0, 0),
    ],
)
def test_who_says_something_else_is_sent_away(said: bytes):
    store = dist.TCPStore("localhost", 0, is_master=True)
    store.set("key", "1")
    with socket.create_connection(("localhost", store.port), 5) as stranger:
        stranger.settimeout(5)
        stranger.sendall(said)
        # the server may have closed the connection before we do, and some of the words unread
        with contextlib.suppress(OSError):
            stranger.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""

    assert dist.TCPStore("localhost", store.port).get("key") == b"1"

"""Processes that sockets connect: who may join; what they move is in test_processes_agree.py."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gnomon.distributed.processes import free_port
from gnomon.errors import CollectiveError
from gnomon.runtime.comm.tcp import HEAD, Address, TcpWorld


def test_who_does_not_come_is_not_waited_for_ever():
    with pytest.raises(CollectiveError, match="rank 0 of 2: not all ranks have met at 127"):
        TcpWorld(0, 2, Address("127.0.0.1", free_port()), patience=0.3)
    with pytest.raises(CollectiveError, match=r"rank 1 of 2: not all .*refused"):
        TcpWorld(1, 2, Address("127.0.0.1", free_port()), patience=0.3)


def test_strangers_are_sent_away_and_two_of_one_number_are_refused():
    first = Address("127.0.0.1", free_port())
    with ThreadPoolExecutor(3) as pool:
        leader = pool.submit(TcpWorld, 0, 2, first, 20)
        while True:
            try:
                stranger = socket.create_connection(first)
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        stranger.sendall(HEAD.pack(5, 0) + b"hello")
        other = pool.submit(TcpWorld, 1, 2, first, 20)
        worlds = [leader.result(), other.result()]
        list(pool.map(TcpWorld.leave, worlds))
        stranger.close()

        leader = pool.submit(TcpWorld, 0, 3, first, 20)
        twins = [pool.submit(TcpWorld, 1, 3, first, 5) for _ in range(2)]
        with pytest.raises(CollectiveError, match="another rank 1 of 3 came"):
            leader.result()
        for twin in twins:
            with pytest.raises(CollectiveError):
                twin.result()

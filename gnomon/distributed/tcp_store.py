"""TCPStore: a store that one process keeps and others reach by sockets.

A question is a message of msgpack, of known fields: what is something else ends the connection. Who
reaches the port can read and write keys, so it belongs in a network of one's own.
"""

from __future__ import annotations

import socket
import weakref
from contextlib import suppress
from datetime import timedelta
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any

import msgspec

from gnomon.distributed.stores import PATIENCE, Request, Store, StoreTable
from gnomon.errors import ArgumentError, DistNetworkError, DistStoreError
from gnomon.runtime.comm.tcp import LOOPBACK, hear, say

__all__ = ["TCPStore"]

LOOK = 0.05
"""Seconds between two tries to reach the store."""
WORKERS = "init/"
"""The key under which ranks count themselves."""


class StoreAnswer(msgspec.Struct):
    """The answer of a store's server: a result or an error."""

    value: bytes | int | bool | list[str] | None = None
    wrong: str = ""


class StoreServer(ThreadingTCPServer):
    """The server of a store's table, with a thread for each connection."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 1024
    table: StoreTable


class StoreTalk(BaseRequestHandler):
    """One client's connection."""

    server: StoreServer

    def handle(self) -> None:
        """Answer requests until the client disconnects, or sends an invalid one."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError, msgspec.MsgspecError, IndexError):
            while True:
                say(self.request, answered(self.server.table, hear(self.request, Request)))


def answered(table: StoreTable, asked: Request) -> StoreAnswer:
    """The answer to a request: the table's result, or the text of its ArgumentError."""
    try:
        return StoreAnswer(table.answer(asked))
    except ArgumentError as error:
        return StoreAnswer(wrong=str(error))


class TCPStore(Store):
    """A store at a port of the process that is its master; others reach it there.

    Port 0 is any that is free. With a world_size the master waits until so many have come.

    >>> store = TCPStore("127.0.0.1", 0, is_master=True)
    >>> TCPStore("127.0.0.1", store.port).set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = PATIENCE,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        **ignored: Any,
    ) -> None:
        self.host, self.port, self._timeout = host_name, port, timeout
        self._table: StoreTable | None = None
        self._connection: socket.socket | None = None
        self._speaking = Lock()
        if is_master:
            self._serve(multi_tenant)
        if self._table is None:
            self._connection = self._reached()
            weakref.finalize(self, self._connection.close)
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._count(world_size, is_master)

    def _serve(self, multi_tenant: bool) -> None:
        """Serve the table here; if another store serves this port, become its client."""
        alone = self.host == "localhost" or self.host.startswith(LOOPBACK)
        try:
            server = StoreServer(("127.0.0.1" if alone else "", self.port), StoreTalk)
        except OSError as error:
            if multi_tenant:
                return
            raise DistNetworkError(
                f"TCPStore: no server at {self.host}:{self.port}: {error}. Choose another port; 0 "
                "is any that is free."
            ) from None
        self._table = server.table = StoreTable()
        self.port = server.server_address[1]
        Thread(target=server.serve_forever, args=(0.1,), name="store", daemon=True).start()
        weakref.finalize(self, closed, server)

    def _reached(self) -> socket.socket:
        """A connection with the master, retried until it listens."""
        seconds = self._timeout.total_seconds()
        end = monotonic() + seconds
        while True:
            left = max(end - monotonic(), 0.001)
            try:
                made = socket.create_connection((self.host, self.port), left)
            except OSError as error:
                if monotonic() + LOOK > end or isinstance(error, socket.gaierror):
                    raise DistNetworkError(
                        f"TCPStore: nobody answers at {self.host}:{self.port} in "
                        f"{seconds * 1000:.0f} ms: {error}. Is the master there?"
                    ) from None
                sleep(LOOK)
                continue
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.settimeout(None)
            return made

    def _count(self, world_size: int, is_master: bool) -> None:
        """Count this process; the master waits for all."""
        self.add(WORKERS, 1)
        end = monotonic() + self._timeout.total_seconds()
        while is_master and self.add(WORKERS, 0) < world_size:
            if monotonic() > end:
                raise DistStoreError(
                    f"TCPStore: {self.add(WORKERS, 0)} of {world_size} processes came in "
                    f"{self._timeout.total_seconds() * 1000:.0f} ms."
                )
            sleep(LOOK)

    def ask(self, asked: Request) -> Any:
        """The answer of the table, which is here or at the master."""
        if self._table is not None:
            return self._table.answer(asked)
        assert self._connection is not None, "a store without a table has a connection"
        try:
            with self._speaking:
                say(self._connection, asked)
                found: StoreAnswer = hear(self._connection, StoreAnswer)
        except (OSError, msgspec.MsgspecError) as error:
            raise DistNetworkError(
                f"TCPStore: {self.host}:{self.port} is gone: {error}. Did the master end?"
            ) from None
        if found.wrong:
            raise ArgumentError(found.wrong)
        return found.value

    def clone(self) -> TCPStore:
        """Another connection with the same store."""
        return TCPStore(self.host, self.port, timeout=self._timeout)


def closed(server: StoreServer) -> None:
    """Shut a server down."""
    server.shutdown()
    server.server_close()

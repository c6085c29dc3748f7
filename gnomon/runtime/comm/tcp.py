"""Ranks as processes that sockets connect: for launchers that tell ranks apart and connect nobody.

The first rank listens where all look for it; the others say where they listen, and hear where all
are. Each pair has one connection, whose messages a thread takes in as they come, so that a sender
waits for no receiver. From there on ranks are those of threads: what is there is taken by its key.
"""

from __future__ import annotations

import atexit
import socket
import struct
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, ClassVar, NamedTuple

import msgspec

from gnomon.errors import CollectiveError
from gnomon.runtime.comm import watch
from gnomon.runtime.comm.base import KINDS, opened
from gnomon.runtime.comm.board import Board
from gnomon.runtime.comm.threads import Message, ThreadBackend, World

__all__ = ["Address", "LOOPBACK", "TcpBackend", "TcpWorld", "hear", "say"]

HEAD = struct.Struct("<QQ")
"""Before each message the bytes of its key and of its content; zeros before a rank leaves."""
LINGER = 1.0
"""Seconds for which a process that ends without a word to us waits for each of the others."""
LOOK = 0.1
"""Seconds between two looks for the first rank."""
MOST = 1 << 30
"""Bytes that are asked for at a time."""
MARK = "gnomon"
"""The word that a rank sends first; connections without it are closed."""
LOOPBACK = "127."
ENDED = "its connection ended"
LEFT = "it has ended"
Key = tuple[tuple[tuple[int, ...], int], int, int, int | str, int]
"""The key of a message: as between threads, with the group's ranks and number."""


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int


class Hello(msgspec.Struct):
    """The first message of a rank: its number, and the address at which it listens."""

    mark: str
    rank: int
    size: int
    place: tuple[str, int]


class Welcome(msgspec.Struct):
    """The first rank's answer: the addresses of all ranks, and of the launcher's server."""

    places: dict[int, tuple[str, int]]
    board: str


class Connection:
    """A connection with another rank."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.speaking = connection, Lock()
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, key: bytes, content: bytes) -> None:
        """Send a message."""
        with self.speaking:
            self.connection.sendall(HEAD.pack(len(key), len(content)) + key)
            self.connection.sendall(content)

    def receive(self) -> tuple[bytes, bytes]:
        """The next message's key and content."""
        key, content = HEAD.unpack(received(self.connection, HEAD.size))
        return received(self.connection, key), received(self.connection, content)


class TcpWorld(World):
    """One process's connections with all others, and the messages received."""

    def __init__(self, rank: int, size: int, first: Address, patience: float | None = None) -> None:
        super().__init__(size, patience)
        self.rank, self.first, self.board = rank, first, ""
        self.left: set[int] = set()
        """Ranks that have ended."""
        self._end = monotonic() + self.patience
        self._sockets: list[socket.socket] = []
        try:
            found = self._lead() if rank == 0 else self._join()
        except (OSError, msgspec.MsgspecError) as cause:
            for made in self._sockets:
                made.close()
            why = str(cause) or type(cause).__name__
            raise CollectiveError(
                f"tcp: rank {rank} of {size}: not all ranks have met at {first.host}:{first.port}: "
                f"{why}. Look at MASTER_ADDR, MASTER_PORT and whether all ranks were started."
            ) from None
        self.peers = {k: Connection(connection) for k, connection in found.items()}
        self._readers = [
            Thread(target=self._read, args=each, name="tcp", daemon=True)
            for each in self.peers.items()
        ]
        for reader in self._readers:
            reader.start()

    # how ranks find each other

    def _lead(self) -> dict[int, socket.socket]:
        """Accept all other ranks, as the first one, and send each all addresses."""
        host = self.first.host if self.first.host.startswith((LOOPBACK, "localhost")) else ""
        with socket.create_server((host, self.first.port), backlog=self.size) as server:
            found = self._accept(server, self.size - 1)
        alone = all(hello.place[0].startswith(LOOPBACK) for _, hello in found.values())
        self.board = Board("127.0.0.1" if alone else self.first.host).address
        # who reached the first rank by the loopback is on its machine
        places = {
            k: (self.first.host if host.startswith(LOOPBACK) and not alone else host, port)
            for k, (_, hello) in found.items()
            for host, port in [hello.place]
        }
        for connection, _ in found.values():
            say(connection, Welcome(places, self.board))
        return {k: connection for k, (connection, _) in found.items()}

    def _join(self) -> dict[int, socket.socket]:
        """Connect with the first rank, and with all others, whose addresses it sends."""
        leader = self._reach(self.first)
        host = leader.getsockname()[0]
        bound = host if host.startswith(LOOPBACK) else ""
        with socket.create_server((bound, 0), backlog=self.size) as server:
            place = (host, server.getsockname()[1])
            say(leader, Hello(MARK, self.rank, self.size, place))
            welcome = hear(leader, Welcome)
            self.board = welcome.board
            found = {0: leader}
            for k in range(1, self.rank):
                found[k] = self._reach(Address(*welcome.places[k]))
                say(found[k], Hello(MARK, self.rank, self.size, place))
            later = self._accept(server, self.size - 1 - self.rank)
        return found | {k: connection for k, (connection, _) in later.items()}

    def _reach(self, place: Address) -> socket.socket:
        """Connect with a rank, retrying until it listens."""
        while True:
            try:
                return self._timed(socket.create_connection(place, self._left()))
            except ConnectionRefusedError:
                if monotonic() > self._end:
                    raise
                sleep(LOOK)

    def _accept(self, server: socket.socket, count: int) -> dict[int, tuple[socket.socket, Hello]]:
        """Accept connections of `count` ranks; each with the rank's greeting, by rank."""
        found: dict[int, tuple[socket.socket, Hello]] = {}
        while len(found) < count:
            self._timed(server)
            connection = self._timed(server.accept()[0])
            try:
                hello = hear(connection, Hello)
            except (ConnectionError, msgspec.MsgspecError):
                connection.close()
                continue
            known = hello.rank in found or hello.rank == self.rank
            if hello.mark != MARK or hello.size != self.size or known:
                raise OSError(f"another rank {hello.rank} of {hello.size} came")
            found[hello.rank] = connection, hello
        return found

    def _left(self) -> float:
        """The seconds until the timeout."""
        return max(0.001, self._end - monotonic())

    def _timed(self, made: socket.socket) -> socket.socket:
        """Set a socket's timeout to the seconds that are left."""
        self._sockets.append(made)
        made.settimeout(self._left())
        return made

    # messages

    def put(self, message: Message, content: bytes) -> None:
        """Send a message to another process; one for this process is stored."""
        (members, _), _, to, *_ = message
        peer = members[to]
        if peer == self.rank:
            super().put(message, content)
            return
        try:
            self.peers[peer].send(msgspec.msgpack.encode(message), content)
        except OSError:
            self.fail(peer, ConnectionError(ENDED))

    def failed(self, message: Message) -> tuple[int, BaseException] | None:
        """The rank that failed first, and why; else the sender of a message if it has ended."""
        (members, _), sender, *_ = message
        ended = members[sender] in self.left
        return self.failure or ((members[sender], EOFError(LEFT)) if ended else None)

    def _read(self, rank: int, peer: Connection) -> None:
        """Receive a rank's messages until it leaves."""
        try:
            while True:
                key, content = peer.receive()
                if not key:
                    break
                super().put(msgspec.msgpack.decode(key, type=Key), content)
        except OSError:
            self.fail(rank, ConnectionError(ENDED))
        with self.arrived:
            self.left.add(rank)
            self.arrived.notify_all()

    def _table(self) -> str:
        """The states of all ranks as text, from the launcher's server."""
        return watch.table()

    def leave(self, patience: float | None = None) -> None:
        """Tell all others that this rank leaves, and wait until they have, or for the timeout."""
        for peer in self.peers.values():
            try:
                peer.send(b"", b"")
                peer.connection.shutdown(socket.SHUT_WR)
            except OSError:
                continue
        for reader in self._readers:
            reader.join(patience)
        self.drop()

    def drop(self) -> None:
        """Close all connections."""
        for peer in self.peers.values():
            peer.connection.close()


def say(connection: socket.socket, message: Any) -> None:
    """Send one value on a new connection, before any messages."""
    line = msgspec.msgpack.encode(message)
    connection.sendall(HEAD.pack(len(line), 0) + line)


def hear(connection: socket.socket, kind: type) -> Any:
    """Receive one value of a type on a new connection."""
    size, _ = HEAD.unpack(received(connection, HEAD.size))
    if size > 1 << 24:
        raise ConnectionError("no rank speaks like this")
    return msgspec.msgpack.decode(received(connection, size), type=kind)


def received(connection: socket.socket, size: int) -> bytes:
    """Receive exactly `size` bytes."""
    parts = []
    while size:
        part = connection.recv(min(size, MOST), socket.MSG_WAITALL)
        if not part:
            raise ConnectionError(ENDED)
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class TcpBackend(ThreadBackend):
    """One process among those that were started together."""

    name = "tcp"
    native = tuple((kind, "sockets") for kind in KINDS)
    world: TcpWorld
    world_of: ClassVar[type[TcpWorld]] = TcpWorld

    def __init__(self, rank: int, size: int, first: Address, patience: float | None = None) -> None:
        super().__init__(self.world_of(rank, size, first, patience), rank)
        if self.world.board:
            watch.begin(self.world.board, rank, size)
        opened.append(self)
        atexit.register(self.close, LINGER)

    def abort(self, cause: BaseException) -> None:
        """Close all connections, by which the others notice the failure."""
        self.world.drop()

    def close(self, patience: float | None = None) -> None:
        """Leave with the others; at the end of a program that may have failed, wait a while."""
        if self in opened:
            opened.remove(self)
            atexit.unregister(self.close)
            self.world.leave(patience)

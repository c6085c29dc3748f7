"""The place at which ranks find each other: an address, a file, or a store that says it."""

from __future__ import annotations

import platform
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from gnomon.distributed.processes import free_port
from gnomon.distributed.stores import PATIENCE, FileStore, Store
from gnomon.distributed.tcp_store import TCPStore
from gnomon.errors import ConfigError
from gnomon.runtime.comm.environment import environment, meeting_place

__all__ = ["address_of", "file_of", "meet_by", "rendezvous"]


def address_of(init_method: str | None) -> tuple[str, int] | None:
    """The host and port in an init_method; None if the environment or a file names them.

    >>> address_of("tcp://10.1.1.20:23456")
    ('10.1.1.20', 23456)
    """
    if init_method is None or str(init_method).startswith("env://") or file_of(init_method):
        return None
    found = urlsplit(str(init_method))
    try:
        if found.scheme == "tcp" and found.hostname and found.port is not None:
            return found.hostname, found.port
    except ValueError:  # a port that is none
        pass
    raise ConfigError(
        "init_process_group: init_method: expected tcp://HOST:PORT, file:///PATH or env://: got "
        f"{init_method!r}."
    )


def file_of(init_method: str | None) -> Path | None:
    """The file that an init_method names.

    >>> file_of("file:///shared/job%201").name
    'job 1'
    """
    found = urlsplit(str(init_method or ""))
    return Path(unquote(found.netloc + found.path)) if found.scheme == "file" else None


def meet_by(store: Store, rank: int, size: int) -> tuple[str, int]:
    """The host and port at which ranks connect, chosen by the first and shared in a store."""
    # each asks once for each time that ranks meet by this store
    time = f"gnomon/{store.add(f'gnomon/rank {rank}', 1)}"
    store.set(f"{time}/{rank}", platform.node())
    if rank == 0:
        machines = {store.get(f"{time}/{k}") for k in range(size)}
        host = "127.0.0.1" if len(machines) == 1 else socket.getfqdn()
        store.set(f"{time}/place", f"{host} {free_port()}")
    host, port = store.get(f"{time}/place").decode().split()
    return host, int(port)


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = PATIENCE, **ignored: Any
) -> Iterator[tuple[Store, int, int]]:
    """The store of a URL (tcp://, file:// or env://), the rank and the number of ranks.

    Errors: ConfigError for a URL of another kind, or where nothing says the rank.
    """
    query = {name: int(values[-1]) for name, values in parse_qs(urlsplit(url).query).items()}
    given = environment()
    size = query.get("world_size", world_size if world_size > 0 else given.size)
    own = query.get("rank", rank if rank >= 0 else given.rank)
    file, where = file_of(url), address_of(url) or meeting_place()
    if file is not None:
        store: Store = FileStore(file, size)
        store.set_timeout(timeout)
    elif where is None:
        raise ConfigError(
            f"rendezvous: {url!r} names no place. Set MASTER_ADDR and MASTER_PORT, or give "
            "tcp://HOST:PORT."
        )
    else:
        store = TCPStore(*where, size, own == 0, timeout)
    yield store, own, size

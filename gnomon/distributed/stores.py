"""Stores by PyTorch's names: keys and values that ranks share before they are connected.

A store asks a table, which waits for keys; where the table is, the kinds of stores differ in. Keys
are strings and values bytes: nothing that comes from elsewhere is unpickled.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Condition
from time import monotonic, sleep
from typing import Any

import msgspec

from gnomon.errors import ArgumentError, DistStoreError, QueueEmptyError, brief
from gnomon.lazy import Lazy

__all__ = ["FileStore", "HashStore", "PrefixStore", "Request", "Store", "StoreTable"]

fcntl = Lazy("fcntl")
PATIENCE = timedelta(seconds=300)
LOOK = 0.01
"""Seconds between two looks into a file."""
SIZE = 8
"""Bytes before each record of a file, which hold its length."""
StoreValue = str | bytes


class Request(msgspec.Struct):
    """A request to a store: its kind, the keys, a value, and the seconds to wait for keys."""

    kind: str
    keys: list[str]
    value: bytes = b""
    expected: bytes = b""
    seconds: float = 0.0


class StoreTable:
    """The table of keys, values and queues behind a store, for requests from all threads."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}
        self.changed = Condition()

    def answer(self, asked: Request) -> Any:
        """Execute a request; returns its result, or None after the timeout."""
        if asked.kind not in ANSWERS:
            raise ArgumentError(f"store: there is no question {brief(asked.kind)}.")
        with self.changed:
            found = ANSWERS[asked.kind](self, asked)
            self.changed.notify_all()
        return found

    def set(self, asked: Request) -> bool:
        """Set a value."""
        self.values[asked.keys[0]] = asked.value
        return True

    def get(self, asked: Request) -> bytes | None:
        """The value of a key, once it is set; None after the request's timeout."""
        return self.values[asked.keys[0]] if self.wait(asked) else None

    def wait(self, asked: Request) -> bool:
        """Wait for all keys of a request; returns False after its timeout."""
        return self.changed.wait_for(lambda: self.check(asked), asked.seconds)

    def check(self, asked: Request) -> bool:
        """Whether all keys are there."""
        return all(key in self.values for key in asked.keys)

    def add(self, asked: Request) -> int:
        """Add to the number of a key, initially 0."""
        try:
            made = int(self.values.get(asked.keys[0], b"0")) + int(asked.value)
        except ValueError:
            raise ArgumentError(f"add: {asked.keys[0]!r} holds no number.") from None
        self.values[asked.keys[0]] = str(made).encode()
        return made

    def append(self, asked: Request) -> bool:
        """Append bytes to the value of a key."""
        self.values[asked.keys[0]] = self.values.get(asked.keys[0], b"") + asked.value
        return True

    def compare_set(self, asked: Request) -> bytes:
        """Set a value if the present one is as expected; returns the value afterwards."""
        key = asked.keys[0]
        have = self.values.get(key)
        if have == asked.expected or (have is None and not asked.expected):
            have = self.values[key] = asked.value
        return asked.expected if have is None else have

    def delete_key(self, asked: Request) -> bool:
        """Delete a key; whether it was there."""
        return self.values.pop(asked.keys[0], None) is not None

    def list_keys(self, asked: Request) -> list[str]:
        """All keys."""
        return list(self.values)

    def queue_push(self, asked: Request) -> bool:
        """Put a value into a queue."""
        self.queues.setdefault(asked.keys[0], []).append(asked.value)
        return True

    def queue_len(self, asked: Request) -> int:
        """The number of values in a queue."""
        return len(self.queues.get(asked.keys[0], ()))

    def queue_pop(self, asked: Request) -> bytes | None:
        """Remove and return the first value of a queue; None after the request's timeout."""
        if not self.changed.wait_for(lambda: self.queue_len(asked), asked.seconds):
            return None
        return self.queues[asked.keys[0]].pop(0)


ANSWERS: dict[str, Callable[[StoreTable, Request], Any]] = {
    name: method
    for name, method in vars(StoreTable).items()
    if not name.startswith("_") and name != "answer"
}
"""Kind of a request -> the method that executes it."""


def encoded(value: StoreValue) -> bytes:
    """A value as bytes."""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"store: expected a string or bytes: got {brief(value)}.")
    return value.encode() if isinstance(value, str) else value


class Store(ABC):
    """Keys and values that ranks share.

    >>> store = HashStore()
    >>> store.set("first", "1")
    >>> store.get("first"), store.add("count", 5), store.check(["second"])
    (b'1', 5, False)
    """

    _timeout = PATIENCE

    @abstractmethod
    def ask(self, asked: Request) -> Any:
        """The result of a request."""

    @property
    def timeout(self) -> timedelta:
        """The time to wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the time to wait for keys."""
        self._timeout = timeout

    def set(self, key: str, value: StoreValue) -> None:
        """Set the value of a key."""
        self.ask(Request("set", [key], encoded(value)))

    def get(self, key: str) -> bytes:
        """The value of a key, once it is set.

        Errors: DistStoreError where it does not come in time.
        """
        found = self.ask(Request("get", [key], seconds=self.timeout.total_seconds()))
        if found is None:
            raise late([key], self.timeout)
        return found

    def add(self, key: str, amount: int) -> int:
        """Add to the number of a key, initially 0; returns the sum."""
        return self.ask(Request("add", [key], str(int(amount)).encode()))

    def append(self, key: str, value: StoreValue) -> None:
        """Append bytes to the value of a key."""
        self.ask(Request("append", [key], encoded(value)))

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all keys are there."""
        return self.ask(Request("check", list(keys)))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are set.

        Errors: DistStoreError where one does not come in time.
        """
        patience = self.timeout if timeout is None else timeout
        if not self.ask(Request("wait", list(keys), seconds=patience.total_seconds())):
            raise late(keys, patience)

    def compare_set(self, key: str, expected_value: StoreValue, desired_value: StoreValue) -> bytes:
        """Set a value if the present one is as expected, "" for none; the value afterwards."""
        given = encoded(desired_value), encoded(expected_value)
        return self.ask(Request("compare_set", [key], *given))

    def delete_key(self, key: str) -> bool:
        """Delete a key; returns whether it existed."""
        return self.ask(Request("delete_key", [key]))

    def list_keys(self) -> list[str]:
        """All keys."""
        return self.ask(Request("list_keys", []))

    def num_keys(self) -> int:
        """The number of keys, including those of rendezvous."""
        return len(self.ask(Request("list_keys", [])))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[StoreValue]) -> None:
        """Set the values of several keys."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether append, multi_get and multi_set are supported: True."""
        return True

    def queue_push(self, key: str, value: StoreValue) -> None:
        """Put a value into a queue."""
        self.ask(Request("queue_push", [key], encoded(value)))

    def queue_len(self, key: str) -> int:
        """The number of values in a queue."""
        return self.ask(Request("queue_len", [key]))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Remove and return the first value of a queue, once there is one.

        Errors: QueueEmptyError where there is none and `block` is False; DistStoreError where none
        comes in time.
        """
        patience = self.timeout if block else timedelta()
        found = self.ask(Request("queue_pop", [key], seconds=patience.total_seconds()))
        if found is None:
            raise late([key], patience) if block else QueueEmptyError(f"queue is empty: {key}")
        return found


def late(keys: Sequence[str], patience: timedelta) -> DistStoreError:
    """The error after a timeout for keys."""
    missing = f"Wait timeout: {', '.join(keys)} did not come in"
    return DistStoreError(f"store: {missing} {patience.total_seconds() * 1000:.0f} ms.")


class HashStore(Store):
    """A store of the threads of this process."""

    def __init__(self) -> None:
        self.table = StoreTable()

    def ask(self, asked: Request) -> Any:
        """The result of a request to the table in this process."""
        return self.table.answer(asked)

    def clone(self) -> HashStore:
        """Another store of the same keys."""
        made = HashStore()
        made.table = self.table
        return made


class FileStore(Store):
    """A store in a file: each change is a record at its end."""

    def __init__(self, file_name: str | os.PathLike, world_size: int = -1) -> None:
        self.path, self.table, self._read = os.fspath(file_name), StoreTable(), 0

    def ask(self, asked: Request) -> Any:
        """The result of a request; the file is read until its keys exist, or the timeout passes."""
        if asked.kind.startswith("queue"):
            raise NotImplementedError("FileStore: queue support is not implemented.")
        end = monotonic() + asked.seconds
        asked.seconds = 0.0
        while (found := self._asked_now(asked)) in (None, False) and monotonic() < end:
            sleep(LOOK)
        return found

    def _asked_now(self, asked: Request) -> Any:
        """Read the file's new records, execute a request, and append the change that it made."""
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(self._read)
            while len(size := file.read(SIZE)) == SIZE:
                record = file.read(int.from_bytes(size, "little"))
                key, value = msgspec.msgpack.decode(record, type=tuple[str, bytes | None])
                if value is None:
                    self.table.values.pop(key, None)
                else:
                    self.table.values[key] = value
            key = asked.keys[0] if asked.keys else ""
            before = self.table.values.get(key)
            found = self.table.answer(asked)
            now = self.table.values.get(key)
            if now != before:
                record = msgspec.msgpack.encode((key, now))
                file.write(len(record).to_bytes(SIZE, "little") + record)
                file.flush()
            self._read = file.seek(0, os.SEEK_END)
        return found

    def clone(self) -> FileStore:
        """Another store of the same file."""
        return FileStore(self.path)


class PrefixStore(Store):
    """A part of another store, whose keys begin with a prefix.

    >>> whole = HashStore()
    >>> PrefixStore("mine", whole).set("key", "value")
    >>> whole.get("mine/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = f"{prefix}/", store

    @property
    def timeout(self) -> timedelta:
        """The time for which a key is waited for: the other store's."""
        return self.underlying_store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Wait so long for keys from now on, in the other store too."""
        self.underlying_store.set_timeout(timeout)

    def ask(self, asked: Request) -> Any:
        """The result of the other store, with prefixed keys."""
        asked.keys = [self.prefix + key for key in asked.keys]
        return self.underlying_store.ask(asked)

    def list_keys(self) -> list[str]:
        """The keys of this part."""
        start = len(self.prefix)
        return [key[start:] for key in super().list_keys() if key.startswith(self.prefix)]

    def clone(self) -> PrefixStore:
        """Another store of the same keys."""
        return PrefixStore(self.prefix[:-1], self.underlying_store)

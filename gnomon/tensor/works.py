"""Collectives of eager tensors under way: begun at their call, finished when they are waited for.

What a rank sends starts at once; folds, and writes into tensors, follow once all has come. One
transfer does each, so that a rank that waits late, or never, keeps no other one waiting.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from time import monotonic_ns
from types import GenericAlias
from typing import Any

from gnomon.errors import CollectiveError
from gnomon.ir.node import Node
from gnomon.ir.provenance import user_site
from gnomon.ops.group_folds import Reduction, scale_factor
from gnomon.passes.lower_collectives import fold_slices
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.comm.base import EXCHANGE, GATHER, Message
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.runtime.comm.posted import Comparison, Posted, start_collective, start_messages
from gnomon.tensor.device import refuse_elsewhere
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import leaf
from gnomon.tensor.tensor import Tensor, raw, value_of

__all__ = [
    "Done",
    "Future",
    "Work",
    "begin",
    "begin_fold",
    "begin_gather",
    "begin_reduce",
    "collect_all",
    "wait_all",
]

OURS = 0
"""The tag of messages that collectives send; users' own tags are counted from one."""
Then = Callable[[Node], None]
"""A continuation that takes a result."""


class Future:
    """A value that comes later, and what is done with it then; `torch.futures.Future`.

    >>> coming = Future()
    >>> doubled = coming.then(lambda future: 2 * future.value())
    >>> coming.set_result(4)
    >>> doubled.wait(), doubled.done()
    (8, True)
    """

    def __init__(self, *, devices: object = None) -> None:
        self._make: Callable[[], Any] | None = None
        self._came, self._value, self._error = Event(), None, None
        self._waiting: list[Callable[[Future], Any]] = []

    def __class_getitem__(cls, kind: Any) -> GenericAlias:
        """The class itself, as an annotation with the type of the value."""
        return GenericAlias(cls, kind)

    def done(self) -> bool:
        """Whether the value, or an error, is set."""
        return self._came.is_set()

    def _run(self) -> None:
        """Compute the value, if that is deferred until it is waited for."""
        make, self._make = self._make, None
        if make is not None:
            try:
                self.set_result(make())
            except Exception as error:
                self.set_exception(error)

    def wait(self) -> Any:
        """The value, once it is set; an error is raised."""
        self._run()
        self._came.wait()
        return self.value()

    def value(self) -> Any:
        """The value, which must be set."""
        if not self.done():
            raise CollectiveError("Future: the value is not there. Call wait().")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of callback(self), called once the value is set."""
        made = Future()

        def make() -> Any:
            self._run()
            self._came.wait()
            try:
                return callback(self)
            except Exception as error:
                raise CollectiveError(
                    f"Future: Got the following error when running the callback: "
                    f"{type(error).__name__}: {error}"
                ) from error

        made._make = make
        self.add_done_callback(lambda _: made._run())
        return made

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call callback(self) once the value is set; its error is a warning."""
        if self.done():
            self._call(callback)
        else:
            self._waiting.append(callback)

    def _call(self, callback: Callable[[Future], Any]) -> None:
        """Call a callback; its error does not keep others from the value."""
        try:
            callback(self)
        except Exception as error:
            warnings.warn(f"Future: a callback failed: {error!r}", stacklevel=2)

    def set_result(self, result: Any) -> None:
        """Set the value."""
        self._settle(result, None)

    def set_exception(self, result: Exception) -> None:
        """Set an error in place of the value."""
        self._settle(None, result)

    def _settle(self, value: Any, error: Exception | None) -> None:
        """Set the value or the error, and call the waiting callbacks."""
        if self.done():
            raise CollectiveError(
                "Future: a value is there already. Future can only be marked completed once."
            )
        self._value, self._error = value, error
        self._came.set()
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            self._call(callback)


def refuse_none(futures: Sequence[Future | None]) -> None:
    """Refuse None among futures."""
    if None in futures:
        raise CollectiveError("Future: Future can't be None. Leave it out.")


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The values of all futures, once they are set."""
    refuse_none(futures)
    return [future.wait() for future in futures]


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of futures, set once all of theirs are."""
    refuse_none(futures)
    made = Future()

    def make() -> list[Future]:
        for future in futures:
            future._run()
            future._came.wait()
        return list(futures)

    made._make = make
    return made


class Work:
    """A collective that was started: `wait()` returns when it is complete."""

    tensors: Sequence[Tensor] = ()
    """The tensors that it writes."""

    def __init__(self, finish: Callable[[], None], is_done: Callable[[], bool]) -> None:
        self._finish: Callable[[], None] | None = finish
        self._is_done = is_done

    def wait(self, timeout: object = None) -> bool:
        """Wait for completion: received data are in their tensors then."""
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
        return True

    def is_completed(self) -> bool:
        """Whether it is complete."""
        return self._finish is None or (self._is_done() and self.wait())

    def get_future(self) -> Future:
        """A future of the tensors that it writes."""
        made = Future()
        made._make = lambda: list(self.tensors) if self.wait() else []
        return made

    def result(self) -> list[Tensor]:
        """The tensors that it writes."""
        return list(self.tensors)

    def is_success(self) -> bool:
        """Whether it succeeded; errors are raised by wait()."""
        return self.is_completed()


class Done(Work):
    """A completed collective."""

    def __init__(self) -> None:
        super().__init__(int, bool)
        self._finish = None


def local_leaf(x: Tensor) -> Node:
    """A tensor's value on this rank, as a new leaf."""
    refuse_elsewhere("distributed", x._storage.node)
    value, shown = value_of(x), raw(x)
    return leaf((shown.size,), shown.dtype, value)


def begin(
    group: ProcessGroup, name: str, x: Node, post: Callable[[Node], Posted], finish: Callable
) -> Work:
    """Start a transfer of a value, after ranks started to compare its description."""
    evaluate([x])
    nbytes, site, began = x.size * x.dtype.itemsize, user_site(), monotonic_ns()
    compared = Comparison(group.link, f"{name} of {x.dtype.name}, {nbytes} bytes", site)
    posted = post(x)

    def end() -> None:
        asked = monotonic_ns()
        compared.wait()
        posted.wait()
        if events.heard():
            now, ranks = monotonic_ns(), ", ".join(map(str, group.ranks))
            events.announce(
                "comm",
                name=f"{name} along {group.name}",
                **{"start": began, "end": now, "nbytes": nbytes},
                sites=(site._replace(phase="comm"),),
                args={"group": ranks, "waited": now - asked},
            )
        finish()

    return Work(end, lambda: compared.is_done() and posted.is_done())


def begin_slices(group: ProcessGroup, name: str, x: Node, kind: int, then: Then) -> Work:
    """Start a gather or an exchange; `then` is called with a slice from each rank."""
    ranks = group.size()
    size = x.size if kind == GATHER else x.size // ranks
    nbytes = size * x.dtype.itemsize
    made = DeviceBuffer(ranks * nbytes)

    def post(x: Node) -> Posted:
        ends = made.address, x.value.address
        return start_collective(group.link, kind, ends, nbytes, lambda: name, (x.value, made))

    return begin(group, name, x, post, lambda: then(leaf((ranks, size), x.dtype, made)))


def begin_gather(group: ProcessGroup, name: str, x: Tensor, then: Then) -> Work:
    """Start a gather of every rank's x; `then` is called with a row for each rank."""
    return begin_slices(group, name, local_leaf(x), GATHER, then)


def folding(then: Then, monoid: str, slices: Node) -> None:
    """Fold the tensors received from all ranks, and pass the result on."""
    made = fold_slices(slices, monoid)
    evaluate([made])
    then(made)


def named(name: str, monoid: str) -> str:
    """A collective's name, as in error messages."""
    return name if monoid == "add" else f"{name}[{monoid}]"


def begin_fold(
    group: ProcessGroup, name: str, x: Tensor, op: Reduction, scatter: bool, then: Then
) -> Work:
    """Start a fold of every rank's x, or of this rank's part; `then` is called with a row."""
    kind = EXCHANGE if scatter else GATHER

    def start(y: Node, monoid: str) -> Work:
        return begin_slices(group, named(name, monoid), y, kind, partial(folding, then, monoid))

    return scale_factor(local_leaf(x), op, start)


def begin_reduce(group: ProcessGroup, x: Tensor, op: Reduction, root: int, then: Then) -> Work:
    """Start a fold of every rank's x on one of them, where `then` is called with it."""
    ranks, leads = group.size(), group.rank() == root

    def start(y: Node, monoid: str) -> Work:
        nbytes = y.size * y.dtype.itemsize
        made = DeviceBuffer(ranks * nbytes if leads else 0)

        def post(y: Node) -> Posted:
            sends = [Message(root, 1, y.value.address, nbytes, OURS)]
            places: Any = range(ranks) if leads else ()
            comes = [Message(k, 0, made.address + k * nbytes, nbytes, OURS) for k in places]
            return start_messages(group.link, sends + comes, (y.value, made))

        def finish() -> None:
            if leads:
                folding(then, monoid, leaf((ranks, y.size), y.dtype, made))

        return begin(group, named(f"reduce to {root}", monoid), y, post, finish)

    return scale_factor(local_leaf(x), op, start)

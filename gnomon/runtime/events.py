"""Events of the runtime for whoever listens: (kind, fields) pairs, in the order they happen.

Nothing is kept and nothing is formatted here: the profiler and the debug dial subscribe.
With no listener an announcement costs one comparison, made by the caller: `if events.heard():`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Protocol

import numpy as np

Listener = Callable[[str, Mapping[str, Any]], None]

_listeners: tuple[Listener, ...] = ()
_change = Lock()


def heard() -> bool:
    """Whether there are subscribers."""
    return bool(_listeners)


def announce(kind: str, **fields: Any) -> None:
    """Send an event to every subscriber."""
    for listener in _listeners:
        listener(kind, fields)


class RunCaller(Protocol):
    """The caller of a program, whose text names it in errors and reports."""

    def step_title(self, number: int) -> str:
        """The kernel of a step that is a call, and its lines."""


def announce_run(
    program: object,
    caller: RunCaller | None,
    records: list[np.ndarray],
    times: tuple[int, int],
    lost: int = 0,
) -> None:
    """Announce a run: rows of step, begin and end per thread, and the number of rows dropped.

    Times are in nanoseconds, `times` of the whole run.
    """
    start, end = times
    announce(
        "run", program=program, caller=caller, records=records, lost=lost, start=start, end=end
    )


def subscribe(listener: Listener) -> Callable[[], None]:
    """Call `listener(kind, fields)` from now on; returns the function that ends it.

    >>> kinds = []
    >>> stop = subscribe(lambda kind, fields: kinds.append(kind))
    >>> announce("greeting")
    >>> stop()
    >>> announce("unheard")
    >>> kinds
    ['greeting']
    """
    global _listeners
    with _change:
        _listeners = (*_listeners, listener)
    return lambda: _unsubscribe(listener)


def _unsubscribe(listener: Listener) -> None:
    """Remove a subscriber, if it is one."""
    global _listeners
    with _change:
        _listeners = tuple(other for other in _listeners if other is not listener)

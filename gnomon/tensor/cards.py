"""gn.cuda: the card of this process by PyTorch's names; without one, what absent.py says."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gnomon.lazy import card_memories, cuda_driver
from gnomon.tensor.absent import Absent, EmptyBlock, refusal
from gnomon.tensor.device import card_named, refuse_other_card
from gnomon.tensor.random import manual_seed

__all__ = ["CardNames", "Event", "Stream", "cuda"]


class Event:
    """An event in the order of launches, with the card's time."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        if not cuda_driver.has_card():
            refusal("cuda.Event")()
        self._driver = cuda_driver.driver()
        self._handle = self._driver.new_event()

    def record(self, stream: object = None) -> None:
        """Record the time after everything launched so far."""
        self._driver.record(self._handle)

    def synchronize(self) -> None:
        """Wait for the event."""
        self._driver.synchronize()

    def query(self) -> bool:
        """Whether the event has passed: it waits, and is True."""
        self.synchronize()
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one."""
        end_event.synchronize()
        return self._driver.elapsed(self._handle, end_event._handle)


class Stream:
    """The one stream of launches, in which each is over before the next begins."""

    def __init__(self, *_: Any, **__: Any) -> None:
        if not cuda_driver.has_card():
            refusal("cuda.Stream")()

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        cuda_driver.driver().synchronize()

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: there is one stream."""

    def wait_event(self, event: Event) -> None:
        """Do nothing: there is one stream."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event after everything launched so far."""
        event = event or Event()
        event.record()
        return event


def properties(*_: Any) -> SimpleNamespace:
    """The card's properties by PyTorch's names."""
    card = cuda_driver.driver().card
    major, minor = card.capability
    return SimpleNamespace(
        name=card.name,
        major=major,
        minor=minor,
        total_memory=card.memory,
        multi_processor_count=card.multiprocessors,
        warp_size=32,
    )


def used(position: int) -> Callable[..., int]:
    """A reader of one of the numbers of bytes: in use, reserved, most in use."""
    return lambda *_: card_memories.card_memory.use()[position]


ON_CARD: dict[str, Callable[..., Any]] = {
    "current_device": lambda: cuda_driver.driver().card.number,
    "current_stream": lambda *_: Stream(),
    "default_stream": lambda *_: Stream(),
    "device_count": lambda: cuda_driver.driver().count,
    "empty_cache": lambda: card_memories.card_memory.trim(),
    "get_device_capability": lambda *_: cuda_driver.driver().card.capability,
    "get_device_name": lambda *_: cuda_driver.driver().card.name,
    "get_device_properties": properties,
    "init": lambda: None,
    "is_available": lambda: True,
    "is_bf16_supported": lambda *_: True,
    "is_initialized": lambda: True,
    "manual_seed": manual_seed,
    "manual_seed_all": manual_seed,
    "max_memory_allocated": used(2),
    "max_memory_reserved": used(1),
    "mem_get_info": lambda *_: cuda_driver.driver().memory(),
    "memory_allocated": used(0),
    "memory_reserved": used(1),
    "reset_peak_memory_stats": lambda *_: card_memories.card_memory.reset_peak(),
    "set_device": lambda device: refuse_other_card(card_named(device)),
    "stream": lambda *_: EmptyBlock(),
    "synchronize": lambda *_: cuda_driver.driver().synchronize(),
}
"""Implementations of functions where there is a card."""


class CardNames(Absent):
    """The functions of gn.cuda: of the card, where there is one when they are called.

    >>> cuda.is_available() == (cuda.device_count() > 0)
    True
    """

    Event, Stream = Event, Stream

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name in ON_CARD:
            found = either(ON_CARD[name], found)
            setattr(self, name, found)
        return found


def either(here: Callable[..., Any], absent: Callable[..., Any]) -> Callable[..., Any]:
    """The card's function, or its stand-in without a card."""

    @functools.wraps(absent)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (here if cuda_driver.has_card() else absent)(*args, **kwargs)

    return call


cuda = CardNames("cuda")
cuda.nvtx = Absent("cuda.nvtx")

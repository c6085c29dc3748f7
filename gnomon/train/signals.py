"""Ctrl-C and SIGTERM request a stop: the loop saves after the current step and ends.

A second Ctrl-C stops at once.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

__all__ = ["Stop"]


class Stop:
    """A context that records Ctrl-C and SIGTERM: `stop.asked` is the signal, or None.

    Only the main thread receives signals; in others `asked` stays None.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self.before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            self.before = {name: signal.signal(name, self.hear) for name in self.SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, handler in self.before.items():
            signal.signal(name, handler)  # type: ignore[arg-type]

    def hear(self, number: int, frame: FrameType | None) -> None:
        """Record the first signal; a second one raises KeyboardInterrupt."""
        if self.asked is not None:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number)

    @property
    def exit_code(self) -> int:
        """The exit code for the recorded signal; 0 without one."""
        return 128 + self.asked if self.asked is not None else 0

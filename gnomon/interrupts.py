"""Ctrl-C: what must not be left half done is finished first, and no interrupt is lost.

Python raises KeyboardInterrupt between any two steps of its main thread. What a destructor or the
callback of a weak reference raises is printed and dropped: an interrupt there is sent again.
"""

from __future__ import annotations

import _signal
import _thread
import sys
import threading
import time
from typing import Any

__all__ = ["Whole", "watch"]

SIGINT = int(_signal.SIGINT)
# what `signal` wraps in enumerations takes 13 microseconds of every step, and this one
handler_of, handle = _signal.getsignal, _signal.signal

SOON = 0.01
"""Seconds until an interrupt that was lost is sent again."""


class Whole:
    """A block that Ctrl-C does not cut: it arrives at its end."""

    __slots__ = ("before", "came")

    def __enter__(self) -> None:
        self.before, self.came = None, None
        if threading.get_ident() == threading.main_thread().ident:
            handler = handler_of(SIGINT)
            if callable(handler):
                self.before = handler
                handle(SIGINT, self.note)

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            handle(SIGINT, self.before)
            if self.came is not None:
                self.before(*self.came)

    def note(self, *came: Any) -> None:
        """Record a signal that arrived, to be handled later."""
        self.came = came


def resend() -> None:
    """Interrupt the main thread once more."""
    time.sleep(SOON)
    number = threading.main_thread().ident
    if number is not None and not sys.is_finalizing():
        _signal.pthread_kill(number, SIGINT)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is an interrupt, or came while one was on its way."""
    handled = sys.exc_info()[1]
    while error is not None and error is not handled:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def heed(lost: Any, report: Any) -> None:
    """Send an interrupt again that a destructor or a callback dropped; report other errors."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        report(lost)
    if not is_interrupt(lost.exc_value):
        return
    trace = lost.exc_traceback
    owner = None if trace is None else trace.tb_frame.f_locals.get("self")
    finish = getattr(owner, "give_back", None)
    if finish is not None:
        finish()
    # a Thread would be waited for, and cut short by what it sends
    _thread.start_new_thread(resend, ())


def watch() -> None:
    """Lose no interrupt from now on."""
    report = sys.unraisablehook
    sys.unraisablehook = lambda lost: heed(lost, report)

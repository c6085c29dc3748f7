"""The one thread that uses a served model, and the texts that requests wait for.

A handler of a request holds no thread while it waits: pieces come to its event loop's queue. Who
leaves is dropped at the next piece.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import AsyncIterator

from gnomon.errors import GnomonError
from gnomon.lazy import Lazy
from gnomon.models.conversation import Answer

asyncio = Lazy("asyncio")

__all__ = ["PendingText", "Refusal", "TextWriter"]


class Refusal(GnomonError):
    """A request that the server does not take, and the status that says so."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class PendingText:
    """A text on its way from the writer's thread to the handler of a request."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.loop, self.queue = asyncio.get_running_loop(), asyncio.Queue()
        self.left = False
        """Nobody waits for it any more."""

    def put(self, piece: str | Exception | None) -> None:
        """Hand a piece over; None is the end. Any thread may call it."""
        try:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, piece)
        except RuntimeError:  # the loop is closed
            self.left = True

    async def __aiter__(self) -> AsyncIterator[str]:
        """The pieces as they come; raises the error that ended them."""
        while (piece := await self.queue.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece


class TextWriter:
    """A thread that writes texts, in the order in which they came. At most so many wait for it."""

    def __init__(self, most_waiting: int) -> None:
        self.most_waiting = most_waiting
        self.waiting: deque[PendingText] = deque()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.closed = False

    def submit(self, text: PendingText) -> None:
        """Have a text written; raises Refusal if too many wait, or no more are written."""
        with self.changed:
            if self.closed:
                raise ending()
            if len(self.waiting) >= self.most_waiting:
                count = self.most_waiting
                raise Refusal(f"serve: {count} requests are waiting. Try again later.", 503)
            self.waiting.append(text)
            self.changed.notify()
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="writer", daemon=True)
                self.thread.start()

    def leave(self, text: PendingText) -> None:
        """Drop a text, for which nobody waits any more."""
        with self.changed:
            text.left = True
            if text in self.waiting:
                self.waiting.remove(text)

    def close(self) -> None:
        """Write no more; who waits gets a Refusal."""
        with self.changed:
            self.closed = True
            for text in self.waiting:
                text.put(ending())
            self.waiting.clear()
            self.changed.notify_all()
        if self.thread is not None:
            self.thread.join()

    def run(self) -> None:
        """Write texts until the end."""
        while (text := self.next()) is not None:
            try:
                for piece in text.answer:
                    if text.left or self.closed:
                        break
                    text.put(piece)
                text.put(ending() if self.closed else None)
            except Exception as wrong:  # the server goes on
                traceback.print_exception(wrong)
                text.put(wrong)

    def next(self) -> PendingText | None:
        """The text that has waited longest, as soon as there is one; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.waiting or self.closed)
            return self.waiting.popleft() if self.waiting else None


def ending() -> Refusal:
    """The error for who asks a server that ends."""
    return Refusal("serve: the server is being shut down.", 503)

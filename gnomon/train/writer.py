"""The one thread that uses a served model, and the texts that requests wait for.

A waiting request holds no thread: pieces are put in its event loop's queue.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import AsyncIterator

from gnomon.errors import GnomonError
from gnomon.lazy import Lazy
from gnomon.models.passes import Passes
from gnomon.models.text_batch import TextBatch
from gnomon.models.text_row import TextRow

asyncio = Lazy("asyncio")

__all__ = ["PendingText", "Refusal", "WriterThread"]


class Refusal(GnomonError):
    """An error of a request that the server does not take, with its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class PendingText:
    """A text that the writer's thread generates for the handler of a request."""

    def __init__(self, row: TextRow) -> None:
        self.row = row
        self.loop, self.queue = asyncio.get_running_loop(), asyncio.Queue()
        self.left = False
        """Whether the client has left."""

    def put(self, piece: str | Exception | None) -> None:
        """Pass a piece to the handler; None is the end. Any thread may call it."""
        try:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, piece)
        except RuntimeError:  # the loop is closed
            self.left = True

    async def __aiter__(self) -> AsyncIterator[str]:
        """The pieces as they arrive; raises the error that ended them."""
        while (piece := await self.queue.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield piece


class WriterThread:
    """A thread that generates up to `rows` texts at once; others wait in order.

    A text joins at any step; one whose client left is dropped at the next.
    """

    def __init__(self, passes: Passes, rows: int, most_waiting: int) -> None:
        self.passes, self.most_rows, self.most_waiting = passes, rows, most_waiting
        self.batch = TextBatch(passes, rows)
        self.texts: dict[TextRow, PendingText] = {}
        """The texts in the batch; only the thread changes them."""
        self.waiting: deque[PendingText] = deque()
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.closed = False

    def submit(self, text: PendingText) -> None:
        """Queue a text for generation; raises Refusal if the queue is full or closed."""
        if not text.row.running:  # not even one token was asked for
            text.put(None)
            return
        with self.changed:
            if self.closed:
                raise shutdown_error()
            if len(self.waiting) >= self.most_waiting:
                count = self.most_waiting
                raise Refusal(f"serve: {count} requests are waiting. Try again later.", 503)
            self.waiting.append(text)
            self.changed.notify_all()
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="writer", daemon=True)
                self.thread.start()

    def leave(self, text: PendingText) -> None:
        """Drop a text whose client has left."""
        with self.changed:
            text.left = True
            if text in self.waiting:
                self.waiting.remove(text)

    def close(self) -> None:
        """Stop generating; pending texts get a Refusal."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        if self.thread is not None:
            self.thread.join()

    def run(self) -> None:
        """Generate texts until the thread is closed."""
        while self.is_ready():
            try:
                written = [*self.batch.extend(), *self.batch.read()]
            except Exception as wrong:
                written = [(row, wrong) for row in self.texts]
                self.batch = TextBatch(self.passes, self.most_rows)
            for row, wrong in written:
                self.deliver(row, wrong)
        for text in (*self.texts.values(), *self.waiting):
            text.put(shutdown_error())

    def is_ready(self) -> bool:
        """Wait until there is a text to generate; returns False once closed."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.waiting or self.texts)
            for row in [row for row, text in self.texts.items() if text.left]:
                self.batch.leave(row)
                del self.texts[row]
            if self.waiting and self.batch.has_place:
                text = self.waiting.popleft()
                self.texts[text.row] = text
                self.batch.join(text.row)
            return not self.closed

    def deliver(self, row: TextRow, wrong: Exception | None) -> None:
        """Pass on a text's newest piece, and its end or the error that ended it."""
        text = self.texts[row]
        if wrong is not None:
            traceback.print_exception(wrong)
            text.put(wrong)
        elif row.piece:
            text.put(row.piece)
        if wrong is None and row.running:
            return
        text.put(None)
        del self.texts[row]


def shutdown_error() -> Refusal:
    """The error for requests to a server that shuts down."""
    return Refusal("serve: the server is being shut down.", 503)

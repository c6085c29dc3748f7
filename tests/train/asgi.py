"""An application is called in its own event loop, message by message, and a model waits at a gate.

What happens then depends on events alone, never on a clock.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.models.carried import Carried
from gnomon.models.passes import CachedRows

PATIENCE = 60.0
"""Seconds after which a test that waits has failed."""


class Exchange:
    """A request to an application, and what came of it so far."""

    def __init__(self, app: Any, path: str, body: object, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.given = [{"type": "http.request", "body": content, "more_body": False}]
        named = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        scope = {"type": "http", "method": "POST", "path": f"/v1/{path}", "headers": named}
        more = {"query_string": b"", "root_path": "", "asgi": {"version": "3.0"}}
        self.leaves = asyncio.Event()
        self.status, self.headers, self.content = 0, {}, b""
        self.task = asyncio.ensure_future(app(scope | more, self.receive, self.send))

    async def receive(self) -> dict[str, Any]:
        """The body, and then nothing until the client leaves."""
        if self.given:
            return self.given.pop(0)
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """A part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            self.content += message["body"]

    async def end(self) -> Exchange:
        """Wait until the application has done with it."""
        await asyncio.wait_for(self.task, PATIENCE)
        return self

    @property
    def found(self) -> Any:
        """The JSON of a whole response."""
        return json.loads(self.content)

    @property
    def events(self) -> list[Any]:
        """The events of a stream."""
        found = [x.removeprefix("data: ") for x in self.content.decode().split("\n\n") if x]
        return [x if x == "[DONE]" else json.loads(x) for x in found]


class Gate:
    """Lets a model extend texts by a token as often as it may. asked: how often it wanted to."""

    def __init__(self) -> None:
        self.asked, self.calls = 0, 0
        self.may, self.wrong = threading.Semaphore(0), None

    def passed(self) -> None:
        """Wait until a call may pass; it fails if an error was left for it."""
        self.asked += 1
        assert self.may.acquire(timeout=PATIENCE)
        self.calls += 1
        wrong, self.wrong = self.wrong, None
        if wrong is not None:
            raise wrong

    def open(self, times: int = 1_000_000) -> None:
        """Let so many calls pass."""
        self.may.release(times)


async def until(holds: Callable[[], bool]) -> None:
    """Go on with other tasks until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0)


class Alphabet:
    """A model that writes the letter after the last one, and the format of its texts.

    It stands for a model with weights where a test is about requests: it computes nothing.
    """

    place = "alphabet"
    device = gn.device("cpu")
    carried = Carried({})
    config = SimpleNamespace(max_position_embeddings=1000)

    def __init__(self) -> None:
        self.gate = Gate()
        programs = {"read": self.read, "extend": self.extend, "put": lambda *_: None}
        self.passes = SimpleNamespace(**programs, model=self, most_rows=64)
        self.passes.rows = lambda count=1: CachedRows(self.passes, count)
        self.tokenizer = self

    def empty_cache(self, rows: int, positions: int) -> list[Any]:
        """No layer has a cache."""
        return []

    def read(
        self, tokens_bt: gn.Tensor, start_b: gn.Tensor, last_b: gn.Tensor, *tables: gn.Tensor
    ) -> Any:
        """The scores after prompts."""
        return scores_after(tokens_bt.numpy()[np.arange(len(last_b)), last_b.numpy()])

    def extend(self, tokens_bt: gn.Tensor, start_b: gn.Tensor, *tables: gn.Tensor) -> Any:
        """The scores after a token more of each row."""
        self.gate.passed()
        return scores_after(tokens_bt.numpy()[:, 0])

    def ids(self, text: str) -> list[int]:
        """The numbers of letters."""
        return [ord(x) - ord("a") for x in text]

    def chat_ids(self, messages: list[dict[str, str]]) -> list[int]:
        """Those of the last message."""
        return self.ids(messages[-1]["content"])

    def decode(self, ids: Sequence[int]) -> str:
        """The letters of numbers."""
        return "".join(chr(ord("a") + x) for x in ids)


def scores_after(tokens_b: np.ndarray) -> gn.Tensor:
    """Scores of 26 letters, the highest for the one after each row's."""
    return gn.from_numpy(np.eye(26, dtype=np.float32)[(tokens_b + 1) % 26])

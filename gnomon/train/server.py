"""An endpoint that speaks OpenAI's protocol: chat/completions, completions and models.

One text is written at a time; others wait for it. Bodies are read by types, and what a request asks
for and no model here does is refused.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import msgspec

from gnomon.errors import ArgumentError, ConfigError, GnomonError, brief, clipped
from gnomon.lazy import Lazy
from gnomon.models.causal import CausalLM
from gnomon.models.conversation import Answer
from gnomon.models.text_format import TextFormat
from gnomon.train.chat import options_of

applications, responses = Lazy("starlette.applications"), Lazy("starlette.responses")
routing, concurrency = Lazy("starlette.routing"), Lazy("starlette.concurrency")

__all__ = ["CompletionRequest", "ModelServer", "lacking"]

IGNORED = frozenset({"user", "store", "metadata", "service_tier", "stream_options"})
"""Fields that choose nothing of what is written."""
NEUTRAL = (None, False, 0, "", [], {}, "text")


class CompletionRequest(msgspec.Struct):
    """The fields of a request that are read."""

    model: str | None = None
    messages: list[dict[str, Any]] | None = None
    prompt: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    n: int = 1

    def options(self) -> dict[str, Any]:
        """The settings of `generate`."""
        most = self.max_completion_tokens or self.max_tokens
        drawing = {"top_p": self.top_p, "top_k": self.top_k, "seed": self.seed}
        return options_of(most, self.temperature, drawing | {"stop_strings": self.stop})


def request_of(content: bytes) -> CompletionRequest:
    """A request; fields that are not read must change nothing."""
    try:
        found = msgspec.json.decode(content, type=dict[str, Any])
        for name in sorted({*found} - {*CompletionRequest.__struct_fields__} - IGNORED):
            format_of_text = found[name] == {"type": "text"}
            if found[name] not in NEUTRAL and not format_of_text:
                raise ArgumentError(f"serve: {name} is not implemented: got {brief(found[name])}.")
        request = msgspec.convert(found, CompletionRequest)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise ArgumentError(f"serve: the body is no such JSON object: {clipped(wrong)}.") from None
    if request.n != 1:
        raise ArgumentError(f"serve: n must be 1: got {request.n}.")
    return request


def lacking(missing: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error for a package that is not installed."""
    told = f"serve: {missing.name} is not installed. pip install 'gnomon[serve]'"
    return ModuleNotFoundError(told, name=missing.name)


class ModelServer:
    """A model that answers requests, and its application."""

    def __init__(self, name: str, model: CausalLM, texts: TextFormat) -> None:
        self.name, self.model, self.texts = name, model, texts
        self.writing = threading.Lock()
        self.started = int(time.time())

    def application(self) -> Any:
        """An ASGI application, which any server of such runs."""
        try:
            post, route = {"methods": ["POST"]}, routing.Route
            return applications.Starlette(
                routes=[
                    route("/v1/models", self.models),
                    route("/v1/chat/completions", self.chat, **post),
                    route("/v1/completions", self.complete, **post),
                ]
            )
        except ModuleNotFoundError as missing:
            raise lacking(missing) from missing

    async def models(self, _: Any) -> Any:
        """The one model."""
        model = {"id": self.name, "object": "model", "owned_by": "gnomon", "created": self.started}
        return responses.JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Any) -> Any:
        """The answer to messages."""
        return await self.answered(await request.body(), "chat.completion")

    async def complete(self, request: Any) -> Any:
        """The text after a prompt."""
        return await self.answered(await request.body(), "text_completion")

    async def answered(self, body: bytes, kind: str) -> Any:
        """A whole text, or a stream of its pieces; a request that cannot be met gets a 400."""
        try:
            request = request_of(body)
            ids = self.ids(request, kind)
            found = Answer(self.model, self.texts, ids, request.options())
        except GnomonError as wrong:
            error = {"message": str(wrong), "type": "invalid_request_error"}
            return responses.JSONResponse({"error": error | {"param": None, "code": None}}, 400)
        reply = Reply(self.name, kind, found)
        if request.stream:
            events = reply.events(self.writing)
            return responses.StreamingResponse(events, media_type="text/event-stream")
        whole = await concurrency.run_in_threadpool(reply.whole, self.writing, len(ids))
        return responses.JSONResponse(whole)

    def ids(self, request: CompletionRequest, kind: str) -> list[int]:
        """The tokens of a request's messages, or of its prompt."""
        if request.model not in (None, self.name):
            raise ConfigError(f"serve: model must be {self.name}: got {brief(request.model)}.")
        is_chat = kind == "chat.completion"
        given = request.messages if is_chat else request.prompt
        if not given:
            needed = "messages" if is_chat else "prompt"
            raise ArgumentError(f"serve: {needed} must be there, and not empty.")
        return self.texts.ids(given) if isinstance(given, str) else self.texts.chat_ids(given)


class Reply:
    """An answer in the words of the protocol."""

    def __init__(self, name: str, kind: str, answer: Answer) -> None:
        self.kind, self.answer = kind, answer
        own = {"id": f"{kind}-{uuid.uuid4().hex}", "created": int(time.time())}
        self.head: dict[str, Any] = {**own, "object": kind, "model": name}

    def whole(self, writing: threading.Lock, read: int) -> dict[str, Any]:
        """The whole answer. read: how many tokens were before it."""
        with writing:
            text = "".join(self.answer)
        is_chat, count = self.kind == "chat.completion", self.answer.count
        said = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
        usage = {"prompt_tokens": read, "completion_tokens": count, "total_tokens": read + count}
        return self.head | {"choices": [self.choice(said, self.reason)], "usage": usage}

    def events(self, writing: threading.Lock) -> Iterator[str]:
        """Pieces of the answer as events."""
        is_chat = self.kind == "chat.completion"
        head = self.head | ({"object": "chat.completion.chunk"} if is_chat else {})

        def event(said: dict[str, Any], reason: str | None = None) -> str:
            part = {"delta": said} if is_chat else {"text": said.get("content", "")}
            return f"data: {json.dumps(head | {'choices': [self.choice(part, reason)]})}\n\n"

        with writing:
            if is_chat:
                yield event({"role": "assistant", "content": ""})
            for piece in self.answer:
                yield event({"content": piece})
        yield event({}, self.reason)
        yield "data: [DONE]\n\n"

    def choice(self, said: dict[str, Any], reason: str | None) -> dict[str, Any]:
        """The one choice."""
        return {"index": 0, "finish_reason": reason, "logprobs": None, **said}

    @property
    def reason(self) -> str:
        """Why the text ended."""
        return "stop" if self.answer.ended else "length"

"""An HTTP server for OpenAI's protocol: chat/completions, completions and models.

Requests are validated by types, and unsupported settings are refused. One thread generates all
texts together (writer.py).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from gnomon.errors import ArgumentError, ConfigError, GnomonError, brief, clipped
from gnomon.lazy import Lazy
from gnomon.models.conversation import Answer
from gnomon.models.generation import WritesText
from gnomon.models.text_format import TextFormat
from gnomon.train.sampling_flags import UNSET, SamplingFlags
from gnomon.train.writer import PendingText, Refusal, WriterThread

asyncio, concurrency = Lazy("asyncio"), Lazy("starlette.concurrency")
applications, responses = Lazy("starlette.applications"), Lazy("starlette.responses")
requests, routing = Lazy("starlette.requests"), Lazy("starlette.routing")

__all__ = ["CompletionRequest", "LIMITS", "ModelServer", "ServerLimits", "lacking"]

IGNORED = frozenset({"user", "store", "metadata", "service_tier", "stream_options"})
"""Fields that do not affect the text."""
NEUTRAL = (None, False, 0, "", [], {}, "text")


@Parameter(name="*")
@dataclass(frozen=True)
class ServerLimits:
    """The limits of a server, which are also its flags. Raises ConfigError for limits below 1."""

    body: Annotated[int, Parameter(name="max-body")] = 1 << 22
    """Maximum bytes of a request; a longer one gets status 413."""
    waiting: Annotated[int, Parameter(name="max-waiting")] = 256
    """Maximum number of waiting requests; a further one gets status 503 and may be retried."""
    rows: Annotated[int, Parameter(name="max-rows")] = 16
    """Maximum batch size: texts that are generated at once; 1 with a program file."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1:
                raise ConfigError(f"serve: --max-{name} must be 1 or more: got {value}.")


LIMITS = ServerLimits()
"""The default limits of a server."""


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
        """The arguments of `generate`."""
        most = self.max_completion_tokens or self.max_tokens
        drawing = {"top_p": self.top_p, "top_k": self.top_k, "seed": self.seed}
        flags = SamplingFlags(max_new_tokens=most, temperature=self.temperature, **drawing)
        stops = {} if self.stop is None else {"stop_strings": self.stop}
        return flags.options() | stops


def request_of(content: bytes) -> CompletionRequest:
    """The request in a JSON body; unsupported fields are refused unless they have no effect."""
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
    message = f"serve: {missing.name} is not installed. pip install 'gnomon[serve]'"
    return ModuleNotFoundError(message, name=missing.name)


class ModelServer:
    """A model that answers requests, and its ASGI application.

    sampling: the settings of requests that do not set them.
    """

    def __init__(
        self,
        name: str,
        model: WritesText,
        texts: TextFormat,
        limits: ServerLimits = LIMITS,
        sampling: SamplingFlags = UNSET,
    ) -> None:
        self.name, self.model, self.texts = name, model, texts
        self.limits, self.options = limits, sampling.options()
        self.writer = WriterThread(model.passes, self.limits.rows, self.limits.waiting)
        self.started = int(time.time())

    def application(self) -> Any:
        """The ASGI application."""
        try:
            post, route = {"methods": ["POST"]}, routing.Route
            return applications.Starlette(
                routes=[
                    route("/v1/models", self.models),
                    route("/v1/chat/completions", self.chat, **post),
                    route("/v1/completions", self.complete, **post),
                ],
                lifespan=self.lifespan,
            )
        except ModuleNotFoundError as missing:
            raise lacking(missing) from missing

    @asynccontextmanager
    async def lifespan(self, _: Any) -> AsyncIterator[None]:
        """The application's lifetime, at whose end the writing thread is closed."""
        yield
        await concurrency.run_in_threadpool(self.writer.close)

    async def models(self, _: Any) -> Any:
        """Respond with the list of models, which has one."""
        model = {"id": self.name, "object": "model", "owned_by": "gnomon", "created": self.started}
        return responses.JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Any) -> Any:
        """Respond to a request for a chat completion."""
        return await self.answered(request, "chat.completion")

    async def complete(self, request: Any) -> Any:
        """Respond to a request for a text completion."""
        return await self.answered(request, "text_completion")

    async def answered(self, request: Any, kind: str) -> Any:
        """Respond with a whole text or a stream; invalid requests get an error."""
        try:
            wanted = request_of(await self.body(request))
            ids = await concurrency.run_in_threadpool(self.ids, wanted, kind)
            options = self.options | wanted.options()
            text = PendingText(Answer(self.model, self.texts, ids, options).row)
            self.writer.submit(text)
        except GnomonError as wrong:
            return error_response(wrong, wrong.status if isinstance(wrong, Refusal) else 400)
        reply = Reply(self.name, kind, text, len(ids))
        return Sending(self.writer, text, reply.stream if wanted.stream else reply.whole)

    async def body(self, request: Any) -> bytes:
        """The bytes of a request, refused if too long."""
        content, most = bytearray(), self.limits.body
        try:
            async for part in request.stream():
                content += part
                if len(content) > most:
                    raise Refusal(f"serve: the body is longer than {most} bytes.", 413)
        except requests.ClientDisconnect:
            raise ArgumentError("serve: the body has no end.") from None
        return bytes(content)

    def ids(self, request: CompletionRequest, kind: str) -> list[int]:
        """The token ids of a request's messages or prompt."""
        if request.model not in (None, self.name):
            raise ConfigError(f"serve: model must be {self.name}: got {brief(request.model)}.")
        is_chat = kind == "chat.completion"
        given = request.messages if is_chat else request.prompt
        if not given:
            needed = "messages" if is_chat else "prompt"
            raise ArgumentError(f"serve: {needed} must be there, and not empty.")
        return self.texts.ids(given) if isinstance(given, str) else self.texts.chat_ids(given)


class Sending:
    """A streamed response; generation stops when the client disconnects."""

    def __init__(self, writer: WriterThread, text: PendingText, send: Callable[[Any], Any]) -> None:
        self.writer, self.text, self.send = writer, text, send

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the response, as an ASGI application."""
        sending, leaving = map(asyncio.ensure_future, (self.send(send), left(receive)))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.writer.leave(self.text)
            leaving.cancel()
            if not sending.done():
                sending.cancel()
        if sending.done():
            sending.result()


async def left(receive: Any) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Reply:
    """The response to a request in OpenAI's format. read: the number of prompt tokens."""

    def __init__(self, name: str, kind: str, text: PendingText, read: int) -> None:
        self.kind, self.text, self.read = kind, text, read
        own = {"id": f"{kind}-{uuid.uuid4().hex}", "created": int(time.time())}
        self.head: dict[str, Any] = {**own, "object": kind, "model": name}

    async def whole(self, send: Any) -> None:
        """Send the whole text as one JSON response."""
        try:
            text = "".join([piece async for piece in self.text])
        except Exception as wrong:
            status = wrong.status if isinstance(wrong, Refusal) else 500
            await error_response(wrong, status)({"type": "http"}, None, send)
            return
        is_chat, count = self.kind == "chat.completion", self.text.row.count
        said = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
        sums = {"completion_tokens": count, "total_tokens": self.read + count}
        usage = {"prompt_tokens": self.read} | sums
        found = self.head | {"choices": [self.choice(said, self.reason)], "usage": usage}
        await responses.JSONResponse(found)({"type": "http"}, None, send)

    async def stream(self, send: Any) -> None:
        """Send the text in pieces, as server-sent events."""
        kind = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        async for found in self.events():
            event = f"data: {found if isinstance(found, str) else json.dumps(found)}\n\n"
            await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def events(self) -> AsyncIterator[Any]:
        """The events of a streamed text; an error of the model is the last one."""
        is_chat = self.kind == "chat.completion"
        head = self.head | ({"object": "chat.completion.chunk"} if is_chat else {})

        def event(said: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            part = {"delta": said} if is_chat else {"text": said.get("content", "")}
            return head | {"choices": [self.choice(part, reason)]}

        if is_chat:
            yield event({"role": "assistant", "content": ""})
        try:
            async for piece in self.text:
                yield event({"content": piece})
        except Exception as wrong:
            yield error_of(wrong, 500)
            return
        yield event({}, self.reason)
        yield "[DONE]"

    def choice(self, said: dict[str, Any], reason: str | None) -> dict[str, Any]:
        """The entry of `choices` with these fields."""
        return {"index": 0, "finish_reason": reason, "logprobs": None, **said}

    @property
    def reason(self) -> str:
        """The finish reason: "stop" or "length"."""
        return "stop" if self.text.row.ended else "length"


def error_of(wrong: Exception, status: int) -> dict[str, Any]:
    """The JSON object of an error."""
    ours = isinstance(wrong, GnomonError)
    message = str(wrong) if ours else f"serve: the model failed: {type(wrong).__name__}: {wrong}"
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_response(wrong: Exception, status: int) -> Any:
    """The JSON response of an error."""
    later = {"retry-after": "1"} if status == 503 else None
    return responses.JSONResponse(error_of(wrong, status), status, later)

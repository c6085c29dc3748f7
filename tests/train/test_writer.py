"""Requests in any number, clients that leave, models that fail: the server answers the others."""

from __future__ import annotations

import asyncio

import pytest

from gnomon.errors import ConfigError
from gnomon.train.server import ModelServer, ServerLimits
from tests.train.asgi import Alphabet, Exchange, until

pytest.importorskip("starlette")

PROMPT = {"prompt": "abc", "temperature": 0}


@pytest.fixture
def model():
    """A model whose steps wait at a gate."""
    return Alphabet()


def server_of(model: Alphabet, **limits: int) -> ModelServer:
    """A server of the model, which is its own format of texts."""
    return ModelServer("small", model, model, ServerLimits(**limits))


def ask(server: ModelServer, count: int, **more: object) -> Exchange:
    """A request for so many tokens."""
    return Exchange(server.application(), "completions", PROMPT | {"max_tokens": count} | more)


def text_of(exchange: Exchange) -> str:
    """The text of a whole response, or of a stream's."""
    if exchange.content.startswith(b"{"):
        return exchange.found["choices"][0]["text"]
    return "".join(x["choices"][0]["text"] for x in exchange.events if "choices" in x)


def test_many_wait_beside_a_stream_and_all_are_answered(model):
    server = server_of(model)

    async def asked():
        stream = ask(server, 4, stream=True)
        await until(lambda: model.gate.asked)
        others = [ask(server, 3) for _ in range(50)]
        await until(lambda: len(server.writer.waiting) == 50)
        model.gate.open()
        return [await x.end() for x in (stream, *others)]

    stream, *others = asyncio.run(asked())

    assert (stream.events[-1], text_of(stream)) == ("[DONE]", "defg")
    assert [(x.status, text_of(x)) for x in others] == [(200, "def")] * 50


def test_who_leaves_is_dropped_and_others_are_served(model):
    server = server_of(model)

    async def asked():
        leaving = [ask(server, 500, stream=stream) for stream in (True, False)]
        await until(lambda: model.gate.asked)
        other = ask(server, 4)
        for exchange in leaving:
            exchange.leaves.set()
            await exchange.end()
        model.gate.open()
        return await other.end(), leaving

    other, leaving = asyncio.run(asked())

    assert (other.status, text_of(other)) == (200, "defg")
    assert "[DONE]" not in leaving[0].events
    assert (leaving[1].status, leaving[1].content) == (0, b"")
    assert model.gate.calls < 20


def test_a_handler_that_is_cancelled_leaves_the_writer_free(model):
    server = server_of(model)

    async def asked():
        cancelled = [ask(server, 500, stream=stream) for stream in (True, False)]
        await until(lambda: model.gate.asked)
        for exchange in cancelled:
            exchange.task.cancel()
        await asyncio.wait([x.task for x in cancelled])
        model.gate.open()
        return await ask(server, 4).end()

    assert text_of(asyncio.run(asked())) == "defg"
    assert model.gate.calls < 20


def test_an_error_of_the_model_reaches_its_client_and_the_server_goes_on(model, capfd):
    server = server_of(model)

    async def asked():
        stream = ask(server, 30, stream=True)
        await until(lambda: model.gate.asked)
        model.gate.wrong = OSError("no such memory")
        model.gate.open()
        await stream.end()
        model.gate.wrong = OSError("nor such")
        return stream, await ask(server, 30).end(), await ask(server, 4).end()

    stream, whole, good = asyncio.run(asked())

    error = stream.events[-1]["error"]
    assert error["message"] == "serve: the model failed: OSError: no such memory"
    assert (error["type"], text_of(stream)) == ("server_error", "d")
    assert (whole.status, good.status, text_of(good)) == (500, 200, "defg")
    assert whole.found["error"]["message"].endswith("OSError: nor such")
    assert "OSError: nor such" in capfd.readouterr().err


def test_a_server_that_ends_ends_its_texts(model):
    server = server_of(model)

    async def asked():
        async with server.lifespan(None):
            stream = ask(server, 500, stream=True)
            await until(lambda: model.gate.asked)
            waiting = [ask(server, 4) for _ in range(3)]
            await until(lambda: len(server.writer.waiting) == 3)
            closing = asyncio.ensure_future(asyncio.to_thread(until_closed, server, model))
        await closing
        late = ask(server, 4)
        return [await x.end() for x in (*waiting, late)], await stream.end()

    others, stream = asyncio.run(asked())

    assert [x.status for x in others] == [503] * 4
    assert stream.events[-1]["error"]["message"] == "serve: the server is being shut down."
    assert not server.writer.thread.is_alive()


def until_closed(server: ModelServer, model: Alphabet) -> None:
    """Open the gate once the server ends."""
    with server.writer.changed:
        assert server.writer.changed.wait_for(lambda: server.writer.closed, 60)
    model.gate.open()


def test_more_than_may_wait_are_asked_to_come_later(model):
    server = server_of(model, waiting=2, rows=1)

    async def asked():
        stream = ask(server, 4, stream=True)
        await until(lambda: model.gate.asked)
        waiting = [ask(server, 4) for _ in range(2)]
        await until(lambda: len(server.writer.waiting) == 2)
        refused = await ask(server, 4).end()
        waiting[0].leaves.set()
        await waiting[0].end()
        taken = ask(server, 4)
        await until(lambda: len(server.writer.waiting) == 2)
        model.gate.open()
        return refused, [await x.end() for x in (stream, waiting[1], taken)]

    refused, others = asyncio.run(asked())

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert "2 requests are waiting" in refused.found["error"]["message"]
    assert [text_of(x) for x in others] == ["defg"] * 3


def test_a_body_that_is_too_long_is_refused_before_it_was_read(model):
    server = server_of(model, body=1000)

    async def asked():
        exchange = ask(server, 4)
        exchange.given = [
            {"type": "http.request", "body": b"x" * 600, "more_body": True} for _ in range(9)
        ]
        return await exchange.end(), len(exchange.given)

    exchange, left = asyncio.run(asked())

    assert (exchange.status, left) == (413, 7)
    assert "the body is longer than 1000 bytes" in exchange.found["error"]["message"]


@pytest.mark.parametrize("limit", ["body", "waiting", "rows"])
def test_a_limit_of_nothing_is_refused(model, limit):
    with pytest.raises(ConfigError, match=f"serve: --max-{limit} must be 1 or more: got 0"):
        server_of(model, **{limit: 0})

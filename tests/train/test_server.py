"""A client of OpenAI's protocol gets answers, streams of them, and clear refusals."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time

import pytest

from gnomon.lazy import Lazy
from gnomon.models.conversation import Answer
from gnomon.train import server as module
from gnomon.train.opening import opened_model
from gnomon.train.sampling_flags import SamplingFlags
from gnomon.train.server import ModelServer
from tests.models.writers import chat_folder
from tests.train.asgi import Exchange

pytest.importorskip("jinja2")
pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

MESSAGES = [{"role": "user", "content": "one two"}]
GREEDY = {"temperature": 0, "max_tokens": 6}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A model and its texts."""
    return opened_model(str(chat_folder(tmp_path_factory.mktemp("folder"))))


@pytest.fixture(scope="module")
def ask(opened):
    """A function that sends a request to a running server."""
    app = ModelServer("small", *opened).application()
    settings = uvicorn.Config(app, port=0, log_level="error", lifespan="off")
    running = uvicorn.Server(settings)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]

    def send(path: str, body: object = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=100)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", f"/v1/{path}", content)
        found = connection.getresponse()
        text = found.read().decode()
        connection.close()
        return found.status, text

    yield send
    running.should_exit = True
    thread.join()


def test_messages_and_prompts_are_answered_whole_and_in_pieces(ask, opened):
    model, texts = opened
    for path, given, ids in (
        ("chat/completions", {"messages": MESSAGES}, texts.chat_ids(MESSAGES)),
        ("completions", {"prompt": "one two"}, texts.ids("one two")),
    ):
        wanted = "".join(Answer(model, texts, ids, {"do_sample": False, "max_new_tokens": 6}))

        status, text = ask(path, given | GREEDY)
        found = json.loads(text)
        choice = found["choices"][0]
        assert status == 200
        assert (choice["message"]["content"] if "message" in choice else choice["text"]) == wanted
        assert choice["finish_reason"] == "length"
        assert found["usage"] == {
            "prompt_tokens": len(ids),
            "completion_tokens": 6,
            "total_tokens": len(ids) + 6,
        }

        status, text = ask(path, given | GREEDY | {"stream": True})
        *events, last, empty = text.split("\n\n")
        choices = [json.loads(x.removeprefix("data: "))["choices"][0] for x in events]
        pieces = [x["delta"].get("content", "") if "delta" in x else x["text"] for x in choices]
        assert (status, last, empty) == (200, "data: [DONE]", "")
        assert "".join(pieces) == wanted
        assert [x["finish_reason"] for x in choices] == [None] * (len(choices) - 1) + ["length"]


def test_several_ask_at_once_and_each_is_answered(ask):
    alone = [ask("completions", {"prompt": "one " * k} | GREEDY) for k in (1, 2, 3)]
    found: dict[int, tuple[int, str]] = {}
    threads = [
        threading.Thread(
            target=lambda k=k: found.update(
                {k: ask("completions", {"prompt": "one " * k} | GREEDY)}
            )
        )
        for k in (1, 2, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    texts = [json.loads(text)["choices"] for _, text in alone]
    assert [json.loads(found[k][1])["choices"] for k in (1, 2, 3)] == texts


def test_the_model_is_listed(ask):
    status, text = ask("models")

    assert (status, json.loads(text)["data"][0]["id"]) == (200, "small")


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("chat/completions", b"{", "serve: the body is no such JSON object"),
        ("chat/completions", [1], "serve: the body is no such JSON object: Expected `object`"),
        ("chat/completions", {}, "serve: messages must be there, and not empty"),
        ("completions", {"prompt": 3}, "Expected `str | null`, got `int` - at `$.prompt`"),
        ("completions", {"prompt": "x", "model": "other"}, "serve: model must be small: got 'oth"),
        ("completions", {"prompt": "x", "n": 2}, "serve: n must be 1: got 2"),
        (
            "completions",
            {"prompt": "x", "logprobs": 3},
            "serve: logprobs is not implemented: got 3",
        ),
        ("completions", {"prompt": "x", "temperature": -1}, "generate: Expected `float` > 0.0"),
        ("completions", {"prompt": "x" * 99}, "more than max_position_embeddings (40)"),
        ("chat/completions", {"messages": [{"role": "user"}] * 20}, "more than max_position"),
    ],
)
def test_what_cannot_be_done_is_a_bad_request(ask, path, body, message):
    status, text = ask(path, body)

    assert status == 400
    error = json.loads(text)["error"]
    assert message in error["message"]
    assert error["type"] == "invalid_request_error"


def test_flags_hold_for_requests_that_say_nothing(opened):
    model, texts = opened
    flags = SamplingFlags(max_new_tokens=3, temperature=0.0)
    app = ModelServer("small", model, texts, sampling=flags).application()

    def text(ids, count, **options):
        return "".join(Answer(model, texts, ids, {"max_new_tokens": count} | options))

    async def asked(**more):
        return await Exchange(app, "completions", {"prompt": "one two"} | more).end()

    async def all_asked():
        drawn = {"temperature": 0.7, "seed": 5, "max_tokens": 6}
        return [await asked(), await asked(max_tokens=5), await asked(**drawn)]

    found = [x.found["choices"][0]["text"] for x in asyncio.run(all_asked())]
    ids = texts.ids("one two")
    assert found[0] == text(ids, 3, do_sample=False)
    assert found[1] == text(ids, 5, do_sample=False)
    assert found[2] == text(ids, 6, do_sample=True, temperature=0.7, seed=5)


def test_who_lacks_starlette_is_told_what_to_install(opened, monkeypatch):
    monkeypatch.setattr(module, "routing", Lazy("starlette_of_nobody"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[serve\]'"):
        ModelServer("small", *opened).application()

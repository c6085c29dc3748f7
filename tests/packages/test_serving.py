"""The openai package talks to a server of ours as to its own.

GNOMON_PACKAGES_SOURCES must be there, as for all tests of this marker; it is not read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gnomon.capture.precompiled import targets_here
from gnomon.models.conversation import Answer
from gnomon.models.shipped import ship
from gnomon.train.opening import opened_model, opened_writer
from gnomon.train.server import ModelServer
from tests.models.writers import chat_folder

openai = pytest.importorskip("openai")
uvicorn = pytest.importorskip("uvicorn")
pytestmark = pytest.mark.packages

MESSAGES = [{"role": "user", "content": "one two"}]
GREEDY = {"model": "small", "messages": MESSAGES, "temperature": 0, "max_tokens": 8}


class Running(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, app: object) -> None:
        super().__init__(uvicorn.Config(app, port=0, log_level="error"))
        self.listens = threading.Event()

    async def startup(self, sockets: object = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listens.set()


@pytest.fixture(scope="module", params=["folder", "program"])
def opened(request, tmp_path_factory):
    """A model and its texts, of a folder or of the program file that was made of it."""
    place = tmp_path_factory.mktemp("opened")
    folder, program = chat_folder(place / "folder"), place / "x.gnp"
    if request.param == "folder":
        return opened_writer(str(folder))
    model, texts = opened_model(str(folder))
    ship(model, texts, program, targets_here())
    return opened_writer(str(program))


@pytest.fixture(scope="module")
def client(opened) -> Iterator[object]:
    """A client of a running server."""
    running = Running(ModelServer("small", *opened).application())
    thread = threading.Thread(target=running.run)
    thread.start()
    assert running.listens.wait(100)
    port = running.servers[0].sockets[0].getsockname()[1]
    with openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/v1") as made:
        yield made
    running.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def wanted(opened, tmp_path_factory) -> str:
    """The text that the folder's model writes."""
    model, texts = opened_model(str(chat_folder(tmp_path_factory.mktemp("wanted"))))
    options = {"do_sample": False, "max_new_tokens": 8}
    return "".join(Answer(model, texts, texts.chat_ids(MESSAGES), options))


def test_a_chat_is_completed(client, wanted):
    found = client.chat.completions.create(**GREEDY)

    (choice,) = found.choices
    assert (choice.message.role, choice.message.content) == ("assistant", wanted)
    assert choice.finish_reason == "length"
    assert found.usage.completion_tokens == 8
    assert found.usage.total_tokens == found.usage.prompt_tokens + 8


def test_a_chat_is_streamed(client, wanted):
    chunks = [*client.chat.completions.create(**GREEDY, stream=True)]

    assert "".join(x.choices[0].delta.content or "" for x in chunks) == wanted
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [x.choices[0].finish_reason for x in chunks[-2:]] == [None, "length"]
    assert {x.object for x in chunks} == {"chat.completion.chunk"}


def test_a_stop_ends_the_text(client, wanted):
    stop = wanted[2:4]

    found = client.chat.completions.create(**GREEDY, stop=[stop])

    assert found.choices[0].message.content == wanted[: wanted.index(stop)]
    assert found.choices[0].finish_reason == "stop"


def test_a_prompt_is_completed(client):
    found = client.completions.create(model="small", prompt="one two", max_tokens=4, temperature=0)

    assert found.choices[0].finish_reason == "length"
    assert found.usage.completion_tokens == 4


def test_models_are_listed(client):
    assert [x.id for x in client.models.list()] == ["small"]


def test_what_is_wrong_is_an_error_of_the_client(client):
    with pytest.raises(openai.BadRequestError, match="serve: model must be small: got 'other'"):
        client.chat.completions.create(**GREEDY | {"model": "other"})
    with pytest.raises(openai.BadRequestError, match="more than max_position_embeddings"):
        client.chat.completions.create(**GREEDY | {"max_tokens": 4000})


def test_an_error_of_the_model_is_one_of_its_client(client, monkeypatch):
    monkeypatch.setattr("gnomon.models.text_batch.TextBatch.extend", lambda _: 1 / 0)
    with pytest.raises(openai.APIError, match="the model failed: ZeroDivisionError"):
        [*client.chat.completions.create(**GREEDY, stream=True)]
    with pytest.raises(openai.InternalServerError, match="the model failed: ZeroDivisionError"):
        client.with_options(max_retries=0).chat.completions.create(**GREEDY)
    monkeypatch.undo()

    assert client.chat.completions.create(**GREEDY).choices

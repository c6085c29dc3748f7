"""Chat templates give the texts that transformers makes of them, and reach nothing else."""

from __future__ import annotations

import json

import pytest

from gnomon.errors import ArgumentError
from gnomon.gguf import GGUFFile, chat, chat_text
from gnomon.lazy import Lazy
from tests.gguf.golden_chats import MESSAGES, TEMPLATES, TOOLS
from tests.gguf.test_tokenization import GOLDEN, file_of_kind

pytest.importorskip("jinja2")

pytestmark = pytest.mark.unit


def with_template(template: object) -> GGUFFile:
    """A file with Llama's first tokens and a chat template."""
    metadata = dict(file_of_kind("llama").metadata) | {"tokenizer.chat_template": template}
    return GGUFFile("x.gguf", 3, metadata, {})


@pytest.mark.parametrize(
    ("name", "number", "prompt", "expected"),
    json.loads((GOLDEN / "chats.json").read_text(encoding="utf-8")),
)
def test_texts_are_those_of_transformers(name, number, prompt, expected):
    file, words = with_template(TEMPLATES[name]), {"tools": TOOLS} if name == "tools" else {}

    if expected is None:
        with pytest.raises(
            ArgumentError, match=r"x\.gguf: the chat template fails: roles must alt"
        ):
            chat_text(file, MESSAGES[number], prompt, **words)
    else:
        assert chat_text(file, MESSAGES[number], prompt, **words) == expected


@pytest.mark.parametrize(
    "template",
    [
        *(
            "{% for",
            "{{ 1 / 0 }}",
            "{{ messages.x.y }}",
            "{{ messages | nothing }}",
            "{{ 1 + 'a' }}",
        ),
        *("{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}", "{% include 'x' %}"),
        *(
            "{{ range(10 ** 9) }}",
            "{{ raise_exception.__globals__.x }}",
            "{{ messages[0].content() }}",
        ),
    ],
)
def test_a_template_that_fails_or_leaves_the_sandbox_is_refused(template):
    messages = [{"role": "user", "content": "x"}]

    with pytest.raises(ArgumentError, match=r"gguf\.chat_text: x\.gguf: the chat template fails"):
        chat_text(with_template(template), messages)

    assert len(messages) == 1


def test_a_file_without_a_template_is_refused():
    for wrong in (None, 3):
        with pytest.raises(ArgumentError, match=rf"tokenizer\.chat_template is {wrong}"):
            chat_text(with_template(wrong), [])


def test_tokens_that_a_file_lacks_are_empty():
    assert chat_text(with_template("[{{ bos_token }}{{ pad_token }}]"), []) == "[<s>]"
    assert (
        chat_text(GGUFFile("x", 3, {"tokenizer.chat_template": "[{{ bos_token }}]"}, {}), [])
        == "[]"
    )


def test_who_lacks_jinja2_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(chat, "sandbox", Lazy("jinja2_of_nobody"))

    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gnomon\[chat\]'"):
        chat_text(with_template("x"), [])

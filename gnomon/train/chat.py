"""`gnomon chat`: a conversation with a model on the terminal, or with what a pipe says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gnomon.errors import ConfigError, GnomonError
from gnomon.models.causal import CausalLM
from gnomon.models.conversation import Conversation
from gnomon.models.pretrained import from_pretrained
from gnomon.models.text_format import TextFormat, text_format
from gnomon.train.runs import find_checkpoint

__all__ = ["chat", "opened_model", "options_of"]


def chat(
    model: str | None = None,
    /,
    *,
    system: str | None = None,
    max_new_tokens: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
) -> int:
    """Talk to a model: each line is a message, and its answer is printed as it is written.

    Parameters
    ----------
    model
        A GGUF file, a folder of Hugging Face's, or a run's folder or name; the latest run if none
        is named.
    system
        What the model is told first.
    max_new_tokens
        The most tokens of an answer; otherwise what the model's context holds.
    temperature
        How freely; 0 always takes the likeliest token; otherwise as the model's files say.
    top_k
        How many of the likeliest tokens may be drawn; 0: all.
    top_p
        The likeliest tokens may be drawn whose probabilities sum to this much.
    seed
        Another seed, other answers.
    """
    language_model, texts = opened_model(model)
    assert texts.chat_template, "a model without one is refused before anything is said."
    drawing = {"top_k": top_k, "top_p": top_p, "seed": seed}
    options = options_of(max_new_tokens, temperature, drawing)
    conversation = Conversation(language_model, texts, system, **options)
    for line in lines():
        try:
            for piece in conversation.say(line):
                print(piece, end="", flush=True)
            print()
        except KeyboardInterrupt:  # the answer is broken off, and the conversation goes on
            print()
        except GnomonError as wrong:
            print(wrong, file=sys.stderr)
    return 0


def opened_model(name: str | None) -> tuple[CausalLM, TextFormat]:
    """The model and the texts of a GGUF file, a folder of Hugging Face's or a run."""
    path = Path(name) if name is not None else None
    if path is None or not (path.suffix == ".gguf" or (path / "config.json").is_file()):
        path = find_checkpoint(name).folder
    found = from_pretrained(path)
    if not isinstance(found, CausalLM):
        raise ConfigError(f"chat: {path} holds an encoder, which writes nothing. Take a decoder.")
    return found, text_format(path)


def options_of(
    max_new_tokens: int | None, temperature: float | None, drawing: dict[str, Any]
) -> dict[str, Any]:
    """Settings of generation, of what was asked for; a temperature of 0 draws nothing."""
    options = {k: v for k, v in drawing.items() if v is not None}
    if max_new_tokens is not None:
        options["max_new_tokens"] = max_new_tokens
    if temperature is not None:
        options["do_sample"] = temperature != 0
    if temperature:
        options["temperature"] = temperature
    return options


def lines() -> Iterator[str]:
    """The lines of what the user says."""
    is_asked = sys.stdin.isatty()
    while True:
        try:
            line = input("> " if is_asked else "")
        except (EOFError, KeyboardInterrupt):
            return
        if line.strip():
            yield line

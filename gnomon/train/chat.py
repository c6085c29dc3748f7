"""`gnomon chat`: a conversation with a model on the terminal, or with what a pipe says."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gnomon.errors import GnomonError
from gnomon.models.conversation import Conversation
from gnomon.train.opening import ModelPlace, opened_model, options_of

__all__ = ["chat"]


def chat(
    model: ModelPlace = None,
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
        The model's place, as `ModelPlace` says.
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

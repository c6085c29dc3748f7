"""`gnomon chat`: a conversation with a model, from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gnomon.errors import GnomonError
from gnomon.models.conversation import Conversation
from gnomon.train.opening import ModelPlace, opened_writer, options_of

__all__ = ["chat", "complete"]


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
    """Chat with a model: each input line is a message, and its answer is printed token by token.

    Parameters
    ----------
    model
        A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name.
    system
        The system message.
    max_new_tokens
        Maximum number of tokens of an answer; by default the rest of the model's context.
    temperature
        Sampling temperature; 0: greedy. By default the value in the model's files.
    top_k
        Sample from the K most probable tokens only; 0: from all.
    top_p
        Sample from the most probable tokens whose probabilities sum to P (nucleus sampling).
    seed
        Random seed.
    """
    language_model, texts = opened_writer(model)
    assert texts.chat_template, "a model without one is refused before anything is said."
    drawing = {"top_k": top_k, "top_p": top_p, "seed": seed}
    options = options_of(max_new_tokens, temperature, drawing)
    return answer_lines(Conversation(language_model, texts, system, **options))


def complete(
    model: ModelPlace = None,
    /,
    *,
    max_new_tokens: int | None = None,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
) -> int:
    """Continue each input line as a text, with a model that needs no chat template.

    Parameters
    ----------
    model
        A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name.
    max_new_tokens
        Maximum number of tokens that follow; by default the rest of the model's context.
    temperature
        Sampling temperature; 0: greedy. By default the value in the model's files.
    top_k
        Sample from the K most probable tokens only; 0: from all.
    top_p
        Sample from the most probable tokens whose probabilities sum to P (nucleus sampling).
    seed
        Random seed.
    """
    language_model, texts = opened_writer(model)
    drawing = {"top_k": top_k, "top_p": top_p, "seed": seed}
    options = options_of(max_new_tokens, temperature, drawing)
    return answer_lines(Conversation(language_model, texts, plain=True, **options))


def answer_lines(conversation: Conversation) -> int:
    """Print what follows each line of the input, until there is none."""
    for line in lines():
        try:
            for piece in conversation.say(line):
                print(piece, end="", flush=True)
            print()
        except KeyboardInterrupt:  # the answer is interrupted, and the conversation continues
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

"""`gnomon chat`: a conversation with a model, from a terminal or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from gnomon.errors import GnomonError
from gnomon.models.conversation import Conversation
from gnomon.train.opening import Activations, ModelPlace, opened_writer
from gnomon.train.sampling_flags import UNSET, SamplingFlags

__all__ = ["chat", "complete"]


def chat(
    model: ModelPlace = None,
    /,
    *,
    system: str | None = None,
    activations: Activations = "",
    sampling: SamplingFlags = UNSET,
) -> int:
    """Chat with a model: each input line is a message, and its answer is printed token by token.

    Without a flag, the model's files decide, and an answer may fill the rest of the context.

    Parameters
    ----------
    model
        A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name.
    system
        The system message.
    activations
        The type to which layers round their inputs.
    sampling
        How answers are drawn.
    """
    options = sampling.checked().options()
    language_model, texts = opened_writer(model, activations)
    assert texts.chat_template, "a model without one is refused before anything is said."
    return answer_lines(Conversation(language_model, texts, system, **options))


def complete(
    model: ModelPlace = None,
    /,
    *,
    activations: Activations = "",
    sampling: SamplingFlags = UNSET,
) -> int:
    """Continue each input line as a text, with a model that needs no chat template.

    Without a flag, the model's files decide, and a text may fill the rest of the context.

    Parameters
    ----------
    model
        A GGUF file, a program file (.gnp), a Hugging Face folder, or a run's folder or name.
    activations
        The type to which layers round their inputs.
    sampling
        How texts are drawn.
    """
    options = sampling.checked().options()
    language_model, texts = opened_writer(model, activations)
    return answer_lines(Conversation(language_model, texts, plain=True, **options))


def answer_lines(conversation: Conversation) -> int:
    """Print the model's answer to each line of the input, until it ends; returns the exit code."""
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
    """The nonempty lines of the input, with a prompt on a terminal."""
    is_asked = sys.stdin.isatty()
    while True:
        try:
            line = input("> " if is_asked else "")
        except (EOFError, KeyboardInterrupt):
            return
        if line.strip():
            yield line

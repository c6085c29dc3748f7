"""`gn.gguf.chat_text`: render messages by a file's chat template.

A template comes from a file, so it runs in jinja2's sandbox, where it reaches nothing but what it
is given. Its running time is not limited.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from gnomon.errors import ArgumentError, brief, clipped
from gnomon.gguf.file import GGUFFile
from gnomon.lazy import Lazy

jinja2, sandbox = Lazy("jinja2"), Lazy("jinja2.sandbox")

__all__ = ["SPECIAL", "TEMPLATE", "chat_text", "rendered", "special_tokens"]

TEMPLATE = "tokenizer.chat_template"
SPECIAL = {
    **{"bos": "bos_token", "eos": "eos_token"},
    **{"unknown": "unk_token", "padding": "pad_token"},
}
"""Names of special tokens in the keys of files, and in templates."""
BROKEN = (
    *(TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError),
    *(MemoryError, NotImplementedError),
)
"""Python's errors of a faulty template, or of one that gets unexpected values."""


def chat_text(
    file: GGUFFile,
    messages: Sequence[Mapping[str, Any]],
    add_generation_prompt: bool = True,
    **variables: Any,
) -> str:
    """Render messages by a file's chat template; encode the text without special tokens.

    messages: dicts of "role" and "content". variables: other values that the template may use, such
    as tools.

    Raises ArgumentError if the file has no template, or it fails on these messages.

    >>> file = GGUFFile(
    ...     "x", 3, {TEMPLATE: "{% for m in messages %}[{{ m.content }}]{% endfor %}"}, {}
    ... )
    >>> chat_text(file, [{"role": "user", "content": "hello"}])
    '[hello]'
    """
    said = file.metadata.get(TEMPLATE)
    if not isinstance(said, str):
        raise ArgumentError(f"gguf.chat_text: {file.path}: {TEMPLATE} is {brief(said)}.")
    variables = {**special_tokens(file), "add_generation_prompt": add_generation_prompt} | variables
    return rendered(f"gguf.chat_text: {file.path}", said, messages, variables)


def rendered(
    place: str, template: str, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]
) -> str:
    """Render messages by a template. place: the start of error messages."""
    environment = sandboxed()
    try:
        given = {"messages": messages, "tools": None, **variables}
        return environment.from_string(template).render(**given)
    except (jinja2.TemplateError, *BROKEN) as wrong:
        raise ArgumentError(
            f"{place}: the chat template fails: {clipped(wrong).rstrip('.')}. "
            "Give messages as it expects them."
        ) from wrong


def sandboxed() -> Any:
    """A sandboxed jinja2 environment with the functions that models' templates use."""
    try:
        made = sandbox.ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "gguf.chat_text: jinja2 runs chat templates, and is not installed. "
            "pip install 'gnomon[chat]'",
            name=missing.name,
        ) from missing
    made.filters["tojson"] = plain_json
    made.globals["raise_exception"] = refuse
    return made


def special_tokens(file: GGUFFile) -> dict[str, str]:
    """A file's special tokens, by the names that templates use."""
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    count = len(tokens) if isinstance(tokens, list) else 0
    ids = {own: file.metadata.get(f"tokenizer.ggml.{x}_token_id") for x, own in SPECIAL.items()}
    known = {own: k for own, k in ids.items() if isinstance(k, np.integer) and 0 <= k < count}
    return {own: str(tokens[k]) for own, k in known.items()} if tokens is not None else {}


def plain_json(value: Any, indent: int | None = None, **words: Any) -> str:
    """A value as JSON, without the HTML escapes of jinja2's own filter."""
    return json.dumps(value, ensure_ascii=words.pop("ensure_ascii", False), indent=indent, **words)


def refuse(message: str) -> NoReturn:
    """Raise the error that a chat template asks for."""
    raise jinja2.TemplateError(str(message))

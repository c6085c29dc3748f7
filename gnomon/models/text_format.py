"""A model's text format: the tokenizer, and the template that renders messages as text.

They are read from the model's folder or from a GGUF file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from gnomon.errors import CheckpointError, ConfigError, clipped
from gnomon.gguf.chat import TEMPLATE, rendered, special_tokens
from gnomon.gguf.file import GGUFFile, load
from gnomon.gguf.tokenization import tokenizer
from gnomon.runtime.json_files import decoded, read_text, to_json

__all__ = ["TOKENIZER", "TextFormat", "text_format", "text_format_of"]

TOKENIZER, SETTINGS = "tokenizer.json", "tokenizer_config.json"
TEMPLATES = ("chat_template.jinja", "chat_template.json")
SPECIAL = ("bos_token", "eos_token", "unk_token", "pad_token")


@dataclass(frozen=True)
class TextFormat:
    """A tokenizer, a chat template or None, and the special tokens that the template uses."""

    place: str
    """The folder or file from which it was read."""
    tokenizer: Tokenizer
    template: str | None
    special: Mapping[str, str]

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, with the special tokens that the tokenizer adds."""
        return self.tokenizer.encode(text).ids

    def chat_ids(self, messages: Sequence[Mapping[str, Any]], **variables: Any) -> list[int]:
        """The token ids of a conversation, up to where the model's answer begins.

        Raises ConfigError if there is no template, and ArgumentError if it fails.
        """
        given = {**self.special, "add_generation_prompt": True, **variables}
        text = rendered(f"chat: {self.place}", self.chat_template, messages, given)
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def files(self) -> dict[str, bytes]:
        """The tokenizer files of a model folder, by name."""
        settings: dict[str, str] = {**self.special, "tokenizer_class": "PreTrainedTokenizerFast"}
        if self.template is not None:
            settings["chat_template"] = self.template
        made = self.tokenizer.to_str()
        return {TOKENIZER: made.encode(), SETTINGS: to_json(settings)}

    @property
    def chat_template(self) -> str:
        """The chat template; raises ConfigError if there is none."""
        if self.template is None:
            raise ConfigError(
                f"chat: {self.place} has no chat template. Take a model that was trained for chats."
            )
        return self.template


def text_format(path: Path) -> TextFormat:
    """Read the text format of a model folder or a GGUF file."""
    if path.suffix == ".gguf":
        return text_format_of(load(path))
    made = read_tokenizer(path / TOKENIZER)
    settings: dict[str, Any] = {}
    if (path / SETTINGS).is_file():
        settings = decoded(path / SETTINGS, read_text(path / SETTINGS), dict[str, Any])
    named = {name: content_of(settings.get(name)) for name in SPECIAL}
    known = {name: text for name, text in named.items() if text is not None}
    return TextFormat(str(path), made, template_of(path, settings), known)


def text_format_of(file: GGUFFile) -> TextFormat:
    """The text format in a GGUF file; raises ArgumentError if its tokenizer is unknown."""
    said = file.metadata.get(TEMPLATE)
    template = said if isinstance(said, str) else None
    return TextFormat(str(file.path), tokenizer(file), template, special_tokens(file))


def read_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer.json."""
    content = read_text(path)
    try:
        return Tokenizer.from_str(content.decode("utf-8"))
    except Exception as wrong:  # the library raises nothing narrower
        raise CheckpointError(f"checkpoint: {path} is no tokenizer: {clipped(wrong)}.") from None


def template_of(path: Path, settings: Mapping[str, Any]) -> str | None:
    """The chat template in a folder's template file or tokenizer settings, or None."""
    own, older = (path / name for name in TEMPLATES)
    if own.is_file():
        return read_text(own).decode("utf-8", "replace")
    said = settings.get("chat_template")
    if older.is_file():
        said = decoded(older, read_text(older), dict[str, Any]).get("chat_template")
    if isinstance(said, list):  # several by name
        named = {x.get("name"): x.get("template") for x in said if isinstance(x, dict)}
        said = named.get("default")
    return said if isinstance(said, str) else None


def content_of(token: Any) -> str | None:
    """The text of a special token, given as a string or as a dictionary; else None."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None

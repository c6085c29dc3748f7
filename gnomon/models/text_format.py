"""The texts of a model: its tokenizer, and the template that makes one text of messages.

Both come from the model's folder, or from a GGUF file.
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
    """A tokenizer, the chat template beside it if there is one, and the tokens that it names."""

    place: str
    """The folder or file."""
    tokenizer: Tokenizer
    template: str | None
    special: Mapping[str, str]

    def ids(self, text: str) -> list[int]:
        """The tokens of a text, with those that the tokenizer adds."""
        return self.tokenizer.encode(text).ids

    def chat_ids(self, messages: Sequence[Mapping[str, Any]], **variables: Any) -> list[int]:
        """The tokens of messages, up to where the answer begins.

        Raises ConfigError where there is no template, and ArgumentError where it fails.
        """
        given = {**self.special, "add_generation_prompt": True, **variables}
        text = rendered(f"chat: {self.place}", self.chat_template, messages, given)
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def files(self) -> dict[str, bytes]:
        """The files of a folder with this format, by name."""
        settings: dict[str, str] = {**self.special, "tokenizer_class": "PreTrainedTokenizerFast"}
        if self.template is not None:
            settings["chat_template"] = self.template
        made = self.tokenizer.to_str()
        return {TOKENIZER: made.encode(), SETTINGS: to_json(settings)}

    @property
    def chat_template(self) -> str:
        """The template; without one ConfigError is raised."""
        if self.template is None:
            raise ConfigError(
                f"chat: {self.place} has no chat template. Take a model that was trained for chats."
            )
        return self.template


def text_format(path: Path) -> TextFormat:
    """The format of a folder's model, or of a GGUF file's."""
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
    """The format of a GGUF file that was read; raises ArgumentError where none is known."""
    said = file.metadata.get(TEMPLATE)
    template = said if isinstance(said, str) else None
    return TextFormat(str(file.path), tokenizer(file), template, special_tokens(file))


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a tokenizer.json."""
    content = read_text(path)
    try:
        return Tokenizer.from_str(content.decode("utf-8"))
    except Exception as wrong:  # the library raises nothing narrower
        raise CheckpointError(f"checkpoint: {path} is no tokenizer: {clipped(wrong)}.") from None


def template_of(path: Path, settings: Mapping[str, Any]) -> str | None:
    """The template of a folder: a file of its own, or among the tokenizer's settings."""
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
    """The text of a token, given as a string or as a dictionary with its settings."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None

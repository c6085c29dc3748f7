"""A model folder's other contents, such as the tokenizer and the generation config.

A model reads them with its weights and writes them again unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gnomon.models.config_fields import SAYS_NOTHING
from gnomon.runtime.files import LARGEST_TEXT, read

__all__ = ["Carried", "carried_from"]

FILES = (
    *("generation_config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt"),
    *("chat_template.jinja", "chat_template.json"),
)
OURS = frozenset({"dtype", "torch_dtype", "model_type"})
"""Fields without effect on a model's results that are written anew and not copied."""


@dataclass(frozen=True)
class Carried:
    """A model folder's other files, and fields of config.json without effect on results."""

    fields: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def carried_from(folder: Path, config: Mapping[str, object]) -> Carried:
    """Read the files beside a model and the fields of config that do not affect its results."""
    fields = {k: v for k, v in config.items() if k in SAYS_NOTHING - OURS}
    there = [name for name in FILES if (folder / name).is_file()]
    return Carried(fields, {name: read(folder / name, LARGEST_TEXT) for name in there})

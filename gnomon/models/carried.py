"""The contents of a folder beside its model: tokenizer, generation, numbers of marks.

It is read with a model and written with it, unchanged.
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
"""Fields that say nothing of a model's results and that a writer knows better."""


@dataclass(frozen=True)
class Carried:
    """Fields of config.json that say nothing of what a model computes, and files by name."""

    fields: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def carried_from(folder: Path, config: Mapping[str, object]) -> Carried:
    """The contents of a folder beside its model."""
    fields = {k: v for k, v in config.items() if k in SAYS_NOTHING - OURS}
    there = [name for name in FILES if (folder / name).is_file()]
    return Carried(fields, {name: read(folder / name, LARGEST_TEXT) for name in there})

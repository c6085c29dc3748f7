"""Read and write config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TypeVar

import msgspec

from gnomon.errors import ConfigError, clipped
from gnomon.models.config import PretrainedConfig
from gnomon.models.config_fields import refuse_other

__all__ = ["converted", "to_hugging_face"]

Converted = TypeVar("Converted", bound=PretrainedConfig)


def to_hugging_face(config: PretrainedConfig, dtype: str = "float32") -> dict[str, object]:
    """The entries of config.json for a model's config."""
    return {
        "bos_token_id": 0,
        "eos_token_id": 0,
        "initializer_range": 0.02,
        "dtype": dtype,
        "torch_dtype": dtype,
        "use_cache": True,
        **config.described,
        **config.written_fields(),
    }


def converted(found: Mapping[str, object], kind: type[Converted]) -> Converted:
    """Convert the entries of a config.json to a config of a kind, or raise ConfigError."""
    entries = kind.read_fields(dict(found))
    names = [field.name for field in fields(kind)]
    refuse_other(entries, names, str(found.get("model_type")))
    missing = [name for name in names if name not in entries and name not in kind.may_lack]
    if missing:
        raise ConfigError(f"config.json: {', '.join(missing)} must be there.")
    try:
        config = msgspec.convert({name: entries[name] for name in names if name in entries}, kind)
    except msgspec.ValidationError as wrong:
        raise ConfigError(f"config.json: {clipped(wrong)}.") from None
    if config.problem:
        raise ConfigError(f"config.json: {config.problem[0]} must be {config.problem[1]}.")
    return config

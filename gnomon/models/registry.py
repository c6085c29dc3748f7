"""The models that can be trained, by what Hugging Face's config.json calls their type.

Of each: its sizes, its class, its first weights, the names of its parameters' axes, presets. Who
trains, measures or writes asks here and names no model. What a run is beside its model is a recipe
(gnomon/train/recipes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnomon.errors import ConfigError, brief
from gnomon.models.causal import CausalLM
from gnomon.models.config import DecoderConfig, Qwen3Config
from gnomon.models.config_json import converted
from gnomon.models.decoder import AXES, DecoderForCausalLM
from gnomon.models.families import (
    Gemma3TextConfig,
    Gpt2Config,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
)
from gnomon.models.initialization import initialize
from gnomon.models.qwen3_moe import AXES as EXPERT_AXES
from gnomon.models.qwen3_moe import Qwen3MoeForCausalLM
from gnomon.models.qwen3_moe_config import PRESETS, Qwen3MoeConfig

__all__ = ["MODELS", "ModelKind", "from_hugging_face", "kind_of"]

ParameterAxes = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ModelKind:
    """A kind of model, and all that differs from others'."""

    config: type[DecoderConfig]
    model: Callable[[Any], CausalLM]
    axes: ParameterAxes
    """The end of a parameter's name -> the names of its axes (gnomon/distributed/plans.py)."""
    initialize: Callable[[CausalLM, int], None] = initialize
    """Fills a model from a seed."""
    presets: Mapping[str, DecoderConfig] = field(default_factory=dict)
    """Sizes by name."""


MODELS: dict[str, ModelKind] = {
    "qwen3": ModelKind(Qwen3Config, DecoderForCausalLM, AXES),
    "qwen2": ModelKind(Qwen2Config, DecoderForCausalLM, AXES),
    "llama": ModelKind(LlamaConfig, DecoderForCausalLM, AXES),
    "gpt2": ModelKind(Gpt2Config, DecoderForCausalLM, AXES),
    "gemma3_text": ModelKind(Gemma3TextConfig, DecoderForCausalLM, AXES),
    "mistral": ModelKind(MistralConfig, DecoderForCausalLM, AXES),
    "qwen3_moe": ModelKind(Qwen3MoeConfig, Qwen3MoeForCausalLM, EXPERT_AXES, presets=PRESETS),
}
"""Type of a model -> its kind."""


def kind_of(config: DecoderConfig) -> ModelKind:
    """The kind of a model, from its sizes.

    >>> kind_of(Qwen3Config()).model.__name__
    'DecoderForCausalLM'
    """
    return MODELS[config.model_type]


def from_hugging_face(found: Mapping[str, object]) -> DecoderConfig:
    """The sizes in a config.json; what no model here can be is refused."""
    named = found.get("model_type")
    kind = MODELS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ConfigError(
            f"config.json: model_type must be one of {', '.join(MODELS)}: got {brief(named)}."
        )
    return converted(found, kind.config)

"""The decoders that can be trained, by the `model_type` of Hugging Face's config.json.

Trainers, profilers and exporters look models up here by type. Settings of training are in recipes
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
    """A kind of decoder: config, class, parameter axes, initialization and presets."""

    config: type[DecoderConfig]
    model: Callable[[Any], CausalLM]
    axes: ParameterAxes
    """The names of each parameter's axes, by the end of the parameter's name."""
    initialize: Callable[[CausalLM, int], None] = initialize
    """Fills a model's parameters from a seed."""
    presets: Mapping[str, DecoderConfig] = field(default_factory=dict)
    """Configurations by name."""


MODELS: dict[str, ModelKind] = {
    "qwen3": ModelKind(Qwen3Config, DecoderForCausalLM, AXES),
    "qwen2": ModelKind(Qwen2Config, DecoderForCausalLM, AXES),
    "llama": ModelKind(LlamaConfig, DecoderForCausalLM, AXES),
    "gpt2": ModelKind(Gpt2Config, DecoderForCausalLM, AXES),
    "gemma3_text": ModelKind(Gemma3TextConfig, DecoderForCausalLM, AXES),
    "mistral": ModelKind(MistralConfig, DecoderForCausalLM, AXES),
    "qwen3_moe": ModelKind(Qwen3MoeConfig, Qwen3MoeForCausalLM, EXPERT_AXES, presets=PRESETS),
}
"""The kinds of models by `model_type`."""


def kind_of(config: DecoderConfig) -> ModelKind:
    """The kind of model that a config describes.

    >>> kind_of(Qwen3Config()).model.__name__
    'DecoderForCausalLM'
    """
    return MODELS[config.model_type]


def from_hugging_face(found: Mapping[str, object]) -> DecoderConfig:
    """Convert the entries of a config.json to a decoder's config, or raise ConfigError."""
    named = found.get("model_type")
    kind = MODELS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ConfigError(
            f"config.json: model_type must be one of {', '.join(MODELS)}: got {brief(named)}."
        )
    return converted(found, kind.config)

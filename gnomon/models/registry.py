"""The models that can be trained, by what Hugging Face's config.json calls their type.

Of each: its sizes, its class, its first weights, the names of its parameters' axes, presets. Who
trains, measures or writes asks here and names no model. What a run is beside its model is a recipe
(gnomon/train/recipes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import msgspec

from gnomon.errors import ConfigError, brief, clipped
from gnomon.models.causal import CausalLM
from gnomon.models.config import DecoderConfig, Qwen3Config
from gnomon.models.initialization import initialize
from gnomon.models.qwen3 import AXES, Qwen3ForCausalLM
from gnomon.models.qwen3_moe import AXES as EXPERT_AXES
from gnomon.models.qwen3_moe import Qwen3MoeForCausalLM
from gnomon.models.qwen3_moe_config import PRESETS, Qwen3MoeConfig

__all__ = ["MODELS", "ModelKind", "from_hugging_face", "kind_of", "to_hugging_face"]

AxisNames = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ModelKind:
    """A kind of model, and all that differs from others'."""

    config: type[DecoderConfig]
    model: Callable[[Any], CausalLM]
    axes: AxisNames
    """The end of a parameter's name -> the names of its axes (gnomon/distributed/plans.py)."""
    described: Mapping[str, object]
    """What config.json says of it beside its sizes."""
    initialize: Callable[[CausalLM, int], None] = initialize
    """Fills a model from a seed."""
    presets: Mapping[str, DecoderConfig] = field(default_factory=dict)
    """Sizes by name."""
    ours: frozenset[str] = frozenset()
    """Fields that config.json may lack, since they are no one else's."""


MODELS: dict[str, ModelKind] = {
    "qwen3": ModelKind(
        config=Qwen3Config,
        model=Qwen3ForCausalLM,
        axes=AXES,
        described={"architectures": ["Qwen3ForCausalLM"], "tie_word_embeddings": True},
    ),
    "qwen3_moe": ModelKind(
        config=Qwen3MoeConfig,
        model=Qwen3MoeForCausalLM,
        axes=EXPERT_AXES,
        described={
            "architectures": ["Qwen3MoeForCausalLM"],
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
        },
        presets=PRESETS,
        ours=frozenset({"router_bias_rate"}),
    ),
}
"""Type of a model -> its kind."""


def kind_of(config: DecoderConfig) -> ModelKind:
    """The kind of a model, from its sizes.

    >>> kind_of(Qwen3Config()).model.__name__
    'Qwen3ForCausalLM'
    """
    return next(kind for kind in MODELS.values() if type(config) is kind.config)


def to_hugging_face(config: DecoderConfig) -> dict[str, object]:
    """The contents of config.json."""
    return {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "torch_dtype": "float32",
        "use_cache": True,
        "use_sliding_window": False,
        **kind_of(config).described,
        **asdict(config),
    }


def from_hugging_face(found: Mapping[str, object]) -> DecoderConfig:
    """The sizes in a config.json; what no model here can be is refused."""
    named = found.get("model_type")
    kind = MODELS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ConfigError(
            f"config.json: model_type must be one of {', '.join(MODELS)}: got {brief(named)}."
        )
    refuse_other(found, kind)
    names = [field.name for field in fields(kind.config) if field.name in found]
    try:
        config = msgspec.convert({name: found[name] for name in names}, kind.config)
    except msgspec.ValidationError as wrong:
        raise ConfigError(f"config.json: {clipped(wrong)}.") from None
    if config.problem:
        raise ConfigError(f"config.json: {config.problem[0]} must be {config.problem[1]}.")
    return config


def refuse_other(found: Mapping[str, object], kind: ModelKind) -> None:
    """Stop at what this kind of model is not, and at sizes that are not told."""
    wanted = {k: v for k, v in kind.described.items() if k != "architectures"}
    for name, value in wanted.items():
        if found.get(name) != value:
            came = brief(found.get(name))
            raise ConfigError(f"config.json: {name} must be {value!r}: got {came}.")
    known = {*found, *kind.ours}
    missing = [field.name for field in fields(kind.config) if field.name not in known]
    if missing:
        raise ConfigError(f"config.json: {', '.join(missing)} must be there.")

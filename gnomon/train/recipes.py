"""Complete configurations by name; `gnomon train NAME` runs one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from gnomon.errors import LONGEST, ConfigError
from gnomon.models.config import DecoderConfig, Qwen3Config
from gnomon.models.pretrained import pretrained_config
from gnomon.models.qwen3_moe_config import PRESETS, Qwen3MoeConfig
from gnomon.train.config import (
    Config,
    CorpusConfig,
    EvaluationConfig,
    OptimizerConfig,
    RunConfig,
    SampleConfig,
    ScheduleConfig,
    TrainConfig,
    build,
    near,
    overridden,
    read_toml,
    to_dict,
)

__all__ = ["RECIPES", "configure", "python", "qwen3_moe", "tiny", "tiny_moe"]


def python() -> Config:
    """Learn Python in under five minutes on two slow cores (docs/log/2026-11-16.md: how)."""
    return Config(
        run=RunConfig(name="python"),
        corpus=CorpusConfig(),
        model=Qwen3Config(
            vocab_size=4096,
            hidden_size=128,
            intermediate_size=320,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=256,
        ),
        optimizer=OptimizerConfig(learning_rate=1.5e-3, embedding_factor=24.0),
        schedule=ScheduleConfig(steps=2500, warmup_steps=20, decay_fraction=0.5),
        train=TrainConfig(
            steps=2500,
            batch_size=4,
            sequence_length=256,
            evaluate_every=250,
            checkpoint_every=500,
        ),
        evaluation=EvaluationConfig(batch_size=8, stride=128, quick_windows=64),
        sample=SampleConfig(),
    )


def tiny() -> Config:
    """A tiny model that trains in seconds; it learns little."""
    return Config(
        run=RunConfig(name="tiny"),
        corpus=CorpusConfig(held_out_percent=2),
        model=Qwen3Config(
            vocab_size=512,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=128,
        ),
        optimizer=OptimizerConfig(learning_rate=1.5e-3, embedding_factor=24.0),
        schedule=ScheduleConfig(steps=40, warmup_steps=5),
        train=TrainConfig(
            steps=40, batch_size=4, sequence_length=64, evaluate_every=20, checkpoint_every=20
        ),
        evaluation=EvaluationConfig(batch_size=16, stride=64, quick_windows=16),
        sample=SampleConfig(max_new_tokens=40),
    )


def qwen3_moe() -> Config:
    """The recipe "python" with experts: as many multiplications per token, more weights."""
    dense = python()
    sizes = {field.name: getattr(dense.model, field.name) for field in fields(DecoderConfig)}
    model = Qwen3MoeConfig(**sizes, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=160)
    return replace(dense, run=RunConfig(name="qwen3-moe"), model=model)


def tiny_moe() -> Config:
    """The recipe "tiny" with experts."""
    dense = tiny()
    return replace(dense, run=RunConfig(name="tiny-moe"), model=PRESETS["debug"])


RECIPES: dict[str, Callable[[], Config]] = {
    "python": python,
    "qwen3-moe": qwen3_moe,
    "tiny": tiny,
    "tiny-moe": tiny_moe,
}


def configure(recipe: str, changes: list[str]) -> Config:
    """The configuration of a recipe or a TOML file, with `a.b=c` changes.

    A file may name a recipe, such as `recipe = "python"`, and change parts of it.
    """
    path = Path(recipe)
    if path.suffix == ".toml":
        try:
            return build(with_first_model(overridden(from_file(path), changes), changes))
        except ConfigError as wrong:
            if str(path) in str(wrong):
                raise
            raise ConfigError(f"{path}: {wrong}") from None
    return build(with_first_model(overridden(to_dict(config_named(recipe)), changes), changes))


def with_first_model(found: dict[str, Any], changes: list[str]) -> dict[str, Any]:
    """Add the model configuration of `train.init_from` to a configuration.

    `--set model.…` in `changes` overrides it; the model of a recipe does not.
    """
    train = found.get("train")
    folder = train.get("init_from") if isinstance(train, dict) else None
    if folder is None:
        return found
    model = asdict(pretrained_config(Path(str(folder))))
    own = overridden({}, [x for x in changes if x.startswith("model.")]).get("model", {})
    return found | {"model": model | own}


def config_named(recipe: str) -> Config:
    """The configuration of a recipe, by name."""
    if recipe not in RECIPES:
        raise ConfigError(
            f"train: {recipe[:LONGEST]} is neither a recipe nor a .toml file: "
            f"{near(recipe, RECIPES)}"
        )
    return RECIPES[recipe]()


def from_file(path: Path) -> dict[str, Any]:
    """The dictionaries of a TOML file, merged over the recipe that it names."""
    found = read_toml(path)
    base = found.pop("recipe", None)
    if base is None:
        return found
    merged: dict = to_dict(config_named(str(base)))
    for group, values in found.items():
        known = isinstance(values, dict) and group in merged
        merged[group] = {**merged[group], **values} if known else values
    return merged

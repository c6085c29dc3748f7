"""The configuration of a run, from a recipe, a TOML file and `--set a.b=c`.

A wrong value names its path, what came and what is allowed. Recipes are in recipes.py.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

from gnomon.errors import LONGEST, ConfigError, brief, clipped
from gnomon.models.config import DecoderConfig, Qwen3Config
from gnomon.models.registry import MODELS
from gnomon.runtime.files import read

__all__ = ["Config", "build", "keys", "near", "overridden", "read_toml", "to_dict"]

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Size = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]
NotNegative = Annotated[float, Meta(ge=0, le=1e30)]
Place = Annotated[str, Meta(pattern=r"^[^\x00]*\Z", max_length=4000)]
Name = Annotated[str, Meta(pattern=r"^\w[\w .+-]*\Z", max_length=100)]
LARGEST_RECIPE = 1 << 20
FIRST = "qwen3"
"""The model where none is named."""
Fraction = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The folder of a run, and its seed."""

    name: Name = "run"
    dir: Place | None = None
    """The run's folder; none: runs/NAME-DATE."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """Everything random follows from it: first weights, order of the text, samples."""
    threads: Count = 0
    """Threads that compute; 0 means one per usable core. The bits do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """The corpus: the files to read."""

    folder: Place | None = None
    """A folder of Python files; none: the standard library of the running interpreter."""
    held_out_percent: Annotated[int, Meta(ge=1, le=50)] = 5
    """Files never learned from, chosen by a hash of their path."""


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW, with a rate of its own for the embedding."""

    learning_rate: Positive = 3e-3
    embedding_factor: Positive = 1.0
    """The embedding's learning rate as a multiple of the others'."""
    beta1: Fraction = 0.9
    beta2: Fraction = 0.95
    eps: Positive = 1e-8
    weight_decay: NotNegative = 0.1
    """Of matrices; the embedding and norm weights do not decay."""
    clip_norm: Positive = 1.0
    """Gradients are scaled down to this norm."""


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """The learning rate over time: up, flat, down, each along a line."""

    steps: Count = 0
    """Its length; a longer run stretches it, a shorter one stops inside it."""
    warmup_steps: Count = 20
    decay_fraction: Fraction = 0.5
    """The last part of the steps, in which the rate falls."""
    final_factor: Fraction = 0.0
    """Where it falls to, as a part of the full rate."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training: its length, its batch, and what is kept on the way."""

    init_from: Place | None = None
    """A folder of a model that others wrote: its sizes, weights and tokenizer come from there."""
    steps: Size = 500
    batch_size: Size = 8
    """Sequences in a step."""
    microbatches: Size = 1
    """In how many parts a rank computes them, one after the other: a power of two; memory falls,
    and no bit changes."""
    recompute: bool = False
    """Gradients recompute each layer instead of keeping what it computed: memory falls, steps
    are slower, and no bit changes."""
    sequence_length: Size = 256
    """Tokens in a sequence."""
    evaluate_every: Count = 100
    """Steps between looks at held-out text; 0: only at the end."""
    checkpoint_every: Count = 200
    """Steps between checkpoints; 0: only at the end."""
    keep_checkpoints: Size = 2
    record_hashes: bool = False
    """Keep a hash of every value that a step computes, for `gnomon diverge`; steps are slower."""
    compare_replicas_every: Count = 50
    """Steps between comparisons of parameters that several ranks hold alike; each checkpoint
    follows one; 0: never."""

    verify_every: Count = 0
    """Steps between gradients of a microbatch that are computed twice, by other cores and ranks,
    and compared: for runs without replicas; 0: never."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """The measurement of held-out text."""

    batch_size: Size = 8
    stride: Size = 128
    """Tokens counted in each window; those before them are context only."""
    quick_windows: Size = 64
    """Windows of a look on the way; the end measures every byte."""


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """The sample that the model writes at the end."""

    prompt: str = "import os\n\n\ndef"
    max_new_tokens: Count = 120
    temperature: NotNegative = 0.8
    top_k: Count = 40
    """How many of the likeliest tokens may be drawn; 0: all."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that a run depends on."""

    run: RunConfig = field(default_factory=RunConfig)
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    model: DecoderConfig = field(default_factory=Qwen3Config)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)


def to_dict(config: Config) -> dict[str, dict[str, object]]:
    """A configuration as nested dictionaries.

    >>> build(to_dict(Config())) == Config()
    True
    """
    return asdict(config)


def keys() -> str:
    """Every key that `--set` takes, with what it is where nothing is said, a line per group."""
    listed = to_dict(Config())
    return "\n".join(
        f"{group}: {', '.join(f'{name}={value!r}' for name, value in values.items())}"
        for group, values in listed.items()
    )


def build(found: Mapping[str, object]) -> Config:
    """A checked configuration out of nested dictionaries.

    >>> build({"train": {"steps": 3}}).train.steps
    3
    """
    kind = model_kind(found.get("model", {}))
    refuse_unknown({k: v for k, v in found.items() if k != "model"}, Config, ())
    refuse_unknown(found.get("model"), kind, ("model",))
    part = msgspec.defstruct("Part", [("model", kind)])
    try:
        model = msgspec.convert({"model": found.get("model", {})}, part).model
        others = {name: value for name, value in found.items() if name != "model"}
        config = replace(msgspec.convert(others, Config), model=model)
    except msgspec.ValidationError as wrong:
        raise ConfigError(explain(str(wrong), found)) from None
    refuse_unfit(config)
    return config


def model_kind(found: object) -> type[DecoderConfig]:
    """The class of a model's sizes, which `model_type` tells.

    >>> model_kind({"model_type": "qwen4"})
    Traceback (most recent call last):
    gnomon.errors.ConfigError: config: model.model_type: expected one of qwen3, ...: got 'qwen4'.
    """
    named = found.get("model_type", FIRST) if isinstance(found, Mapping) else FIRST
    if not isinstance(named, str) or named not in MODELS:
        allowed = ", ".join(MODELS)
        raise ConfigError(
            f"config: model.model_type: expected one of {allowed}: got {brief(named)}."
        )
    return MODELS[named].config


def refuse_unknown(found: object, kind: type, path: tuple[str, ...]) -> None:
    """Stop at the first key that no field of the dataclass is called."""
    if not is_dataclass(kind) or not isinstance(found, Mapping):
        return
    hints = get_type_hints(kind)
    kinds = {each.name: hints[each.name] for each in fields(kind)}
    for name, value in found.items():
        if name not in kinds:
            dotted = ".".join((*path, str(name)[:LONGEST]))
            raise ConfigError(f"config: {dotted} is not a key: {near(name, kinds)}")
        refuse_unknown(value, kinds[name], (*path, name))


def near(name: str, allowed: Iterable[str]) -> str:
    """The nearest allowed words, or else all of them.

    >>> near("step", ["steps", "seed"])
    'did you mean steps? Allowed: seed, steps.'
    """
    name, names = str(name)[:LONGEST], sorted(allowed)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}Allowed: {', '.join(names)}."


def explain(message: str, found: Mapping[str, object]) -> str:
    """A sentence with path, value and what is allowed, out of what msgspec says.

    >>> explain("Expected `int` >= 1 - at `$.train.steps`", {"train": {"steps": 0}})
    'config: train.steps: expected int >= 1: got 0.'
    """
    wanted, _, place = message.partition(" - at ")
    path = place.strip("`$.").split(".") if place else []
    value: object = found
    for name in path:
        value = value.get(name, value) if isinstance(value, Mapping) else value
    wanted = re.sub(r", got .*", "", wanted).replace("`", "").removeprefix("Expected ")
    return f"config: {'.'.join(path) or 'the whole'}: expected {wanted}: got {brief(value)}."


def refuse_unfit(config: Config) -> None:
    """Stop when two values that are right alone do not fit each other."""
    length, longest = config.train.sequence_length, config.model.max_position_embeddings
    unfit = config.model.problem
    if unfit:
        value = getattr(config.model, unfit[0])
        raise ConfigError(f"config: model.{unfit[0]}: expected {unfit[1]}: got {value}.")
    for name in ("attention_dropout", "resid_pdrop", "embd_pdrop"):
        if getattr(config.model, name):
            raise ConfigError(
                f"config: model.{name}: expected 0, since runs drop nothing: "
                f"got {getattr(config.model, name)}. Say --set model.{name}=0."
            )
    if length > longest:
        raise ConfigError(
            "config: train.sequence_length: expected at most model.max_position_embeddings "
            f"({longest}): got {length}."
        )
    if config.evaluation.stride > length:
        raise ConfigError(
            f"config: evaluation.stride: expected at most train.sequence_length ({length}): "
            f"got {config.evaluation.stride}."
        )


def overridden(found: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """The dictionaries with `a.b=c` changes made; the value is read as TOML, or else as text.

    >>> overridden({"train": {"steps": 3}}, ["train.steps=5"])
    {'train': {'steps': 5}}
    """
    changed: dict = {
        name: dict(group) if isinstance(group, Mapping) else group for name, group in found.items()
    }
    for change in changes:
        refuse_unwritable(change)
        path, equals, text = change.partition("=")
        group, dot, name = path.strip().partition(".")
        if not (equals and dot and group and name):
            raise ConfigError(f"--set: expected GROUP.NAME=VALUE: got {brief(change)}.")
        groups = [section.name for section in fields(Config)]
        if group not in groups:
            raise ConfigError(f"--set: {group[:LONGEST]} is not a group: {near(group, groups)}")
        held = changed.setdefault(group, {})
        if not isinstance(held, dict):
            raise ConfigError(f"config: {group}: expected object: got {brief(held)}.")
        held[name] = value_of(text.strip())
    return changed


def refuse_unwritable(change: str) -> None:
    """Stop at what came from the command line and is no text."""
    try:
        change.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"--set: expected UTF-8: got {brief(change)}.") from None


def value_of(text: str) -> object:
    """A value as TOML reads it; text that is no TOML value stands for itself.

    >>> value_of("1e-3"), value_of("runs/one"), value_of("none")
    (0.001, 'runs/one', None)
    """
    if text == "none":
        return None
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a configuration file."""
    try:
        return tomllib.loads(read(path, LARGEST_RECIPE).decode("utf-8"))
    except (OSError, ValueError, RecursionError) as wrong:
        raise ConfigError(f"config: {path} cannot be read: {clipped(wrong)}.") from None

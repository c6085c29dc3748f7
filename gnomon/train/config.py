"""The configuration of a run, from a recipe, a TOML file and `--set a.b=c`.

An error about a value names its path, the value and the allowed ones. Recipes are in recipes.py.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from gnomon.errors import LONGEST, ConfigError, brief, clipped
from gnomon.models.config import DecoderConfig, Qwen3Config
from gnomon.models.registry import MODELS
from gnomon.runtime.files import read

__all__ = ["Config", "build", "keys", "near", "overridden", "read_toml", "to_dict"]

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
PositiveCount = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]
NotNegative = Annotated[float, Meta(ge=0, le=1e30)]
PathText = Annotated[str, Meta(pattern=r"^[^\x00]*\Z", max_length=4000)]
RunName = Annotated[str, Meta(pattern=r"^\w[\w .+-]*\Z", max_length=100)]
LARGEST_RECIPE = 1 << 20
FIRST = "qwen3"
"""The default model."""
Fraction = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The folder of a run, and its seed."""

    name: RunName = "run"
    dir: PathText | None = None
    """The run's folder; none: runs/NAME-DATE."""
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0
    """Random seed of initial weights, the order of the text and samples."""
    threads: Count = 0
    """Number of compute threads; 0: one per usable core. The results have the same bits."""
    device: Literal["cpu", "cuda"] = "cpu"
    """The device that computes: "cpu", or "cuda" for the card, by one rank (docs/cuda.md)."""


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """The corpus: the files to read."""

    folder: PathText | None = None
    """A folder of Python files; none: the standard library of the running interpreter."""
    held_out_percent: Annotated[int, Meta(ge=1, le=50)] = 5
    """Percentage of files that are held out of training, chosen by a hash of their path."""


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW, with a separate learning rate for the embedding."""

    learning_rate: Positive = 3e-3
    embedding_factor: Positive = 1.0
    """The embedding's learning rate as a multiple of the others'."""
    beta1: Fraction = 0.9
    beta2: Fraction = 0.95
    eps: Positive = 1e-8
    weight_decay: NotNegative = 0.1
    """Weight decay of matrices; embeddings and norm weights do not decay."""
    clip_norm: Positive = 1.0
    """Gradients are clipped to this global norm."""


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """The learning-rate schedule: linear warmup, constant rate, linear decay."""

    steps: Count = 0
    """Length of the schedule; a longer run stretches it, a shorter one ends before its end."""
    warmup_steps: Count = 20
    decay_fraction: Fraction = 0.5
    """Fraction of the steps, at the end, in which the rate decays."""
    final_factor: Fraction = 0.0
    """Final learning rate, as a fraction of the peak."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Training: length, batch size, checkpoints and checks."""

    init_from: PathText | None = None
    """A Hugging Face folder: architecture, weights and tokenizer are read from it."""
    steps: PositiveCount = 500
    batch_size: PositiveCount = 8
    """Sequences in a step."""
    microbatches: PositiveCount = 1
    """Gradient-accumulation steps of each rank, a power of two: less memory, the same bits."""
    recompute: bool = False
    """Activation checkpointing: the backward pass recomputes each layer. Less memory, slower steps,
    the same bits."""
    sequence_length: PositiveCount = 256
    """Tokens in a sequence."""
    evaluate_every: Count = 100
    """Steps between evaluations on held-out text; 0: only at the end."""
    checkpoint_every: Count = 200
    """Steps between checkpoints; 0: only at the end."""
    keep_checkpoints: PositiveCount = 2
    record_hashes: bool = False
    """Record a hash of every value of each step, for `gnomon diverge`; steps are slower."""
    compare_replicas_every: Count = 50
    """Steps between comparisons of replicated parameters across ranks, also made before each
    checkpoint; 0: never."""

    verify_every: Count = 0
    """Steps between checks that compute the gradient of a microbatch a second time, on other cores
    and ranks, and compare the bits: for runs without replicas; 0: never."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """The measurement of held-out text."""

    batch_size: PositiveCount = 8
    stride: PositiveCount = 128
    """Tokens counted in each window; those before them are context only."""
    quick_windows: PositiveCount = 64
    """Windows of text in an evaluation during training; the one at the end covers every byte."""


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """The sample text that the model generates at the end."""

    prompt: str = "import os\n\n\ndef"
    max_new_tokens: Count = 120
    temperature: NotNegative = 0.8
    top_k: Count = 40
    """Sample from the K most probable tokens only; 0: from all."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The whole configuration of a run."""

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
    """The text of all keys of `--set` with their defaults, a line per group."""
    listed = to_dict(Config())
    return "\n".join(
        f"{group}: {', '.join(f'{name}={value!r}' for name, value in values.items())}"
        for group, values in listed.items()
    )


def build(found: Mapping[str, object]) -> Config:
    """The configuration from nested dictionaries, checked.

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
    """The class of a model's configuration, by its `model_type`.

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
    """Refuse keys that are no fields of a dataclass, in nested dictionaries too."""
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
    """A hint for a misspelled name: the closest allowed one, and all allowed ones.

    >>> near("step", ["steps", "seed"])
    'did you mean steps? Allowed: seed, steps.'
    """
    name, names = str(name)[:LONGEST], sorted(allowed)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}Allowed: {', '.join(names)}."


def explain(message: str, found: Mapping[str, object]) -> str:
    """Rewrite an error of msgspec as a sentence with path, value and allowed values.

    >>> explain("Expected `int` >= 1 - at `$.train.steps`", {"train": {"steps": 0}})
    'config: train.steps: expected int >= 1: got 0.'
    """
    wanted, _, place = message.partition(" - at ")
    path = place.strip("`$.").split(".") if place else []
    value: object = found
    for name in re.split(r"[.\[]", ".".join(path)):
        if isinstance(value, Mapping):
            value = value.get(name, value)
        elif isinstance(value, list) and name[:-1].isdecimal():
            value = value[int(name[:-1])]
    wanted = re.sub(r", got .*", "", wanted).replace("`", "").removeprefix("Expected ")
    if wanted.startswith("Invalid enum value"):
        wanted = f"one of {', '.join(map(repr, choices(path, found)))}"
    return f"config: {'.'.join(path) or 'the whole'}: expected {wanted}: got {brief(value)}."


def choices(path: Sequence[str], found: Mapping[str, object]) -> list[object]:
    """The allowed values of a field of type Literal; empty for others."""
    of_model = list(path[:1]) == ["model"]
    kind: Any = model_kind(found.get("model", {})) if of_model else Config
    for name in path[of_model:]:
        kind = get_type_hints(kind)[name.partition("[")[0]]
    waiting, allowed = [kind], list[object]()
    while waiting:
        each = waiting.pop(0)
        (allowed if get_origin(each) is Literal else waiting).extend(get_args(each))
    return allowed


def refuse_unfit(config: Config) -> None:
    """Refuse values of a configuration that do not fit each other."""
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
    """The dictionaries with `a.b=c` changes; c is parsed as TOML, or else taken as text.

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
    """Refuse a command-line text that is not UTF-8."""
    try:
        change.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"--set: expected UTF-8: got {brief(change)}.") from None


def value_of(text: str) -> object:
    """The TOML value of a text; None for "none", and the text itself if it is no TOML.

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

"""Map old and new field names of config.json to one form, and refuse unsupported fields.

A field that says nothing of what a model computes is left; one that no model here has must be at
its neutral value, or it is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gnomon.errors import ConfigError, brief, clipped

__all__ = ["SAYS_NOTHING", "gathered_rope", "refuse_other", "windows"]

SAYS_NOTHING = frozenset(
    {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"}
    | {"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "tokenizer_class"}
    | {"cache_implementation", "gradient_checkpointing", "initializer_range", "use_cache"}
    | {"output_attentions", "output_hidden_states", "output_router_logits", "return_dict"}
    | {"finetuning_task", "id2label", "label2id", "model_type", "problem_type"}
    | {"classifier_dropout", "task_specific_params", "_sliding_window_pattern"}
    | {"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type"}
    | {"summary_use_proj", "n_ctx"}
)
"""Fields of config.json that do not affect a model's results."""
NEUTRAL: Mapping[str, object] = {
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "partial_rotary_factor": 1.0,
    "position_embedding_type": "absolute",
    "pretraining_tp": 1,
    "rope_parameters.partial_rotary_factor": 1.0,
    "rope_parameters.truncate": True,
    "scale_attn_weights": True,
    "tie_encoder_decoder": False,
}
"""Fields that must have the given value, since no model here implements another."""
EMPTY = (None, False, 0, "", [], {})
"""Values with which an unknown field counts as absent."""
ROPES = ("default", "linear", "llama3", "yarn")


def refuse_other(found: Mapping[str, object], known: Iterable[str], named: str) -> None:
    """Raise ConfigError at an unknown field of config.json unless its value has no effect."""
    for name in sorted({*found} - {*known} - SAYS_NOTHING):
        value = found[name]
        if name in NEUTRAL and value != NEUTRAL[name]:
            raise ConfigError(
                f"config.json: {name} must be {NEUTRAL[name]!r} in {named}: got {brief(value)}."
            )
        if name not in NEUTRAL and value not in EMPTY:
            raise ConfigError(
                f"config.json: {clipped(name)} is not implemented for {named}: got {brief(value)}. "
                "Take a model without it."
            )


def gathered_rope(found: dict[str, object]) -> dict[str, object]:
    """Replace a config's rotary fields, old or new, by `rope_theta` and `rope_scaling`.

    Current files have both in `rope_parameters`.

    >>> gathered_rope({"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}})
    {'rope_theta': 1000000.0, 'rope_scaling': None}
    """
    others = {k: v for k, v in found.items() if not k.startswith("rope_")}
    entries = found.get("rope_parameters") or found.get("rope_scaling") or {}
    if not isinstance(entries, Mapping):
        raise ConfigError(f"config.json: rope_parameters must be an object: got {brief(entries)}.")
    entries = dict(entries)
    kind = entries.pop("rope_type", entries.get("type", "default"))
    entries.pop("type", None)
    if kind not in ROPES:
        raise ConfigError(
            "config.json: rope_parameters.rope_type must be one of "
            f"{', '.join(ROPES)}: got {brief(kind)}."
        )
    theta = entries.pop("rope_theta", found.get("rope_theta"))
    if theta is not None:
        others["rope_theta"] = theta
    scaling = scaling_of(kind, entries, found.get("max_position_embeddings"))
    return {**others, "rope_scaling": scaling}


def scaling_of(kind: object, entries: dict[str, object], longest: object) -> dict | None:
    """The `rope_scaling` entries of a kind of scaling, or None for "default"."""
    names = {"factor", "attention_factor", "original_max_position_embeddings"}
    names |= {"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow"}
    dotted = {f"rope_parameters.{k}": v for k, v in entries.items() if k not in names}
    refuse_other(dotted, (), "models with rotary positions")
    if kind == "default":
        return None
    if kind != "linear":
        entries.setdefault("original_max_position_embeddings", longest)
    return {"rope_type": kind, **{k: v for k, v in entries.items() if k in names and v is not None}}


def windows(found: dict[str, object], first: object = 0) -> dict[str, object]:
    """Replace a config's window fields by `sliding_window` and `layer_types`.

    first: the first layer with a window, if neither `layer_types` nor `max_window_layers` is given.

    >>> windows({"sliding_window": 8, "num_hidden_layers": 2}, 1)["layer_types"]
    ['full_attention', 'sliding_attention']
    """
    others = {**found}
    used, first = others.pop("use_sliding_window", True), others.pop("max_window_layers", first)
    size, layers = others.get("sliding_window") if used else None, others.get("num_hidden_layers")
    kinds = others.get("layer_types")
    if size is None:
        refuse_windows(kinds)
    elif kinds is None and isinstance(layers, int) and isinstance(first, int):
        kinds = [f"{'sliding' if k >= first else 'full'}_attention" for k in range(layers)]
    if size is None or (isinstance(kinds, list) and kinds and are_full(kinds)):
        size = kinds = None
    return {**others, "sliding_window": size, "layer_types": kinds}


def are_full(kinds: list) -> bool:
    """Whether all layers have full attention."""
    return all(kind == "full_attention" for kind in kinds)


def refuse_windows(kinds: object) -> None:
    """Raise ConfigError if a layer has a window although `sliding_window` is not given."""
    if isinstance(kinds, list) and not are_full(kinds):
        raise ConfigError(
            f"config.json: layer_types must be full_attention without a sliding_window: got "
            f"{brief(kinds)}."
        )

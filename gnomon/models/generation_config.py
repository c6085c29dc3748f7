"""Generation settings under Hugging Face's names, from files and from calls."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gnomon.errors import ConfigError, brief, clipped
from gnomon.models.carried import Carried

__all__ = ["GenerationConfig", "generation_config"]

FILE = "generation_config.json"
TokenCount = Annotated[int, Meta(ge=0, le=1 << 24)]
TokenId = Annotated[int, Meta(ge=0, le=1 << 24)]
Share = Annotated[float, Meta(ge=0, le=1)]
TOKENS = ("eos_token_id", "pad_token_id")
"""Fields that older folders have in config.json."""
SAYS_NOTHING = frozenset(
    {"bos_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config"}
    | {"cache_implementation", "cache_config", "use_cache", "return_dict_in_generate"}
    | {"output_attentions", "output_hidden_states", "output_logits", "output_scores"}
    | {"length_penalty", "early_stopping", "diversity_penalty", "num_beam_groups"}
    | {"num_assistant_tokens", "num_assistant_tokens_schedule", "assistant_confidence_threshold"}
    | {"assistant_lookbehind", "target_lookbehind", "is_assistant", "trust_remote_code"}
    | {"disable_compile", "compile_config", "low_memory", "chat_format"}
)
"""Fields that do not affect which tokens are generated here."""
NEUTRAL: Mapping[str, object] = {
    "num_beams": 1,
    "num_return_sequences": 1,
    "typical_p": 1.0,
    "encoder_repetition_penalty": 1.0,
    "max_matching_ngram_size": None,
}
"""Values with which unsupported fields have no effect, beside empty values."""
EMPTY = (None, False, 0, "", [], {}, ())


@dataclass(frozen=True, kw_only=True)
class GenerationConfig:
    """Settings of sampling, length and stopping, with transformers' names and defaults."""

    max_new_tokens: TokenCount | None = None
    max_length: TokenCount | None = None
    """The maximum number of tokens, prompt included; ignored if `max_new_tokens` is given."""
    do_sample: bool = False
    """Whether tokens are sampled; if not, the most likely one is taken."""
    temperature: Annotated[float, Meta(gt=0, le=1e30)] = 1.0
    top_k: TokenCount | None = 50
    """Sample among this many of the most likely tokens; 0 or None means all."""
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Sample among the most likely tokens whose probabilities sum to this."""
    min_p: Share | None = None
    """Sample among tokens at least this fraction as likely as the most likely one."""
    repetition_penalty: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """The factor that lowers the scores of tokens that occurred already; 1 means none."""
    eos_token_id: TokenId | tuple[TokenId, ...] | None = None
    """The token or tokens that end a text."""
    pad_token_id: TokenId | None = None
    """The token that fills rows that have ended; None means the first of `eos_token_id`."""
    stop_strings: str | tuple[str, ...] | None = None

    @property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end a text, as a tuple."""
        found = self.eos_token_id
        return () if found is None else (found,) if isinstance(found, int) else found

    @property
    def stops(self) -> tuple[str, ...]:
        """The strings that end a text, as a tuple."""
        found = self.stop_strings
        return () if found is None else (found,) if isinstance(found, str) else found

    @property
    def padding(self) -> int:
        """The token that fills rows that have ended."""
        return self.pad_token_id if self.pad_token_id is not None else [*self.ends, 0][0]

    def most_new(self, read: int) -> int:
        """The maximum number of new tokens after a prompt of `read` tokens, by default 20."""
        if self.max_new_tokens is not None:
            return self.max_new_tokens
        return 20 if self.max_length is None else max(self.max_length - read, 0)


def generation_config(carried: Carried, options: Mapping[str, Any]) -> GenerationConfig:
    """Read a folder's generation_config.json, with a call's options taking precedence.

    >>> generation_config(Carried({"eos_token_id": [3, 4]}), {"max_new_tokens": 2}).ends
    (3, 4)
    """
    content = carried.files.get(FILE, b"{}")
    try:
        stored = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise ConfigError(f"{FILE}: it is no JSON object: {clipped(wrong)}.") from None
    tokens = {k: carried.fields[k] for k in TOKENS if k in carried.fields}
    defaults = implemented_fields(FILE, tokens | {k: v for k, v in stored.items() if v is not None})
    given = implemented_fields("generate", dict(options))
    if "max_new_tokens" not in given and "max_length" in given:
        defaults.pop("max_new_tokens", None)
    return config_of("generate" if given else FILE, defaults | given)


def implemented_fields(place: str, found: dict[str, Any]) -> dict[str, Any]:
    """The fields that are implemented; ConfigError if another one would change the tokens."""
    known = {field.name for field in fields(GenerationConfig)}
    for name in sorted({*found} - known - SAYS_NOTHING):
        if found[name] not in EMPTY and found[name] != NEUTRAL.get(name):
            raise ConfigError(
                f"{place}: {name} is not implemented: got {brief(found[name])}. Leave it out."
            )
    chosen = {name: plain_value(found[name]) for name in found if name in known}
    config_of(place, chosen)
    return chosen


def plain_value(value: Any) -> Any:
    """Convert NumPy scalars to Python numbers and lists to tuples."""
    if isinstance(value, list | tuple):
        return tuple(plain_value(x) for x in value)
    if hasattr(value, "dtype"):
        return operator.index(value) if hasattr(value, "__index__") else value.item()
    return value


def config_of(place: str, entries: Mapping[str, Any]) -> GenerationConfig:
    """Convert entries to a GenerationConfig, or raise ConfigError."""
    try:
        return msgspec.convert(entries, GenerationConfig)
    except msgspec.ValidationError as wrong:
        raise ConfigError(f"{place}: {clipped(wrong)}.") from None

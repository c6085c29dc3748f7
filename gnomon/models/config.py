"""The sizes of decoders, under Hugging Face's names.

Which models there are, and config.json, is registry.py's business; sizes of a model with experts
are in qwen3_moe_config.py. How a run is trained is not here: gnomon/train/config.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gnomon.errors import ConfigError
from gnomon.models.config_fields import gathered_rope, windows
from gnomon.models.expert_files import by_expert, stacked
from gnomon.models.rotary import RopeScaling
from gnomon.runtime.buffer import memory_limit
from gnomon.tensor.device import META, default_device

__all__ = [
    "ActivationName",
    "DecoderConfig",
    "DenseConfig",
    "Positive",
    "PretrainedConfig",
    "Probability",
    "Qwen3Config",
    "SLIDING",
    "Size",
    "flops_per_token",
    "refuse_too_large",
]

Size = Annotated[int, Meta(ge=1, le=1 << 24)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]
Probability = Annotated[float, Meta(ge=0, lt=1)]
ActivationName = Literal["silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu"]
SLIDING = "sliding_attention"
"""The name in `layer_types` of a layer that attends to a window."""


@dataclass(frozen=True, kw_only=True)
class PretrainedConfig(ABC):
    """The fields of a config.json, and the names that its model's tensors have in files."""

    described: ClassVar[Mapping[str, object]] = {}
    """The entries of config.json that identify a family, beside its fields."""
    may_lack: ClassVar[frozenset[str]] = frozenset()
    """Fields that config.json need not have."""
    in_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(by_expert)
    """Parameters by name -> tensors by the names that files have."""
    from_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(stacked)
    """Tensors of files, and shapes of parameters by name -> arrays by parameters' names."""

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """The fields of a config.json under the names that are used here."""
        return found

    def written_fields(self) -> dict[str, object]:
        """The fields as config.json has them."""
        return asdict(self)

    @property
    @abstractmethod
    def problem(self) -> tuple[str, str] | None:
        """The field that does not fit the others and why, or None."""


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(PretrainedConfig):
    """The sizes and parts that every decoder has; `model_type` says which one it is.

    A field is what config.json may choose, a class variable what a family has fixed.
    """

    vocab_size: Annotated[int, Meta(ge=257, le=1 << 24)] = 4096
    """Tokens: 256 bytes, the end mark, and what the tokenizer merges."""
    hidden_size: Size = 256
    num_hidden_layers: Annotated[int, Meta(ge=1, le=1024)] = 4
    num_attention_heads: Size = 4
    num_key_value_heads: Size = 2
    head_dim: Annotated[int, Meta(ge=2, le=1 << 16, multiple_of=2)] = 64
    max_position_embeddings: Size = 512
    """The longest context."""
    rope_theta: Positive = 10_000.0
    rms_norm_eps: Positive = 1e-6
    tie_word_embeddings: bool = True
    """The embedding is the head too."""
    hidden_act: ActivationName = "silu"
    attention_bias: bool = False
    attention_dropout: Probability = 0.0
    rope_scaling: RopeScaling | None = None
    """The scaling of rotary angles beyond the context that a model was first trained on."""
    sliding_window: Size | None = None
    """The number of positions, itself included, that each one sees in a layer with a window."""
    layer_types: tuple[Literal["full_attention", "sliding_attention"], ...] | None = None
    """The kind of attention of each layer, full or a window; empty: all are full."""

    query_key_norm: ClassVar[bool] = True
    """Every query and key is normalized by head."""
    gated: ClassVar[bool] = True
    """The MLP is gated by a second product."""
    mlp_bias: ClassVar[bool] = False
    learned_positions: ClassVar[bool] = False
    """Positions are a table that is added to the embedding, and nothing is rotated."""
    norms: ClassVar[Literal["rms", "layer", "offset"]] = "rms"
    """The kind of norms: RMSNorm, LayerNorm, or RMSNorm with weights around 0."""
    norms_after: ClassVar[bool] = False
    """Results of attention and MLP are normalized too, before they are added."""
    resid_pdrop: ClassVar[float] = 0.0
    """The dropout of the results of attention and MLP."""
    embd_pdrop: ClassVar[float] = 0.0
    """The dropout of the embedding."""
    may_lack: ClassVar[frozenset[str]] = frozenset(
        {"hidden_act", "attention_bias", "attention_dropout", "rope_scaling"}
        | {"sliding_window", "layer_types"}
    )

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """The fields of a config.json under the names that are used here."""
        return windows(gathered_rope(found))

    def written_fields(self) -> dict[str, object]:
        """The fields as config.json has them: today's names, and yesterday's beside them."""
        fields = asdict(self)
        scaling = {k: v for k, v in (fields["rope_scaling"] or {}).items() if v is not None}
        rope = {"rope_type": "default", **scaling, "rope_theta": self.rope_theta}
        slides = {"use_sliding_window": self.sliding_window is not None}
        return fields | slides | {"rope_scaling": scaling or None, "rope_parameters": rope}

    @property
    def projection_biases(self) -> tuple[bool, bool]:
        """Whether queries, keys and values have a bias, and whether the output projection has."""
        return self.attention_bias, self.attention_bias

    @property
    def attention_scale(self) -> float | None:
        """The factor of attention's scores; None: one over the root of a head's width."""
        return None

    @property
    def embedding_scale(self) -> float | None:
        """The factor of the embedding, where there is one."""
        return None

    @property
    def local_theta(self) -> float | None:
        """The base of rotary angles in layers with a window, where it is another one."""
        return None

    def window(self, layer: int) -> int | None:
        """The number of positions that each one sees in a layer; None: all."""
        slides = self.layer_types is not None and self.layer_types[layer] == SLIDING
        return self.sliding_window if slides else None

    @property
    @abstractmethod
    def multiplied(self) -> int:
        """Weights of a layer's MLP by which one token is multiplied."""

    @property
    @abstractmethod
    def held(self) -> int:
        """Weights of a layer's MLP, multiplied by or not."""

    @property
    def heads_of_scores(self) -> int:
        """Matrices of the vocabulary's size: one, or an embedding and a head."""
        return 1 if self.tie_word_embeddings else 2

    @property
    @abstractmethod
    def inner_size(self) -> int:
        """The size of the axis inside of an MLP that a plan may split."""

    @property
    def attention_parameters(self) -> int:
        """Weights of a layer's attention, without its norms."""
        heads = self.num_attention_heads * 2 + self.num_key_value_heads * 2
        return self.hidden_size * heads * self.head_dim

    @property
    def matrix_parameters(self) -> int:
        """Weights that every token is multiplied by; a tied embedding counts once, as the head.

        >>> Qwen3Config(num_hidden_layers=1).matrix_parameters - 4096 * 256
        737280
        """
        layer = self.attention_parameters + self.multiplied
        return self.num_hidden_layers * layer + self.vocab_size * self.hidden_size

    @property
    def parameters(self) -> int:
        """All weights: matrices, and the vectors of norms and biases."""
        layer = self.attention_parameters + self.held + self.vectors
        tables = self.heads_of_scores * self.vocab_size
        tables += self.max_position_embeddings * self.learned_positions
        last = 1 + (self.norms == "layer")
        return self.num_hidden_layers * layer + (tables + last) * self.hidden_size

    @property
    def vectors(self) -> int:
        """Weights of a layer's norms, and of attention's biases."""
        inward, outward = self.projection_biases
        heads = self.num_attention_heads + 2 * self.num_key_value_heads
        wide = (2 + 2 * self.norms_after) * (1 + (self.norms == "layer"))
        norms = wide * self.hidden_size + 2 * self.head_dim * self.query_key_norm
        return norms + heads * self.head_dim * inward + self.hidden_size * outward

    @property
    def heads_problem(self) -> tuple[str, str] | None:
        """A field of heads or layers that does not fit the others, and the allowed values."""
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads % shared:
            return "num_key_value_heads", f"a divisor of num_attention_heads ({heads})"
        if self.rope_scaling is not None and self.rope_scaling.missing:
            needed = f"one with {self.rope_scaling.missing} for {self.rope_scaling.rope_type}"
            return "rope_scaling", needed
        if self.layer_types is not None and len(self.layer_types) != self.num_hidden_layers:
            return "layer_types", f"one for each of num_hidden_layers ({self.num_hidden_layers})"
        return None


@dataclass(frozen=True, kw_only=True)
class DenseConfig(DecoderConfig):
    """The sizes of a dense decoder."""

    intermediate_size: Size = 704

    @property
    def multiplied(self) -> int:
        """Weights of a layer's MLP: gate if it has one, up, down."""
        return (2 + self.gated) * self.hidden_size * self.intermediate_size

    @property
    def held(self) -> int:
        """Parameters of a layer's MLP: all weights, since each token uses all, and biases."""
        inner = (1 + self.gated) * self.intermediate_size
        return self.multiplied + (inner + self.hidden_size) * self.mlp_bias

    @property
    def inner_size(self) -> int:
        """The size of the axis inside of an MLP that a plan may split."""
        return self.intermediate_size

    @property
    def problem(self) -> tuple[str, str] | None:
        """The field that does not fit the others and why, or None."""
        return self.heads_problem


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(DenseConfig):
    """The sizes of a dense decoder with Qwen3's parts."""

    model_type: Literal["qwen3"] = "qwen3"

    described: ClassVar[Mapping[str, object]] = {"architectures": ["Qwen3ForCausalLM"]}

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """The fields of a config.json under the names that are used here."""
        return windows(gathered_rope({"use_sliding_window": False} | found), first=28)


def flops_per_token(config: DecoderConfig, context: int) -> int:
    """Multiplications and additions that training spends on one token, forward and backward.

    Attention is counted causally: a token attends to half of the context on average.
    """
    width = config.num_attention_heads * config.head_dim
    return 6 * config.matrix_parameters + 6 * config.num_hidden_layers * context * width


def refuse_too_large(config: DecoderConfig, copies: int = 1) -> None:
    """Stop before a model is made that cannot fit: copies of its weights, and its rotary tables.

    Training holds four: weights, gradients, two averages.
    """
    if default_device() is META:
        return
    tables = 24 * config.max_position_embeddings * config.head_dim
    needed = 4 * copies * config.parameters + tables
    limit = memory_limit()
    if needed > limit:
        raise ConfigError(
            f"model: {config.parameters:,} parameters and {config.max_position_embeddings:,} "
            f"positions need {needed / 1e9:,.1f} GB: the limit is {limit / 1e9:,.1f} GB. "
            "Take smaller sizes."
        )

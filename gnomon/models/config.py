"""Configurations of models, with the field names of Hugging Face's config.json.

registry.py finds the class of a model type, qwen3_moe_config.py has models with experts, and
gnomon/train/config.py the settings of training.
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
    """A model's configuration as in config.json, and the names of the model's tensors in files."""

    described: ClassVar[Mapping[str, object]] = {}
    """Further entries of config.json that identify a model family, such as `architectures`."""
    may_lack: ClassVar[frozenset[str]] = frozenset()
    """Fields that config.json may omit."""
    in_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(by_expert)
    """Map parameters by name to the tensors that files hold, under their names there."""
    from_files: ClassVar[Callable[..., dict[str, Any]]] = staticmethod(stacked)
    """Map the tensors of files, given the parameters' shapes, to arrays by parameter name."""

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map the fields of a config.json to the names of this class's fields."""
        return found

    def written_fields(self) -> dict[str, object]:
        """The fields to write to config.json."""
        return asdict(self)

    @property
    @abstractmethod
    def problem(self) -> tuple[str, str] | None:
        """The first field that does not fit the others and its allowed values, or None."""


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(PretrainedConfig):
    """The configuration fields that every decoder has.

    Fields come from config.json; class variables are fixed by the family.
    """

    vocab_size: Annotated[int, Meta(ge=257, le=1 << 24)] = 4096
    """The number of tokens, at least 256 bytes and the end mark."""
    hidden_size: Size = 256
    num_hidden_layers: Annotated[int, Meta(ge=1, le=1024)] = 4
    num_attention_heads: Size = 4
    num_key_value_heads: Size = 2
    head_dim: Annotated[int, Meta(ge=2, le=1 << 16, multiple_of=2)] = 64
    max_position_embeddings: Size = 512
    """The longest context, in tokens."""
    rope_theta: Positive = 10_000.0
    rms_norm_eps: Positive = 1e-6
    tie_word_embeddings: bool = True
    """Whether the output head is the embedding's weight."""
    hidden_act: ActivationName = "silu"
    attention_bias: bool = False
    attention_dropout: Probability = 0.0
    rope_scaling: RopeScaling | None = None
    """The scaling of rotary angles to extend the context; None means no scaling."""
    sliding_window: Size | None = None
    """The number of positions, its own included, that a token attends to in sliding-window
    layers.
    """
    layer_types: tuple[Literal["full_attention", "sliding_attention"], ...] | None = None
    """The kind of attention of each layer; None means full attention in all."""

    query_key_norm: ClassVar[bool] = True
    """Whether queries and keys are normalized per head."""
    gated: ClassVar[bool] = True
    """Whether the MLP is gated, as SwiGLU is."""
    mlp_bias: ClassVar[bool] = False
    learned_positions: ClassVar[bool] = False
    """Whether positions are learned embeddings instead of rotary ones."""
    norms: ClassVar[Literal["rms", "layer", "offset"]] = "rms"
    """The kind of norms: RMSNorm, LayerNorm, or RMSNorm whose weights are offsets from 1."""
    norms_after: ClassVar[bool] = False
    """Whether the outputs of attention and MLP are normalized as well as their inputs."""
    resid_pdrop: ClassVar[float] = 0.0
    """The dropout probability of attention's and the MLP's outputs."""
    embd_pdrop: ClassVar[float] = 0.0
    """The dropout probability of the embeddings."""
    may_lack: ClassVar[frozenset[str]] = frozenset(
        {"hidden_act", "attention_bias", "attention_dropout", "rope_scaling"}
        | {"sliding_window", "layer_types"}
    )

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map the fields of a config.json to the names of this class's fields."""
        return windows(gathered_rope(found))

    def written_fields(self) -> dict[str, object]:
        """The fields to write to config.json, rotary ones under both current and older names."""
        fields = asdict(self)
        scaling = {k: v for k, v in (fields["rope_scaling"] or {}).items() if v is not None}
        rope = {"rope_type": "default", **scaling, "rope_theta": self.rope_theta}
        slides = {"use_sliding_window": self.sliding_window is not None}
        return fields | slides | {"rope_scaling": scaling or None, "rope_parameters": rope}

    @property
    def projection_biases(self) -> tuple[bool, bool]:
        """Whether the query, key and value projections have biases, and whether the output has."""
        return self.attention_bias, self.attention_bias

    @property
    def attention_scale(self) -> float | None:
        """The factor of attention's scores; None means 1 / sqrt(head_dim)."""
        return None

    @property
    def embedding_scale(self) -> float | None:
        """The factor of the token embeddings; None means 1."""
        return None

    @property
    def local_theta(self) -> float | None:
        """The rotary base of sliding-window layers; None means `rope_theta`."""
        return None

    def window(self, layer: int) -> int | None:
        """The number of positions that each token attends to in a layer; None means all."""
        slides = self.layer_types is not None and self.layer_types[layer] == SLIDING
        return self.sliding_window if slides else None

    @property
    @abstractmethod
    def multiplied(self) -> int:
        """The number of a layer's MLP weights that one token uses."""

    @property
    @abstractmethod
    def mlp_parameters(self) -> int:
        """The number of a layer's MLP parameters, used by each token or not."""

    @property
    def heads_of_scores(self) -> int:
        """The number of (vocab_size, hidden_size) matrices: 1 with tied embeddings, else 2."""
        return 1 if self.tie_word_embeddings else 2

    @property
    @abstractmethod
    def inner_size(self) -> int:
        """The MLP's inner size, which tensor parallelism may split."""

    @property
    def attention_parameters(self) -> int:
        """The number of weights in a layer's attention, without norms and biases."""
        heads = self.num_attention_heads * 2 + self.num_key_value_heads * 2
        return self.hidden_size * heads * self.head_dim

    @property
    def matrix_parameters(self) -> int:
        """The number of matrix weights that each token uses, the output head included.

        >>> Qwen3Config(num_hidden_layers=1).matrix_parameters - 4096 * 256
        737280
        """
        layer = self.attention_parameters + self.multiplied
        return self.num_hidden_layers * layer + self.vocab_size * self.hidden_size

    @property
    def parameters(self) -> int:
        """The number of all parameters."""
        layer = self.attention_parameters + self.mlp_parameters + self.vectors
        tables = self.heads_of_scores * self.vocab_size
        tables += self.max_position_embeddings * self.learned_positions
        last = 1 + (self.norms == "layer")
        return self.num_hidden_layers * layer + (tables + last) * self.hidden_size

    @property
    def vectors(self) -> int:
        """The number of parameters in a layer's norms and attention biases."""
        inward, outward = self.projection_biases
        heads = self.num_attention_heads + 2 * self.num_key_value_heads
        wide = (2 + 2 * self.norms_after) * (1 + (self.norms == "layer"))
        norms = wide * self.hidden_size + 2 * self.head_dim * self.query_key_norm
        return norms + heads * self.head_dim * inward + self.hidden_size * outward

    @property
    def heads_problem(self) -> tuple[str, str] | None:
        """The first field of heads or layers that does not fit and its allowed values, or None."""
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
    """The configuration of a dense decoder."""

    intermediate_size: Size = 704

    @property
    def multiplied(self) -> int:
        """The number of a layer's MLP weights, all of which each token uses."""
        return (2 + self.gated) * self.hidden_size * self.intermediate_size

    @property
    def mlp_parameters(self) -> int:
        """The number of a layer's MLP parameters, biases included."""
        inner = (1 + self.gated) * self.intermediate_size
        return self.multiplied + (inner + self.hidden_size) * self.mlp_bias

    @property
    def inner_size(self) -> int:
        """The MLP's inner size, which tensor parallelism may split."""
        return self.intermediate_size

    @property
    def problem(self) -> tuple[str, str] | None:
        """The first field that does not fit the others and its allowed values, or None."""
        return self.heads_problem


@dataclass(frozen=True, kw_only=True)
class Qwen3Config(DenseConfig):
    """The configuration of a dense Qwen3 decoder."""

    model_type: Literal["qwen3"] = "qwen3"

    described: ClassVar[Mapping[str, object]] = {"architectures": ["Qwen3ForCausalLM"]}

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """Map the fields of a config.json to the names of this class's fields."""
        return windows(gathered_rope({"use_sliding_window": False} | found), first=28)


def flops_per_token(config: DecoderConfig, context: int) -> int:
    """The floating-point operations of training on one token, forward and backward.

    Attention is counted causally: a token attends to half of the context on average.
    """
    width = config.num_attention_heads * config.head_dim
    return 6 * config.matrix_parameters + 6 * config.num_hidden_layers * context * width


def refuse_too_large(config: DecoderConfig, copies: int = 1) -> None:
    """Raise ConfigError if copies of a model and its rotary tables exceed the memory limit.

    copies: how often the weights are held. Training holds four: weights, gradients, two averages.
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

"""BERT encoders: every token attends to all others; a text's vector is the mean over its tokens.

Each layer is normalized after it is added. Names are those of Hugging Face's files.

Letters: b batch, t tokens, d width, h heads, k width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import gnomon as gn
from gnomon import nn
from gnomon.models.config import ActivationName, PretrainedConfig, Probability, Size
from gnomon.models.decoder import ACTIVATIONS
from gnomon.models.saving import PretrainedModel
from gnomon.nn import functional as F

__all__ = ["BertConfig", "BertModel", "Encoded", "mean_pooled"]


@dataclass(frozen=True, kw_only=True)
class BertConfig(PretrainedConfig):
    """The configuration of a BERT encoder."""

    model_type: Literal["bert"] = "bert"
    vocab_size: Size = 30_522
    hidden_size: Size = 384
    num_hidden_layers: Size = 6
    num_attention_heads: Size = 12
    intermediate_size: Size = 1536
    hidden_act: ActivationName = "gelu"
    hidden_dropout_prob: Probability = 0.1
    attention_probs_dropout_prob: Probability = 0.1
    max_position_embeddings: Size = 512
    type_vocab_size: Size = 2
    layer_norm_eps: float = 1e-12

    described: ClassVar[Mapping[str, object]] = {"architectures": ["BertModel"]}
    may_lack: ClassVar[frozenset[str]] = frozenset(
        {"hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps"}
        | {"type_vocab_size"}
    )

    @property
    def problem(self) -> tuple[str, str] | None:
        """The first field that does not fit the others and its allowed values, or None."""
        if self.hidden_size % self.num_attention_heads:
            return "num_attention_heads", f"a divisor of hidden_size ({self.hidden_size})"
        return None

    @classmethod
    def read_fields(cls, found: dict[str, object]) -> dict[str, object]:
        """The fields of a config.json without `tie_word_embeddings`: an encoder has no head."""
        return {k: v for k, v in found.items() if k != "tie_word_embeddings"}

    @staticmethod
    def in_files(tensors: Mapping[str, Any]) -> dict[str, Any]:
        """The tensors under unchanged names, since files use the model's names."""
        return dict(tensors)

    @staticmethod
    def from_files(
        arrays: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]
    ) -> dict[str, Any]:
        """The arrays under the model's names, without those of the masked language model's head."""
        inner = {
            name.removeprefix("bert."): x
            for name, x in arrays.items()
            if not name.startswith("cls.")
        }
        ends = (("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias"))
        for old, new in ends:
            inner = {name.replace(old, new): x for name, x in inner.items()}
        return inner


class Encoded(NamedTuple):
    """The hidden states that a BERT model returns."""

    last_hidden_state: gn.Tensor
    """The last layer's state of every token, (b, t, d)."""
    pooler_output: gn.Tensor
    """The first token's last state after a linear layer and tanh, (b, d)."""


class BertLayer(nn.Module):
    """A post-norm transformer layer: attention to all tokens, then an MLP."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        d, inner = config.hidden_size, config.intermediate_size
        self.heads, self.activation = config.num_attention_heads, ACTIVATIONS[config.hidden_act]
        self.dropout = config.attention_probs_dropout_prob
        inward = nn.ModuleDict({name: nn.Linear(d, d) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": inward, "output": output_projection(d, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(d, inner)})
        self.output = output_projection(inner, config)

    def forward(self, x_btd: gn.Tensor, seen: gn.Tensor | None) -> gn.Tensor:
        """Return the layer's outputs (b, t, d); `seen` is a mask of the tokens to attend to."""
        b, t, d = x_btd.shape
        q, k, v = (
            layer(x_btd).reshape(b, t, self.heads, -1).transpose(1, 2)
            for layer in self.attention["self"].values()
        )
        dropout = self.dropout if self.training else 0.0
        y_bhtk = F.scaled_dot_product_attention(q, k, v, seen, dropout)
        joined = y_bhtk.transpose(1, 2).reshape(b, t, d)
        x_btd = project_and_add(self.attention["output"], joined, x_btd)
        inner = self.activation(self.intermediate["dense"](x_btd))
        return project_and_add(self.output, inner, x_btd)


def output_projection(inputs: int, config: BertConfig) -> nn.ModuleDict:
    """Make an output projection with the dropout and LayerNorm that follow it."""
    return nn.ModuleDict(
        {
            "dense": nn.Linear(inputs, config.hidden_size),
            "dropout": nn.Dropout(config.hidden_dropout_prob),
            "LayerNorm": nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps),
        }
    )


def project_and_add(layers: nn.ModuleDict, y: gn.Tensor, x: gn.Tensor) -> gn.Tensor:
    """Project y, apply dropout, add x and normalize."""
    return layers["LayerNorm"](layers["dropout"](layers["dense"](y)) + x)


class BertModel(PretrainedModel):
    """A BERT encoder, which returns one vector per token."""

    config: BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        d, sizes = config.hidden_size, {}
        self.config = config
        sizes["word_embeddings"] = config.vocab_size
        sizes["position_embeddings"] = config.max_position_embeddings
        sizes["token_type_embeddings"] = config.type_vocab_size
        self.embeddings = nn.ModuleDict({name: nn.Embedding(n, d) for name, n in sizes.items()})
        self.embeddings["LayerNorm"] = nn.LayerNorm(d, eps=config.layer_norm_eps)
        self.embeddings["dropout"] = nn.Dropout(config.hidden_dropout_prob)
        layers = [BertLayer(config) for _ in range(config.num_hidden_layers)]
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(d, d)})

    def forward(
        self,
        input_ids: gn.Tensor,
        attention_mask: gn.Tensor | None = None,
        token_type_ids: gn.Tensor | None = None,
    ) -> Encoded:
        """Compute the hidden state of each token; tokens whose mask is 0 are not attended to."""
        made, length = self.embeddings, input_ids.shape[1]
        kinds = gn.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        x_btd = made["word_embeddings"](input_ids) + made["token_type_embeddings"](kinds)
        x_btd = x_btd + made["position_embeddings"].weight[:length]
        x_btd = made["dropout"](made["LayerNorm"](x_btd))
        seen = None if attention_mask is None else (attention_mask != 0)[:, None, None, :]
        for layer in self.encoder["layer"]:
            x_btd = layer(x_btd, seen)
        return Encoded(x_btd, gn.tanh(self.pooler["dense"](x_btd[:, 0])))


def mean_pooled(states_btd: gn.Tensor, attention_mask_bt: gn.Tensor) -> gn.Tensor:
    """The mean hidden state of each text's tokens, (b, d); tokens whose mask is 0 do not count.

    >>> mean_pooled(gn.tensor([[[2.0], [4.0], [9.0]]]), gn.tensor([[1, 1, 0]])).tolist()
    [[3.0]]
    """
    weight_bt1 = attention_mask_bt.to(states_btd.dtype).unsqueeze(-1)
    return (states_btd * weight_bt1).sum(1) / weight_bt1.sum(1).clamp(min=1e-9)

"""PyTorch's transformer: encoder and decoder layers, stacks of them, and both together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn import functional as F
from gnomon.nn import init
from gnomon.nn.activations import Dropout
from gnomon.nn.attention import MultiheadAttention
from gnomon.nn.containers import ModuleList
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.nn.normalization import LayerNorm
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

ActivationFunction = str | Callable[[Tensor], Tensor]


def activation_of(given: ActivationFunction) -> Callable[[Tensor], Tensor]:
    """An activation function by its name; a function unchanged."""
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise ArgumentError(f"activation should be relu/gelu, not {given}")
    return getattr(F, given)


class TransformerLayer(Module):
    """Base of both layers: attention, then a feed-forward network."""

    attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: ActivationFunction = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        for name in self.attentions:
            made = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
            setattr(self, name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first, self.activation = norm_first, activation_of(activation)
        count = len(self.attentions) + 1
        for number in range(1, count + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias))
        for number in range(1, count + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        if dtype is not None:
            self.to(dtype)

    def _add(self, x: Tensor, number: int, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus a part's result with dropout; the norm is first or last."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        return x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(TransformerLayer):
    """Self-attention and a feed-forward network.

    Shapes: src (t, b, d) -> (t, b, d)

    >>> TransformerEncoderLayer(4, 2, 8)(zeros(3, 1, 4)).shape
    Size([3, 1, 4])
    """

    attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for a sequence."""
        hidden = (src_key_padding_mask, False, src_mask, True, is_causal)
        x = self._add(src, 1, lambda x: self.self_attn(x, x, x, *hidden)[0])
        return self._add(x, 2, self._network)


class TransformerDecoderLayer(TransformerLayer):
    """Self-attention, attention to another sequence, and a feed-forward network.

    Shapes: tgt (t, b, d), memory (s, b, d) -> (t, b, d)

    >>> TransformerDecoderLayer(4, 2, 8)(zeros(3, 1, 4), zeros(5, 1, 4)).shape
    Size([3, 1, 4])
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer's output for a sequence and the memory that it attends to."""
        own = (tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)
        other = (memory_key_padding_mask, False, memory_mask, True, memory_is_causal)
        x = self._add(tgt, 1, lambda x: self.self_attn(x, x, x, *own)[0])
        x = self._add(x, 2, lambda x: self.multihead_attn(x, memory, memory, *other)[0])
        return self._add(x, 3, self._network)


class Stack(Module):
    """Base of stacks of copies of one layer."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Tensor, call: Callable[[Module, Tensor], Tensor]) -> Tensor:
        for layer in self.layers:
            x = call(layer, x)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(Stack):
    """A stack of encoder layers.

    Shapes: src (t, b, d) -> (t, b, d)

    >>> TransformerEncoder(TransformerEncoderLayer(4, 2, 8), 2)(zeros(3, 1, 4)).shape
    Size([3, 1, 4])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        # the last two choose between PyTorch's implementations: there is one here
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The output of all layers for a sequence."""
        hidden = (mask, src_key_padding_mask, bool(is_causal))
        return self._through(src, lambda layer, x: layer(x, *hidden))


class TransformerDecoder(Stack):
    """A stack of decoder layers.

    Shapes: tgt (t, b, d), memory (s, b, d) -> (t, b, d)

    >>> layer = TransformerDecoderLayer(4, 2, 8)
    >>> TransformerDecoder(layer, 2)(zeros(3, 1, 4), zeros(5, 1, 4)).shape
    Size([3, 1, 4])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt: Tensor, memory: Tensor, *masks: Any, **named: Any) -> Tensor:
        """The output of all layers for a sequence and the memory that it attends to."""
        named = {k: bool(v) if k.endswith("is_causal") else v for k, v in named.items()}
        return self._through(tgt, lambda layer, x: layer(x, memory, *masks, **named))


class Transformer(Module):
    """An encoder of one sequence, and a decoder of another that attends to it.

    Shapes: src (s, b, d_model), tgt (t, b, d_model) -> (t, b, d_model)

    >>> model = Transformer(4, 2, 1, 1, 8)
    >>> model(zeros(5, 1, 4), zeros(3, 1, 4)).shape
    Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: ActivationFunction = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        options = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        options += (bias, device, dtype)

        def stack(kind: type[Stack], layer: type[TransformerLayer], count: int) -> Stack:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype)
            return kind(layer(d_model, nhead, *options), count, norm)

        encoder = (TransformerEncoder, TransformerEncoderLayer, num_encoder_layers)
        decoder = (TransformerDecoder, TransformerDecoderLayer, num_decoder_layers)
        self.encoder = stack(*encoder) if custom_encoder is None else custom_encoder
        self.decoder = stack(*decoder) if custom_decoder is None else custom_decoder
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        **causal: bool,
    ) -> Tensor:
        """The decoder's output for tgt, which attends to the encoded src."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 == tgt.ndim and src.shape[batch] != tgt.shape[batch]:
            raise ShapeError(
                f"Transformer: src {tuple(src.shape)} and tgt {tuple(tgt.shape)} are of batches "
                "of two sizes. Give as many sequences of each."
            )
        if not src.shape[-1] == tgt.shape[-1] == self.d_model:
            raise ShapeError(
                f"Transformer: src {tuple(src.shape)} and tgt {tuple(tgt.shape)} do not end with "
                f"d_model {self.d_model} features."
            )
        memory = self.encoder(
            src, src_mask, src_key_padding_mask, causal.pop("src_is_causal", None)
        )
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, **causal)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: object = None, dtype: object = None
    ) -> Tensor:
        """A mask that hides later positions: -inf above the diagonal."""
        return FUNCTIONS["triu"](full((sz, sz), float("-inf"), dtype=dtype), 1)

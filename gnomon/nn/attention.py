"""MultiheadAttention, and attention over tensors; the operation itself is in gnomon/ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from math import sqrt
from typing import Any

from gnomon.dtypes import bool_
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.nn import init
from gnomon.nn.linear import NonDynamicallyQuantizableLinear
from gnomon.nn.module import Module
from gnomon.nn.parameter import empty_parameter
from gnomon.ops.arguments import joint_shape
from gnomon.ops.registry import OPS
from gnomon.tensor.creation import ones, zeros
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.overrides import overridable
from gnomon.tensor.random import default_generator
from gnomon.tensor.tensor import Tensor

__path__: list[str] = []  # PyTorch has modules below this one: gnomon.lazy finds them


@overridable
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention: a mean of the rows of value, weighted by the softmax of query-key products.

    Shapes: query (..., h, t, d), key (..., g, s, d), value (..., g, s, e) -> (..., h, t, e)

    >>> scaled_dot_product_attention(ones(1, 2, 3), ones(1, 4, 3), ones(1, 4, 5)).shape
    Size([1, 2, 5])
    """
    if is_causal and attn_mask is not None:
        raise ArgumentError(
            "scaled_dot_product_attention: is_causal and attn_mask cannot both be given."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ShapeError(
            "scaled_dot_product_attention: query, key and value need at least 2 axes: got "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}."
        )
    if attn_mask is not None and attn_mask.dtype.is_integer:
        raise DtypeError(
            "scaled_dot_product_attention: attn_mask must be truth values, or floats to add: got "
            f"{attn_mask.dtype.name}. Use bool()."
        )
    query, key, value = in_one_batch(query, key, value)
    t, s = query.shape[-2], key.shape[-2]
    if is_causal and t != s:
        attn_mask, is_causal = ones(t, s, dtype=bool_).tril(), False
    if dropout_p > 0:
        if enable_gqa:
            heads = query.shape[-3]
            key, value = (x.repeat_interleave(heads // x.shape[-3], -3) for x in (key, value))
        weights = attention_weights(query, key, attn_mask, is_causal, scale)
        return apply_dropout(weights, dropout_p) @ value
    return apply(
        OPS["attention"],
        (query, key, value),
        {"causal": is_causal, "scale": scale, "mask": attn_mask},
    )


def in_one_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Queries, keys and values expanded to common batch axes.

    A single head is repeated, except for keys and values that several query heads share.
    """
    shapes = [tuple(x.shape[:-2]) for x in (query, key, value)]
    (q, k, v), batches = ((1, *shape)[-1] for shape in shapes), [shape[:-1] for shape in shapes]
    if batches[0] == batches[1] == batches[2] and k == v and (q == k or q != 1):
        return query, key, value
    batch = joint_shape("scaled_dot_product_attention", batches)
    shared = max(k, v) if min(k, v) == 1 else k
    heads = (shared if q == 1 else q, shared, shared if v == 1 else v)
    given = zip((query, key, value), heads, strict=True)
    return tuple(x.expand(*batch, count, *x.shape[-2:]) for x, count in given)


def attention_weights(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
    unseen: Tensor | None = None,
) -> Tensor:
    """The weights softmax(query · keyᵀ · scale); equal ones for `unseen` queries, without keys."""
    factor = 1 / sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.mT
    if causal:
        mask = ones(query.shape[-2], key.shape[-2], dtype=bool_).tril()
    if mask is not None and mask.dtype is bool_:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    scores = scores if unseen is None else scores.masked_fill(unseen, 0.0)
    return FUNCTIONS["softmax"](scores, -1)


def nothing_seen(mask: Tensor) -> Tensor:
    """The mask of queries all of whose keys are masked: (b, h, t, 1).

    Their results are NaN, which are filled in at the end, so that other gradients stay finite.
    """
    hidden = ~mask if mask.dtype is bool_ else mask == float("-inf")
    return hidden.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape)).all(-1, keepdim=True)


def apply_dropout(x: Tensor, p: float) -> Tensor:
    """Apply dropout with probability p to a tensor."""
    return apply(OPS["dropout"], (x, default_generator.key(), float(p)))


class MultiheadAttention(Module):
    """Multi-head attention with projections of queries, keys and values.

    Shapes: query (t, n, embed_dim), key (s, n, kdim), value (s, n, vdim) -> (t, n, embed_dim),
    (n, t, s)

    >>> x = ones(3, 2, 8)
    >>> [y.shape for y in MultiheadAttention(8, 2)(x, x, x)]
    [Size([3, 2, 8]), Size([2, 3, 3])]
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ArgumentError(
                f"MultiheadAttention: embed_dim must be divisible by num_heads: got {embed_dim} "
                f"and {num_heads}."
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self._make_projections()
        if bias:
            self.in_proj_bias = empty_parameter(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias)
        if add_bias_kv:
            self.bias_k, self.bias_v = (empty_parameter(1, 1, embed_dim) for _ in "kv")
        else:
            self.bias_k = self.bias_v = None
        self._reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def _make_projections(self) -> None:
        """Create the parameters of the input projections."""
        width = self.embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty_parameter(3 * width, width)
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        else:
            self.q_proj_weight = empty_parameter(width, width)
            self.k_proj_weight = empty_parameter(width, self.kdim)
            self.v_proj_weight = empty_parameter(width, self.vdim)
            names = ("in_proj_weight",)
        for name in names:
            self.register_parameter(name, None)

    def _reset_parameters(self) -> None:
        """Initialize the parameters as PyTorch does."""
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attention's result, and its weights (averaged over heads); None if not needed."""
        alone = query.ndim == 2
        if alone:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        q, k, v = self._project(query, key, value)
        k, v = self._extended(k, v)
        if is_causal and attn_mask is None:
            attn_mask = ~ones(q.shape[2], k.shape[2], dtype=bool_).tril()
        mask = self._mask(query, k.shape[2], key_padding_mask, attn_mask)
        unseen = nothing_seen(mask) if need_weights and mask is not None else None
        mixed, weights = self._mix(q, k, v, mask, need_weights, unseen)
        mixed = mixed.transpose(1, 2).reshape(query.shape[0], query.shape[1], self.embed_dim)
        mixed = self.out_proj(mixed)
        if unseen is not None:
            mixed = mixed.masked_fill(unseen.any(1), float("nan"))
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        if alone:
            return mixed[0], None if weights is None else weights[0]
        return (mixed if self.batch_first else mixed.transpose(0, 1)), weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """The projected queries, keys and values, split by head: (b, h, t, k)."""
        width = self.embed_dim
        if self._qkv_same_embed_dim:
            weights = [self.in_proj_weight[k * width : (k + 1) * width] for k in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        biases: list[Any] = [None] * 3
        if self.in_proj_bias is not None:
            biases = [self.in_proj_bias[k * width : (k + 1) * width] for k in range(3)]
        made = [
            FUNCTIONS["linear"](x, w, b)
            for x, w, b in zip((query, key, value), weights, biases, strict=True)
        ]
        return [self._split(x) for x in made]

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)

    def _extended(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values with the learned position, and one of zeros, appended if requested."""
        pairs = []
        for x, bias in ((k, self.bias_k), (v, self.bias_v)):
            parts = [x]
            if bias is not None:
                parts.append(self._split(bias.expand(x.shape[0], 1, self.embed_dim)))
            if self.add_zero_attn:
                parts.append(zeros(*x.shape[:2], 1, x.shape[3], dtype=x.dtype))
            pairs.append(FUNCTIONS["cat"](parts, dim=2) if len(parts) > 1 else x)
        return pairs[0], pairs[1]

    def _mask(
        self, query: Tensor, keys: int, padding: Tensor | None, attn_mask: Tensor | None
    ) -> Tensor | None:
        """The combined mask of scores, broadcast over (b, h, t, s); None without masks."""
        found = None
        for word, given in (("key_padding_mask", padding), ("attn_mask", attn_mask)):
            if given is not None and given.dtype.is_integer:
                raise DtypeError(
                    f"MultiheadAttention: {word} must be truth values or floats: got "
                    f"{given.dtype.name}. Use bool()."
                )
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = attn_mask.reshape(-1, self.num_heads, *attn_mask.shape[1:])
            found = widen_mask(attn_mask, keys)
        if padding is not None:
            more = widen_mask(padding[:, None, None, :], keys)
            found = more if found is None else join_masks(found, more, query.dtype)
        if found is not None and found.dtype is bool_:
            return ~found
        return found

    def _mix(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        unseen: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """The weighted values, and the weights; NaN weights for queries without any visible key."""
        p = self.dropout if self.training else 0.0
        if not need_weights:
            return scaled_dot_product_attention(q, k, v, mask, p), None
        weights = attention_weights(q, k, mask, False, None, unseen)
        weights = apply_dropout(weights, p) if p else weights
        shown = weights if unseen is None else weights.masked_fill(unseen, float("nan"))
        return weights @ v, shown


@overridable
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """MultiheadAttention's forward as a function of explicit parameters.

    Shapes: query (t, n, d), key (s, n, k), value (s, n, v) -> (t, n, d), (n, t, s)

    >>> x, w = ones(3, 2, 4), ones(12, 4)
    >>> given = (w, None, None, None, False, 0.0, ones(4, 4), None)
    >>> y, shares = multi_head_attention_forward(x, x, x, 4, 2, *given)
    >>> y.shape, shares.shape
    (Size([3, 2, 4]), Size([2, 3, 3]))
    """
    if query.shape[-1] != embed_dim_to_check or static_k is not None or static_v is not None:
        raise ArgumentError(
            "multi_head_attention_forward: needs neither static_k nor static_v, and a query of "
            f"width {embed_dim_to_check}: got {tuple(query.shape)}."
        )
    layer = MultiheadAttention.__new__(MultiheadAttention)
    Module.__init__(layer)
    kept: dict[str, Any] = {"embed_dim": embed_dim_to_check, "training": training}
    kept |= {"num_heads": num_heads, "head_dim": embed_dim_to_check // num_heads}
    kept |= {"in_proj_weight": in_proj_weight, "in_proj_bias": in_proj_bias, "bias_k": bias_k}
    kept |= {"bias_v": bias_v, "add_zero_attn": add_zero_attn, "dropout": dropout_p}
    kept |= {"q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight, "batch_first": False}
    kept |= {"v_proj_weight": v_proj_weight, "_qkv_same_embed_dim": not use_separate_proj_weight}
    kept |= {"out_proj": lambda x: FUNCTIONS["linear"](x, out_proj_weight, out_proj_bias)}
    vars(layer).update(kept)
    masks = (key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)
    return layer.forward(query, key, value, *masks)


class SDPBackend(Enum):
    """PyTorch's attention backends; they have no effect, since the compiler chooses."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """A context that accepts PyTorch's choice of attention backends, without effect.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     scaled_dot_product_attention(ones(1, 1), ones(1, 1), ones(1, 1))
    Tensor([[1.]])
    """
    given = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not given or not all(isinstance(x, SDPBackend) for x in given):
        raise ArgumentError(f"sdpa_kernel: backends are of SDPBackend: got {backends!r}.")
    yield


def widen_mask(mask: Tensor, keys: int) -> Tensor:
    """Extend a mask to added key positions, which are visible."""
    missing = keys - mask.shape[-1]
    if not missing:
        return mask
    return FUNCTIONS["pad"](mask, (0, missing))


def join_masks(left: Tensor, right: Tensor, dtype: Any) -> Tensor:
    """The combination of two masks whose True hides a key, as in PyTorch."""
    if left.dtype is bool_ and right.dtype is bool_:
        return left | right
    return additive_mask(left, dtype) + additive_mask(right, dtype)


def additive_mask(mask: Tensor, dtype: Any) -> Tensor:
    """A mask as numbers to add to scores: -inf where a key is hidden."""
    if mask.dtype is not bool_:
        return mask
    return zeros(tuple(mask.shape), dtype=dtype).masked_fill(mask, float("-inf"))

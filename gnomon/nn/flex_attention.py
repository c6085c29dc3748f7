"""torch.nn.attention.flex_attention: attention with user-defined scores and masks.

The functions are mapped over batch, head, query and key by vmap, and gradients follow them. All
scores are computed: masked ones are not skipped, so masks save no time here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from gnomon.dtypes import float32, float64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.tensor.creation import arange, ones, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.vmap import vmap

__all__ = [
    *("AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask"),
    *("flex_attention", "noop_mask", "or_masks"),
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """Further results that a caller requests of flex_attention."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The log-sum-exp of the scores, and the largest score; None if not requested."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def check_words(name: str, given: dict[str, Any], *known: str) -> None:
    """Refuse unknown keyword arguments."""
    unknown = sorted({*given} - {*known})
    if unknown:
        raise DtypeError(f"{name}: no argument {unknown[0]!r}. It takes {', '.join(known)}.")


# masks


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that hides nothing."""
    return ones((), dtype=bool)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The intersection of masks."""
    return combined_masks("and_masks", mask_mods, "logical_and", True)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The union of masks."""
    return combined_masks("or_masks", mask_mods, "logical_or", False)


def combined_masks(name: str, mask_mods: tuple, both: str, first: bool) -> MaskMod:
    """A combination of masks by a logical function."""
    if not all(map(callable, mask_mods)):
        raise ArgumentError(f"{name}: needs functions (b, h, q, kv) -> truth: got {mask_mods}.")

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = (ones if first else zeros)((), dtype=bool)
        for each in mask_mods:
            found = FUNCTIONS[both](found, each(b, h, q, kv))
        return found

    return mask


def at_places(function: Callable, sizes: tuple[int, ...], *scores: Tensor) -> Tensor:
    """Evaluate a function of batch, head, query and key indices at every combination."""
    given = (0,) * len(scores)
    for axis in reversed(range(4)):
        places = tuple(0 if k == axis else None for k in range(4))
        function = vmap(function, in_dims=(*given, *places))
    return function(*scores, *(arange(size) for size in sizes))


def create_mask(
    mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: object = None
) -> Tensor:
    """The boolean mask tensor of a mask function; of a score function, its values for scores 0.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2).tolist()
    [[[[True, False], [True, True]]]]
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if takes_scores(mod_fn):
        return at_places(mod_fn, sizes, zeros(sizes))
    return at_places(mod_fn, sizes)


def takes_scores(function: Callable) -> bool:
    """Whether a function takes a score before the four indices."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_argcount - len(function.__defaults__ or ()) == 5


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: object = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    **hints: Any,
) -> BlockMask:
    """A BlockMask of a mask function, with the blocks that it does not hide entirely.

    hints: separate_full_blocks=False counts blocks without gaps with the others; what else PyTorch
    takes is of its kernels.

    >>> create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256).to_dense().tolist()
    [[[[1, 0], [1, 1]]]]
    """
    known = ("separate_full_blocks", "_compile", "compute_dq_write_order", "dq_kv_order")
    check_words("create_block_mask", hints, *known)
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    rows, columns = size
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN)
    mask = FUNCTIONS["pad"](mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    shape = (*mask.shape[:2], mask.shape[2] // rows, rows, mask.shape[3] // columns, columns)
    count = mask.reshape(shape).sum(dim=(3, 5))
    full = count == rows * columns
    partial = count > 0
    ordered: tuple[Any, Any] = (None, None)
    if hints.get("separate_full_blocks", True):
        partial, ordered = partial & ~full, in_order(full)
    made = BlockMask.from_kv_blocks(
        *in_order(partial),
        *ordered,
        BLOCK_SIZE=size,
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )
    made._tells_all = False
    return made


def in_order(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The number of blocks of each row, and the block indices, visible ones first."""
    numbers = blocks.int()
    places = numbers.argsort(dim=-1, descending=True, stable=True)
    return numbers.sum(dim=-1).int(), places.int()


def dense_of(count: Tensor, places: Tensor) -> Tensor:
    """A 0-1 matrix of visible blocks, from their numbers and indices per row."""
    is_in = arange(places.shape[-1]) < count.unsqueeze(-1)
    return zeros(tuple(places.shape), dtype="int32").scatter(-1, places.long(), is_in.int())


class BlockMask:
    """A mask for flex_attention with its visible blocks, from create_block_mask or from_kv_blocks.

    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> mask.shape, mask.sparsity(), mask.kv_num_blocks.tolist()
    ((1, 1, 256, 256), 25.0, [[[1, 1]]])
    """

    def __init__(
        self,
        seq_lengths: tuple[int, ...],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        **more: Any,
    ) -> None:
        if kv_indices.ndim < 2:
            raise ShapeError("BlockMask: kv_indices needs at least 2 axes, of blocks.")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise ArgumentError("BlockMask: full_kv_num_blocks and full_kv_indices go together.")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.BLOCK_SIZE = more.get("BLOCK_SIZE", (_DEFAULT_SPARSE_BLOCK_SIZE,) * 2)
        self.mask_mod = more.get("mask_mod") or noop_mask
        self._tells_all = True  # blocks that do not follow from the mask leave places out too

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        **more: Any,
    ) -> BlockMask:
        """A mask from the number and the indices of visible blocks in each row of blocks.

        more: BLOCK_SIZE, mask_mod and seq_lengths.
        """
        known = ("BLOCK_SIZE", "mask_mod", "seq_lengths", "compute_q_blocks")
        check_words("from_kv_blocks", more, *known)
        size = more.get("BLOCK_SIZE", _DEFAULT_SPARSE_BLOCK_SIZE)
        size = (size, size) if isinstance(size, int) else tuple(size)
        length = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        blocks = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        return cls(
            more.get("seq_lengths") or length,
            *blocks,
            BLOCK_SIZE=size,
            mask_mod=more.get("mask_mod"),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes: batch, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of scores under the mask."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of scores in hidden blocks."""
        size = math.prod(self.BLOCK_SIZE)
        return 100 * (1 - int(self.to_dense().sum()) * size / self.numel())

    def to_dense(self) -> Tensor:
        """A 0-1 matrix of visible blocks."""
        found = dense_of(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_indices is None or self.full_kv_num_blocks is None:
            return found
        return found | dense_of(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device: object) -> BlockMask:
        """Return the mask: there is one device."""
        self.kv_indices.to(device)
        return self

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches and heads, which needs a new mask_mod before use."""
        full = (self.full_kv_num_blocks, self.full_kv_indices)
        count, places = (x if x is None else x[index] for x in full)
        blocks = (self.kv_num_blocks[index], self.kv_indices[index])
        more: dict[str, Any] = {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": refuse_part}
        return BlockMask(self.seq_lengths, *blocks, count, places, **more)

    def __repr__(self) -> str:
        shown = f"shape={self.shape}, sparsity={self.sparsity():.2f}%"
        return f"BlockMask({shown}, BLOCK_SIZE={self.BLOCK_SIZE})"

    def _within(self, sizes: tuple[int, ...]) -> Tensor:
        """The boolean mask of each score."""
        found = at_places(self.mask_mod, sizes)
        if not self._tells_all:
            return found
        full = self.full_kv_indices
        if full is not None and self.full_kv_num_blocks is not None:
            found = found | self._spread(dense_of(self.full_kv_num_blocks, full), sizes)
        return found & self._spread(self.to_dense(), sizes)

    def _spread(self, blocks: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """The blocks' visibility, repeated for each of their scores."""
        for axis, size in zip((-2, -1), self.BLOCK_SIZE, strict=True):
            blocks = blocks.repeat_interleave(size, dim=axis)
        return blocks[..., : sizes[2], : sizes[3]] > 0


def refuse_part(*_: Tensor) -> Tensor:
    """Raise an error: the mask function of a part of a BlockMask is unknown."""
    raise ArgumentError(
        "flex_attention: the mask_mod of a part of a BlockMask is not known. Set mask_mod on it."
    )


# attention


def check_sizes(query: Tensor, key: Tensor, value: Tensor, is_grouped: bool) -> None:
    """Refuse queries, keys and values whose shapes do not fit."""
    shapes = [tuple(x.shape) for x in (query, key, value)]
    if {x.ndim for x in (query, key, value)} != {4}:
        raise ShapeError(f"flex_attention: needs (batch, heads, length, size) each: got {shapes}.")
    heads, shared = query.shape[1], key.shape[1]
    if heads != shared and (not is_grouped or heads % shared):
        raise ShapeError(
            f"flex_attention: {heads} heads of queries and {shared} of keys do not fit. Give as "
            "many, or a divisor with enable_gqa=True."
        )
    fits = query.shape[3] == key.shape[3] and key.shape[1:3] == value.shape[1:3]
    if not fits or {key.shape[0], value.shape[0]} - {query.shape[0], 1}:
        raise ShapeError(f"flex_attention: query, key and value do not fit: got {shapes}.")


def check_mask(mask: BlockMask, sizes: tuple[int, ...]) -> None:
    """Refuse a mask for other sequence lengths."""
    if mask.shape[-2:] != sizes[2:]:
        raise ShapeError(
            f"flex_attention: block_mask has the lengths {mask.shape[-2:]}: got {sizes[2:]}. "
            "Create one of these lengths."
        )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    **asked: Any,
) -> Any:
    """Attention with a user's function of scores and a mask.

    score_mod(score, batch, head, query, key) replaces each score; scores hidden by block_mask do
    not count. asked: return_lse, or return_aux=AuxRequest(...), for further results.

    Shapes: query (b, h, t, d), key (b, g, s, d), value (b, g, s, e) -> (b, h, t, e)

    >>> import gnomon as gn
    >>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    >>> value = gn.tensor([[[[1.0], [3.0]]]])
    >>> flex_attention(gn.zeros(1, 1, 2, 4), gn.zeros(1, 1, 2, 4), value, block_mask=causal)
    Tensor([[[[1.],
              [2.]]]])
    """
    check_words("flex_attention", asked, "return_lse", "return_aux", "kernel_options")
    check_sizes(query, key, value, enable_gqa)
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
    scores = (query @ key.mT).to(float64 if query.dtype is float64 else float32)
    scores = scores * (query.shape[3] ** -0.5 if scale is None else scale)
    sizes = tuple(scores.shape)
    if score_mod is not None:
        scores = at_places(score_mod, sizes, scores)
    if block_mask is not None:
        check_mask(block_mask, sizes)
        scores = FUNCTIONS["where"](block_mask._within(sizes), scores, -math.inf)
    most = scores.amax(dim=-1, keepdim=True)
    # a query that sees nothing gives zeros
    offset = FUNCTIONS["where"](most == -math.inf, 0.0, most).detach()
    shares = (scores - offset).exp()
    total = shares.sum(dim=-1, keepdim=True)
    weights = shares / FUNCTIONS["where"](total == 0, 1.0, total)
    result = weights.to(query.dtype) @ value
    return with_more(result, total.log() + offset, most, asked)


def with_more(result: Tensor, lse: Tensor, most: Tensor, asked: dict[str, Any]) -> Any:
    """The result, with the requested further results."""
    aux: AuxRequest | None = asked.get("return_aux")
    wants_lse = asked.get("return_lse", False)
    if aux is not None and wants_lse:
        raise ArgumentError("flex_attention: return_lse and return_aux. Give return_aux alone.")
    if aux is None:
        return (result, lse.squeeze(-1)) if wants_lse else result
    found = AuxOutput(
        lse.squeeze(-1) if aux.lse else None, most.squeeze(-1) if aux.max_scores else None
    )
    return result, found

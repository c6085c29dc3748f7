"""Facts about operations, given where an operation is declared.

No other file of the package keeps a list of operations: each property of operations is a field
here, and is looked up with the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gnomon.ir.node import Node
from gnomon.ops.chunks import ChunksOf


def nothing(first: Node) -> Sequence[int]:
    """Return no operands: the default of `widens`."""
    return ()


class Counted(NamedTuple):
    """The operand of a region that has positions, and the axis of another operand they refer to.

    If that axis is divided, each part's positions count from its own start.
    """

    operand: int
    axis: int
    positions: int


class Claim(NamedTuple):
    """The claim of a hand-written kernel on regions of an operation."""

    kernel: str
    """The name under which the kernel registers itself (gnomon/codegen/calls.py)."""
    strided: tuple[int, ...] = ()
    """The ranks of floating-point operands that are read through their views."""
    floats: bool = True
    """Whether it takes floats only, which it sums in their own dtype."""
    over: bool = False
    """Whether its result may alias its first operand; its last one is read through views."""
    widens: Callable[[Node], Sequence[int]] = nothing
    """A function from the first operand to the operands that the kernel widens from bfloat16."""
    sums: bool = False
    """Whether it reads the leaves of sums from the body, so that a part of a region may be a
    subtree."""
    counted: Counted | None = None
    """The operand that has positions, or None."""


class Facts(NamedTuple):
    """The facts about an operation, given where it is declared."""

    view: bool = False
    """Whether results share the argument's storage."""
    views: bool = False
    """Whether each result may share the storage of one of several arguments."""
    strided: bool = False
    """Whether the result is a copy where no strides give it as a view, as in PyTorch."""
    shown: tuple[str, ...] = ()
    """Names under which it is a view in any case."""
    flat: tuple[str, ...] = ()
    """Names under which it copies arguments that are not contiguous."""
    reshapes: tuple[str, ...] = ()
    """Names whose in-place method changes a tensor's shape, not its values, such as squeeze_."""
    method: bool = True
    """Whether it is a method of Tensor, if its first parameter is a tensor."""
    methods: tuple[str, ...] = ()
    """Other names of the method."""
    operator: str = ""
    """The special method of Python that calls it, such as "__add__"."""
    pair: bool = False
    """Whether its results are values and indices, which are read by these names."""
    none_is_all: bool = False
    """Whether empty axes as PyTorch's `dim` mean all axes; as the standard's `axis` they mean none.
    """
    values_alone: bool = False
    """Whether the standard's function returns only the values of the pair."""
    pair_of: Any = None
    """The operation that PyTorch's name means if its second argument is an axis."""
    of_two: Any = None
    """The operation that PyTorch's name means if its second argument is a tensor."""
    complex: str | tuple[Any, ...] = ""
    """Its form for complex numbers. "parts": applied to real and imaginary part, with the given
    numbers of operands; "product": linear in each tensor; "turned product": so with the first one
    conjugated; "truth": to whether they differ from 0; "size": to their absolute values; "turned":
    a view of the conjugate; "formula": by its own formula (complex_math.py); empty: not at all."""
    autocast: str = ""
    """Under autocast, "narrow" narrows float32 inputs, and "wide" widens narrow ones."""
    functional: bool | tuple[str, ...] = False
    """Whether nn.functional has it, by its own name or by these."""
    inplace: bool = False
    """Whether nn.functional's form takes `inplace`."""
    linalg: bool | tuple[str, ...] = False
    """Whether gn.linalg has it, by its own name or by these."""
    special: bool | tuple[str, ...] = False
    """Whether gn.special has it, by its own name or by these."""
    alone: bool = False
    """Whether gn.linalg or gn.special alone has it, and gn and Tensor have not."""
    results: tuple[str, ...] = ()
    """The names of its results."""
    prompt: bool = False
    """Whether a call outside of programs is computed at once, since values may be refused."""
    standard: tuple[tuple[str, Any], ...] = ()
    """Keywords and values of the standard's function, where PyTorch's method has other defaults."""
    widens_unsigned: bool = False
    """Whether the standard's function gives uint64 for unsigned integers; PyTorch's gives int64."""
    copies: bool = False
    """Whether the array API standard's function takes `copy`, for a result with its own memory."""
    refuses: Callable[..., None] | None = None
    """A function of a node and arguments that refuses some which PyTorch takes, but the standard
    not."""
    bare: str = ""
    """The argument that PyTorch's forms assume if none is given."""
    read: tuple[str, ...] = ()
    """Parameters whose tensors are read before a call, since the operation takes Python numbers."""
    meant: Callable[..., Any] | None = None
    """Given a function that finds positions by values, and the arguments: the operation and the
    arguments that are called instead, if values decide which elements there are.
    """
    spelled: str = ""
    """PyTorch's names of parameters that few operations have, such as "x1=x x2=y"."""
    order: str = ""
    """Parameters that PyTorch's form takes by position after the operation's own."""
    hints: tuple[str, ...] = ()
    """Keywords of PyTorch's that are accepted without effect."""
    layer: str = ""
    """The parameters with weights, which may be stored in blocks and need another product then
    (gnomon/tensor/encoded.py)."""
    claim: Claim | None = None
    """The claim of the hand-written kernel that may compute its regions."""
    chunked: ChunksOf | None = None
    """The chunks of its regions, for calls whose `cut` is not None."""
    joins: bool = False
    """Whether its value is the tensors of its first argument, concatenated along an axis."""
    lighter: str = ""
    """Advice for using less memory, for the message that there is too little."""


NOTHING = Facts()
"""The facts about anything that is not a registered operation."""

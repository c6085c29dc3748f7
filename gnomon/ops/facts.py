"""Facts: what is said about an operation beside its function, where it is declared.

Nothing else in the package keeps a list of operations: what such a list would hold is a field here,
and is looked up with the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gnomon.ir.node import Node
from gnomon.ops.chunks import ChunksOf


def nothing(first: Node) -> Sequence[int]:
    """No operands."""
    return ()


class Counted(NamedTuple):
    """Positions among a region's operands, and the axis of another operand that they count along.

    Where that axis is divided, each part's positions count from its own beginning.
    """

    operand: int
    axis: int
    positions: int


class Claim(NamedTuple):
    """The claim of a hand-written kernel on regions of an operation."""

    kernel: str
    """The kernel's name: it registers itself (gnomon/codegen/calls.py)."""
    strided: tuple[int, ...] = ()
    """Floats of so many axes are read through their views."""
    floats: bool = True
    """It takes floats alone, which it sums in their own dtype."""
    over: bool = False
    """Its result may lie over its first operand; its last one is read through its views."""
    widens: Callable[[Node], Sequence[int]] = nothing
    """The operands that it widens from bfloat16 itself, given the first."""
    sums: bool = False
    """It takes the leaves of its sums from the body: a part of a region may be one of their nodes.
    """
    counted: Counted | None = None
    """The operand that holds positions, if one does."""


class Facts(NamedTuple):
    """The facts about an operation, said where it is declared."""

    view: bool = False
    """Its results show its argument's storage."""
    views: bool = False
    """Of its several tensors, each result may show the storage of one."""
    strided: bool = False
    """Where no strides show its result it is a copy, as PyTorch's."""
    shown: tuple[str, ...] = ()
    """Names under which it is a view all the same."""
    flat: tuple[str, ...] = ()
    """Names under which it is a copy of all that is not contiguous."""
    reshapes: tuple[str, ...] = ()
    """Names whose in-place method changes what a tensor shows, not what it holds: squeeze_."""
    method: bool = True
    """Tensor has it as a method, where its first parameter is a tensor."""
    methods: tuple[str, ...] = ()
    """Other names of the method."""
    operator: str = ""
    """Python's method for it: "__add__"."""
    pair: bool = False
    """Its results are values and where they stood, and are read by these names."""
    none_is_all: bool = False
    """No axes as PyTorch's `dim` are all of them; as the standard's `axis` they are none."""
    values_alone: bool = False
    """The standard's function gives the first of the pair, PyTorch's both."""
    pair_of: Any = None
    """The operation whose PyTorch's form this is when its second argument is an axis."""
    of_two: Any = None
    """The operation that PyTorch's form is when its second argument is a tensor."""
    complex: str | tuple[Any, ...] = ""
    """What it is of complex numbers: "parts", the same of both parts, beside those of operands by
    number; "product", linear in each tensor, "turned product", of the first's conjugate; "truth",
    of what is not 0; "size", of distances from 0; "turned", a view of the
    conjugate; "formula", its own (complex_math.py); or nothing.
    """
    autocast: str = ""
    """Under autocast its float32 inputs become "narrow", or its narrow ones "wide"."""
    functional: bool | tuple[str, ...] = False
    """nn.functional has it: by its own name, or by these."""
    inplace: bool = False
    """nn.functional's form takes `inplace`."""
    linalg: bool | tuple[str, ...] = False
    """gn.linalg has it: by its own name, or by these."""
    special: bool | tuple[str, ...] = False
    """gn.special has it: by its own name, or by these."""
    alone: bool = False
    """gn.linalg or gn.special alone has it: elsewhere its name means something else, or nothing."""
    results: tuple[str, ...] = ()
    """The names of its results."""
    prompt: bool = False
    """Outside of programs a call is computed at once: values may be refused."""
    standard: tuple[tuple[str, Any], ...] = ()
    """Keywords and values of the standard's function, where PyTorch's method has other defaults."""
    widens_unsigned: bool = False
    """The standard's function makes uint64 of unsigned integers, PyTorch's int64."""
    copies: bool = False
    """The standard's function takes `copy`: its result has memory of its own."""
    refuses: Callable[..., None] | None = None
    """Given a node and the other arguments, refuses what PyTorch's takes and the standard's not."""
    bare: str = ""
    """What PyTorch's forms say without an argument: methods, and aliases of the standard's name."""
    read: tuple[str, ...] = ()
    """Parameters whose tensors are read before a call: the operation gets Python's numbers."""
    meant: Callable[..., Any] | None = None
    """Given a function that finds positions by values, and the arguments: the operation and the
    arguments that are called instead, if values decide which elements there are.
    """
    spelled: str = ""
    """PyTorch's names of parameters that few operations call so: "x1=x x2=y"."""
    order: str = ""
    """Words that PyTorch's form takes by position behind the operation's own positions."""
    hints: tuple[str, ...] = ()
    """Keywords of PyTorch's that are understood and change nothing."""
    layer: str = ""
    """The parameter that holds its weight, or its weights: what is stored in blocks may ask for
    another product (gnomon/tensor/encoded.py)."""
    claim: Claim | None = None
    """The hand-written kernel that may take its regions whole."""
    chunked: ChunksOf | None = None
    """The chunks of its regions, when asked for: where a call's `cut` is not None."""
    joins: bool = False
    """Its value is those of its first argument's tensors, one after another along an axis."""
    lighter: str = ""
    """What needs less memory, for the message that there is too little."""


NOTHING = Facts()
"""Of what is no operation of the registry."""

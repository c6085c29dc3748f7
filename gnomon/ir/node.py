"""The node, an immutable value interned in its arena, and closed graphs of nodes.

A node is an operation on other nodes with named parameters. Shape and dtype are derived by the
operation's Primitive. This file knows no primitives: gnomon/ops fills the table.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from math import prod
from operator import attrgetter
from typing import Any, TypeAlias
from weakref import ref

from gnomon.dtypes import DType
from gnomon.errors import ShapeError
from gnomon.forking import cached_property
from gnomon.ir.memo import Keyed, digest, kind_of, memo, typed
from gnomon.ir.operators import elementwise, operator, reflected, refuse_complex
from gnomon.ir.provenance import Site, current_sites, scope, union

Shape = tuple[int, ...]
Sites = tuple[Site, ...]
Inputs: TypeAlias = "tuple[Node, ...]"
Params = dict[str, Any]
Like: TypeAlias = "Node | None"
COUNTED = 58  # bits that count the elements of a tensor: places in bytes never overflow
READ = attrgetter("inputs")  # the nodes that a node reads
INTEGERS = frozenset({int})  # the types of sizes that are known
NUMBER = "number"  # the name of inputs that stand for constants, which all ranks have alike


class Primitive:
    """The interface of a primitive; one instance per name, in PRIMITIVES."""

    name: str

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        """Shape and dtype of the result; raises the user's error when the inputs do not fit."""
        raise NotImplementedError(f"{self.name} has no inference")

    def signature(self, node: Node) -> Signature:
        """The signature: how the output's axes follow the inputs'."""
        raise NotImplementedError(f"{self.name} has no signature")

    def leaves(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[int, ...]:
        """The counts of leaves of the node's sums in canonical order; () if it has no sums."""
        return ()

    def value(self, node: Node, *inputs: Any, **_: Any) -> Any:
        """The result by numpy, which defines the operation; it takes as many arrays as inputs."""
        raise NotImplementedError(f"{self.name} has no value")

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        """The gradient of each needed input, given the result's; None for others."""
        return (None,) * len(node.inputs)


class Signature:
    """The axes of an operation's inputs and result as letters; equal letters are one axis.

    reduced: dropped letter -> the monoid that folds it; whole: letters that stay on one rank.
    """

    __slots__ = ("inputs", "output", "reduced", "whole")

    def __init__(
        self,
        inputs: Sequence[Sequence[str | None]],
        output: Sequence[str | None],
        reduced: dict[str, str] | None = None,
        whole: Iterable[str] = (),
    ) -> None:
        self.inputs = tuple(tuple(letters) for letters in inputs)
        self.output = tuple(output)
        self.reduced = reduced or {}
        self.whole = frozenset(whole)


PRIMITIVES: dict[str, Primitive] = {}


def primitive(name: str) -> Callable[[type[Primitive]], type[Primitive]]:
    """Register the one instance of a primitive under its name: a class decorator."""

    def register(kind: type[Primitive]) -> type[Primitive]:
        kind.name = name
        PRIMITIVES[name] = kind()
        return kind

    return register


class Node:
    """An operation, its inputs and its parameters; equal nodes of one arena are one object.

    Python's operators build arithmetic, but == stays identity, so that nodes can be keys.
    """

    __slots__ = (
        *("__weakref__", "arena", "dtype", "inputs", "kind", "op", "params"),
        *("serial", "shape", "sites", "size", "value", "watch"),
    )

    arena: Arena
    op: str
    inputs: tuple[Node, ...]
    params: dict[str, Any]
    serial: int
    """The order of creation in the arena."""
    shape: Shape
    size: int
    """The number of elements."""
    dtype: DType
    sites: Sites
    kind: int
    """A number shared by all nodes of this operation with these parameters (serial aside)."""
    value: Any
    """The buffer of an eager node's result once it is computed; such a node is a leaf."""
    watch: list[Any] | None
    """Receivers of an eager node's gradient in a backward pass."""

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def called(self) -> str:
        """The name for users: that of a scalar function or a region, else the primitive's."""
        return self.params.get("f") or self.params.get("name") or self.op

    __add__, __radd__ = operator("add"), reflected("add")
    __sub__, __rsub__ = operator("sub"), reflected("sub")
    __mul__, __rmul__ = operator("mul"), reflected("mul")
    __truediv__, __rtruediv__ = operator("div"), reflected("div")

    def __neg__(self) -> Node:
        return elementwise("neg", self)

    def __repr__(self) -> str:
        return f"{self.called}: {self.dtype.name}[{', '.join(map(str, self.shape))}]"


@memo
@cache
def leaf_kind(shape: Shape, dtype: DType) -> tuple[int, dict[str, Any]]:
    """The kind and parameters that all leaves of this shape and dtype share."""
    params = {"shape": shape, "dtype": dtype, "name": "", "serial": 0}
    return kind_of("input", params), params


class Interned(ref[Node]):
    """A weak reference to an interned node, with its key; built by C alone, unlike KeyedRef."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


class Arena:
    """The owner of the nodes of one program or several, where equal operations are one node."""

    def __init__(self, shared: bool = False) -> None:
        self.shared = shared
        self._interned: dict[tuple[Any, ...], Interned] = {}
        self.constants: dict[tuple[Any, ...], Node] = {}
        """Recently used constants, kept alive so that they are found again."""
        self.latest: dict[str, Node] = {}
        """Group of ranks whose messages are ordered -> its latest message, which the next one
        follows."""
        self._serial = count()
        interned = self._interned

        def forget(reference: Any) -> None:
            if interned.get(reference.key) is reference:
                del interned[reference.key]

        self._forget = forget

    def node(self, op: str, inputs: tuple[Node, ...] = (), **params: Any) -> Node:
        """The node of an operation, created if there is none; with a serial it equals no other."""
        return self.intern(kind_of(op, params), op, inputs, params)

    def intern(self, kind: int, op: str, inputs: Inputs, params: Params, like: Like = None) -> Node:
        """The node of an operation of a known kind; `like`: another node of this kind."""
        key = None if "serial" in params else (kind, *inputs)
        if self.shared and op != "const" and all([x.op == "const" for x in inputs]):
            key = key and (*key, current_sites())  # of other programs, which lend no lines
        if key is not None:
            reference = self._interned.get(key)
            if reference is not None and (found := reference()) is not None:
                if op != "const":
                    found.sites = union(found.sites, current_sites())
                return found
        node = Node.__new__(Node)
        node.arena, node.op, node.inputs, node.params, node.kind = self, op, inputs, params, kind
        node.serial = next(self._serial)
        # a constant serves whoever needs the number: it stays in its arena, and belongs to no line
        node.sites = () if op == "const" else scope.sites or current_sites()
        node.value = node.watch = None
        for x in inputs:
            assert x.arena is self, f"{op}: an input belongs to another arena"
        if like is not None and have_shapes_of(inputs, like.inputs):
            node.shape, node.size, node.dtype = like.shape, like.size, like.dtype
        else:
            shape, node.dtype = PRIMITIVES[op].infer(inputs, params)
            refuse_complex(op, node.dtype)
            node.shape, node.size = shape, prod(shape)
            if node.size >> COUNTED or any([n < 0 for n in shape]):
                raise ShapeError(f"{op}: no tensor has the shape {shape}.")
        if key is not None:
            reference = self._interned[key] = Interned(node, self._forget)
            reference.key = key
        return node

    def repeat(self, like: Node, inputs: Inputs, checked: bool = False) -> Node:
        """The node of `like`'s operation on inputs of the same shapes and dtypes as its own.

        checked: whether the inputs are known to belong to this arena.
        """
        if self.shared and inputs[0].op == "const":
            return self.intern(like.kind, like.op, inputs, like.params)
        key = (like.kind, *inputs)
        reference = self._interned.get(key)
        sites = scope.sites or current_sites()
        if reference is not None and (found := reference()) is not None:
            found.sites = union(found.sites, sites)
            return found
        for x in () if checked else inputs:
            assert x.arena is self, f"{like.op}: an input belongs to another arena"
        node = Node.__new__(Node)
        node.arena, node.op, node.inputs, node.sites = self, like.op, inputs, sites
        node.params, node.kind, node.serial = like.params, like.kind, next(self._serial)
        node.shape, node.size, node.dtype = like.shape, like.size, like.dtype
        node.value = node.watch = None
        reference = self._interned[key] = Interned(node, self._forget)
        reference.key = key
        return node

    def part_with(self, node: Node) -> None:
        """Remove an interned node, so that an equal operation becomes a new node."""
        key = (node.kind, *node.inputs)
        reference = self._interned.get(key)
        if reference is not None and reference() is node:
            del self._interned[key]

    def with_inputs(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """The node of another one's operation on these inputs."""
        return self.intern(node.kind, node.op, inputs, node.params, node)

    def input(self, shape: Shape, dtype: DType, name: str = "") -> Node:
        """Create an input, which equals no other."""
        shape = tuple(shape)
        if not name and INTEGERS.issuperset(map(type, shape)):
            made = self.leaf(shape, dtype, None, None)
            if not made.size >> COUNTED and min(shape, default=0) >= 0:
                return made
        serial = next(self._serial)
        return self.node("input", (), shape=shape, dtype=dtype, name=name, serial=serial)

    def leaf(self, shape: Shape, dtype: DType, value: Any, sites: Sites | None) -> Node:
        """Create an input that holds a value; without sites it gets the caller's."""
        node = Node.__new__(Node)
        node.arena, node.op, node.inputs, node.serial = self, "input", (), next(self._serial)
        node.kind, node.params = leaf_kind(shape, dtype)
        node.shape, node.size, node.dtype = shape, prod(shape), dtype
        node.value, node.watch = value, None
        node.sites = current_sites() if sites is None else sites
        return node

    def unique(self, op: str, x: Node, **params: Any) -> Node:
        """Create an identity (detach, barrier) or a view of x that equals no other node."""
        return self.node(op, (x,), **params, serial=next(self._serial))


def pattern_of(kind: int, op: str, params: Params, like: Node) -> Node:
    """A node for Arena.repeat: an operation of a kind, with another node's shape and dtype."""
    made = Node.__new__(Node)
    made.kind, made.op, made.params, made.inputs, made.value = kind, op, params, (), None
    made.shape, made.size, made.dtype = like.shape, like.size, like.dtype
    return made


def have_shapes_of(some: tuple[Node, ...], others: tuple[Node, ...]) -> bool:
    """Whether nodes have the same shapes and dtypes as other nodes, one by one."""
    if len(some) != len(others):
        return False
    for x, y in zip(some, others, strict=True):
        # as keys: a symbolic size is no other one's, whatever was decided, since kernels are kept
        if x.dtype is not y.dtype or not (x.shape is y.shape or typed(x.shape) == typed(y.shape)):
            return False
    return True


def topological(roots: Iterable[Node], known: Iterable[Node] = (), to: Any = READ) -> list[Node]:
    """The nodes on which roots depend, operands first, each once and without the known ones."""
    order: list[Node] = []
    seen: set[Node] = {*known}
    path: list[Node] = []
    """Nodes whose operands are being visited, each with the iterator over those left."""
    later: list[Iterator[Node]] = []
    coming = iter(roots)
    while True:
        for x in coming:
            if x not in seen:
                seen.add(x)
                if behind := to(x):
                    path.append(x)
                    later.append(coming)
                    coming = iter(behind)
                    break
                order.append(x)
        else:
            if not path:
                return order
            order.append(path.pop())
            coming = later.pop()


class Graph(Keyed):
    """A closed piece of program: input leaves and outputs in an arena of its own.

    Equal structure means equal key, whatever the sites; `intern` makes it the same object.
    """

    tag = "graph"

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.nodes = topological(self.outputs)

    @cached_property
    def key(self) -> str:
        """A digest of the structure, computed when it is first read."""
        return digest(structure(self.inputs, self.outputs, self.nodes))

    @cached_property
    def asked(self) -> str:
        """A digest of the user's lines of all nodes, nested graphs included; "" if there are none.

        It is computed on first use, and is no part of the structure.
        """
        return digest(lines) if any(lines := [asked_by(x) for x in self.nodes]) else ""

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.key == other.key

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        return f"Graph({len(self.inputs)} -> {len(self.outputs)}, {len(self.nodes)} nodes)"


def structure(
    inputs: Sequence[Node], outputs: Sequence[Node], nodes: Sequence[Node]
) -> tuple[Any, ...]:
    """A graph as nested tuples, with inputs and nodes as numbers."""
    place = {leaf: -1 - k for k, leaf in enumerate(inputs)}
    inner = [node for node in nodes if node not in place]
    place.update((node, k) for k, node in enumerate(inner))
    names = [(NUMBER,) * (x.params["name"] == NUMBER) for x in inputs]
    leaves = tuple([(x.shape, x.dtype.name, *k) for x, k in zip(inputs, names, strict=True)])
    rows = tuple([row_of(node, place, ("serial",)) for node in inner])
    return (leaves, rows, tuple(place[x] for x in outputs))


def row_of(node: Node, place: Mapping[Node, int], blank: Container[str] = ()) -> tuple[Any, ...]:
    """A node as part of a key: its operation, the numbers of its operands, its parameters."""
    values = [typed(node.params[name]) for name in sorted(node.params) if name not in blank]
    return (node.op, tuple([place[x] for x in node.inputs]), *values)


def asked_by(node: Node) -> tuple[Any, ...]:
    """The source locations of a node and of its nested graphs."""
    inner = [x.asked for x in node.params.values() if isinstance(x, Graph) and x.asked]
    return (*node.sites, *inner) if inner else node.sites


def copy_into(arena: Arena, roots: Iterable[Node], known: dict[Node, Node]) -> list[Node]:
    """Copy the roots into another arena; known maps nodes to images, and gets all new ones."""
    roots = list(roots)
    before = scope.sites
    try:
        for node in topological(roots, known):
            if node not in known:
                scope.sites = node.sites
                inputs = tuple([known[x] for x in node.inputs])
                known[node] = arena.with_inputs(node, inputs)
    finally:
        scope.sites = before
    return [known[root] for root in roots]

"""Proxies: values of a program that is traced, which write down what is done with them."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import TraceError
from gnomon.fx.graph import Graph
from gnomon.fx.node import Node, map_aggregate
from gnomon.tensor.tensor import Tensor

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TracerBase"]

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), DType, type)
"""Arguments that stand in a graph as they are."""


class TracerBase:
    """A record of calls in a graph, by way of proxies."""

    graph: Graph
    record_stack_traces = False

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph; tracers that record more replace this."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node whose arguments have proxies in them, and give its proxy."""
        read, named = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, read, named, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """Convert an argument to its form in a graph."""
        return map_aggregate(a, self.leaf)

    def leaf(self, value: Any) -> Any:
        """Convert a leaf of an argument to its form in a graph."""
        if isinstance(value, Proxy):
            return value.node
        if (
            isinstance(value, (Node, range, *PLAIN))
            or callable(value)
            or hasattr(value, "__fx_leaf__")
        ):
            return value
        if type(value).__module__.partition(".")[0] == "gnomon" and not isinstance(value, Tensor):
            return value
        raise NotImplementedError(
            f"trace: argument of type {type(value)}: a graph has no such one."
        )

    def to_bool(self, obj: Proxy) -> bool:
        """Decide by a traced value: refused."""
        raise TraceError(
            f"trace: {obj.node} is a value that is traced: it can't decide where the program goes. "
            "Use where(), or name the argument in concrete_args."
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Unpack a traced value into the names of an assignment; other iteration is refused."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        count = unpacked(caller)
        if count is None:
            raise TraceError(f"trace: {obj.node} is traced: its length is not known. Use indices.")
        return iter([operator.getitem(obj, k) for k in range(count)])

    def keys(self, obj: Proxy) -> Any:
        """The keys of a traced value, as `**value` asks for them."""
        return Attribute(obj, "keys")()


def unpacked(frame: Any) -> int | None:
    """The number of names that a frame is about to unpack a value into."""
    if frame is None:
        return None
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            return step.argval if step.opname == "UNPACK_SEQUENCE" else None
    return None


class GraphAppendingTracer(TracerBase):
    """Appends to a graph what is done with proxies of its nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """A value of a program that is traced.

    >>> graph = Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> (2 * x.relu())[0]
    Proxy(getitem)
    """

    __getitem__: Callable[[Any, Any], Proxy]

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer or GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Call the value that is traced."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise TraceError(
            f"trace: len() of {self.node}, which is traced, is no number yet. Use fx.wrap('len')."
        )

    def keys(self) -> Any:
        """The keys of a traced value."""
        return self.tracer.keys(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tracers: list[TracerBase] = []

        def find(x: Any) -> Any:
            tracers.extend([x.tracer] if isinstance(x, Proxy) else [])
            return x

        map_aggregate((args, kwargs or {}), find)
        if any(each is not tracers[0] for each in tracers):
            raise TraceError(f"trace: {func.__name__} has values of two programs that are traced.")
        return tracers[0].create_proxy("call_function", func, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a traced value: a node when it is read, a method when it is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads it."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Call the method of this name."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is known while tracing."""

    def __init__(self, node: Node, tracer: TracerBase, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param

    @property
    def shape(self) -> Any:
        """The sizes of the parameter."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self.param.ndim

    def size(self, dim: int | None = None) -> Any:
        """The sizes of the parameter, or one of them."""
        return self.param.size(dim)

    def dim(self) -> int:
        """The number of its axes."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()


def forwards(target: Callable) -> Callable:
    """A method that writes down an operator."""

    def method(self: Proxy, *others: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (self, *others), {})

    return method


def reflected(target: Callable) -> Callable:
    """A method that writes down an operator whose right side is traced."""

    def method(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


SIDES = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.matmul, operator.lshift, operator.rshift),
    *(operator.and_, operator.or_, operator.xor),
)
"""Operators that a value on their right computes where the left one can't."""
ONE_SIDE = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.neg, operator.pos, operator.invert, operator.getitem),
)
for _operator in (*SIDES, *ONE_SIDE):
    setattr(Proxy, f"__{_operator.__name__.strip('_')}__", forwards(_operator))
for _operator in SIDES:
    setattr(Proxy, f"__r{_operator.__name__.strip('_')}__", reflected(_operator))
Proxy.__hash__ = object.__hash__

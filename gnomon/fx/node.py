"""Nodes of a traced program: a call, what it reads, and who reads it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gnomon.errors import TraceError

if TYPE_CHECKING:
    from gnomon.fx.graph import Graph

__all__ = ["Node", "map_aggregate", "map_arg"]

OPS = ("call_function", "call_method", "call_module", "get_attr", "output", "placeholder", "root")
"""The kinds of nodes; `root` is the list's own end."""


def map_aggregate(value: Any, change: Callable[[Any], Any]) -> Any:
    """A structure of tuples, lists, dicts and slices with its leaves changed.

    >>> map_aggregate((1, [2, {"a": 3}], slice(4)), lambda n: n and 10 * n)
    (10, [20, {'a': 30}], slice(None, 40, None))
    """
    if isinstance(value, tuple):
        parts = [map_aggregate(x, change) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [map_aggregate(x, change) for x in value]
    if isinstance(value, dict):
        return {k: map_aggregate(x, change) for k, x in value.items()}
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return slice(*(map_aggregate(x, change) for x in ends))
    return change(value)


def map_arg(value: Any, change: Callable[[Node], Any]) -> Any:
    """A structure of which the nodes are changed.

    >>> map_arg((1, 2), lambda node: None)
    (1, 2)
    """
    return map_aggregate(value, lambda x: change(x) if isinstance(x, Node) else x)


class Node:
    """One step of a graph: `op` says which kind of call, `target` of what.

    meta: a dictionary for whoever passes over graphs. users: the nodes that read this one, in the
    order in which they came.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Any,
        args: tuple = (),
        kwargs: dict[str, Any] | None = None,
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise TraceError(f"Node: expected an op of {', '.join(OPS)}: got {op!r}.")
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self.next = self.prev = self
        self.is_erased = False
        self._inputs: dict[Node, None] = {}
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = {}
        self._read(args, kwargs or {})

    def __repr__(self) -> str:
        return self.name

    def _read(self, args: Any, kwargs: Any) -> None:
        """Read other arguments: nodes learn who their users are."""
        for x in self._inputs:
            x.users.pop(self, None)
        self._inputs = {}
        map_arg((args, kwargs), lambda x: self._inputs.setdefault(x))
        self._args, self._kwargs = tuple(args), dict(kwargs)
        for x in self._inputs:
            x.users.setdefault(self)

    @property
    def args(self) -> tuple:
        """The arguments by position."""
        return self._args

    @args.setter
    def args(self, args: tuple) -> None:
        self._read(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._read(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that it reads, each once."""
        return [*self._inputs]

    @property
    def stack_trace(self) -> str | None:
        """The user's lines that asked for it, where the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    # where it stands

    def prepend(self, node: Node) -> None:
        """Move a node in front of this one."""
        if self.graph is not node.graph:
            raise TraceError(f"prepend: {node} is of another graph. Use node_copy() first.")
        if node is self:
            return
        node._leave()
        before = self.prev
        before.next, node.prev, node.next, self.prev = node, before, self, node

    def append(self, node: Node) -> None:
        """Move a node behind this one."""
        self.next.prepend(node)

    def _leave(self) -> None:
        """Leave the list."""
        self.prev.next, self.next.prev = self.next, self.prev
        self.prev = self.next = self

    # who reads it

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Replace this node by another in all its users; returns them.

        delete_user_cb: for a reader, whether it shall. propagate_meta: the other one takes `meta`.
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        chosen = [user for user in self.users if delete_user_cb(user)]
        for user in chosen:
            user.replace_input_with(self, replace_with)
        return chosen

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read another node wherever one was read."""
        args, kwargs = map_arg(
            (self._args, self._kwargs), lambda x: new_input if x is old_input else x
        )
        self._read(args, kwargs)

    def update_arg(self, idx: int, value: Any) -> None:
        """Replace one argument by position."""
        self.args = (*self._args[:idx], value, *self._args[idx + 1 :])

    def insert_arg(self, idx: int, value: Any) -> None:
        """Insert an argument in front of one by position."""
        self.args = (*self._args[:idx], value, *self._args[idx:])

    def update_kwarg(self, key: str, value: Any) -> None:
        """Replace one argument by name."""
        self.kwargs = {**self._kwargs, key: value}

    # what it does

    def is_impure(self) -> bool:
        """Whether the node has side effects, so that it is not removed when it has no users."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.module_at(self.target)
            return module is None or getattr(module, "_is_impure", False)
        if self.op == "get_attr":
            return False
        name = self.target if self.op == "call_method" else getattr(self.target, "__name__", "")
        in_place = name.endswith("_") and not name.endswith("__") and name not in SIGNS
        return in_place or name == "_assert" or self.target in WRITING

    def format_node(self) -> str:
        """The node as a line."""
        if self.op == "placeholder":
            return (
                f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]"
            )
        if self.op == "output":
            return f"return {self._args[0]}"
        target = self.target if isinstance(self.target, str) else name_of(self.target)
        read = map_arg((self._args, self._kwargs), lambda x: Named(f"%{x.name}"))
        return (
            f"%{self.name} : [num_users={len(self.users)}] = "
            f"{self.op}[target={target}](args = {read[0]}, kwargs = {read[1]})"
        )


WRITING = frozenset(
    {operator.setitem, operator.delitem, setattr, delattr}
    | {getattr(operator, name) for name in dir(operator) if re.match("i[a-z]+$", name)}
    - {getattr(operator, name) for name in ("index", "indexOf", "invert", "is_", "itemgetter")}
)
"""Functions that write to what they are given, or that may raise."""


SIGNS = frozenset({"and_", "or_", "not_", "is_"})
"""Functions of operators whose names Python keeps for words."""


class Named:
    """A text that shows as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def name_of(function: Any) -> str:
    """The name of a function with its module.

    >>> import math
    >>> name_of(math.sqrt)
    'math.sqrt'
    """
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module and module != "builtins" else name

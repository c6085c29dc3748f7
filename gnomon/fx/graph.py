"""Graphs of traced programs: nodes in the order in which they run."""

from __future__ import annotations

import builtins
import keyword
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any
from weakref import ref

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.fx.node import Node, map_aggregate, map_arg, name_of
from gnomon.fx.text import PythonCode, path_in_package, python_code

if TYPE_CHECKING:
    from gnomon.nn.module import Module

__all__ = ["Graph", "PythonCode"]

TAKEN = frozenset((*keyword.kwlist, *dir(builtins), "self", "torch", "gnomon"))
"""Names that no node has."""


class NodeList:
    """The nodes of a graph, forwards or backwards."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __iter__(self) -> Iterator[Node]:
        end = self.graph._end
        node = end.prev if self.backwards else end.next
        while node is not end:
            if not node.is_erased:
                yield node
            node = node.prev if self.backwards else node.next

    def __reversed__(self) -> NodeList:
        return NodeList(self.graph, not self.backwards)

    def __len__(self) -> int:
        return self.graph._count


class Graph:
    """A traced program: placeholders, calls, and one output.

    owning_module: the GraphModule whose program it is.

    >>> import gnomon as gn
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(gn.relu, (x,)))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(self, owning_module: Module | None = None, tracer_cls: Any = None) -> None:
        self._end = Node(self, "", "root", "")
        self._count = 0
        self._names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._end.prepend
        self._owner: Callable[[], Any] = lambda: None
        self.owning_module = owning_module
        self.tracer_cls = tracer_cls

    @property
    def owning_module(self) -> Any:
        """The module whose program it is, while that is there."""
        return self._owner()

    @owning_module.setter
    def owning_module(self, module: Module | None) -> None:
        self._owner = (lambda: None) if module is None else ref(module)

    @property
    def nodes(self) -> NodeList:
        """All nodes in order."""
        return NodeList(self)

    # nodes are made

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node where the graph inserts now: at the end, or as `inserting_before` says."""
        wanted = name or candidate(target)
        made = Node(self, self.unused(wanted), op, target, args or (), kwargs, type_expr)
        self._insert(made)
        self._count += 1
        return made

    def unused(self, wanted: str) -> str:
        """A name that no node has yet.

        >>> graph = Graph()
        >>> graph.unused("add"), graph.unused("add"), graph.unused("self")
        ('add', 'add_1', 'self_1')
        """
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        base, _, digits = name.rpartition("_")
        base = base if base and digits.isdigit() else name
        while name in self._names or name in TAKEN:
            number = self._names.get(base, 0) + 1
            self._names[base] = number
            name = f"{base}_{number}"
        self._names.setdefault(name, 0)
        return name

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an argument of the program; `*name` and `**name` take several."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the reading of a parameter, buffer or other attribute by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a module by its path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add the end: the program's result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # where nodes are inserted

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        """A context in which new nodes are inserted at a place."""
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which new nodes are inserted before `n`, or at the end of the graph."""
        return self._inserting((n or self._end).prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which new nodes are inserted after `n` in order, or at the graph's start."""
        place = [n or self._end]

        def insert(node: Node) -> None:
            place[0].append(node)
            place[0] = node

        return self._inserting(insert)

    # nodes are copied and removed

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph, whose nodes become those that a function says."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add the nodes of another graph but for its output; what that gives, in this graph.

        val_map: nodes of the other graph that are here already; it learns of the copies.
        """
        for node in g.nodes:
            if node.op == "output":
                found = map_arg(node.args[0], lambda x: val_map[x])
                return (found, node) if return_output_node else found
            if node not in val_map:
                val_map[node] = self.node_copy(node, lambda x: val_map[x])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made, known = Graph(tracer_cls=self.tracer_cls), dict[Node, Node]()
        for node in self.nodes:
            known[node] = made.node_copy(node, lambda x: known[x])
        return made

    def __getstate__(self) -> list[tuple]:
        rows = []
        for node in self.nodes:
            read = map_arg((node.args, node.kwargs), lambda x: NodeName(x.name))
            target = path_in_package(node.target) or node.target
            rows.append((node.op, target, *read, node.name, node.type, node.meta.get("site")))
        return rows

    def __setstate__(self, rows: list[tuple]) -> None:
        self.__init__()
        known: dict[str, Node] = {}
        for op, target, args, kwargs, name, kind, site in rows:
            args, kwargs = at_places((args, kwargs), known)
            if op == "call_function" and isinstance(target, str):
                target = operator.attrgetter(target.partition(".")[2])(gn)
            known[name] = self.create_node(op, target, args, kwargs, name, kind)
            known[name].meta |= {"site": site} if site else {}

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nobody reads."""
        if to_erase.users:
            raise TraceError(
                f"erase_node: {to_erase} still has users: {', '.join(map(str, to_erase.users))}. "
                "Use replace_all_uses_with() first."
            )
        if to_erase.graph is not self:
            raise TraceError(f"erase_node: {to_erase} is of another graph.")
        if to_erase.is_erased:
            return
        to_erase.args, to_erase.kwargs = (), {}
        before, after = to_erase.prev, to_erase.next
        to_erase._leave()
        # an iteration over the graph continues from here
        to_erase.prev, to_erase.next, to_erase.is_erased = before, after, True
        self._count -= 1

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes that nobody reads and that do nothing else; whether there were any."""
        is_impure, before = is_impure_node or Node.is_impure, self._count
        for node in NodeList(self, backwards=True):
            if not node.users and not is_impure(node):
                self.erase_node(node)
        return self._count < before

    # what is in it

    def output_node(self) -> Node:
        """The program's end."""
        found = self._end.prev
        if found.op != "output":
            raise TraceError(
                "output_node: the last node is no output. Use output() to end a graph."
            )
        return found

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of one kind, of one target where there is one; in order, sorted or not."""
        same = (x for x in self.nodes if x.op == op)
        return [x for x in same if target is None or x.target == target]

    def module_at(self, path: str) -> Any:
        """The attribute at a path below the module that owns the graph; None where none is."""
        found: Any = self.owning_module
        for name in path.split("."):
            found = getattr(found, name, None)
        return found

    def lint(self) -> None:
        """Check that nodes are read after they ran, that names differ, and that targets exist."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for x in node.all_input_nodes:
                if x not in seen:
                    which = "of another graph" if x.graph is not self else "before it runs"
                    raise TraceError(f"lint: {node} reads {x} {which}. Move it, or copy it.")
            if node.name in names:
                raise TraceError(f"lint: two nodes have the name {node.name}.")
            if node.op == "call_function" and not callable(node.target):
                raise TraceError(f"lint: {node} calls what is no function: {node.target!r}.")
            if node.op in ("call_module", "get_attr") and self.owning_module is not None:
                self._check_path(node)
            seen.add(node)
            names.add(node.name)

    def _check_path(self, node: Node) -> None:
        """Raise where a path leads nowhere."""
        owner: Any = self.owning_module
        for name in node.target.split("."):
            if not hasattr(owner, name):
                raise TraceError(f"lint: {node} has the target {node.target!r}: no {name!r} there.")
            owner = getattr(owner, name)

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The program as Python's text, and the names that the text reads.

        options: PyTorch's others, which say how the text looks; it has one form here.
        """
        return python_code(self.nodes, root_module)

    def __str__(self) -> str:
        found = ["graph():", *(f"    {node.format_node()}" for node in self.nodes)]
        return "\n".join(found)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows: Sequence[Sequence[str]] = [
            ("opcode", "name", "target", "args", "kwargs"),
            *((x.op, x.name, as_text(x.target), str(x.args), str(x.kwargs)) for x in self.nodes),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
        for row in rows:
            cells = (x.ljust(width) for x, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())


class NodeName(str):
    """The name of a node in the file of a graph."""


def at_places(value: Any, known: dict[str, Node]) -> Any:
    """A structure with nodes where their names stand."""
    return map_aggregate(value, lambda x: known[x] if isinstance(x, NodeName) else x)


def as_text(target: Any) -> str:
    """A target as a text."""
    return target if isinstance(target, str) else name_of(target)


def candidate(target: Any) -> str:
    """The name that a node would like to have.

    >>> import operator
    >>> candidate(operator.add), candidate("layers.0.linear")
    ('add', 'layers_0_linear')
    """
    if isinstance(target, str):
        name = target[2:-2] if target[:2] == target[-2:] == "__" else target.replace(".", "_")
    else:
        name = getattr(target, "__name__", type(target).__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()

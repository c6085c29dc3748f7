"""The Python text of a traced program."""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Iterable
from typing import Any

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.fx.node import Named, Node, map_aggregate

__all__ = ["PythonCode", "path_in_package", "python_code"]

SIGNS = {
    **{operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"},
    **{operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.matmul: "@"},
    **{operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<"},
    **{operator.rshift: ">>", operator.eq: "==", operator.ne: "!=", operator.lt: "<"},
    **{operator.le: "<=", operator.gt: ">", operator.ge: ">="},
}
"""Functions of two arguments that have a sign."""
BEFORE = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
"""Functions of one argument that have a sign."""

FIRST_LINE = 5
"""The line of a text's first statement."""


class PythonCode:
    """The text of a program, the values of the names that it reads, and the nodes of its lines."""

    def __init__(self, text: str, values: dict[str, Any], nodes: dict[int, Node]) -> None:
        self.src, self.globals, self.nodes = text, values, nodes


class Writer:
    """Builds a text: objects that it reads from outside get names."""

    def __init__(self, root: str, taken: Iterable[str]) -> None:
        self.root, self.globals, self.taken = root, dict[str, Any](), {*taken}

    def name(self, value: Any, wanted: str) -> str:
        """The name of a value from outside, an attribute of this package where it is one."""
        found = path_in_package(value)
        if found:
            self.globals["gnomon"] = gn
            return found
        own = getattr(builtins, wanted, None)
        if own is value:
            return wanted
        wanted = name = re.sub(r"\W+", "_", wanted).strip("_") or "value"
        number = 0
        while self.globals.get(name, value) is not value or name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.globals[name] = value
        return name

    def value(self, value: Any) -> Any:
        """An argument as it is written."""
        if isinstance(value, Node):
            return Named(value.name)
        if isinstance(value, (bool, int, str, bytes, complex, type(None), type(...))):
            return value
        if isinstance(value, float):
            plain = value == value and abs(value) != float("inf")
            return value if plain else Named(f"float({str(value)!r})")
        return Named(self.name(value, getattr(value, "__name__", type(value).__name__)))

    def written(self, value: Any) -> str:
        """A structure of arguments as it is written."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            kind = self.name(type(value), type(value).__name__)
            return f"{kind}({', '.join(map(self.written, value))})"
        return repr(map_aggregate(value, self.value))

    def call(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Arguments as they stand between a call's brackets."""
        named = (f"{key} = {self.written(x)}" for key, x in kwargs.items())
        return ", ".join((*map(self.written, args), *named))

    def function(self, node: Node) -> str:
        """The call of a function, with a sign where it has one."""
        target, args = node.target, node.args
        name = getattr(target, "__name__", type(target).__name__)
        if target in SIGNS and len(args) == 2:
            return f"{self.written(args[0])} {SIGNS[target]} {self.written(args[1])}"
        if target in BEFORE and len(args) == 1:
            return f"{BEFORE[target]}{self.written(args[0])}"
        if target is operator.getitem and len(args) == 2:
            return f"{self.written(args[0])}[{self.written(args[1])}]"
        if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            return f"{self.written(args[0])}.{args[1]}"
        module = getattr(target, "__module__", None) or ""
        full = name if module == "builtins" else f"{module}.{name}"
        return f"{self.name(target, full)}({self.call(args, node.kwargs)})"

    def step(self, node: Node) -> str:
        """A node's value as it is written."""
        if node.op == "call_function":
            return self.function(node)
        if node.op == "call_method":
            first, *rest = node.args
            return f"{self.written(first)}.{node.target}({self.call(rest, node.kwargs)})"
        place = self.root + "".join(
            f".{part}" if part.isidentifier() else f"._modules[{part!r}]"
            for part in node.target.split(".")
        )
        if node.op == "get_attr":
            return place
        return f"{place}({self.call(node.args, node.kwargs)})"


def path_in_package(value: Any) -> str:
    """The path of a value that the package has under its own name; nothing for others.

    >>> path_in_package(gn.relu), path_in_package(gn.float32), path_in_package(len)
    ('gnomon.relu', 'gnomon.float32', '')
    """
    name = getattr(value, "__name__", None) or str(value).rpartition(".")[2]
    if not isinstance(name, str) or not name.isidentifier():
        return ""
    if vars(gn).get(name) is value or getattr(gn, name, None) is value:
        return f"gnomon.{name}"
    if getattr(gn.nn.functional, name, None) is value:
        return f"gnomon.nn.functional.{name}"
    return ""


def last_reads(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """The nodes whose last reader is each node."""
    found: dict[Node, list[Node]] = {}
    read: set[Node] = set()
    for node in reversed([*nodes]):
        for x in (*node.all_input_nodes, *(() if node.users else (node,))):
            if x not in read:
                read.add(x)
                found.setdefault(node, []).append(x)
    return found


def python_code(nodes: Iterable[Node], root: str) -> PythonCode:
    """The text of a function `forward`, which drops each value after its last use."""
    every = [*nodes]
    text, freed = Writer(root, (x.name for x in every)), last_reads(every)
    given, lines, written = [root], list[str](), dict[int, Node]()
    for node in every:
        if node.op == "placeholder":
            given.append(argument(text, node))
            continue
        written[FIRST_LINE + len(lines)] = node
        if node.op == "output":
            lines.append(f"return {text.written(node.args[0])}")
            continue
        gone = [x.name for x in freed.get(node, ())]
        after = f";  {' = '.join(gone)} = None" if gone else ""
        lines.append(f"{node.name} = {text.step(node)}{after}")
    body = "".join(f"    {line}\n" for line in lines or ["pass"])
    head = f"\n\n\ndef forward({', '.join(given)}):\n"
    return PythonCode(head + body, text.globals, written)


def argument(text: Writer, node: Node) -> str:
    """An argument of the function, with its default."""
    stars = "*" * (len(node.target) - len(node.target.lstrip("*")))
    if len(node.args) > 1:
        raise TraceError(
            f"python_code: {node} has {len(node.args)} defaults: expected one at most."
        )
    default = f" = {text.written(node.args[0])}" if node.args else ""
    return f"{stars}{node.name}{default}"

"""Rewrite rules: left >> right, read as theorems, each tested by itself on values.

A pattern is a scalar function of patterns; lower-case variables match any node, capital ones a
constant. New nodes inherit the sites of the nodes that they replace, so no rule mentions sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from gnomon.forking import cached_property
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import constant
from gnomon.ir.provenance import scope
from gnomon.ir.show import log
from gnomon.ir.sizes import is_symbolic

Match = dict[str, Node]
Guard = Callable[..., bool]


@dataclass(frozen=True)
class Pattern:
    """A variable, if f is empty, or a scalar function of patterns; a number matches a constant."""

    f: str = ""
    operands: tuple[Pattern | float, ...] = ()
    name: str = ""

    def __rshift__(self, right: Right) -> Rule:
        return Rule(self, right)

    def __add__(self, other: Pattern | float) -> Pattern:
        return Pattern("add", (self, other))

    def __sub__(self, other: Pattern | float) -> Pattern:
        return Pattern("sub", (self, other))

    def __mul__(self, other: Pattern | float) -> Pattern:
        return Pattern("mul", (self, other))

    def __truediv__(self, other: Pattern | float) -> Pattern:
        return Pattern("div", (self, other))

    def __neg__(self) -> Pattern:
        return Pattern("neg", (self,))

    def __repr__(self) -> str:
        return self.name or f"{self.f}({', '.join(map(repr, self.operands))})"

    def variables(self) -> Iterator[str]:
        """The names of the pattern's variables, in order."""
        if self.name:
            yield self.name
        for operand in self.operands:
            if isinstance(operand, Pattern):
                yield from operand.variables()


Right = Pattern | Callable[..., Node]
"""The replacement of a rule: a pattern, or a function of the matched nodes."""


def variables(names: str) -> tuple[Pattern, ...]:
    """Create pattern variables: variables("x y C")."""
    return tuple(Pattern(name=name) for name in names.split())


def function(f: str) -> Callable[..., Pattern]:
    """A scalar function for patterns: function("where")(c, x, y)."""
    return lambda *operands: Pattern(f, operands)


def always(**_: Node) -> bool:
    """Return True: the guard of a rule without conditions."""
    return True


@dataclass(frozen=True)
class Rule:
    """A rewrite rule: left equals right to the bit wherever the guard holds."""

    left: Pattern
    right: Right
    guard: Guard = always

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """The operation that each operand must have for the rule to match; empty for any."""
        return tuple(map(operation_of, self.left.operands))

    def __repr__(self) -> str:
        right = self.right if isinstance(self.right, Pattern) else "..."
        return f"{self.left!r} >> {right!r}"

    def apply(self, node: Node) -> Node | None:
        """The replacement of a node; None if the rule does not apply."""
        for x, op in zip(node.inputs, self.asked, strict=False):
            if op and x.op != op:
                return None
        found: Match = {}
        if not matches(self.left, node, found) or not self.guard(**found):
            return None
        made = (
            build(self.right, found, node)
            if isinstance(self.right, Pattern)
            else self.right(**found)
        )
        # a rule may not lose a broadcast: the replacement stands where the node stood
        return made if made.shape == node.shape and made.dtype is node.dtype else None


class Rules(list[Rule]):
    """A titled list of rules; `rules += left >> right` or `rules += left >> right, guard`."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def __iadd__(self, rule: Rule | tuple[Rule, Guard]) -> Rules:  # type: ignore[override]
        self.append(rule if isinstance(rule, Rule) else Rule(rule[0].left, rule[0].right, rule[1]))
        return self


def operation_of(pattern: Pattern | float) -> str:
    """The operation of every node that a pattern matches; empty where it may be any."""
    if not isinstance(pattern, Pattern) or pattern.name.isupper():
        return "const"
    return "map" if pattern.f else ""


def matches(pattern: Pattern | float, node: Node, found: Match) -> bool:
    """Whether a node has a pattern's form; `found` gets the values of variables."""
    if not isinstance(pattern, Pattern):
        return is_number(node, pattern)
    if pattern.name:
        if pattern.name.isupper() and node.op != "const":
            return False
        return found.setdefault(pattern.name, node) is node
    if node.op != "map" or node.params["f"] != pattern.f:
        return False
    for operand, x in zip(pattern.operands, node.inputs, strict=True):
        if not matches(operand, x, found):
            return False
    return True


def is_number(node: Node, value: float) -> bool:
    """Whether a node is this constant; 0.0 and -0.0 differ."""
    if node.op != "const":
        return False
    kept = node.params["value"]
    if is_symbolic(kept):
        return False  # at some sizes it may be; rules are for what is so at all of them
    return (
        float(kept).hex() == float(value).hex() if node.dtype.is_floating_point else kept == value
    )


def build(pattern: Pattern | float, found: Match, like: Node) -> Node:
    """Build the node of a pattern; numbers get the dtype of the replaced node."""
    if not isinstance(pattern, Pattern):
        return constant(like.arena, pattern, like.dtype)
    if pattern.name:
        return found[pattern.name]
    operands = tuple(build(p, found, like) for p in pattern.operands)
    return like.arena.node("map", operands, f=pattern.f)


def rewrite(graph: Graph, step: Callable[[Node], Node | None]) -> Graph:
    """The graph in which `step` replaced every node until it returned None."""

    def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
        return rewrite_fully(arena.with_inputs(node, inputs), step)

    return remade(graph, rebuild)


def remade(graph: Graph, rebuild: Callable[[Arena, Node, tuple[Node, ...]], Node]) -> Graph:
    """The graph in a new arena, each node built by `rebuild` from its new inputs."""
    arena = Arena()
    known: dict[Node, Node] = {}
    before = scope.sites
    try:
        for node in chain(graph.inputs, graph.nodes):
            if node in known:
                continue
            scope.sites = node.sites
            if node.op == "input":
                known[node] = arena.input(node.shape, node.dtype, node.params["name"])
            else:
                known[node] = rebuild(arena, node, tuple([known[x] for x in node.inputs]))
    finally:
        scope.sites = before
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])


def rewrite_fully(node: Node, step: Callable[[Node], Node | None]) -> Node:
    """Apply a rewrite step to a node until it returns None."""
    while (better := step(node)) is not None:
        log(5, lambda was=node, now=better: f"rewrite: {was!r} -> {now!r}", "rewrite")
        node = better
    return node

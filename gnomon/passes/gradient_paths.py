"""Gradient paths: the nodes through which a gradient goes, and the node at which it is added up.

The parts of a gradient are added in the order in which a depth-first walk from the roots meets the
readers of a value. That order, and with it the last bits, is the one of a program without captured
functions, copies for numpy, and writes to leaves: captured functions are opened where it matters,
and a node that stands for another value gets no sum of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from gnomon.ir.node import READ, Node, copy_into, topological
from gnomon.ops.control_primitives import call_of
from gnomon.ops.histories import has_other_history
from gnomon.ops.layouts import LAYOUTS, is_microbatches
from gnomon.ops.registry import CAPTURED

Predecessors: TypeAlias = "Callable[[Node], Sequence[Node]]"
"""The nodes to which the gradient of a node goes."""
Values: TypeAlias = "Sequence[Sequence[Node]]"
"""The nodes of each leaf that is read at several values, between which it was written."""


class GradientPaths:
    """The nodes through which gradients go from the roots of a pass to the wanted nodes."""

    def __init__(self, roots: Iterable[Node], wanted: Iterable[Node], values: Values = ()) -> None:
        self.wanted, self.nodes = set(wanted), topological(roots)
        """The nodes to differentiate by, and the history of the roots in topological order."""
        self.first: dict[Node, Node] = {}
        """Further value of a leaf -> the first one in topological order."""
        self.images: dict[Node, Node] = {}
        """Result of an opened function -> its value in the inlined copy of the body."""
        self.opens = False
        self.closed: set[Node] = set()
        regions = [x for x in self.nodes if x.op == "region"]
        captured, others = (any(map(f, regions)) for f in (is_captured, has_other_history))
        self.is_plain = not (captured or others)
        """Whether every node passes its gradient to all of its inputs."""
        if captured:
            self._open(roots, values)
        elif others:
            self.nodes = topological(roots, to=self.predecessors)
        self.first = first_values(self.nodes, values)
        to = READ if self.is_plain else self.predecessors
        self.on_the_way = depends_on(self.nodes, self.wanted, to)
        """The nodes through which gradients reach the wanted nodes."""
        self.mesh = axes_in(self.nodes)

    def predecessors(self, node: Node) -> Sequence[Node]:
        """The nodes to which the gradient of a node goes."""
        return (self._image(node),) if self._is_open(node) else passed(node)

    def is_passing(self, node: Node) -> bool:
        """Whether a node's gradient is another's: that of its opened body or its other history."""
        return has_other_history(node) or self._is_open(node)

    def summed_at(self, x: Node) -> Node:
        """The node at which the gradient of an operand is added up, in the order of all readers.

        A value that was lent to numpy is read by copies from then on, a leaf that was written to
        has several values, and the result of an opened function is a value in its body: the
        gradient is summed as in a program that reads a single node.
        """
        while x.op == "barrier" or (not self.is_plain and self.is_passing(x)):
            if x.watch or x in self.wanted or "checkpoint" in x.params:
                break
            (x,) = self.predecessors(x)
        return self.first.get(x, x)

    def _is_open(self, node: Node) -> bool:
        """Whether a gradient goes through the body of a captured function, not to its call."""
        return self.opens and is_captured(node) and node not in self.closed

    def _image(self, node: Node) -> Node:
        """A result of a captured function as computed by a copy of its body, which is made once."""
        image = self.images.get(node)
        if image is None:
            body = node.params["body"]
            leaves = dict(zip(body.inputs, node.inputs, strict=True))
            (image,) = copy_into(node.arena, [body.outputs[node.params["index"]]], leaves)
            self.images[node] = image
        return image

    def _open(self, roots: Iterable[Node], values: Values) -> None:
        """Open the captured functions that share operands with other readers."""
        self.first = {x: known[0] for known in values for x in known}
        self.closed, self.opens = self._lone(roots), True
        self.nodes = topological(roots, to=self.predecessors)

    def _lone(self, roots: Iterable[Node]) -> set[Node]:
        """The captured functions whose operands have no other reader, so that their calls stay.

        Inside, gradients are added in the order of a plain run anyway, and a derivation can be
        cached.
        """
        on_the_way = depends_on(self.nodes, self.wanted)
        readers: dict[Node, set[Any]] = {self._value_of(x): {None} for x in roots}
        captured: dict[Any, list[Node]] = {}
        for node in self.nodes:
            if node in on_the_way:
                reader = call_of(node) if is_captured(node) else node
                for x in passed(node):
                    readers.setdefault(self._value_of(x), set()).add(reader)
                if is_captured(node):
                    captured.setdefault(reader, []).append(node)
        found: set[Node] = set()
        for node, *others in captured.values():
            operands = [self._value_of(x) for x in node.inputs if x in on_the_way]
            made = [x for x in operands if not on_the_way.isdisjoint(passed(x))]
            is_alone = all(len(readers[x]) == 1 for x in operands)
            if not others and is_alone and len({*operands}) == len(operands) and len(made) < 2:
                found.add(node)
        return found

    def _value_of(self, x: Node) -> Node:
        """The node at which a value is added up, whichever layout of it is read."""
        x = self.summed_at(x)
        while x.op in LAYOUTS:
            x = self.summed_at(x.inputs[0])
        return x


def passed(node: Node) -> Sequence[Node]:
    """The inputs of a node to which its gradient goes; only the first if it has another history."""
    return node.inputs[:1] if has_other_history(node) else node.inputs


def is_captured(node: Node) -> bool:
    """Whether a node is a result of a captured function."""
    if node.op != "region" or "of" in node.params:
        return False
    return node.params["name"].endswith(CAPTURED)


def first_values(nodes: Sequence[Node], values: Values) -> dict[Node, Node]:
    """For each further node that stands for the same leaf, the first such node in order."""
    places = {x: k for k, x in enumerate(nodes)} if values else {}
    first: dict[Node, Node] = {}
    for known in values:
        read = sorted((x for x in known if x in places), key=places.__getitem__)
        first.update(dict.fromkeys(read[1:], read[0]) if read else {})
    return first


def axes_in(nodes: Sequence[Node]) -> dict[str, int]:
    """The mesh axes that layouts among nodes name, outermost first, and their ranks."""
    named = sorted((x.params["layout"] for x in nodes if x.op in LAYOUTS), key=len, reverse=True)
    pairs = ((name, ranks) for layout in named for name, ranks, _ in layout)
    return {name: ranks for name, ranks in pairs if not is_microbatches(name)}


def depends_on(
    nodes: Sequence[Node], wanted: Iterable[Node], predecessors: Predecessors = passed
) -> set[Node]:
    """The nodes through which gradients reach the wanted ones."""
    marked = set(wanted)
    mark_dependents(nodes, marked, predecessors)
    return marked


def mark_dependents(
    nodes: Sequence[Node], marked: set[Node], predecessors: Predecessors = passed
) -> None:
    """Add to `marked` the nodes, in order, through which gradients reach marked ones."""
    for node in nodes:
        if (
            node.op != "detach"
            and node.dtype.kind == "float"
            and not marked.isdisjoint(predecessors(node))
        ):
            marked.add(node)

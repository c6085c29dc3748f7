"""torch.utils.flop_counter: count the flops of matrix products, by module and operation.

Inside of the mode the thread's arena reports each product when it is requested: no value is needed,
so that tensors on the meta device are counted too. Formulas follow from the products in an
operation's body, as for sharding and costs. Compiled functions are not counted: their programs have
no operations.
"""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from types import TracebackType
from typing import Any, ClassVar

from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.nn.hooked import register_module_forward_hook, register_module_forward_pre_hook
from gnomon.nn.module import Module
from gnomon.passes.choose import product_flops
from gnomon.passes.regions import primitives_of
from gnomon.tensor.state import state

__all__ = ["FlopCounterMode"]

WHOLE = "Global"
UNITS = ("", "K", "M", "B", "T")


class CountingArena(Arena):
    """An arena that reports requested products to counters."""

    counters: ClassVar[weakref.WeakKeyDictionary] = weakref.WeakKeyDictionary()
    """The active counters of each arena."""

    def intern(self, *given: Any) -> Node:
        """Make the node of an operation and count it."""
        return count_node(self, super().intern(*given))

    def repeat(self, *given: Any) -> Node:
        """Make a node with another one's operation and count it."""
        return count_node(self, super().repeat(*given))


def count_node(arena: Arena, node: Node) -> Node:
    """Report a node to the arena's counters if it has products, and return it."""
    if node.op in ("contract", "region"):
        for counter in CountingArena.counters.get(arena, ()):
            counter.note(node)
    return node


class FlopCounterMode:
    """Count the flops of products inside a `with`, those of backward passes included.

    depth: the deepest modules in the table, which is printed at the end if `display`. Module names
    begin with the class of the outermost called module. Backward passes count under "Global" alone.

    >>> import gnomon as gn
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = gn.nn.Sequential(gn.nn.Linear(4, 3))(gn.ones(2, 4))
    >>> counter.get_total_flops(), counter.get_flop_counts()["Sequential.0"]
    (48, {'linear': 48})
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if custom_mapping:
            raise ArgumentError(
                "FlopCounterMode: custom_mapping is refused: formulas follow from what operations "
                "compute. Leave it out."
            )
        self.depth, self.display = depth, display
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self.inside: list[str] = []
        self.bodies: dict[Graph, Graph] = {}
        """The bodies of operations, expanded to primitives."""
        self.calls: defaultdict[tuple[Graph, tuple[Node, ...]], set[Node]] = defaultdict(set)
        """The nodes of the body that are already counted, by call."""

    def note(self, node: Node) -> None:
        """Add the flops of a node to each module whose forward is running."""
        if node.op == "region":
            flops, name = self.flops_of_result(node), node.params["name"]
        else:
            flops, name = product_flops(node), "contract"
        if flops:
            for place in dict.fromkeys((WHOLE, *self.inside)):
                self.counts[place][name] += int(flops)

    def flops_of_result(self, node: Node) -> float:
        """The flops of a call's result, without those counted for its other results."""
        body = node.params["body"]
        known = self.calls[body, node.inputs]
        if node in known:  # the same call once more
            known.clear()
        known.add(node)
        if body not in self.bodies:
            self.bodies[body] = primitives_of(body)
        made = self.bodies[body].outputs[node.params["index"]]
        new = [x for x in topological([made]) if x not in known]
        known.update(new)
        if node.params["name"] == "backward":  # its body holds the forward pass too
            new = [x for x in new if all(site.phase == "backward" for site in x.sites)]
        return sum(map(product_flops, new))

    def get_total_flops(self) -> int:
        """The total flops; a multiplication with its addition counts as two."""
        return sum(self.counts[WHOLE].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The flops by module and operation; "Global" has the total."""
        return {name: dict(found) for name, found in self.counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A text table of flops by module, with percentages of the total."""
        most, whole = self.depth if depth is None else depth, self.get_total_flops()
        lines = [("module", "FLOP", "% total")]
        for name, found in self.counts.items():
            if name.count(".") <= most and (name == WHOLE or found):
                flops = sum(found.values())
                lines.append((name, flops_text(flops), f"{100 * flops / max(whole, 1):.2f}%"))
                lines += [(f"  {op}", flops_text(n), "") for op, n in found.items()]
        wide = [max(len(row[k]) for row in lines) for k in range(3)]
        return "\n".join(
            f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}".rstrip()
            for row in lines
        )

    def __enter__(self) -> FlopCounterMode:
        self.counts.clear()
        self.counts[WHOLE].clear()
        self.arena = state.arena
        CountingArena.counters.setdefault(self.arena, []).append(self)
        self.arena.__class__ = CountingArena
        self.hooks = (
            register_module_forward_pre_hook(self.enter),
            register_module_forward_hook(self.leave, always_call=True),
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        counters = CountingArena.counters[self.arena]
        counters.remove(self)
        if not counters:
            self.arena.__class__ = Arena
        for hook in self.hooks:
            hook.remove()
        self.inside.clear()
        self.calls.clear()
        self.bodies.clear()
        if self.display and kind is None:
            print(self.get_table())

    def enter(self, module: Module, inputs: tuple) -> None:
        """Note the begin of a module's forward."""
        if module not in self.names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self.names.setdefault(inner, f"{root}.{path}".rstrip("."))
        self.inside.append(self.names[module])

    def leave(self, module: Module, inputs: tuple, output: Any) -> None:
        """Note the end of a module's forward."""
        if self.inside:
            self.inside.pop()


def flops_text(flops: int) -> str:
    """A number of flops with three decimals and a unit prefix."""
    power = min((len(str(flops)) - 1) // 3, len(UNITS) - 1)
    return f"{flops / 1000**power:.3f}{UNITS[power]}" if power else str(flops)

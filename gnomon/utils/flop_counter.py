"""torch.utils.flop_counter: multiplications and additions of products, by module and operation.

Inside of the mode the thread's arena counts each product that is asked for, as the operation that
made it: no value is needed, so that tensors on the meta device are counted too. Formulas follow
from the products of an operation's body, as sharding and costs do. What a compiled function does is
not counted: its program has no operations.
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
    """An arena that tells a counter of the products that are asked for."""

    counters: ClassVar[weakref.WeakKeyDictionary] = weakref.WeakKeyDictionary()
    """The counters of each arena."""

    def intern(self, *given: Any) -> Node:
        """The node of an operation, which is counted."""
        return counted(self, super().intern(*given))

    def repeat(self, *given: Any) -> Node:
        """The node of another one's operation, which is counted."""
        return counted(self, super().repeat(*given))


def counted(arena: Arena, node: Node) -> Node:
    """Tell the counters of an arena of a node."""
    if node.op in ("contract", "region"):
        for counter in CountingArena.counters.get(arena, ()):
            counter.note(node)
    return node


class FlopCounterMode:
    """A block in which the products of operations are counted, those of backward passes too.

    depth: how deep the table looks into modules, which is printed at the end if `display`. Names of
    modules begin with the class of the outermost one that is called. Backward passes count under
    "Global" alone.

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
        """The bodies of operations as primitives."""
        self.calls: defaultdict[tuple[Graph, tuple[Node, ...]], set[Node]] = defaultdict(set)
        """By call, what was counted of its body."""

    def note(self, node: Node) -> None:
        """Count a product under the modules whose forward runs."""
        if node.op == "region":
            flops, name = self.flops_of_result(node), node.params["name"]
        else:
            flops, name = product_flops(node), "contract"
        if flops:
            for place in dict.fromkeys((WHOLE, *self.inside)):
                self.counts[place][name] += int(flops)

    def flops_of_result(self, node: Node) -> float:
        """The flops of a call's result, without those of what other results need too."""
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
        """The flops of all products, two for each multiplication with its addition."""
        return sum(self.counts[WHOLE].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The flops by module and operation; of everything under "Global"."""
        return {name: dict(found) for name, found in self.counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The flops of modules as lines of text, with their parts of the whole."""
        most, whole = self.depth if depth is None else depth, self.get_total_flops()
        lines = [("module", "FLOP", "% total")]
        for name, found in self.counts.items():
            if name.count(".") <= most and (name == WHOLE or found):
                flops = sum(found.values())
                lines.append((name, spelled(flops), f"{100 * flops / max(whole, 1):.2f}%"))
                lines += [(f"  {op}", spelled(n), "") for op, n in found.items()]
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
        """Note that a module's forward begins."""
        if module not in self.names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self.names.setdefault(inner, f"{root}.{path}".rstrip("."))
        self.inside.append(self.names[module])

    def leave(self, module: Module, inputs: tuple, output: Any) -> None:
        """Note that a module's forward ended."""
        if self.inside:
            self.inside.pop()


def spelled(flops: int) -> str:
    """A number of flops with three decimals and a letter for thousands, millions and so on."""
    power = min((len(str(flops)) - 1) // 3, len(UNITS) - 1)
    return f"{flops / 1000**power:.3f}{UNITS[power]}" if power else str(flops)

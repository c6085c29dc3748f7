"""The kernels of a compiled program, also as text: what each is made of, who asked for it.

Not how long they take: times belong to the profiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.ir.node import Node
from gnomon.ir.provenance import Site, union

if TYPE_CHECKING:
    from gnomon.codegen.loops import Code
    from gnomon.schedule.fusion import Fusion
    from gnomon.schedule.memory import MemoryPlan

__all__ = ["Kernel", "fusions", "listing"]

PACK = "pack"
"""The kernel that makes panels of a weight, for products to read; it runs when the weight changed.
"""
MOST_SHAPES = 4
"""Operands of a kernel that are written out; an optimizer's has hundreds."""


@dataclass(frozen=True)
class Kernel:
    """One call of a program: its code, the nodes behind its buffers, and what it was made of."""

    name: str
    code: Code
    buffers: tuple[Node, ...]
    outputs: int
    size: int | None
    """The run-time size of a flat kernel."""
    nodes: tuple[Node, ...]
    flops: int
    checks: int = 0
    """How many positions it checks."""
    homes: tuple[tuple[Node, int], ...] = ()
    """Where each buffer lies that is part of a larger value: in which, from which byte on."""
    turns: tuple[Kernel, ...] = ()
    """What stands for it in the program's table, if it is computed in turns."""

    over: tuple[tuple[int, int], ...] = ()
    """Which output may lie over which operand, by their numbers among the buffers."""
    times: int = 1
    """How many turns of a loop run it."""
    numbers: tuple[int, ...] = ()
    """What its code is given after everything else, if it serves several sizes."""
    members: tuple[Kernel, ...] = ()
    """The kernels that a batch runs as one; their outputs stand first among its buffers."""
    bytes: int | None = None
    """What it reads and writes with results over operands, if that is not every buffer once."""

    @property
    def places(self) -> tuple[tuple[Node, int], ...]:
        """The value that each buffer belongs to, and the byte at which it begins there."""
        return self.homes or tuple((x, 0) for x in self.buffers)

    @property
    def codes(self) -> tuple[Code, ...]:
        """All code that it runs."""
        own = (self.code, *(k.code for k in self.members))
        return (*own, *(part for code in own for part in code.parts))

    @property
    def sites(self) -> tuple[Site, ...]:
        """The user lines that the kernel serves, the last result's first."""
        found: tuple[Site, ...] = ()
        for node in reversed(self.nodes):
            found = union(found, node.sites)
        return found


def listing(kernels: Sequence[Kernel], memory: MemoryPlan, only: str = "") -> str:
    """A program's sums, then its kernels in the order in which they run; `only` picks by name."""
    rows = [row(kernel) for kernel in kernels if only in kernel.name]
    return "\n".join([summary(kernels, memory), *aligned(rows)])


def summary(kernels: Sequence[Kernel], memory: MemoryPlan) -> str:
    """One line about a program."""
    codes = len({each.code.symbol for k in kernels for each in (k, *k.members)})
    kept = [k.buffers[0] for k in kernels if k.name == PACK]
    size = scaled(sum(x.size * x.dtype.itemsize for x in kept), "B")
    kernels = [k for k in kernels if k.name != PACK]
    more = f"; {size} in panels, packed when {counted(len(kept), 'weight')} changed" if kept else ""
    return (
        f"{counted(len(kernels), 'kernel')} of {counted(codes, 'code')}; "
        f"{scaled(sum(k.flops * k.times for k in kernels), 'flop')}, "
        f"{scaled(sum(traffic(k) * k.times for k in kernels), 'B')} read or written; "
        f"{scaled(memory.total, 'B')} of memory in between, {scaled(memory.bound, 'B')} at least "
        f"in this order ({memory.total / max(memory.bound, 1):.2f} x){more}"
    )


def row(kernel: Kernel) -> tuple[str, ...]:
    """What is told of one kernel."""
    given = shapes(kernel.buffers[kernel.outputs :])
    made = shapes(kernel.buffers[: kernel.outputs])
    amounts = kernel.flops * kernel.times, traffic(kernel) * kernel.times
    work = scaled(amounts[0], "flop"), scaled(amounts[1], "B")
    name = f"{kernel.name} ({len(kernel.members)})" if kernel.members else kernel.name
    name = f"{name} x{kernel.times}" if kernel.times != 1 else name
    return name, *work, f"{given} -> {made}".lstrip(), where(kernel)


def fusions(decisions: Sequence[Fusion]) -> str:
    """What was decided about products: with what, the bytes apart and together, and why not.

    Below it how other operations share kernels, equal reasons summed up.
    """
    products = [each for each in decisions if each.kind in WAYS]
    done = sum(not each.refused for each in products)
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in products:
        rows.setdefault(weighed(each), []).append(of_lines(each.maker, *each.nodes))
    told = [
        (*row, f"{len(found)} times, first {found[0]}" if found[1:] else found[0])
        for row, found in rows.items()
    ]
    sums = summed([each for each in decisions if each.kind not in WAYS])
    total = f"{counted(len(products), 'candidate')}, {done} done{search(products)}"
    return "\n".join([total, *aligned(told), *sums])


def weighed(each: Fusion) -> tuple[str, ...]:
    """What is told of a product and what is pointwise on it."""
    names = ", ".join(dict.fromkeys(x.params["f"] for x in each.nodes))
    moved = f"{scaled(each.apart, 'B')} apart", f"{scaled(each.together, 'B')} together"
    verdict = (each.refused or "done") + times_of([each])
    return shapes((each.maker,)), f"{WAYS[each.kind]} {names}", *moved, verdict


def search(decisions: Iterable[Fusion]) -> str:
    """What measuring fusions of a program took, and what it was worth."""
    found = {each.measured: each.regret for each in decisions if each.measured}
    spent = sum(verdict.seconds for verdict in found)
    if not found:
        return ""
    return f"; {len(found)} measured in {spent:.2g} s, regret of bytes {max(found.values()):.1%}"


def times_of(decisions: Sequence[Fusion]) -> str:
    """The times of a fusion's forms if it was measured, of the one with most regret of several."""
    measured = [each for each in decisions if each.measured]
    if not measured:
        return ""
    most = max(measured, key=lambda each: each.regret)
    found = most.measured
    assert found
    apart, together = 1e3 * found.apart, 1e3 * found.together
    return (
        f", {found.source} in {found.seconds:.2g} s: {apart:.3g} ms apart, "
        f"{together:.3g} ms together; what bytes say takes {most.regret:.1%} more"
    )


WAYS = {"epilogue": "with", "prologue": "of"}
"""How a product's own pointwise work is told: on its sums, or on its left factor."""
DONE = {"join": "not stored", "share": "read once for both", "recompute": "computed again"}
APART = {"join": "stored", "share": "read twice", "recompute": "not computed again"}
"""Kind of a fusion -> what becomes of a value between two operations, if it is done or refused."""


def summed(decisions: Sequence[Fusion]) -> list[str]:
    """Fusions of loops by what was decided: how many, their bytes, and the largest of them."""
    groups: dict[tuple[str, str], list[Fusion]] = {}
    for each in decisions:
        groups.setdefault((each.kind, each.refused), []).append(each)
    rows = []
    for (kind, refused), found in sorted(groups.items(), key=lambda x: (x[0][1] != "", x[0])):
        most = max(found, key=lambda each: each.apart)
        verdict = f"{APART[kind]}: {refused}" if refused else DONE[kind]
        verdict += times_of(found)
        size = scaled(sum(each.apart for each in found) / 2, "B")
        ends = (f"{label(x)} ({of_lines(x)})" for x in (most.maker, most.nodes[-1]))
        rows.append((counted(len(found), "value"), verdict, size, " and ".join(ends)))
    title = f"between operations, the largest of each kind named{search(decisions)}:"
    return [title, *aligned(rows)] if rows else []


def label(node: Node) -> str:
    """An operation's name."""
    p = node.params
    if node.op == "contract":
        return f"contract {p['spec']}"
    name = p.get("name") or p.get("f") or p.get("monoid")
    return name if node.op in ("map", "region") else f"{node.op} {name}" if name else node.op


def where(kernel: Kernel) -> str:
    """The first user line behind a kernel."""
    return lines(kernel.sites)


def of_lines(*nodes: Node) -> str:
    """The first user line behind nodes."""
    return lines([site for x in nodes for site in x.sites])


def lines(sites: Sequence[Site]) -> str:
    """The first of some user lines, from the present folder if it is below."""
    if not sites:
        return ""
    first, *others = dict.fromkeys(map(str, sites))
    more = f" and {len(others)} more" if others else ""
    return first.removeprefix(f"{Path.cwd()}/") + more


def shapes(nodes: tuple[Node, ...]) -> str:
    """Dtypes and shapes of operands, the first few."""
    told = [f"{x.dtype.name}[{', '.join(map(str, x.shape))}]" for x in nodes[:MOST_SHAPES]]
    left = len(nodes) - len(told)
    return " ".join([*told, f"and {left} more"] if left else told)


def traffic(kernel: Kernel) -> int:
    """The bytes of a kernel's operands and results, each once, where it does not know better."""
    if kernel.bytes is not None:
        return kernel.bytes
    if kernel.members:
        return sum(map(traffic, kernel.members))
    return sum(x.size * x.dtype.itemsize for x in dict.fromkeys(kernel.buffers))


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "kernel"), counted(0, "kernel")
    ('1 kernel', '0 kernels')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def scaled(number: float, unit: str) -> str:
    """An amount in three digits, in thousands of its unit where that is shorter.

    >>> scaled(0, "flop"), scaled(640, "B"), scaled(24_600, "B"), scaled(3_200_000_000, "flop/s")
    ('0 flop', '640 B', '24.6 kB', '3.20 Gflop/s')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * size:
            return f"{digits(number / size)} {letter}{unit}"
    return f"{number:.3g} {unit}"


def digits(number: float) -> str:
    """Three digits of a number below a thousand.

    >>> digits(4.2), digits(42), digits(421.5)
    ('4.20', '42.0', '422')
    """
    places = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{places}f}"


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows as lines whose columns stand under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = ((text.ljust(width) for text, width in zip(r, widths, strict=True)) for r in rows)
    return ["  " + "  ".join(line).rstrip() for line in cells]

"""The kernels of a program as text: what each is made of, and who asked for it.

Not how long they take: times belong to the profiler.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.program.kernel import PACK, Kernel, traffic
from gnomon.program.units import align_columns, counted, metric
from gnomon.schedule.memory import nbytes

if TYPE_CHECKING:
    from gnomon.schedule.fusion import Fusion
    from gnomon.schedule.memory import MemoryPlan

__all__ = ["captured", "fusions", "listing"]

MOST_SHAPES = 4
"""Operands of a kernel that are written out; an optimizer's has hundreds."""


def listing(kernels: Sequence[Kernel], memory: MemoryPlan, only: str = "") -> str:
    """A program's totals, then its kernels in running order; `only` selects by name."""
    rows = [row(kernel) for kernel in kernels if only in kernel.name]
    return "\n".join([summary(kernels, memory), *align_columns(rows)])


def captured(program: Any) -> str:
    """The listing of a captured program: kernels, lines, work, shapes and memory."""
    given, made = len(program.graph.inputs), len(program.graph.outputs)
    sizes = f"{counted(given, 'input')}, {counted(made, 'output')}"
    return f"{program.name}, {sizes}{program.tiers.remark}: {program.executable.explain()}"


def summary(kernels: Sequence[Kernel], memory: MemoryPlan) -> str:
    """A program in one line: kernels, work, memory."""
    codes = len({each.code.symbol for k in kernels for each in (k, *k.members)})
    kept = [k.buffers[0] for k in kernels if k.name == PACK]
    size = metric(sum(nbytes(x) for x in kept), "B")
    kernels = [k for k in kernels if k.name != PACK]
    more = f"; {size} in panels, packed when {counted(len(kept), 'weight')} changed" if kept else ""
    return (
        f"{counted(len(kernels), 'kernel')} of {counted(codes, 'code')}; "
        f"{metric(sum(k.flops * k.times for k in kernels), 'flop')}, "
        f"{metric(sum(traffic(k) * k.times for k in kernels), 'B')} read or written; "
        f"{metric(memory.total, 'B')} of memory in between, {metric(memory.bound, 'B')} at least "
        f"in this order ({memory.total / max(memory.bound, 1):.2f} x){more}"
    )


def row(kernel: Kernel) -> tuple[str, ...]:
    """The row of one kernel."""
    given = shapes(kernel.buffers[kernel.outputs :])
    made = shapes(kernel.buffers[: kernel.outputs])
    amounts = kernel.flops * kernel.times, traffic(kernel) * kernel.times
    work = metric(amounts[0], "flop"), metric(amounts[1], "B")
    name = f"{kernel.name} ({len(kernel.members)})" if kernel.members else kernel.name
    name = f"{name} x{kernel.times}" if kernel.times != 1 else name
    return name, *work, f"{given} -> {made}".lstrip(), where(kernel)


def fusions(decisions: Sequence[Fusion]) -> str:
    """The fusion decisions of products: with what, bytes apart and together, why not.

    After them how other operations share kernels, with equal reasons summed up.
    """
    products = [each for each in decisions if each.kind in WAYS]
    done = sum(not each.refused for each in products)
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in products:
        rows.setdefault(weighed(each), []).append(of_lines(each.maker, *each.nodes))
    lines = [
        (*row, f"{len(found)} times, first {found[0]}" if found[1:] else found[0])
        for row, found in rows.items()
    ]
    sums = summed([each for each in decisions if each.kind not in WAYS])
    total = f"{counted(len(products), 'candidate')}, {done} done{search(products)}"
    return "\n".join([total, *align_columns(lines), *sums])


def weighed(each: Fusion) -> tuple[str, ...]:
    """The row of a product and its fused elementwise work."""
    names = ", ".join(dict.fromkeys(x.params["f"] for x in each.nodes))
    moved = f"{metric(each.apart, 'B')} apart", f"{metric(each.together, 'B')} together"
    verdict = (each.refused or "done") + times_of([each])
    return shapes((each.maker,)), f"{WAYS[each.kind]} {names}", *moved, verdict


def search(decisions: Iterable[Fusion]) -> str:
    """The seconds spent in measuring a program's fusions, and the gain."""
    found = {each.measured: each.regret for each in decisions if each.measured}
    spent = sum(verdict.seconds for verdict in found)
    if not found:
        return ""
    return f"; {len(found)} measured in {spent:.2g} s, regret of bytes {max(found.values()):.1%}"


def times_of(decisions: Sequence[Fusion]) -> str:
    """The measured times of a fusion's forms; of several, those with the highest regret."""
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
"""The word for a product's own pointwise work: on its sums, or on its left factor."""
DONE = {"join": "not stored", "share": "read once for both", "recompute": "recomputed"}
APART = {"join": "stored", "share": "read twice", "recompute": "not recomputed"}
"""Kind of a fusion -> what becomes of a value between two operations, if it is done or refused."""


def summed(decisions: Sequence[Fusion]) -> list[str]:
    """Rows of loop fusions by decision: number, bytes, and the largest one."""
    groups: dict[tuple[str, str], list[Fusion]] = {}
    for each in decisions:
        groups.setdefault((each.kind, each.refused), []).append(each)
    rows = []
    for (kind, refused), found in sorted(groups.items(), key=lambda x: (x[0][1] != "", x[0])):
        most = max(found, key=lambda each: each.apart)
        verdict = f"{APART[kind]}: {refused}" if refused else DONE[kind]
        verdict += times_of(found)
        size = metric(sum(each.apart for each in found) / 2, "B")
        ends = (f"{label(x)} ({of_lines(x)})" for x in (most.maker, most.nodes[-1]))
        rows.append((counted(len(found), "value"), verdict, size, " and ".join(ends)))
    title = f"between operations, the largest of each kind named{search(decisions)}:"
    return [title, *align_columns(rows)] if rows else []


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
    """The first source line behind nodes."""
    return lines([site for x in nodes for site in x.sites])


def lines(sites: Sequence[Site]) -> str:
    """The first of some source lines, relative to the present folder if inside."""
    if not sites:
        return ""
    first, *others = dict.fromkeys(map(str, sites))
    more = f" and {len(others)} more" if others else ""
    return first.removeprefix(f"{Path.cwd()}/") + more


def shapes(nodes: tuple[Node, ...]) -> str:
    """Dtypes and shapes of operands, the first few."""
    found = [f"{x.dtype.name}[{', '.join(map(str, x.shape))}]" for x in nodes[:MOST_SHAPES]]
    left = len(nodes) - len(found)
    return " ".join([*found, f"and {left} more"] if left else found)

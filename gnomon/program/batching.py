"""The kernels of a program in the order in which they run, and which of them run as one call.

A batch is kernels of one code that wait for nothing of each other, such as the updates of all
parameters: one call, whose members are shared out over threads by their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from gnomon.codegen.batch import batch_code
from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.program.collectives import reduces
from gnomon.program.kernel import Kernel
from gnomon.schedule.arrange import KernelWork, arranged, stages
from gnomon.schedule.clustering import is_opaque
from gnomon.schedule.memory import nbytes

__all__ = ["in_order"]


def in_order(
    kernels: Sequence[Kernel], lasting: Collection[Node], allows: Callable[[str], bool]
) -> Sequence[Kernel]:
    """Kernels in the order in which they run, with transfers split and equal kernels batched.

    `lasting`: the values that live outside the program's memory. allows: whether an optimisation
    may be done.
    """
    works = list(map(work, kernels))
    if allows("arrange"):
        sizes = {x: hint(nbytes(x)) for k in kernels for x in k.buffers if x not in lasting}
        order = arranged(works, sizes)
        kernels, works = [kernels[k] for k in order], [works[k] for k in order]
    return batch_kernels(kernels, works) if allows("batch") else kernels


def work(kernel: Kernel) -> KernelWork:
    """The values that a kernel writes and reads."""
    after = kernel.after if isinstance(kernel, Kernel) else ()
    return KernelWork(kernel.buffers[: kernel.outputs], (*kernel.buffers[kernel.outputs :], *after))


def batch_kernels(kernels: Sequence[Kernel], works: Sequence[KernelWork]) -> list[Kernel]:
    """Kernels with those of one stage and code merged into batches, in the first one's position."""
    groups: dict[object, list[Kernel]] = {}
    sent = sent_in_bounds(kernels)
    for place, (kernel, stage) in enumerate(zip(kernels, stages(works), strict=True)):
        alone = kernel.checks or any(map(is_opaque, kernel.nodes))
        alone = alone or not sent.isdisjoint(kernel.buffers[: kernel.outputs])
        # numbers are part of the key, as when sizes were constants: so batches never differ
        key = place if alone else (stage, kernel.code.symbol, kernel.numbers)
        groups.setdefault(key, []).append(kernel)
    return [batch(group) if len(group) > 1 else group[0] for group in groups.values()]


def sent_in_bounds(kernels: Sequence[Kernel]) -> set[Node]:
    """The operands of bounded reductions, excluded from batches, which would delay sends."""
    bounded = ((k, reduces(k)) for k in kernels)
    return {k.buffers[1] for k, reduction in bounded if reduction and reduction.bound}


def batch(members: Sequence[Kernel]) -> Kernel:
    """One call for several kernels of one code."""
    made = [x for k in members for x in k.buffers[: k.outputs]]
    read = [x for k in members for x in k.buffers[k.outputs :]]
    return Kernel(
        members[0].name,
        batch_code(),
        (*made, *read),
        len(made),
        size=None,
        nodes=tuple(x for k in members for x in k.nodes),
        flops=sum(k.flops for k in members),
        members=tuple(members),
    )

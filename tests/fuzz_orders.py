"""Random programs over a mesh, parts of which are compiled, beside the same program on one process.

Values are plain on each rank, whole in a mesh, or split over it, and move between these; to one
process that is nothing. All numbers are floats of many digits, so that every gradient shows by its
last bits in which order its parts were added up. No expression stands twice in a program: equal
ones are one node on one process, and not always over a mesh.

By hand: python -m tests.fuzz_orders --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.tensor import DTensor, Replicate, distribute_tensor
from tests.distributed.on_threads import on_threads
from tests.fuzz_ranks import placement, whole_of

SIDE = 12
KINDS = ("plain", "plain", "replicated", "split 0", "split 1")
MOVES = ("to plain", "to replicated", "to split 0", "to split 1")
Step = tuple[str, int, int, float]
Values = Sequence[gn.Tensor]


@dataclass(frozen=True)
class Program:
    """Leaves by kind, steps with the places of their operands, and the steps that are compiled."""

    ranks: int
    leaves: tuple[tuple[str, np.ndarray], ...]
    steps: tuple[Step, ...]
    compiled: slice


def drawn(seed: int) -> Program:
    """The program of a seed; all values are square matrices."""
    source, rng = random.Random(seed), np.random.default_rng(seed)
    arrays = [rng.standard_normal((SIDE, SIDE)).astype(np.float32) * 0.3 for _ in range(3)]
    leaves = tuple((source.choice(KINDS), array) for array in arrays)
    steps = []
    for count in range(len(leaves), len(leaves) + source.randint(6, 14)):
        name = source.choice((*OPERATIONS, *MOVES))
        places = [source.randrange(max(0, count - 5), count) for _ in range(2)]
        steps.append((name, *places, source.uniform(0.5, 1.5)))
    first = source.randrange(len(steps))
    compiled = slice(first, source.choice((first, source.randint(first, len(steps)))))
    return Program(source.choice((2, 3, 4)), leaves, tuple(steps), compiled)


OPERATIONS: dict[str, Callable[[gn.Tensor, gn.Tensor, float], gn.Tensor]] = {
    "add": lambda x, y, c: x + y * c,
    "multiply": lambda x, y, c: x * (y * c),
    "matmul": lambda x, y, c: (x @ (y * c)).tanh(),
    "sine": lambda x, _, c: (x * c).sin(),
    "fold 0": lambda x, _, c: x * (x * c).sum(0, keepdim=True).sigmoid().expand(x.shape),
    "fold 1": lambda x, _, c: x * (x * c).sum(1, keepdim=True).sigmoid().expand(x.shape),
}


def whole(x: gn.Tensor, mesh: DeviceMesh) -> gn.Tensor:
    """A value in the mesh; what is plain is whole on each rank."""
    return x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, [Replicate()])


def taken(step: Step, values: Values, mesh: DeviceMesh | None) -> gn.Tensor:
    """The value of a step."""
    name, first, second, factor = step
    x, y = values[first], values[second]
    if name in MOVES:
        if mesh is None or (name == "to plain" and not isinstance(x, DTensor)):
            return x
        if name == "to plain":
            return x.full_tensor()
        return whole(x, mesh).redistribute(mesh, [placement(name)])
    if mesh is not None and isinstance(x, DTensor) != isinstance(y, DTensor):
        x, y = whole(x, mesh), whole(y, mesh)
    return OPERATIONS[name](x, y, factor)


def gradients(program: Program, leaves: Values, mesh: DeviceMesh | None) -> list[bytes]:
    """The loss of a program and the gradients of its leaves."""

    def run(steps: Sequence[Step], *values: gn.Tensor) -> tuple[gn.Tensor, ...]:
        for step in steps:
            values = (*values, taken(step, values, mesh))
        return values

    before, after = program.steps[: program.compiled.start], program.steps[program.compiled.stop :]
    middle = program.steps[program.compiled]

    @gn.compile
    def inner(*values: gn.Tensor) -> tuple[gn.Tensor, ...]:
        return run(middle, *values)[len(values) :]

    values = run(before, *leaves)
    values = (*values, *inner(*values)) if middle and mesh is not None else run(middle, *values)
    values = run(after, *values)
    loss = sum(plain(x * (k + 1.5)).square().sum() for k, x in enumerate(values[-3:]))
    loss.backward()
    grads = [gn.zeros(1) if x.grad is None else x.grad for x in leaves]
    return [whole_of(x).tobytes() for x in (loss, *grads)]


def plain(x: gn.Tensor) -> gn.Tensor:
    """The whole of a value."""
    return x.full_tensor() if isinstance(x, DTensor) else x


def findings(seed: int) -> list[str]:
    """What differs from one process in the program of a seed."""
    program = drawn(seed)
    alone = [gn.tensor(array, requires_grad=True) for _, array in program.leaves]
    known = gradients(program, alone, None)

    def work(rank: int, ranks: int) -> list[str]:
        mesh = init_device_mesh("cpu", (ranks,))
        leaves: list[Any] = []
        for kind, array in program.leaves:
            x = gn.tensor(array)
            x = x if kind == "plain" else distribute_tensor(x, mesh, [placement(kind)])
            leaves.append(x.requires_grad_())
        pairs = zip(known, gradients(program, leaves, mesh), strict=True)
        names = ("loss", *(f"gradient of leaf {k}" for k in range(len(leaves))))
        return [name for name, (a, b) in zip(names, pairs, strict=True) if a != b]

    found = on_threads(work, program.ranks)
    return [f"seed {seed}, rank {rank}: {each}" for rank, own in enumerate(found) for each in own]


def main() -> None:
    """Try programs until the time is over; print those that differ."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--seed", type=int, default=0)
    given = words.parse_args()
    until, seed, count = time.monotonic() + given.seconds, given.seed, 0
    while time.monotonic() < until:
        try:
            found = findings(seed)
        except Exception as error:
            found = [f"seed {seed}: {type(error).__name__}: {error}"]
        count += bool(found)
        for each in found[:2]:
            print(each[:400], flush=True)
        seed += 1
    print(f"{count} findings in {seed - given.seed} programs")
    sys.exit(bool(count))


if __name__ == "__main__":
    main()

"""Random programs of plain tensors and tensors over a mesh, beside each rank's truth by numpy.

The truth of a value is what each rank takes for the whole of it. An operation is done on these,
rank by rank; where its result is split, the whole is put together of every rank's own stretch.
Gradients go back the same way, of each rank's sum of the last value times numbers of its own: those
of plain leaves, of what lies over ranks, and of a fully sharded module's weight. Numbers are small
integers in float32, so that all sums are exact and compared by their bits.

By hand: python -m tests.fuzz_ranks --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from tests.distributed.on_threads import on_threads

WORLDS = (2, 3, 4)
STEPS = 8
EXACT = 2.0**22
"""Gradients whose sums may come near to this are not compared."""
MOST = 100.0
"""Larger numbers are not multiplied: every sum of products stays exact."""
KINDS = ("plain", "plain", "constant", "replicated", "split 0", "split 1", "pending")
PAIRS = ("matmul", "matmul", "matmul", "add", "multiply")
SINGLE = ("module", "relu", "transpose", "fold 0", "fold 1", "gram", "full", "head")
MOVES = ("to split 0", "to split 1", "to replicated")
OWN = frozenset({"gram", "full", "module", *MOVES})
"""What says how the gradient of its operand lies, whatever ranks ask for."""
Wholes = list[np.ndarray]
"""What each rank takes for the whole of a value."""


@dataclass(frozen=True)
class Program:
    """Inputs by kind with the array of each rank, and steps with the places of their operands."""

    ranks: int
    leaves: tuple[tuple[str, Wholes], ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]


def drawn(seed: int) -> Program:
    """The program of a seed; all values are square matrices of a side that ranks divide."""
    source, rng = random.Random(seed), np.random.default_rng(seed)
    ranks = source.choice(WORLDS)
    side = ranks * source.choice((1, 2))

    def array() -> np.ndarray:
        return rng.integers(-2, 3, (side, side)).astype(np.float32)

    leaves = []
    for kind in ("split 0", "plain", *source.choices(KINDS, k=3)):
        first = np.full((side, side), 2.0, np.float32) if kind == "constant" else array()
        own = kind in ("plain", "pending")
        leaves.append((kind, [array() if own else first for _ in range(ranks)]))
    steps = []
    for count in range(len(leaves), len(leaves) + STEPS):
        name = source.choice((*PAIRS, *SINGLE, *MOVES))
        operands = 2 if name in PAIRS else 1
        steps.append((name, tuple(source.randrange(count) for _ in range(operands))))
    return Program(ranks, tuple(leaves), tuple(steps))


def laid(kind: str, array: np.ndarray, mesh: Any, watched: bool = False) -> gn.Tensor:
    """An input as a rank has it; watched: it is asked of its gradient."""
    if kind == "constant":
        return gn.full(array.shape, 2.0)
    x = gn.tensor(array)
    if kind not in ("plain", "pending"):
        x = distribute_tensor(x, mesh, [placement(kind)])
    return x.requires_grad_() if watched else x


def used(kind: str, x: gn.Tensor, mesh: Any) -> gn.Tensor:
    """An input as a program takes it."""
    return DTensor.from_local(x, mesh, [Partial()]) if kind == "pending" else x


def placement(kind: str) -> Any:
    """The placement that ends a name."""
    return Replicate() if kind.endswith("replicated") else Shard(int(kind[-1]))


def split_of(x: gn.Tensor) -> int | None:
    """The axis along which a tensor is split over the mesh."""
    found = x.placements[0] if isinstance(x, DTensor) else Replicate()
    return found.dim if isinstance(found, Shard) else None


class Sharded(gn.nn.Module):
    """A module of one weight, of which each rank keeps a part."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.weight = gn.nn.Parameter(gn.tensor(weight_of(side)))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The rows of x times the weight."""
        return x @ self.weight


def weight_of(side: int) -> np.ndarray:
    """The weight of the module."""
    return (np.arange(side * side).reshape(side, side) % 3 - 1).astype(np.float32)


def gram(x: gn.Tensor) -> gn.Tensor:
    """A plain square matrix of this rank's part."""
    part = (x * 1.0).to_local() if isinstance(x, DTensor) else x  # a pending sum is done
    return part @ part.t() if split_of(x) == 1 else part.t() @ part


def called(name: str, operands: Sequence[gn.Tensor], mesh: Any, module: Sharded) -> gn.Tensor:
    """An operation as users write it."""
    x, *rest = operands
    if name in MOVES:
        return x.redistribute(mesh, [placement(name)]) if isinstance(x, DTensor) else x
    calls: dict[str, Callable[..., gn.Tensor]] = {
        "matmul": lambda x, y: x @ y,
        "add": lambda x, y: x + y,
        "multiply": lambda x, y: x * y,
        "relu": lambda x: x.relu() - 1.0,
        "transpose": lambda x: x.t(),
        "fold 0": lambda x: x.sum(dim=0, keepdim=True).expand(x.shape),
        "fold 1": lambda x: x.sum(dim=1, keepdim=True).expand(x.shape),
        "head": lambda x: x[:1].expand(x.shape),
        "gram": gram,
        "full": lambda x: x.full_tensor() if isinstance(x, DTensor) else x,
        "module": lambda x: x if isinstance(x, DTensor) else module(x),
    }
    return calls[name](x, *rest)


def truth(name: str, operands: Sequence[np.ndarray], rank: int, ranks: int, split: int | None):
    """An operation on what a rank takes for whole values; split: the first one's axis that is."""
    x, *rest = operands
    side = len(x)
    if name == "gram":
        part = x if split is None else np.split(x, ranks, split)[rank]
        return part @ part.T if split == 1 else part.T @ part
    calls: dict[str, Callable[..., np.ndarray]] = {
        "matmul": np.matmul,
        "add": np.add,
        "multiply": np.multiply,
        "relu": lambda x: np.maximum(x, 0) - 1,
        "transpose": lambda x: x.T,
        "fold 0": lambda x: np.repeat(x.sum(0, keepdims=True), side, 0),
        "fold 1": lambda x: np.repeat(x.sum(1, keepdims=True), side, 1),
        "head": lambda x: np.repeat(x[:1], side, 0),
    }
    return calls.get(name, lambda x: x)(x, *rest)


def pulled(name: str, xs: Sequence[np.ndarray], g: np.ndarray, part: Part) -> list[np.ndarray]:
    """The gradients of an operation's operands, given that of its result, on one rank."""
    x, *rest = xs
    side = len(x)
    if name == "gram":
        own = part.of(x)
        mine = (g + g.T) @ own if part.split == 1 else own @ (g + g.T)
        return [part.alone(mine, x)]
    calls: dict[str, Callable[..., list[np.ndarray]]] = {
        "matmul": lambda y: [g @ y.T, x.T @ g],
        "add": lambda y: [g, g],
        "multiply": lambda y: [g * y, g * x],
        "relu": lambda: [g * (x > 0)],
        "transpose": lambda: [g.T],
        "fold 0": lambda: [np.repeat(g.sum(0, keepdims=True), side, 0)],
        "fold 1": lambda: [np.repeat(g.sum(1, keepdims=True), side, 1)],
        "head": lambda: [np.concatenate([g.sum(0, keepdims=True), 0 * g[1:]])],
    }
    return calls.get(name, lambda: [g])(*rest)


@dataclass(frozen=True)
class Part:
    """A rank's part of a value that is split along an axis, or all of it."""

    rank: int
    ranks: int
    split: int | None

    def of(self, x: np.ndarray) -> np.ndarray:
        """The part of a whole value."""
        return x if self.split is None else np.split(x, self.ranks, self.split)[self.rank]

    def alone(self, part: np.ndarray, like: np.ndarray) -> np.ndarray:
        """A whole value of this part and zeros."""
        if self.split is None:
            return part
        parts = [part if k == self.rank else 0 * part for k in range(self.ranks)]
        return np.concatenate(parts, self.split)


class Truth:
    """The truth of every value of a program, and how each lies, as one rank sees it."""

    def __init__(self, program: Program) -> None:
        self.ranks = program.ranks
        self.wholes: list[Wholes] = []
        self.steps: list[tuple[str, Sequence[int], int | None, bool]] = []
        """Operations, their operands, the axis along which the first is split, if it is plain."""
        self.splits: list[int | None] = []
        """The axis along which each value is split."""
        for kind, arrays in program.leaves:
            total = sum(arrays[1:], arrays[0])
            self.wholes.append([total] * self.ranks if kind == "pending" else arrays)
            self.splits.append(int(kind[-1]) if kind.startswith("split") else None)

    def small(self, operands: Sequence[int]) -> bool:
        """Whether a product of these values is small enough to be exact."""
        return all(np.abs(x).max() <= MOST for k in operands for x in self.wholes[k])

    def add(self, name: str, operands: Sequence[int], was: Any, laid_out: Any, plain: bool) -> None:
        """Note the truth of a step: `was` and `laid_out` are the axes split before and after."""
        given = [self.wholes[k] for k in operands]
        weight = weight_of(len(given[0][0]))
        made = [
            truth(name, [x[rank] for x in given], rank, self.ranks, was)
            for rank in range(self.ranks)
        ]
        if name == "module" and plain:
            made = [x @ weight for x in made]
        if laid_out is not None:
            stretches = [np.split(x, self.ranks, laid_out)[k] for k, x in enumerate(made)]
            made = [np.concatenate(stretches, laid_out)] * self.ranks
        self.wholes.append(made)
        self.steps.append((name, operands, was, plain))
        self.splits.append(laid_out)

    def gradients(self, seeds: Wholes) -> tuple[list[Wholes], np.ndarray]:
        """The gradients of all leaves on each rank, and the module's weight's.

        Each rank goes back through what it takes for whole values. The gradient of what is split
        is put together of every rank's own stretch, as the value is. What is made of parts, and
        is none itself, has a gradient where ranks ask alike.
        """
        found: list[Wholes] = [[0 * x for x in each] for each in self.wholes]
        found[-1] = seeds
        first, weight = len(self.wholes) - len(self.steps), weight_of(len(seeds[0]))
        total = 0.0 * weight
        for k in reversed(range(len(self.wholes))):
            gs = found[k] = self.together(found[k], self.splits[k])
            if k < first:
                continue
            name, operands, was, plain = self.steps[k - first]
            divided = any(self.splits[j] is not None for j in operands) and name not in OWN
            if divided and self.splits[k] is None and any((g != gs[0]).any() for g in gs):
                raise UntoldError
            for rank, g in enumerate(gs):
                xs = [self.wholes[j][rank] for j in operands]
                if name == "module" and plain:
                    total += exact(np.abs(xs[0]).T @ np.abs(g), xs[0].T @ g) / self.ranks
                    g = exact(np.abs(g) @ np.abs(weight).T, g @ weight.T)
                part = Part(rank, self.ranks, was)
                bounds = pulled(name, [np.abs(x) for x in xs], np.abs(g), part)
                parts = zip(operands, bounds, pulled(name, xs, g, part), strict=True)
                for j, bound, own in parts:
                    found[j] = [x + exact(bound, own) * (r == rank) for r, x in enumerate(found[j])]
        return found[:first], exact(np.abs(total), total)

    def together(self, wholes: Wholes, split: int | None) -> Wholes:
        """What ranks take for whole values of which each has its own stretch."""
        if split is None:
            return wholes
        parts = [Part(k, self.ranks, split).of(x) for k, x in enumerate(wholes)]
        return [np.concatenate(parts, split)] * self.ranks


class UntoldError(Exception):
    """No rule says what a gradient is, or it is too large for the integers of float32."""


def exact(bound: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x, if what it is summed of stays among the integers of float32."""
    if np.abs(bound).max() >= EXACT:
        raise UntoldError
    return x


def looked_at(x: gn.Tensor, glances: random.Random) -> None:
    """Compute a value, or the part of it that a rank has, on this rank alone; sometimes."""
    part = x.to_local() if isinstance(x, DTensor) else x
    if glances.random() < 0.2:
        gn.evaluate([part])


def run(program: Program, rank: int, seed: int) -> list[str]:
    """What differs on a rank: the program eagerly, step by step, and then compiled."""
    mesh = init_device_mesh("cpu", (program.ranks,), mesh_dim_names=("dp",))
    side, glances = len(program.leaves[0][1][0]), random.Random(f"{seed} {rank}")
    module = fully_shard(Sharded(side), mesh=mesh)
    leaves = [used(kind, laid(kind, arrays[rank], mesh), mesh) for kind, arrays in program.leaves]
    values, taken, known = [*leaves], [], Truth(program)
    constant = {k for k, (kind, _) in enumerate(program.leaves) if kind == "constant"}
    for name, operands in program.steps:
        if name in ("matmul", "multiply", "gram", "module") and not known.small(operands):
            name, operands = "relu", operands[:1]
        plain = not isinstance(values[operands[0]], DTensor)
        was = split_of(values[operands[0]])
        values.append(called(name, [values[k] for k in operands], mesh, module))
        taken.append((name, operands))
        known.add(name, operands, was, split_of(values[-1]), plain)
        constant |= {len(values) - 1} if constant.issuperset(operands) else set()
        if len(values) - 1 not in constant:
            looked_at(values[-1], glances)

    @gn.compile
    def compiled(given: list[gn.Tensor]) -> list[gn.Tensor]:
        made = [*given]
        for name, operands in taken:
            made.append(called(name, [made[k] for k in operands], mesh, module))
        return made[len(given) :]

    found = list(differing("eager", values[len(leaves) :], known, taken, rank))
    found += differing("compiled", compiled(leaves), known, taken, rank)
    return [*found, *gradients_differing(program, known, taken, mesh, rank, glances)]


def gradients_differing(
    program: Program,
    known: Truth,
    taken: Sequence[tuple],
    mesh: Any,
    rank: int,
    glances: random.Random,
) -> Iterator[str]:
    """The leaves whose gradients are not the truth: of the last value times each rank's numbers."""
    side, ranks = len(known.wholes[0][0]), program.ranks
    rng = np.random.default_rng(side)
    # means over ranks are exact
    seeds = [rng.integers(-2, 3, (side, side)).astype(np.float32) * ranks for _ in range(ranks)]
    try:
        wanted, of_weight = known.gradients(seeds)
    except UntoldError:
        return
    for how in ("eager", "compiled"):
        module = fully_shard(Sharded(side), mesh=mesh)
        given = [laid(kind, arrays[rank], mesh, watched=True) for kind, arrays in program.leaves]

        def loss(
            given: list[gn.Tensor], module: Sharded = module, eager: bool = how == "eager"
        ) -> gn.Tensor:
            pairs = zip(program.leaves, given, strict=True)
            made = [used(kind, x, mesh) for (kind, _), x in pairs]
            for name, operands in taken:
                made.append(called(name, [made[k] for k in operands], mesh, module))
                if eager:
                    looked_at(made[-1], glances)
            last = made[-1].full_tensor() if isinstance(made[-1], DTensor) else made[-1]
            return (last * gn.tensor(seeds[rank])).sum()

        made = (gn.compile(loss) if how == "compiled" else loss)(given)
        if made.requires_grad:
            looked_at(made, glances)
            made.backward()
        names = [*(kind for kind, _ in program.leaves), "weight"]
        truth = [*(each[rank] for each in wanted), of_weight]
        for name, x, want in zip(names, [*given, module.weight], truth, strict=True):
            seen = np.zeros_like(want) if x.grad is None else whole_of(x.grad)
            if name != "constant" and not np.array_equal(seen, want):
                pair = f"{seen.tolist()} for {want.tolist()}"
                yield f"{how}: gradient of {name} on rank {rank}: {pair}"


def whole_of(x: gn.Tensor) -> np.ndarray:
    """The whole value of a tensor."""
    return (x.full_tensor() if isinstance(x, DTensor) else x).detach().numpy()


def differing(
    how: str, values: Sequence[gn.Tensor], known: Truth, taken: Sequence[tuple], rank: int
) -> Iterator[str]:
    """The steps whose value is not the truth."""
    wholes = known.wholes[-len(values) :]
    for k, (x, step, whole) in enumerate(zip(values, taken, wholes, strict=True)):
        seen = whole_of(x)
        if not np.array_equal(seen, whole[rank]):
            pair = f"{seen.tolist()} for {whole[rank].tolist()}"
            yield f"{how}: step {k} {step} on rank {rank}: {pair}"


def findings(seed: int) -> list[str]:
    """What differs in the program of a seed, on all ranks."""
    program = drawn(seed)
    found = on_threads(lambda rank, ranks: run(program, rank, seed), program.ranks)
    return [f"seed {seed}, {program.ranks} ranks: {each}" for own in found for each in own]


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

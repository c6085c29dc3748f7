"""Single operations and their gradients: products, attention, chains, lookups, small kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.bench.ours.common import about
from gnomon.bench.profile import profile
from gnomon.bench.serve import BenchProblem, times
from gnomon.nn import functional as F

__all__ = ["attention", "chains", "embedding", "gemm", "lce", "replay"]

DTYPES = {"float32": gn.float32, "bfloat16": gn.bfloat16}


def contender(step: Callable[[], float]) -> dict:
    """The contender, as gnomon/bench/serve.py asks for it."""
    kernels = functools.partial(profile, step)
    return {"step": step, "about": about(), "profile": kernels}


def lce(problem: BenchProblem) -> dict:
    """Linear layer and cross entropy, with the gradients of rows and matrix; perhaps in pieces."""
    x, w = (gn.from_numpy(problem.array(name)).requires_grad_() for name in ("x", "w"))
    targets = gn.from_numpy(problem.array("targets"))

    def loss_of() -> gn.Tensor:
        if problem["pieces"]:
            return F.linear_cross_entropy(x, w, targets)
        return F.cross_entropy(F.linear(x, w), targets)

    @gn.compile
    def program() -> gn.Tensor:
        x.grad = w.grad = None
        loss = loss_of()
        loss.backward()
        return loss.detach()

    return contender(lambda: program().item())


def gemm(problem: BenchProblem) -> dict:
    """One product of two matrices; with "transposed", of the second as it is stored by layers."""
    dtype = DTYPES[problem["dtype"]]
    a, b = (gn.from_numpy(problem.array(name)).to(dtype) for name in "ab")
    b = b.t().contiguous() if problem["transposed"] else b
    gn.evaluate(a, b)

    @gn.compile
    def program(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
        return F.linear(a, b) if problem["transposed"] else a @ b

    def step() -> float:
        made = program(a, b)
        gn.evaluate(made)
        return 0.0

    return contender(step)


def attention(problem: BenchProblem) -> dict:
    """Causal attention, forward and backward."""
    q, k, v = (gn.from_numpy(problem.array(name)).requires_grad_() for name in "qkv")
    given = gn.from_numpy(problem.array("g"))

    @gn.compile
    def program() -> gn.Tensor:
        q.grad = k.grad = v.grad = None
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        made.backward(given)
        return made.detach()

    def step() -> float:
        gn.evaluate(program())
        return 0.0

    return contender(step)


def chains(problem: BenchProblem) -> dict:
    """A chain of pointwise operations and sums, named by the problem."""
    made = OPTIMIZER if problem["chain"] == "adamw" else CHAINS[problem["chain"]]
    if made is OPTIMIZER:
        return adamw(problem)
    x, w = (gn.from_numpy(problem.array(name)) for name in "xw")
    program = gn.compile(made)

    def step() -> float:
        gn.evaluate(program(x, w))
        return 0.0

    return contender(step)


OPTIMIZER = object()
CHAINS = {
    "softmax": lambda x, w: F.softmax(x, -1),
    "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
    "gelu": lambda x, w: F.gelu(x * w + x, approximate="tanh") * x,
}


def adamw(problem: BenchProblem) -> dict:
    """One step of AdamW on one tensor."""
    p = nn.Parameter(gn.from_numpy(problem.array("x")))
    given = gn.from_numpy(problem.array("g"))
    optimizer = optim.AdamW([p], lr=1e-3)

    @gn.compile
    def program(gradient: gn.Tensor) -> None:
        p.grad = gradient
        optimizer.step()
        p.grad = None

    def step() -> float:
        program(given)
        return 0.0

    return contender(step)


def embedding(problem: BenchProblem) -> dict:
    """Sums of rows of many tables, the gradients of the rows, and a step of plain descent."""
    specs = [nn.TableSpec(problem["rows"], problem["width"]) for _ in range(problem["tables"])]
    rule = nn.RowOptimizer("sgd", lr=problem["lr"])
    bags = nn.TableBatchedEmbeddingBags(specs, optimizer=rule)
    for n in range(problem["tables"]):
        bags.set_weight(n, problem.array("table"))
    # bags stand before tables there
    given = gn.from_numpy(np.concatenate(problem.array("g"), axis=1))
    asked, number = problem.array("asked"), iter(range(1 << 60))

    def step() -> float:
        sums = bags(gn.from_numpy(asked[next(number) % len(asked)]))
        loss = (sums.detach()[:16] ** 2).mean()
        sums.backward(given)
        return loss.item()

    return contender(step)


def replay(problem: BenchProblem) -> dict:
    """Many products that do almost nothing: each needs the one before it."""
    x, w = (gn.from_numpy(problem.array(name)) for name in "xw")

    @gn.compile
    def program(x: gn.Tensor) -> gn.Tensor:
        for _ in range(problem["kernels"]):
            x = x @ w
        return x

    def step() -> float:
        gn.evaluate(program(x))
        return 0.0

    def figures() -> dict[str, float]:
        """The least step without what its kernels take at least: other work only ever adds."""
        kernels = sum(row["seconds"] for row in made["profile"](200))
        return {"overhead": min(times(step, 0.2)) - kernels}

    made = contender(step)
    return {**made, "figures": figures}

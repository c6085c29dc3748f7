"""The single operations of gnomon/bench/ours/kernels.py in torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from benchmarks.peers.torch_common import about, prepared

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CHAINS = {
    "softmax": lambda x, w: F.softmax(x, -1),
    "rms_norm": lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
    "gelu": lambda x, w: F.gelu(x * w + x, approximate="tanh") * x,
}


def silent(call: Callable[[], object]) -> dict:
    """A contender whose step gives no loss."""

    def step() -> float:
        call()
        return 0.0

    return {"step": step, "about": about()}


def lce(problem: Any) -> dict:
    """Linear layer and cross entropy, with gradients."""
    compiled = prepared(problem)
    x, w = (torch.from_numpy(problem.array(name)).requires_grad_() for name in "xw")
    targets = torch.from_numpy(problem.array("targets"))

    def loss_of(x: torch.Tensor, w: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if problem["pieces"]:
            options = torch.nn.LinearCrossEntropyOptions()
            return F.linear_cross_entropy(x, w, targets, options=options)
        return F.cross_entropy(F.linear(x, w), targets)

    function = torch.compile(loss_of) if compiled else loss_of

    def step() -> float:
        x.grad = w.grad = None
        loss = function(x, w, targets)
        loss.backward()
        return loss.item()

    return {"step": step, "about": about()}


def gemm(problem: Any) -> dict:
    """One product."""
    prepared(problem)
    dtype = DTYPES[problem["dtype"]]
    a, b = (torch.from_numpy(problem.array(name)).to(dtype) for name in "ab")
    if problem["transposed"]:
        b = b.t().contiguous()
        return silent(lambda: F.linear(a, b))
    return silent(lambda: a @ b)


def attention(problem: Any) -> dict:
    """Causal attention, forward and backward."""
    prepared(problem)
    q, k, v = (torch.from_numpy(problem.array(name)).requires_grad_() for name in "qkv")
    given = torch.from_numpy(problem.array("g"))

    def call() -> None:
        q.grad = k.grad = v.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(given)

    return silent(call)


def chains(problem: Any) -> dict:
    """A chain of pointwise operations and sums."""
    compiled = prepared(problem)
    if problem["chain"] == "adamw":
        return adamw(problem, compiled)
    x, w = (torch.from_numpy(problem.array(name)) for name in "xw")
    function = CHAINS[problem["chain"]]
    function = torch.compile(function) if compiled else function
    return silent(lambda: function(x, w))


def adamw(problem: Any, compiled: bool) -> dict:
    """One step of AdamW; compiled, its plain form."""
    p = torch.nn.Parameter(torch.from_numpy(problem.array("x").copy()))
    p.grad = torch.from_numpy(problem.array("g"))
    optimizer = torch.optim.AdamW([p], lr=1e-3, fused=not compiled)
    return silent(torch.compile(optimizer.step) if compiled else optimizer.step)


def embedding(problem: Any) -> dict:
    """Sums of rows of many tables, and sparse gradients."""
    prepared(problem)
    base = problem.array("table")
    bags = [
        torch.nn.EmbeddingBag.from_pretrained(
            torch.from_numpy(base.copy()), freeze=False, mode="sum", sparse=True
        )
        for _ in range(problem["tables"])
    ]
    optimizer = torch.optim.SGD([bag.weight for bag in bags], lr=problem["lr"])
    given = torch.from_numpy(problem.array("g"))
    asked, turn = torch.from_numpy(problem.array("asked")), itertools.count()

    def step() -> float:
        rows = asked[next(turn) % len(asked)]
        optimizer.zero_grad()
        sums = torch.stack([bag(rows[n]) for n, bag in enumerate(bags)])
        sums.backward(given)
        optimizer.step()
        return (sums.detach()[:, :16] ** 2).mean().item()

    return {"step": step, "about": about()}

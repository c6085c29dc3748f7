"""Attention for tests: specs, arrays, and running both kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.attention import emit_attention
from gnomon.codegen.kernels.attention_grad import AttentionGradSpec, emit_attention_grad
from gnomon.codegen.kernels.attention_parts import AttentionSpec, Operand
from gnomon.codegen.machine import AVX2, Machine
from tests.codegen.kernels.jit import Kernel


@dataclass(frozen=True)
class Sizes:
    """batch, query heads, key heads, queries, keys, widths of keys and of values."""

    b: int = 1
    h: int = 2
    g: int = 1
    t: int = 40
    s: int = 40
    d: int = 12
    e: int = 20

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor."""
        q, k = (self.b, self.h, self.t, self.d), (self.b, self.g, self.s, self.d)
        out = (self.b, self.h, self.t, self.e)
        return {"q": q, "k": k, "v": (*k[:3], self.e), "out": out}


def contiguous(slot: int, shape: tuple[int, ...]) -> Operand:
    """An operand without gaps."""
    _, heads, rows, columns = shape
    return Operand(slot, heads * rows * columns, rows * columns, columns, 1)


def spec_of(
    sizes: Sizes, causal: bool, leaves: tuple[int, int] = (1, 1), scalar: str = "float"
) -> AttentionSpec:
    """Contiguous operands; slots are out, lse, q, k, v."""
    n, shapes = sizes, sizes.shapes
    return AttentionSpec(
        scalar, n.b, n.h, n.g, n.t, n.s, n.d, n.e, causal, n.d**-0.5, leaves,
        *(contiguous(slot, shapes[name]) for slot, name in ((2, "q"), (3, "k"), (4, "v"))),
        contiguous(0, shapes["out"]), 1,
    )  # fmt: skip


def masked(
    spec: AttentionSpec, x: dict[str, np.ndarray], rng: np.random.Generator, shape: tuple[int, ...]
) -> tuple[AttentionSpec, dict[str, np.ndarray]]:
    """The same with a mask of a shape that broadcasts: numbers, and a third hidden."""
    kind = x["q"].dtype
    mask = np.where(rng.random(shape) < 0.33, -np.inf, rng.standard_normal(shape)).astype(kind)
    strides = (
        0 if n == 1 else s // kind.itemsize for n, s in zip(shape, mask.strides, strict=True)
    )
    return replace(spec, mask=Operand(5, *strides)), x | {"mask": mask}


def grad_spec(spec: AttentionSpec) -> AttentionGradSpec:
    """Slots are dq, dk, dv, then q, k, v, out, lse, dout, which is as narrow as q.

    Gradients lie like their tensors.
    """
    operands = {"q": 3, "k": 4, "v": 5, "out": 6}
    moved = {name: replace(getattr(spec, name), slot=slot) for name, slot in operands.items()}
    mask = None if spec.mask is None else replace(spec.mask, slot=9)
    forward = replace(spec, **moved, lse=7, mask=mask)
    grads = [replace(getattr(spec, x), slot=slot, narrow="") for slot, x in enumerate("qkv")]
    return AttentionGradSpec(forward, replace(spec.out, slot=8, narrow=spec.q.narrow), *grads)


def arrays(rng: np.random.Generator, sizes: Sizes, scalar: str = "float") -> dict[str, np.ndarray]:
    """Random q, k, v and a gradient of the result."""
    kind = {"float": np.float32, "double": np.float64}[scalar]
    names = {"q": "q", "k": "k", "v": "v", "dout": "out"}
    return {x: rng.standard_normal(sizes.shapes[like]).astype(kind) for x, like in names.items()}


def run_forward(
    spec: AttentionSpec, x: dict[str, np.ndarray], machine: Machine = AVX2, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """out and lse."""
    module = LLVMModule()
    scratch = emit_attention(module, "attention", spec, machine)
    like = x["dout"]
    out, lse = (np.full(shape, np.nan, like.dtype) for shape in (like.shape, like.shape[:-1]))
    inputs = [x[name] for name in ("q", "k", "v", "mask") if name in x]
    Kernel(module.text(), "attention", scratch)([out, lse, *inputs], threads)
    return out, lse


def run_backward(
    spec: AttentionSpec, x: dict[str, np.ndarray], made: tuple[np.ndarray, np.ndarray], **how
) -> list[np.ndarray]:
    """dq, dk and dv."""
    module = LLVMModule()
    machine, threads = how.get("machine", AVX2), how.get("threads", 1)
    scratch = emit_attention_grad(module, "grad", grad_spec(spec), machine)
    grads = [np.full(x[name].shape, np.nan, made[0].dtype) for name in ("q", "k", "v")]
    inputs = (x["q"], x["k"], x["v"], *made, x["dout"], *([x["mask"]] if "mask" in x else []))
    Kernel(module.text(), "grad", scratch)([*grads, *inputs], threads)
    return grads

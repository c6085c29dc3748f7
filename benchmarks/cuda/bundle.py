"""Programs of this project for a card: PTX of their kernels, tables, inputs, and the CPU's bits.

    python -m benchmarks.cuda.bundle build/gpu

Kernels are those of the CPU, behind a wrapper that gives each CUDA thread its number and its part
of the scratch memory. Nothing of the project is needed where the bundle runs.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import gnomon as gn
from benchmarks.cuda.programs import drawn
from gnomon.codegen.machine import CARD, Machine
from gnomon.compiler import pipeline
from gnomon.errors import CompileError
from gnomon.nn import functional as F
from gnomon.program.assembly import plan_of
from gnomon.program.context import CompileContext
from gnomon.program.executable import Executable
from gnomon.runtime import cpu, events
from gnomon.runtime.backend import CUDA
from gnomon.runtime.cuda.texts import PTX, entry_text, width_of
from gnomon.settings import override

STRETCHES = replace(CARD, shares=())
"""A card whose threads share work as the CPU's do."""


class NotForCards(ValueError):
    """A program that the wrapper alone does not bring to a card."""


# texts


def ptx(symbol: str, texts: Mapping[str, str]) -> str:
    """The PTX of a kernel behind the wrapper."""
    try:
        return cpu.compile_kernels([entry_text(symbol, texts)], PTX)[0].decode()
    except CompileError as cause:
        raise NotForCards(str(cause)) from cause


# programs


@dataclass(frozen=True)
class Recorded:
    """A program that ran, and the bytes that it was given."""

    executable: Executable
    inputs: tuple[np.ndarray, ...]


def bytes_at(address: int, nbytes: int) -> np.ndarray:
    """A copy of memory."""
    return np.frombuffer(ctypes.string_at(address, nbytes), np.uint8).copy()


def recorded(run: Callable[[], object]) -> list[Recorded]:
    """The programs that `run` ran, in order, each with its inputs as they were before."""
    found: list[Recorded] = []

    def listen(kind: str, fields: Mapping[str, Any]) -> None:
        if kind == "made":
            given = tuple(bytes_at(x.address, x.nbytes) for x in fields["given"])
            found.append(Recorded(fields["caller"], given))

    stop = events.subscribe(listen)
    try:
        run()
    finally:
        stop()
    return found


def aligned(nbytes: int) -> np.ndarray:
    """Zeros, as the project's own buffers lie: at a multiple of 64."""
    whole = np.zeros(nbytes + 128, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + max(nbytes, 8)]


def wanted(program: Recorded) -> list[np.ndarray]:
    """The results that the CPU computes, of fresh memory."""
    made = program.executable
    results = [aligned(size) for size in made.plan.sizes]
    kept = [aligned(each.nbytes) for each in made.kept]
    inputs = [aligned(x.nbytes) for x in program.inputs]
    for place, array in zip(inputs, program.inputs, strict=True):
        place[: array.nbytes] = array
    outputs = [*results, aligned(8), *kept]
    given, goals = ([x.ctypes.data for x in each] for each in (inputs, outputs))
    made.program.run(given, goals, [True] * made.program.needs.scalars, made)
    return [x[:size] for x, size in zip(results, made.plan.sizes, strict=True)]


def described(
    name: str, program: Recorded, kernels: dict[str, str], machine: Machine = STRETCHES
) -> dict[str, Any]:
    """A program as the card's side reads it; its kernels' PTX goes into `kernels`.

    Equal kernels are not batched, since a batch calls functions by address.
    """
    made = program.executable
    if made.meshes or made.plan.externals:
        raise NotForCards("transfers or external functions")
    with override(without="batch"):
        context = CompileContext(machine, backend=CUDA)
        block = pipeline.kernels_of(made.source, context, pipeline.ignored, None)
    plan, codes = plan_of(block), [code for k in block.kernels() for code in k.codes]
    assert plan.sizes == made.plan.sizes, f"{name}: other results on a card."
    texts = {code.symbol: code.text for code in codes}
    steps = msgspec.json.decode(msgspec.json.encode(plan.steps))
    if any(slot[0] == "FunctionSlot" for step in steps for slot in slots(step)):
        raise NotForCards("functions behind addresses")
    for symbol in dict.fromkeys(step[1] for step in steps if step[0] == "Call"):
        kernels.setdefault(symbol, ptx(symbol, texts))
    return {
        "name": name,
        "drawn": [],
        "widths": {symbol: width_of(text) for symbol, text in texts.items()},
        "steps": steps,
        "arena": plan.needs.arena,
        "scratch": plan.needs.scratch,
        "registers": plan.needs.registers,
        "inputs": [x.nbytes for x in program.inputs],
        "sizes": list(plan.sizes),
        "hashes": [sha256(x.tobytes()).hexdigest() for x in wanted(program)],
    }


def slots(step: list[Any]) -> Iterator[list[Any]]:
    """The slots of a step as JSON spells them."""
    for part in step[1:]:
        if isinstance(part, list):
            yield from [part] if part and isinstance(part[0], str) else part


# what is run


def numbers(*shape: int) -> gn.Tensor:
    """Normal numbers; drawn at once, so that drawing is not part of a program."""
    drawn = gn.randn(*shape)
    gn.evaluate(drawn)
    return drawn


def labels(high: int, *shape: int) -> gn.Tensor:
    """Random whole numbers below `high`."""
    drawn = gn.randint(0, high, shape)
    gn.evaluate(drawn)
    return drawn


def functions() -> dict[str, tuple[Callable[..., Any], tuple[gn.Tensor, ...]]]:
    """One program of each kind of kernel."""
    x, y, b, w = numbers(64, 192), numbers(64, 192), numbers(192), numbers(192, 40)
    q, image, filters = numbers(1, 2, 48, 16), numbers(2, 3, 16, 16), numbers(8, 3, 3, 3)
    few, classes = labels(64, 33), labels(192, 64)
    return {
        "silu": (lambda x, y, b: F.silu(x + b) * y, (x, y, b)),
        "gelu": (lambda x, y: F.gelu(x) * y, (x, y)),
        "gelu bf16": (lambda x, y: F.gelu(x.bfloat16()) * y.bfloat16(), (x, y)),
        "erf, log, pow": (lambda x, y: gn.erf(x) + gn.log1p(x * x) ** y, (x, y)),
        "trigonometry": (lambda x, y: gn.sin(x) * gn.tan(y) + gn.atan2(x, y), (x, y)),
        "integers": (lambda k, n: (k * 7 + n[0]) % 13 // 3, (few, classes)),
        "float64": (lambda x, y: gn.exp(x.double()) / (y.double() ** 2 + 1), (x, y)),
        "softmax": (lambda x: F.softmax(x, -1), (x,)),
        "rms_norm": (lambda x, b: F.rms_norm(x, (192,), b), (x, b)),
        "layer_norm": (lambda x, b: F.layer_norm(x, (192,), b, b), (x, b)),
        "sum rows": (lambda x: (x * x).sum(-1), (x,)),
        "sum columns": (lambda x: (x * x).sum(0), (x,)),
        "sum": (lambda x: (x * x).sum(), (x,)),
        "argmax": (lambda x: x.argmax(-1), (x,)),
        "cumsum": (lambda x: x.cumsum(-1), (x,)),
        "sort": (lambda x: gn.sort(x, -1), (x,)),
        "transpose": (lambda x: x.t().contiguous() + 1, (x,)),
        "embedding": (lambda w, t: F.embedding(t, w), (x, few)),
        "index_add": (lambda x, k, y: x.index_add(0, k, y[:33]), (x, few, y)),
        "cross_entropy": (lambda x, t: F.cross_entropy(x, t), (x, classes)),
        "matmul": (lambda x, w: x @ w, (x, w)),
        "matmul float64": (lambda x, w: x.double() @ w.double(), (x, w)),
        "one row": (lambda x, w: x[:1] @ w, (x, w)),
        "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (image, filters)),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2), (image,)),
        "attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (q,)),
        "matmul bf16": (lambda x, w: x.bfloat16() @ w.bfloat16(), (x, w)),
        "tiny bf16": (lambda x, w: (x * 2e-38).bfloat16() @ w.bfloat16(), (x, w)),
        "matmul half": (lambda x, w: x.half() @ w.half(), (x, w)),
        "matmul int8": (lambda x, w: (x * 40).to(gn.int8).int() @ (w * 40).int(), (x, w)),
        "attention bf16": (
            lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
            (numbers(1, 2, 48, 16).bfloat16(),),
        ),
    }


class Decoder(gn.nn.Module):
    """A small decoder."""

    def __init__(self, width: int = 64, heads: int = 4, words: int = 97) -> None:
        super().__init__()
        self.heads = heads
        self.embed, self.head = gn.nn.Embedding(words, width), gn.nn.Linear(width, words)
        self.norms = gn.nn.ModuleList([gn.nn.LayerNorm(width) for _ in range(3)])
        self.qkv, self.out = gn.nn.Linear(width, 3 * width), gn.nn.Linear(width, width)
        self.up, self.down = gn.nn.Linear(width, 4 * width), gn.nn.Linear(4 * width, width)

    def forward(self, tokens: gn.Tensor) -> gn.Tensor:
        """Logits of every position."""
        x = self.embed(tokens)
        parts = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        x = x + self.down(F.gelu(self.up(self.norms[1](x))))
        return self.head(self.norms[2](x))


def training() -> dict[str, Callable[[], object]]:
    """Whole training steps."""
    model = Decoder()
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-3)
    tokens, goals = labels(97, 2, 32), labels(97, 2, 32)

    @gn.compile
    def step(tokens: gn.Tensor, goals: gn.Tensor) -> gn.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), goals.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {"training step of a decoder": lambda: gn.evaluate(step(tokens, goals))}


LARGE: dict[str, tuple[Callable[..., Any], list[list[int]]]] = {
    "large silu": (lambda x, y: F.silu(x) * y, [[4096, 4096], [4096, 4096]]),
    "large softmax": (lambda x: F.softmax(x, -1), [[4096, 4096]]),
    "large layer_norm": (lambda x, w: F.layer_norm(x, (4096,), w, w), [[4096, 4096], [4096]]),
    "large sum of columns": (lambda x: x.sum(0), [[4096, 4096]]),
    "large transpose": (lambda x: x.t().contiguous(), [[4096, 4096]]),
    "large matmul": (lambda x, w: x @ w, [[1024, 1024], [1024, 1024]]),
}
"""Programs whose speed is measured, with the shapes of their inputs."""
TILED: dict[str, tuple[Callable[..., Any], list[list[int]]]] = {
    "large product": (lambda x, w: x @ w, [[4096, 4096], [4096, 4096]]),
    "large linear": (lambda x, w: F.gelu(F.linear(x, w)), [[4096, 1024], [4096, 1024]]),
    "large images": (lambda x, w: F.conv2d(x, w, padding=1), [[16, 64, 56, 56], [64, 64, 3, 3]]),
    "large attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [[4, 12, 1024, 64]] * 3,
    ),
}
"""Programs that take minutes where a thread has a stretch of its own."""


def large(
    kernels: dict[str, str],
    machine: Machine = STRETCHES,
    which: Mapping[str, tuple[Callable[..., Any], list[list[int]]]] = LARGE,
) -> Iterator[dict[str, Any]]:
    """The programs whose speed is measured."""
    for name, (f, shapes) in which.items():
        tensors = [gn.tensor(x) for x in drawn(shapes)]
        (program,) = recorded(lambda f=f, given=tensors: gn.evaluate(gn.compile(f)(*given)))
        yield described(name, program, kernels, machine) | {"drawn": shapes}


def bundle(folder: Path) -> dict[str, str]:
    """Write all programs; gives those that are left out, with the reason."""
    gn.manual_seed(0)
    runs: dict[str, Callable[[], object]] = {
        name: lambda f=f, given=given: gn.evaluate(gn.compile(f)(*given))
        for name, (f, given) in functions().items()
    } | training()
    programs, strided, kernels, arrays, left = [], [], {}, {}, {}
    for name, run in runs.items():
        for k, program in enumerate(recorded(run)):
            title = name if not k else f"{name} ({k})"
            try:
                programs.append(described(title, program, kernels))
                strided.append(described(f"strided {title}", program, kernels, CARD))
            except NotForCards as cause:
                left[title] = str(cause)
                continue
            for one in (title, f"strided {title}"):
                arrays |= {f"{one}/{n}": x for n, x in enumerate(program.inputs)}
    programs += large(kernels)
    strided += large(kernels, CARD, LARGE | TILED)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "inputs.npz", **arrays)
    content = {"programs": programs, "strided": strided, "kernels": kernels, "left out": left}
    (folder / "programs.json").write_text(json.dumps(content))
    return left


if __name__ == "__main__":
    for title, why in bundle(Path(sys.argv[1])).items():
        print(f"left out: {title}: {why}")

"""Benchmark cases: problems and their sizes, who takes part, the ratios that are aimed at.

Ratios are a peer's time over ours. Shares are of what the machine was measured to do in the same
run. The sizes stand in issue-sized steps of real training, and no kernel knows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

__all__ = ["CASES", "Case", "LimitShare", "SpeedTarget", "WORKLOADS", "cases_of"]


@dataclass(frozen=True)
class SpeedTarget:
    """A target for the speed relative to the fastest of these frameworks: least and aim."""

    against: tuple[str, ...]
    least: float
    aim: float


@dataclass(frozen=True)
class LimitShare:
    """The part of the machine's limit that we reach: "flops", "copy" or "read"."""

    limit: str
    work: float
    """Operations, or bytes that have to be moved."""
    least: float
    aim: float


@dataclass(frozen=True)
class Case:
    """One problem of one size."""

    workload: str
    name: str
    problem: str
    settings: dict[str, Any]
    place: str = "kernels"
    """The file of ours, and of peers, where the problem's function stands."""
    peers: tuple[str, ...] = ()
    targets: tuple[SpeedTarget, ...] = ()
    share: LimitShare | None = None
    flops: float = 0.0
    """Useful arithmetic of a step: what the floor is computed from."""
    tolerance: float = 1e-4
    """The largest relative difference of losses in the first three steps."""
    cold: bool = False
    """Whether the first step of a fresh process is what counts."""
    compared: bool = True
    """Whether the step gives a loss."""
    results: float = 0.0
    """Bytes that every contender has to add: gradients."""
    memory: SpeedTarget | None = None
    """Our bytes beyond those, as a part of what the leanest of some contenders adds."""
    aims: dict[str, float] = field(default_factory=dict)
    """Other figures that a step may not exceed, by name."""


TORCH = ("torch.eager", "torch.compile", "torch.tuned")
OTHERS = ("mlx", "tinygrad")
TRAINED = {"lr": 1e-3, "decay": 0.1}


def gpt_settings(layers: int, heads: int, width: int, tokens: int, batch: int) -> dict[str, Any]:
    """A GPT's sizes."""
    sizes = {"layers": layers, "heads": heads, "width": width, "tokens": tokens, "batch": batch}
    return {**sizes, "words": 65, "betas": [0.9, 0.99], **TRAINED}


def gpt_flops(s: dict[str, Any]) -> float:
    """Products of a step, backward twice the forward; half of causal attention."""
    rows, d = s["batch"] * s["tokens"], s["width"]
    products = s["layers"] * 12 * d * d + s["words"] * d
    return 3 * rows * (2 * products + s["layers"] * 2 * s["tokens"] * d)


def gpt(name: str, settings: dict[str, Any], targets: tuple[SpeedTarget, ...], **more: Any) -> Case:
    """A training step of a GPT."""
    workload = more.pop("workload", "gpt")
    peers, work = more.pop("peers", (*TORCH, "jax", *OTHERS)), gpt_flops(settings)
    return Case(
        workload, name, "gpt", settings, "gpt", peers=peers, targets=targets, flops=work, **more
    )


GPT_384 = gpt_settings(6, 6, 384, 256, 16)
GPTS = (
    gpt(
        "gpt 6×384",
        GPT_384,
        (
            SpeedTarget(("torch.eager", "torch.compile"), 2.1, 2.5),
            SpeedTarget(("torch.tuned",), 1.05, 1.2),
            SpeedTarget(("jax",), 2.2, 2.7),
            SpeedTarget(OTHERS, 1, 10),
        ),
    ),
    gpt(
        "gpt 6×448, 7 heads, 200 tokens",
        gpt_settings(6, 7, 448, 200, 16),
        (SpeedTarget(("torch.eager",), 1.9, 2.4), SpeedTarget(("torch.tuned",), 1.0, 1.15)),
        peers=("torch.eager", "torch.tuned"),
    ),
    gpt(
        "gpt 2×64 (overhead)",
        gpt_settings(2, 2, 64, 32, 4),
        (
            SpeedTarget(("torch.compile",), 2.5, 4.5),
            SpeedTarget(("jax",), 2.5, 4.0),
            SpeedTarget(OTHERS, 1, 10),
        ),
    ),
)

MOE = {
    **{"layers": 4, "width": 256, "heads": 8, "key_heads": 4, "head_width": 32, "experts": 8},
    **{"chosen": 2, "inner": 512, "tokens": 256, "batch": 8, "words": 4096, "betas": [0.9, 0.95]},
    **TRAINED,
}
MOES = (
    Case(
        *("moe", "moe 4×256, 8 experts", "moe", MOE, "moe"),
        peers=(*TORCH, "jax"),
        targets=(
            SpeedTarget(("torch.eager", "torch.compile"), 1.7, 2.5),
            SpeedTarget(("torch.tuned",), 1.05, 1.5),
            SpeedTarget(("jax",), 4, 6),
        ),
        flops=67e9,
        tolerance=1e-3,
    ),
)

LCE = {"rows": 2048, "width": 512, "words": 32768, "pieces": False}
LCE_FLOPS = 6.0 * 2048 * 512 * 32768
LCES = (
    Case(
        *("lce", "linear + cross entropy", "lce", LCE),
        peers=(*TORCH, "jax"),
        targets=(
            SpeedTarget(("torch.eager", "torch.compile"), 2.1, 2.5),
            SpeedTarget(("torch.tuned",), 1.1, 1.25),
            SpeedTarget(("jax",), 1.5, 1.8),
        ),
        flops=LCE_FLOPS,
    ),
    Case(
        *("lce", "linear + cross entropy, in pieces", "lce", {**LCE, "pieces": True}),
        peers=("torch.eager",),
        targets=(SpeedTarget(("torch.eager",), 1, 2),),
        flops=LCE_FLOPS,
        results=4.0 * 512 * (2048 + 32768),
        memory=SpeedTarget(("torch.eager",), 0.5, 0.2),
    ),
)

RESNET = {
    **{"width": 32, "size": 64, "batch": 16, "classes": 100, "lr": 0.05, "momentum": 0.9},
    "blocks": [[32, 1], [32, 1], [64, 2], [64, 1], [128, 2], [128, 1], [256, 2], [256, 1]],
}
RESNETS = (
    Case(
        *("resnet", "resnet 18, width 32", "resnet", RESNET, "resnet"),
        peers=("torch.eager", "torch.compile", "jax"),
        targets=(SpeedTarget(("torch.eager", "torch.compile", "jax"), 1.0, 1.4),),
        flops=52e9,
        tolerance=3e-3,
    ),
)

CUBES = tuple((n, n, n) for n in (512, 1024, 2048))
SHAPES = (
    (4096, 384, 1152),
    (4096, 384, 384),
    (4096, 384, 1536),
    (4096, 1536, 384),
    (4096, 384, 65),
)


def gemm(m: int, k: int, n: int, dtype: str, transposed: bool) -> Case:
    """The case of a matrix product of these sizes."""
    settings = {"sizes": [m, k, n], "dtype": dtype, "transposed": transposed}
    least, aim = (0.85, 0.95) if dtype == "float32" else (0.8, 0.92)
    work = 2.0 * m * k * n
    peers = ("torch.eager", "torch.tuned", "jax")
    name = f"gemm {m}×{k}×{n} {dtype}{', transposed' if transposed else ''}"
    return Case(
        *("gemm", name, "gemm", settings),
        peers=peers,
        share=LimitShare("flops", work, least, aim),
        flops=work,
        compared=False,
    )


GEMMS = (
    *(gemm(*cube, "float32", False) for cube in CUBES),
    *(gemm(*shape, "float32", True) for shape in SHAPES),
    *(gemm(*cube, "bfloat16", False) for cube in CUBES[1:]),
)

ATTENTION = {"shape": [1, 8, 1024, 64]}
ATTENTIONS = (
    Case(
        *("attention", "attention 1×8×1024×64, forward and backward", "attention", ATTENTION),
        peers=("torch.eager", "torch.tuned", "jax"),
        targets=(SpeedTarget(("torch.eager",), 2, 3),),
        flops=7.0 * 8 * 1024 * 1024 * 64,
        compared=False,
    ),
)


def chain(name: str, shape: tuple[int, int], words: int) -> Case:
    """A chain of pointwise operations and sums that moves so many words per element."""
    moved = 4.0 * words * prod(shape)
    return Case(
        *("chains", f"{name} {shape[0]}×{shape[1]}", "chains"),
        {"chain": name, "shape": list(shape)},
        peers=("torch.eager", "torch.compile", "jax"),
        share=LimitShare("copy", moved, 0.8, 0.95),
        compared=False,
    )


OUT_OF_CACHE = (16384, 2048)
CHAINS = (
    chain("softmax", OUT_OF_CACHE, 2),
    chain("rms_norm", OUT_OF_CACHE, 2),
    chain("gelu", OUT_OF_CACHE, 2),
    chain("adamw", OUT_OF_CACHE, 7),
)

DECODER = {"layers": 12, "width": 768, "heads": 12, "inner": 2048, "words": 16384, "longest": 256}
DECODER_WEIGHTS = 12 * (4 * 768**2 + 3 * 768 * 2048) + 16384 * 768


def decode(dtype: str, size: int) -> Case:
    """One token of a decoder of about 100 M parameters."""
    return Case(
        *("decode", f"decode 97 M, {dtype}", "decode", {**DECODER, "dtype": dtype}, "decode"),
        peers=("torch.eager", "torch.compile", "torch.tuned"),
        targets=(SpeedTarget(("torch.eager", "torch.compile"), 1.5, 2.5),),
        share=LimitShare("read", float(size * DECODER_WEIGHTS), 0.75, 0.9),
        compared=False,
    )


DECODES = (decode("float32", 4), decode("bfloat16", 2))

TABLES = {"tables": 32, "rows": 100_000, "width": 128, "batch": 512, "bag": 8, "lr": 0.1}
EMBEDDINGS = (
    Case(
        *("embedding", "32 tables × 1e5 × 128", "embedding", TABLES),
        peers=("torch.eager",),
        targets=(SpeedTarget(("torch.eager",), 5, 12),),
    ),
)

REPLAYS = (
    Case(
        *("replay", "replay of 200 small kernels", "replay", {"size": 16, "kernels": 200}),
        compared=False,
        aims={"overhead": 20e-6},
    ),
)

BATCHES = (4, 4, 6, 3, 2, 8, 5, 7, 2, 3, 4, 6, 9, 4, 2, 3, 5, 8, 6, 7)
LENGTHS = (32, 48, 64, 90, 33, 40, 57, 128, 200, 256, 111, 24, 31, 300, 80, 77, 19, 96, 150, 66)
"""Rows and tokens of 20 batches, as a loader of texts of all lengths gives them."""
VARIED = {**gpt_settings(2, 4, 64, 300, 9), "shapes": list(zip(BATCHES, LENGTHS, strict=True))}

COMPILES = (
    gpt(
        "gpt 6×384, first step of a process",
        GPT_384,
        (SpeedTarget(("torch.compile",), 10, 20), SpeedTarget(("jax",), 1.3, 3)),
        workload="compile",
        peers=("torch.compile", "jax"),
        cold=True,
    ),
    Case(
        *("compile", "20 shapes over batch and length", "shapes", VARIED, "gpt"),
        compared=False,
        aims={"compiles": 3},
    ),
)

CASES = (
    *(*GPTS, *MOES, *LCES, *RESNETS, *GEMMS, *ATTENTIONS),
    *(*CHAINS, *DECODES, *EMBEDDINGS, *REPLAYS, *COMPILES),
)
WORKLOADS = tuple(dict.fromkeys(case.workload for case in CASES))


def cases_of(workloads: tuple[str, ...]) -> list[Case]:
    """The cases of these workloads; of all when none is named."""
    return [case for case in CASES if not workloads or case.workload in workloads]

"""Every problem at a size that takes milliseconds, and what its file is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

import gnomon as gn
from gnomon.bench.problems import write_problem
from gnomon.bench.serve import BenchProblem
from gnomon.capture.jit import Compiled
from gnomon.capture.jit import compile as gn_compile
from gnomon.capture.replay import CapturedProgram

TRAINED = {"lr": 1e-3, "decay": 0.1, "betas": [0.9, 0.99]}
TINY = {
    "gpt": {"layers": 2, "heads": 2, "width": 8, "tokens": 5, "batch": 3, "words": 11, **TRAINED},
    "moe": {
        **{"layers": 1, "width": 8, "heads": 4, "key_heads": 2, "head_width": 4, "experts": 3},
        **{"chosen": 2, "inner": 12, "tokens": 5, "batch": 2, "words": 13, **TRAINED},
    },
    "resnet": {
        **{"width": 8, "size": 8, "batch": 2, "classes": 5, "lr": 0.05, "momentum": 0.9},
        "blocks": [[8, 1], [16, 2]],
    },
    "lce": {"rows": 6, "width": 5, "words": 17, "pieces": False},
    "gemm": {"sizes": [4, 3, 5], "dtype": "float32", "transposed": True},
    "attention": {"shape": [1, 2, 6, 4]},
    "chains": {"chain": "softmax", "shape": [5, 7]},
    "decode": {
        **{"layers": 1, "width": 8, "heads": 2, "inner": 6, "words": 11, "longest": 4},
        "dtype": "float32",
    },
    "embedding": {"tables": 2, "rows": 9, "width": 4, "batch": 3, "bag": 2, "lr": 0.1},
    "replay": {"size": 4, "kernels": 3},
    "shapes": {
        **{"layers": 1, "heads": 2, "width": 8, "tokens": 5, "batch": 3, "words": 11, **TRAINED},
        "shapes": [[2, 5], [3, 4], [2, 3]],
    },
}
DEPTH = ((0, 1), (0, 1), (1, 2), (1, 1), (2, 2), (2, 1))
SMALL = {
    "gpt": {"layers": 3, "width": 64, "tokens": 32, "batch": 4, "words": 65},
    "moe": {**{"layers": 2, "width": 32, "head_width": 8, "experts": 4, "inner": 64},
            **{"tokens": 32, "batch": 4, "words": 256}},
    "lce": {"rows": 128, "width": 32, "words": 512},
    "resnet": {"size": 32, "batch": 4, "blocks": [[8 << k, s] for k, s in DEPTH]},
}  # fmt: skip
"""The training steps with few layers, but with activations larger than what surrounds them."""
PLACES = {"gpt": "gpt", "shapes": "gpt", "moe": "moe", "resnet": "resnet", "decode": "decode"}


def tiny(name: str, folder: Path, variant: str = "", **changes: object) -> BenchProblem:
    """A small problem, written and read."""
    write_problem(name, {**TINY[name], **changes}, folder)
    return BenchProblem(folder, variant)


def program_of(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CapturedProgram:
    """What our contender of a SMALL problem compiled."""
    made: list[Compiled] = []

    def noted(function: Callable) -> Compiled:
        made.append(gn_compile(function))
        return made[-1]

    monkeypatch.setattr(gn, "compile", noted)
    module = importlib.import_module(f"gnomon.bench.ours.{place(name)}")
    getattr(module, name)(tiny(name, folder, **SMALL[name]))["step"]()
    (program,) = made[0].captured()
    return program


def place(name: str) -> str:
    """The file in which a problem's function stands."""
    return PLACES.get(name, "kernels")

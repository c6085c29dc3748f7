"""Writes the PTX of every program of tests/tensor/test_device_cuda.py: `python -m ... FOLDER`.

Not a test. It is a process of its own, since its card runs nothing and gives wrong values.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gnomon as gn
from gnomon.codegen.kernels import tensor_tiles, tiled
from gnomon.nn import functional as F
from tests.cuda.cards import HOPPER, card
from tests.cuda.fake_driver import MAJOR, FakeDriver
from tests.tensor.test_device_cuda import IMAGE, PROGRAMS, B, W, X


def attended(x: gn.Tensor) -> tuple[gn.Tensor, ...]:
    """Causal attention, and its gradient."""
    q = x.detach().requires_grad_()
    made = F.scaled_dot_product_attention(q, q * 2, q * 3, is_causal=True)
    made.sum().backward()
    return made.detach(), q.grad


LARGE = {
    "product": (lambda x, w: x[:, 1:] @ w[1:], (X, W)),
    "product float64": (lambda x, w: x[:, 1:].double() @ w[1:].double(), (X, W)),
    "product bf16": (lambda x, w: x[:, 1:].bfloat16() @ w[1:].bfloat16(), (X, W)),
    "linear": (lambda x, w: F.linear(x, w), (X, W.T.copy())),
    "linear and gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b[:11])), (X, W.T.copy(), B)),
    "images": (lambda x, w: F.conv2d(x, w), (IMAGE.repeat(3, 2), IMAGE.repeat(2, 0)[..., :1])),
    "attention of 64": (attended, (np.zeros((1, 2, 40, 64), np.float32),)),
    "attention of 128": (attended, (np.zeros((1, 1, 40, 128), np.float32),)),
}
"""Products whose large tiles are written too, and attention of usual widths."""


ZEROS = np.zeros((24, 64), np.float32), np.zeros((40, 64), np.float32)
TENSOR = {
    "columns": (lambda x, w: F.linear(x.bfloat16(), w.bfloat16()), ZEROS),
    "rows": (lambda x, w: x.bfloat16() @ w.T.bfloat16().contiguous(), ZEROS),
    "odd rows": (lambda x, w: x[:, 1:].bfloat16() @ w.T[1:].bfloat16(), ZEROS),
    "half": (lambda x, w: F.linear(x.half(), w.half()), ZEROS),
    "columns and gelu": (
        lambda x, w: F.gelu(F.linear(x.bfloat16(), w.bfloat16(), w[:, 0].bfloat16())),
        ZEROS,
    ),
}
"""Products by tensor cores, with large tiles."""


def main(folder: Path) -> None:
    """Write a file for each kernel, named by its program and its number in it."""
    fake = FakeDriver(interprets=False)
    with card(fake):
        for name in PROGRAMS:
            write(folder, name, name, fake)
        # few tiles are small ones
        tiled.ENOUGH = 1
        for name in LARGE:
            write(folder, name, f"large {name}", fake)
    fake.attributes[MAJOR] = HOPPER[0]
    tensor_tiles.ENOUGH = 1
    with card(fake):
        for name in TENSOR:
            write(folder, name, f"tensor cores, {name}", fake)


def write(folder: Path, name: str, title: str, fake: FakeDriver) -> None:
    """Write the texts of a program that were not there before."""
    f, given = (PROGRAMS | LARGE | TENSOR)[name]
    known = {*fake.modules.values()}
    gn.manual_seed(0)
    made = f(*(gn.tensor(x, device="cuda") for x in given))
    gn.evaluate(made)
    texts = [text for text in fake.modules.values() if text not in known]
    for number, text in enumerate(texts):
        (folder / f"{title}, {number}.ptx").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

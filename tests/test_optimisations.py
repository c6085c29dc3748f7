"""Every optimisation can be left out: more is then done or kept, and no bit changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.program.executable import Executable
from gnomon.settings import OPTIMISATIONS, override
from tests.house import ROOT


def attention(x: gn.Tensor) -> gn.Tensor:
    q = x.reshape(1, 2, 50, 32)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def loop(x: gn.Tensor) -> gn.Tensor:
    """Each iteration reads the exponential of the same tensor."""
    return gn.scan(lambda c, row: (c + row * x.exp().sum(), c), x[0], x)[0]


def slope(x: gn.Tensor) -> gn.Tensor:
    """The gradient of a loop reads what its iterations computed."""
    w = x.detach().requires_grad_()
    gn.scan(lambda c, row: ((c * row).exp().tanh(), c), w[0] * 0.1, w)[0].sum().backward()
    return w.grad


def unread(x: gn.Tensor) -> gn.Tensor:
    """What the iterations give is read, what they hand on is not."""
    return gn.scan(lambda c, row: ((c[0] + row, c[1] @ c[1]), c[0]), (x[0], x[:32, :32]), x)[1]


def gated(x: gn.Tensor) -> gn.Tensor:
    """The last line reads all that it takes to compute the gate again."""
    gate = x.exp()
    back = (x * gate * x) @ x.T @ x
    return back * (x * gate) * gate * x


def values(*shape: int) -> gn.Tensor:
    """Ones that are known: what waits here would lend its line to equal numbers elsewhere."""
    return gn.from_numpy(np.ones(shape, np.float32))


OTHERS = values(70), values(2000)
WEIGHT = values(200, 130)


def updates(x: gn.Tensor) -> list[gn.Tensor]:
    """The same of values of several sizes."""
    return [each.exp() * 0.5 + each * each for each in (x, *OTHERS)]


def late(x: gn.Tensor) -> list[gn.Tensor]:
    """Written so that a large value stays until the end, though its last reader could be first."""
    large = (x[0, :, None] * x[0]).cumsum(0)
    after = large @ large
    return [(after @ after).sum(0), large @ x[1]]


def rows(x: gn.Tensor) -> gn.Tensor:
    return x.cumsum(0).softmax(-1).cumsum(0)


def chain(x: gn.Tensor) -> gn.Tensor:
    for k in range(4):
        x = (x @ x).softmax(-1) * (0.1 * k)
    return x


def counted(made: Executable) -> int:
    return len(made.kernels)


def worked(made: Executable) -> int:
    return sum(k.flops * k.times for k in made.kernels)


def laid(made: Executable) -> int:
    return made.memory.total


def read(made: Executable) -> int:
    """The nodes of a graph after its passes."""
    return len(made.block.graph.nodes)


def stored(made: Executable) -> int:
    """The values that kernels write."""
    return sum(k.outputs for k in made.kernels)


def cached(made: Executable) -> int:
    """Kernels that write through the caches."""
    return sum("!nontemporal" not in k.code.text for k in made.kernels)


def texts(made: Executable) -> int:
    return len({code.symbol for k in made.kernels for code in k.codes})


def packed(made: Executable) -> int:
    """Weights that are not kept in panels."""
    return 1 - len(made.kept)


CASES: dict[str, tuple[Callable, tuple[int, int], Callable[[Executable], int]]] = {
    "claim": (attention, (50, 64), counted),
    "hoist": (loop, (9, 300), worked),
    "residuals": (slope, (9, 300), worked),
    "trim": (unread, (33, 32), worked),
    "simplify": (lambda x: x.exp().neg().neg() * 1.0, (9, 300), read),
    "fuse": (lambda x: x.exp() + 1.0, (9, 300), counted),
    "join": (lambda x: (x.exp(), (x * 2.0).exp()), (9, 300), counted),
    "rematerialize": (gated, (30, 40), stored),
    "epilogues": (lambda x: F.gelu(x @ x.T), (64, 300), counted),
    "prologues": (lambda x: (x * x[0]) @ x.T, (200, 300), counted),
    "batch": (updates, (3, 300), counted),
    "arrange": (late, (4, 300), laid),
    "overlay": (rows, (64, 64), laid),
    "reuse": (chain, (64, 64), laid),
    "share": (lambda x: [x[:, :n].softmax(0) for n in range(20, 30)], (9, 300), texts),
    "stream": (lambda x: x * 2.0, (9000, 2000), cached),
    "prepack": (lambda x: x @ WEIGHT, (24, 200), packed),
}
"""Optimisation -> what it helps, the shape of its argument, and a number that grows without it."""
COMPILED = [name for name in OPTIMISATIONS if name != "pieces"]
"""Those of compiled functions; the other is eager programs' (tests/tensor/test_pieces.py)."""


def made(f: Callable, shape: tuple[int, int], **options: object) -> tuple[Executable, list[bytes]]:
    """A function's program, and the bits of its results."""
    gn.manual_seed(4)
    compiled, x = gn.compile(f, **options), gn.randn(*shape) * 0.1
    with gn.set_grad_enabled(f is slope):
        found = compiled(x)
    results = found if isinstance(found, (list, tuple)) else [found]
    (program,) = compiled.captured()
    return program.executable, [each.detach().numpy().tobytes() for each in results]


@pytest.mark.parametrize("name", COMPILED)
def test_left_out_it_is_not_done_and_no_bit_changes(name):
    f, shape, cost = CASES[name]

    on, bits = made(f, shape)
    off, same = made(f, shape, options={name: False})

    assert cost(off) > cost(on)
    assert bits == same or name == "claim"


@pytest.mark.parametrize("name", COMPILED)
def test_a_setting_does_so_for_all_programs(name):
    f, shape, cost = CASES[name]

    with override(without=name):
        off, _ = made(f, shape)

    assert cost(off) > cost(made(f, shape, options={name: True})[0])


def test_every_optimisation_is_on_the_page_of_settings():
    page = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")

    assert [name for name in OPTIMISATIONS if f"| `{name}` |" not in page] == []

"""What canonical order costs, kernel by kernel: both numerics alternately, on one thread.

Run by hand (python -m benchmarks.contract [pairs] [--json FILE]). A row is the time of one program
whose numerics are "invariant" over the time of the same one whose numerics are "fast", in the time
of the thread, so that other work on the machine counts little. Each pair is in random order; what
stands for a row is the ratio of lower quartiles, and its spread a bootstrap's interval at 95 %.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import thread_time_ns

import numpy as np

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.passes import loosen
from gnomon.runtime import threads
from gnomon.settings import override

AIM, MOST = 1.02, 1.05
"""What the contract may cost by aim, and at most; `fast` may lose to it by no more than AIM."""
Program = Callable[[], object]
rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Row:
    """What was found of one kernel: milliseconds, and the ratio with its interval."""

    kind: str
    name: str
    invariant: float
    fast: float
    ratio: float
    low: float
    high: float
    same: bool
    """Whether both give the same bits."""

    @property
    def verdict(self) -> str:
        """Which promise the row keeps or breaks; an interval that holds a bound decides nothing."""
        if self.low > MOST:
            return "costs too much"
        if self.high < 1 / AIM:
            return "fast is slow"
        return "" if self.low <= AIM else "above the aim"


def floats(*shape: int) -> gn.Tensor:
    """Normal numbers."""
    return gn.from_numpy(rng.standard_normal(shape, np.float32))


def places(count: int, *shape: int) -> gn.Tensor:
    """Positions along an axis of some length."""
    return gn.from_numpy(rng.integers(0, count, shape))


def products() -> dict[str, Program]:
    """Products: cubes, layers and their gradients, narrow ones, groups, windows."""
    a, b, tall, wide = floats(512, 512), floats(512, 512), floats(2048, 384), floats(384, 384)
    g, narrow = floats(2048, 384), a.to(gn.bfloat16)
    x, experts, ends = floats(2048, 256), floats(8, 256, 512), np.arange(1, 9) * 256
    y, offs = floats(2048, 512), gn.from_numpy(ends)
    images, weight = floats(8, 64, 32, 32), floats(64, 64, 3, 3)
    return {
        "512×512×512": lambda: a @ b,
        "linear 2048×384×384": lambda: F.linear(tall, wide),
        "weight gradient 384×2048×384": lambda: g.t() @ tall,
        "rows gradient 2048×384×384": lambda: g @ wide,
        "bfloat16 512×512×512": lambda: narrow @ narrow,
        "one row 1×384×384": lambda: F.linear(tall[:1], wide),
        "groups of rows 2048×256×512": lambda: gn.grouped_mm(x, experts, offs=offs),
        "groups of steps 256×2048×512": lambda: gn.grouped_mm(x.t(), y, offs=offs),
        "convolution 8×64×32×32, 3×3": lambda: F.conv2d(images, weight, padding=1),
    }


def attention() -> dict[str, Program]:
    """Attention, forward and backward."""
    q, k, v = (floats(2, 4, 512, 64).requires_grad_() for _ in range(3))
    g = floats(2, 4, 512, 64)

    def both() -> list[gn.Tensor]:
        q.grad = k.grad = v.grad = None
        F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)
        return [q.grad, k.grad, v.grad]

    def forward() -> gn.Tensor:
        with gn.no_grad():
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return {"causal 2×4×512×64, forward": forward, "– forward and backward": both}


def sums() -> dict[str, Program]:
    """Sums along axes, alone and in chains."""
    x, w = floats(1024, 1024), floats(1024)
    leaf, weight = floats(1024, 1024).requires_grad_(), floats(1024).requires_grad_()
    targets = places(1024, 1024)

    def norm() -> list[gn.Tensor]:
        leaf.grad = weight.grad = None
        F.rms_norm(leaf, (1024,), weight, 1e-6).backward(x)
        return [leaf.grad, weight.grad]

    def loss() -> gn.Tensor:
        leaf.grad = None
        F.cross_entropy(leaf, targets).backward()
        return leaf.grad

    return {
        "sum of rows 1024×1024": lambda: x.sum(-1),
        "sum of columns 1024×1024": lambda: x.sum(0),
        "sum of all 1024×1024": lambda: x.sum(),
        "softmax 1024×1024": lambda: F.softmax(x, -1),
        "layer norm 1024×1024": lambda: F.layer_norm(x, (1024,), w, w),
        "rms norm, both gradients": norm,
        "cross entropy and gradient": loss,
    }


def lookups() -> dict[str, Program]:
    """Gradients of lookups: sums of values by place."""
    g, few, many = floats(4096, 128), places(512, 4096), places(100_000, 4096)
    table = floats(20_000, 128).requires_grad_()
    asked, given = places(20_000, 512, 8), floats(512, 128)

    def bags() -> gn.Tensor:
        table.grad = None
        F.embedding_bag(asked, table, mode="sum").backward(given)
        return table.grad

    return {
        "4096 rows into 512": lambda: gn.zeros(512, 128).index_add(0, few, g),
        "4096 rows into 100000": lambda: gn.zeros(100_000, 128).index_add(0, many, g),
        "bags 512×8 of 20000, gradient": bags,
    }


KINDS = {"product": products, "attention": attention, "sum": sums, "lookup": lookups}


def under(numerics: str, program: Program) -> Callable[[], int]:
    """Nanoseconds of this thread for one run of a program with these numerics."""
    made = gn.compile(program)

    def run() -> int:
        with override(numerics=numerics):
            start = thread_time_ns()
            gn.evaluate(made())
            return thread_time_ns() - start

    return run


def compare(kind: str, name: str, program: Program, pairs: int) -> Row:
    """One row."""
    ordered, loose = under("invariant", program), under("fast", program)
    same = bits(program, "invariant") == bits(program, "fast")
    for _ in range(3):
        ordered(), loose()
    rows = []
    for first in rng.random(pairs) < 0.5:
        if first:
            rows.append((ordered(), loose()))
        else:
            other = loose()
            rows.append((ordered(), other))
    found = np.array(rows)
    draws = found[rng.integers(0, pairs, (1000, pairs))]
    ratios = np.divide(*np.quantile(draws, 0.25, axis=1).T)
    low, high = map(float, np.quantile(ratios, (0.025, 0.975)))
    invariant, fast = (float(x) / 1e6 for x in np.quantile(found, 0.25, axis=0))
    return Row(kind, name, invariant, fast, invariant / fast, low, high, same)


def bits(program: Program, numerics: str) -> list[bytes]:
    """What a program gives, byte by byte."""
    with override(numerics=numerics):
        made = gn.compile(program)()
        return [x.float().numpy().tobytes() for x in (made if isinstance(made, list) else [made])]


def line(row: Row) -> str:
    """A row of the table."""
    same = "same bits" if row.same else ""
    return (
        f"{row.kind:10} {row.name:32} {row.invariant:9.3f} {row.fast:9.3f}   {row.ratio:.3f}  "
        f"{row.low:.3f} to {row.high:.3f}  {same:9}  {row.verdict}"
    ).rstrip()


def main() -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", nargs="?", type=int, default=41)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows whose kind or name holds this")
    asked = parser.parse_args()
    threads.set_num_threads(1)
    loosen.LONGEST = 1 << 62
    with override(cache=False):
        measure(asked)


def measure(asked: argparse.Namespace) -> None:
    """The table, of programs whose sums have no trees whatever that costs in accuracy."""
    print(f"{'':44}invariant  fast, ms   ratio  at 95 %")
    rows = []
    for kind, programs in KINDS.items():
        for name, program in programs().items():
            if asked.only in f"{kind} {name}":
                rows.append(compare(kind, name, program, asked.pairs))
                print(line(rows[-1]), flush=True)
    if asked.json:
        found = [{**asdict(row), "verdict": row.verdict} for row in rows]
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The first use of an operation, and a notebook: what a stranger waits for without `gn.compile`.

Run by hand (python -m benchmarks.first_uses [--json FILE]). A process uses each operation for the
first time on tensors of its own shape and looks at the result; another one runs 24 cells as
tutorials have them, one after the other. Both twice: with nothing on the disk, then with what the
first left there. Wall time; the median, the ninth decile and the longest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import gnomon as gn
from benchmarks.first_steps import measured_apart
from gnomon import nn
from gnomon.nn import functional as F
from gnomon.settings import override

UNARY = (
    *("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "neg"),
    *("floor", "round", "sign", "square", "erf", "softplus", "silu", "gelu", "log1p", "expm1"),
    *("reciprocal", "isnan", "sum", "mean", "prod", "amax", "amin", "argmax", "std", "var"),
    *("norm", "sort", "unique", "tril", "triu", "diag", "trace", "t", "all", "any"),
)
BINARY = (
    *("add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "fmod", "remainder"),
    *("matmul", "mm", "eq", "lt", "ge", "logical_and", "hypot", "cdist", "mse_loss", "l1_loss"),
)
OTHERS: dict[str, Callable[[gn.Tensor, gn.Tensor], gn.Tensor]] = {
    "cumsum": lambda x, y: x.cumsum(1),
    "cumprod": lambda x, y: x.cumprod(1),
    "logsumexp": lambda x, y: x.logsumexp(1),
    "flip": lambda x, y: x.flip(0),
    "outer": lambda x, y: gn.outer(x[0], y[0]),
    "softmax": lambda x, y: x.softmax(1),
    "where": lambda x, y: gn.where(x > y, x, y),
    "cat": lambda x, y: gn.cat([x, y], 1),
    "stack": lambda x, y: gn.stack([x, y]),
    "topk": lambda x, y: x.topk(3).values,
    "gather": lambda x, y: x.gather(1, y.argsort(1)),
    "index": lambda x, y: x[y[:, 0].argsort()],
    "mask": lambda x, y: x[x > 0.5],
    "layer_norm": lambda x, y: F.layer_norm(x, (x.shape[1],)),
    "linear": lambda x, y: F.linear(x, y),
    "cross_entropy": lambda x, y: F.cross_entropy(x, y.argmax(1)),
    "conv2d": lambda x, y: F.conv2d(x.reshape(1, 1, *x.shape), y[:3, :3].reshape(1, 1, 3, 3)),
    "max_pool2d": lambda x, y: F.max_pool2d(x.reshape(1, 1, *x.shape), 2),
    "einsum": lambda x, y: gn.einsum("ij,kj->ik", x, y),
    "randn": lambda x, y: gn.randn(*x.shape),
    "arange": lambda x, y: gn.arange(x.shape[0]),
    "backward": lambda x, y: (x.clone().requires_grad_() * y).sum().exp(),
}


def uses() -> Iterator[tuple[str, float]]:
    """Each operation's name, and the seconds of its first use."""
    for k, name in enumerate([*UNARY, *BINARY, *OTHERS]):
        side = 17 + k
        x, y = gn.rand(side, side) + 0.5, gn.rand(side, side) + 0.5
        x.tolist(), y.tolist()
        began = perf_counter()
        if name in OTHERS:
            found = OTHERS[name](x, y)
        else:
            function = getattr(gn, name, None) or getattr(F, name)
            found = function(x) if name in UNARY else function(x, y)
        (found if isinstance(found, gn.Tensor) else found[0]).tolist()
        yield name, perf_counter() - began


def cells() -> Iterator[Callable[[dict], object]]:
    """The cells of a notebook; each is given what those before it have left."""
    yield lambda g: g.update(x=gn.tensor([[1.0, 2.0], [3.0, 4.0]])) or repr(g["x"])
    yield lambda g: repr(g["x"] + g["x"]) + repr(g["x"] * 2)
    yield lambda g: repr(g["x"] @ g["x"].T)
    yield lambda g: repr(g["x"][:, 1]) + repr(g["x"][g["x"] > 2])
    yield lambda g: repr(gn.cat([g["x"], g["x"]], 1)) + repr(g["x"].reshape(4))
    yield lambda g: repr(g["x"].sum()) + repr(g["x"].mean(0)) + repr(g["x"].std())
    yield lambda g: repr(gn.arange(10)) + repr(gn.linspace(0, 1, 5))
    yield lambda g: g.update(data=gn.randn(256, 8)) or repr(g["data"][:3])
    yield lambda g: g.update(w=gn.randn(8, 1)) or repr((g["data"] @ g["w"])[:3])
    yield lambda g: g.update(y=g["data"] @ g["w"] + 0.1 * gn.randn(256, 1)) or repr(g["y"].var())
    yield lambda g: repr(((g["data"] - g["data"].mean(0)) / g["data"].std(0))[:2])
    yield derived
    yield lambda g: fitted(g, nn.Linear(8, 1))
    yield lambda g: fitted(g, nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
    yield lambda g: fitted(g, nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)), "adam")
    yield lambda g: g.update(labels=(g["y"][:, 0] > 0).long()) or repr(g["labels"][:5])
    yield classified
    yield lambda g: repr(g["model"](g["data"]).softmax(1)[:2])
    yield lambda g: g.update(images=gn.randn(16, 1, 12, 12)) or repr(g["images"].shape)
    yield lambda g: repr(nn.Conv2d(1, 4, 3)(g["images"]).relu().mean())
    yield lambda g: repr(nn.Embedding(20, 6)(gn.arange(5)))
    yield lambda g: repr(nn.MultiheadAttention(8, 2)(*[g["data"][:5]] * 3)[0][:1])
    yield lambda g: repr(gn.sort(g["y"][:, 0]).values[:3]) + repr(g["y"].argmax())
    yield lambda g: repr(sum(p.numel() for p in g["model"].parameters())) + repr(g["model"])


def derived(g: dict) -> str:
    """A gradient by hand."""
    x = gn.tensor(2.0, requires_grad=True)
    (x**3 + x.sin()).backward()
    return repr(x.grad)


def fitted(g: dict, model: nn.Module, by: str = "sgd") -> str:
    """A regression of 20 steps."""
    optimizer = (gn.optim.Adam if by == "adam" else gn.optim.SGD)(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.mse_loss(model(g["data"]), g["y"])
        loss.backward()
        optimizer.step()
    return repr(loss.item())


def classified(g: dict) -> str:
    """A classifier of 20 steps, and its accuracy."""
    model = g["model"] = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = gn.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(g["data"]), g["labels"]).backward()
        optimizer.step()
    return repr((model(g["data"]).argmax(1) == g["labels"]).float().mean())


def notebook() -> Iterator[tuple[str, float]]:
    """Each cell's number, and its seconds."""
    given: dict = {}
    for k, cell in enumerate(cells(), 1):
        began = perf_counter()
        cell(given)
        yield f"cell {k}", perf_counter() - began


PARTS = {"uses": uses, "notebook": notebook}


def main() -> None:
    """Print both, cold and warm."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--json", type=Path)
    words.add_argument("--child", choices=PARTS)
    asked = words.parse_args()
    if asked.child:
        with override(num_threads=2):
            gn.manual_seed(0)
            print(json.dumps(dict(PARTS[asked.child]())))
        return
    found = {}
    for part in PARTS:
        with tempfile.TemporaryDirectory() as folder:
            for way in ("cold", "warm"):
                seconds = found[f"{part}, {way}"] = measured_apart(
                    "benchmarks.first_uses", ["--child", part], folder
                )
                ms = sorted(1e3 * s for s in seconds.values())
                longest = sorted(seconds, key=lambda name: -seconds[name])[:4]
                told = f"median {statistics.median(ms):.1f} ms, a tenth {ms[9 * len(ms) // 10]:.1f}"
                told += f" and more: {longest}"
                print(f"{part}, {way}: {len(ms)} in {sum(ms) / 1e3:.2f} s, {told}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

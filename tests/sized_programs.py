"""Random programs over values whose axes have names, which run at any sizes. Not a test.

A program is a list of steps; what each does is a call of a library, Gnomon or what stands for it.
Who runs them at which sizes is in fuzz_empty.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

AXES = "nmk"

Call = Callable[..., Any]


class Library:
    """What steps call: Gnomon, or what stands for it."""

    def __init__(self, root: Any, functions: Any) -> None:
        self.root, self.F = root, functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self.root, name)

    def excused(self, error: str) -> bool:
        """Whether an error of this library is one that others need not raise."""
        return False

    def answers(self, channels: int) -> None:
        """Whether there is an answer for so many channels."""

    def choice(self, pred: Any, then: Call, other: Call, *operands: Any) -> Any:
        """A choice in the program."""
        return self.root.cond(pred, then, other, operands)

    def turns(self, body: Call, start: Any, rows: Any) -> tuple[Any, Any]:
        """A loop over slices."""
        return self.root.scan(body, start, rows)

    def loop(self, test: Call, body: Call, *carried: Any) -> tuple:
        """A loop while a test holds."""
        return self.root.while_loop(test, body, carried, max_iterations=3)

    def grouped(self, x: Any, w: Any, ends: Any) -> Any:
        """Rows by groups, each with a matrix of its own."""
        return self.root.grouped_mm(x, w, ends)

    def logits(self, x: Any, w: Any, target: Any) -> Any:
        """Cross entropy of a product."""
        return self.F.linear_cross_entropy(x, w, target)


@dataclass(frozen=True)
class Value:
    """A float value of a program: the names of its axes."""

    axes: tuple[str, ...]


@dataclass
class Step:
    """An operation on values, by their numbers."""

    title: str
    operands: tuple[int, ...]
    call: Call


@dataclass
class Program:
    """Inputs, steps over them, and the values that are its results."""

    values: list[Value]
    inputs: int
    steps: list[Step] = field(default_factory=list)
    results: tuple[int, ...] = ()

    def run(self, lib: Library, tensors: Sequence[Any]) -> list[Any]:
        """The results for inputs of a library."""
        known = list(tensors)
        for step in self.steps:
            known.append(step.call(lib, *(known[k] for k in step.operands)))
        return [known[k] for k in self.results]

    def __str__(self) -> str:
        rows = [f"v{k}: {''.join(x.axes) or '.'}" for k, x in enumerate(self.values[: self.inputs])]
        for k, step in enumerate(self.steps, self.inputs):
            given = ", ".join(f"v{j}" for j in step.operands)
            rows.append(f"v{k} = {step.title}({given})  {self.values[k].axes}")
        return "\n".join([*rows, f"return {self.results}"])


class Unfit(Exception):
    """Nothing in a program fits a step."""


class Draw:
    """Random choices about a program that grows."""

    def __init__(self, rng: Random, program: Program) -> None:
        self.rng, self.program = rng, program

    def value(self, least: int = 0, most: int = 4) -> int:
        """The number of a value of some rank; what is new is more likely."""
        found = [k for k, x in enumerate(self.program.values) if least <= len(x.axes) <= most]
        if not found:
            raise Unfit
        return self.rng.choice(found[-3:] if self.rng.random() < 0.6 else found)

    def like(self, k: int, fits: Callable[[tuple, tuple], bool]) -> int:
        """Another value that fits one."""
        own = self.program.values[k].axes
        found = [j for j, x in enumerate(self.program.values) if fits(own, x.axes)]
        if not found:
            raise Unfit
        return self.rng.choice(found)

    def axes(self, k: int) -> tuple[str, ...]:
        """The names of a value's axes."""
        return self.program.values[k].axes

    def axis(self, k: int) -> int:
        """One of its axes."""
        return self.rng.randrange(len(self.axes(k)))


Made = tuple[str, tuple[int, ...], tuple[str, ...], Call]
"""A title, operands, the names of the result's axes, the call."""
Maker = Callable[[Draw], Made]


def unary(d: Draw) -> Made:
    """A function of every element."""
    k = d.value()
    name = d.rng.choice(["neg", "exp", "tanh", "abs", "sigmoid", "relu", "square", "erf", "atan"])
    return name, (k,), d.axes(k), lambda lib, x: getattr(lib, name)(x.clamp(-3, 3))


def activation(d: Draw) -> Made:
    """A function of a network."""
    k = d.value()
    name = d.rng.choice(["gelu", "silu", "softplus", "elu", "leaky_relu"])
    return name, (k,), d.axes(k), lambda lib, x: getattr(lib.F, name)(x)


def binary(d: Draw) -> Made:
    """A function of two values of the same axes, or of a value and its last axes."""
    k = d.value()
    j = d.like(k, lambda own, x: x == own or (x == own[len(own) - len(x) :]))
    name = d.rng.choice(["add", "sub", "mul", "maximum", "minimum", "where"])
    if name == "where":
        return name, (k, j), d.axes(k), lambda lib, x, y: lib.where(x > 0.3, x, y * 2)
    return name, (k, j), d.axes(k), lambda lib, x, y: getattr(lib, name)(x, y)


def dropped(axes: tuple[str, ...], k: int) -> tuple[str, ...]:
    """Without an axis."""
    return axes[:k] + axes[k + 1 :]


def folded(d: Draw) -> Made:
    """A fold of an axis, or of all."""
    k = d.value(1)
    axis, all_ = d.axis(k), d.rng.random() < 0.15
    name = d.rng.choice(
        ["sum", "sum", "mean", "prod", "logsumexp", "amax", "amin", "std", "var", "norm"]
    )
    if all_ and name in ("sum", "mean", "prod", "norm"):
        return f"{name} of all", (k,), (), lambda lib, x: getattr(lib, name)(x.tanh())
    axes = dropped(d.axes(k), axis)
    return f"{name} {axis}", (k,), axes, lambda lib, x: getattr(x, name)(dim=axis)


def counted(d: Draw) -> Made:
    """A fold to truth values or numbers of elements."""
    k = d.value(1)
    axis = d.axis(k)
    name = d.rng.choice(["any", "all", "count_nonzero", "argmax", "argmin", "sum_of_two"])
    axes = dropped(d.axes(k), axis)
    if name == "sum_of_two":
        if len(d.axes(k)) < 2:
            raise Unfit
        return "sum 0, 1", (k,), d.axes(k)[2:], lambda lib, x: x.sum((0, 1))
    if name.startswith("arg"):
        return name, (k,), axes, lambda lib, x: getattr(x, name)(dim=axis).to(lib.float32)
    return name, (k,), axes, lambda lib, x: getattr(lib, name)(x > 0.2, dim=axis).to(lib.float32)


def greatest(d: Draw) -> Made:
    """The greatest of an axis that has one element more."""
    k = d.value(1)
    axes = d.axes(k)[:-1]
    return "amax of padded", (k,), axes, lambda lib, x: lib.F.pad(x, (0, 1), value=-1.0).amax(-1)


def normalized(d: Draw) -> Made:
    """A function along an axis that keeps it."""
    k = d.value(1)
    axis = d.axis(k)
    name = d.rng.choice(["softmax", "log_softmax", "layer_norm", "rms_norm", "normalize"])
    if name.endswith("_norm"):
        return name, (k,), d.axes(k), lambda lib, x: getattr(lib.F, name)(x, x.shape[-1:])
    return f"{name} {axis}", (k,), d.axes(k), lambda lib, x: getattr(lib.F, name)(x, dim=axis)


def scanned(d: Draw) -> Made:
    """A running fold, or an order."""
    k = d.value(1)
    axis = d.axis(k)
    name = d.rng.choice(
        ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "flip", "roll"]
    )

    def call(lib: Any, x: Any) -> Any:
        if name in ("cummax", "cummin"):
            return getattr(x, name)(axis).values
        if name == "sort":
            return lib.sort(x, dim=axis, stable=True).values
        if name == "roll":
            return lib.roll(x, 1, axis)
        return lib.flip(x, [axis]) if name == "flip" else getattr(lib, name)(x.tanh(), dim=axis)

    return f"{name} {axis}", (k,), d.axes(k), call


def viewed(d: Draw) -> Made:
    """A view."""
    k = d.value(1)
    axis, axes, end = d.axis(k), d.axes(k), d.rng.choice([0, 1, -1])
    turned = d.rng.sample(range(len(axes)), len(axes))
    ways: list[tuple[str, tuple[str, ...], Call]] = [
        ("permute", tuple(axes[j] for j in turned), lambda lib, x: x.permute(*turned)),
        ("unsqueeze", ("1", *axes), lambda lib, x: x.unsqueeze(0)),
        (
            f"slice {axis} :{end}",
            tuple(f"{a}[:{end}]" if j == axis else a for j, a in enumerate(axes)),
            lambda lib, x: x[(slice(None),) * axis + (slice(None, end),)],
        ),
        (
            f"slice {axis} 1::2",
            tuple(f"{a}[1::2]" if j == axis else a for j, a in enumerate(axes)),
            lambda lib, x: x[(slice(None),) * axis + (slice(1, None, 2),)],
        ),
        ("flatten", ("(" + "*".join(axes) + ")",), lambda lib, x: x.reshape(x.numel())),
        (
            "pad",
            (*axes[:-1], f"{axes[-1]}+3"),
            lambda lib, x: lib.F.pad(x, (1, 2), value=0.5),
        ),
        ("repeat", ("2", *axes), lambda lib, x: x.expand(2, *x.shape) * 1.5),
    ]
    title, axes, call = d.rng.choice(ways)
    return title, (k,), axes, call


def joined(d: Draw) -> Made:
    """Values one after the other, or stacked."""
    k = d.value(1)
    axis = d.axis(k)
    j = d.like(k, lambda own, x: len(x) == len(own) and dropped(x, axis) == dropped(own, axis))
    mine, theirs = d.axes(k), d.axes(j)
    if mine == theirs and d.rng.random() < 0.3:
        return "stack", (k, j), ("2", *mine), lambda lib, x, y: lib.stack([x, y])
    axes = (*mine[:axis], f"({mine[axis]}+{theirs[axis]})", *mine[axis + 1 :])
    return f"cat {axis}", (k, j), axes, lambda lib, x, y: lib.cat([x, y], dim=axis)


def looked_up(d: Draw) -> Made:
    """Rows by position; mostly inside."""
    k = d.value(1)
    axis, axes = d.axis(k), d.axes(k)
    kind = d.rng.choice(["same", "same", "along", "one", "mask of none"])

    def call(lib: Any, x: Any) -> Any:
        n = x.shape[axis]
        if kind == "one":
            return lib.index_select(x, axis, lib.arange(1))
        places = (lib.arange(n) * 7 + 3) % max(n, 1)
        if kind == "along":
            shape = [1] * x.ndim
            shape[axis] = n
            return lib.take_along_dim(x, places.reshape(shape), axis)
        return lib.index_select(x, axis, places)

    if kind == "mask of none":
        return "masked_fill", (k,), axes, lambda lib, x: x.masked_fill(x > 0.5, 0.25)
    if kind == "one":
        axes = (*axes[:axis], "1", *axes[axis + 1 :])
    return f"lookup {kind} {axis}", (k,), axes, call


def scattered(d: Draw) -> Made:
    """Rows added into three places, or written over rows."""
    k = d.value(1, 3)
    axes = d.axes(k)
    kind = d.rng.choice(["add", "amax", "put", "assign"])

    def call(lib: Any, x: Any) -> Any:
        n = x.shape[0]
        if kind == "assign":
            y = x * 1
            y[: n // 2] = y[n - n // 2 :] * 2
            return y
        if kind == "put":
            y = lib.ones(4, *x.shape[1:])
            return y.index_copy(0, lib.arange(n)[:3], x[:3])
        places = (lib.arange(n) * 5 + 1) % 3
        if kind == "add":
            return lib.zeros(3, *x.shape[1:]).index_add(0, places, x)
        places = places.reshape(-1, *[1] * (x.ndim - 1)).expand(x.shape)
        return lib.ones(3, *x.shape[1:]).scatter_reduce(0, places, x, kind)

    first = {"add": "3", "amax": "3", "put": "4", "assign": axes[0]}[kind]
    return f"scatter {kind}", (k,), (first, *axes[1:]), call


def product(d: Draw) -> Made:
    """A product of matrices, or of batches of them."""
    k = d.value(2, 4)
    axes = d.axes(k)
    way = d.rng.choice(["gram", "matmul", "einsum", "linear"])
    if way == "gram":
        return way, (k,), (*axes[:-1], axes[-2]), lambda lib, x: x @ x.transpose(-1, -2) * 0.5
    if way == "matmul":
        j = d.like(k, lambda own, x: len(x) == 2 and x[0] == own[-1])
        return way, (k, j), (*axes[:-1], d.axes(j)[1]), lambda lib, x, y: x @ y
    if way == "linear":
        j = d.like(k, lambda own, x: len(x) == 2 and x[1] == own[-1])
        shape = (*axes[:-1], d.axes(j)[0])
        return way, (k, j), shape, lambda lib, x, w: lib.F.linear(x, w)
    j = d.like(k, lambda own, x: len(x) == len(own) == 2 and x[0] == own[0])
    return way, (k, j), (axes[1], d.axes(j)[1]), lambda lib, x, y: lib.einsum("ab,ac->bc", x, y)


def attended(d: Draw) -> Made:
    """Attention of a value to another, or to itself."""
    k = d.value(2, 4)
    j = d.like(k, lambda own, x: len(x) == len(own) and dropped(x, -2) == dropped(own, -2))
    if len(d.axes(k)) != len(d.axes(j)) or d.axes(k)[:-2] != d.axes(j)[:-2]:
        raise Unfit
    causal = d.rng.random() < 0.4 and d.axes(k) == d.axes(j)
    lead = 4 - len(d.axes(k))

    def call(lib: Any, q: Any, kv: Any) -> Any:
        q, kv = (x.reshape((1,) * lead + tuple(x.shape)) for x in (q, kv))
        y = lib.F.scaled_dot_product_attention(q, kv, kv * 0.5, is_causal=causal, scale=0.5)
        return y.reshape(y.shape[lead:])

    return f"attention {causal}", (k, j), d.axes(k), call


def convolved(d: Draw) -> Made:
    """Convolution or pooling along the last axis, by its own values as weights."""
    k = d.value(2, 3)
    axes = d.axes(k)
    lead = 3 - len(axes)
    way = d.rng.choice(["conv", "strided", "transposed", "max", "avg", "unfold"])

    def call(lib: Any, x: Any) -> Any:
        y = x.reshape((1,) * lead + tuple(x.shape))
        y = lib.F.pad(y, (2, 3), value=0.1)
        c = y.shape[1]
        lib.answers(c)
        w = (lib.arange(2 * c * 3).reshape(2, c, 3) % 5 - 2.0) * 0.25
        if way == "conv":
            y = lib.F.conv1d(y, w, padding=1)
        elif way == "strided":
            y = lib.F.conv1d(y, w, stride=2)
        elif way == "transposed":
            y = lib.F.conv_transpose1d(y, w.transpose(0, 1), stride=2)
        elif way == "unfold":
            y = y.unfold(-1, 3, 2).sum(-1)
        else:
            y = getattr(lib.F, f"{way}_pool1d")(y, 3, 2)
        return y.reshape(y.shape[lead:])

    last = f"{way}({axes[-1]})"
    lead_axes = axes[:-1] if way in ("max", "avg", "unfold") else (*axes[:-2], "2")
    return f"{way} 1d", (k,), (*lead_axes, last), call


def classified(d: Draw) -> Made:
    """Losses of rows against classes."""
    k = d.value(2, 2)
    how = d.rng.choice(["mean", "sum", "none"])
    way = d.rng.choice(["cross_entropy", "nll", "mse", "one_hot", "logits"])
    axes = d.axes(k)

    def call(lib: Any, x: Any) -> Any:
        n, c = x.shape
        target = lib.arange(n) % max(c, 1)
        if way == "mse":
            return lib.F.mse_loss(x, x * 0.5, reduction=how)
        if way == "one_hot":
            return lib.F.one_hot(lib.arange(n) % 3, 3).to(lib.float32)
        if way == "nll":
            return lib.F.nll_loss(x, target, reduction=how)
        if way == "logits":
            w = (lib.arange(4 * c).reshape(4, c) % 3 - 1.0) * 0.5
            return lib.logits(x, w, lib.arange(n) % 4)
        return lib.F.cross_entropy(x, target, reduction=how)

    shape = {"one_hot": (axes[0], "3"), "logits": ()}.get(way, () if how != "none" else axes[:1])
    shape = axes if way == "mse" and how == "none" else shape
    return f"{way} {how}", (k,), shape, call


def embedded(d: Draw) -> Made:
    """Rows of a table, one by one or in bags."""
    k = d.value(2, 2)
    axes = d.axes(k)
    way = d.rng.choice(["rows", "bags sum", "bags mean", "grouped"])

    def call(lib: Any, x: Any) -> Any:
        n = x.shape[0]
        if way == "rows":
            return lib.F.embedding(lib.arange(2 * n) % max(n, 1), x)
        if way == "grouped":
            w = (lib.arange(3 * x.shape[1] * 2).reshape(3, x.shape[1], 2) % 5 - 2.0) * 0.25
            ends = lib.tensor([0, n // 2, n], dtype=lib.int32)
            return lib.grouped(x, w, ends)
        offsets = lib.tensor([0, n // 2, n // 2, n])
        return lib.F.embedding_bag(lib.arange(n), x, offsets, mode=way.split()[1])

    shape = {"rows": (f"2*{axes[0]}", axes[1]), "grouped": (axes[0], "2")}
    return way, (k,), shape.get(way, ("4", axes[1])), call


def controlled(d: Draw) -> Made:
    """A choice or a loop."""
    k = d.value(1)
    axes = d.axes(k)
    way = d.rng.choice(["choice", "turns", "rows", "loop"])

    def choice(lib: Any, x: Any) -> Any:
        return lib.choice(x.sum() > 0.7, lambda x: x * 2, lambda x: x.cumsum(0) - 1, x)

    def turns(lib: Any, x: Any) -> Any:
        def body(total: Any, row: Any) -> tuple[Any, Any]:
            total = (total + row).tanh()
            return total, total * 2

        return lib.turns(body, lib.ones(x.shape[1:]) * 0.5, x)[way == "rows"]

    def loop(lib: Any, x: Any) -> Any:
        test = lambda i, y: i < min(x.shape[0], 3)  # noqa: E731
        return lib.loop(test, lambda i, y: (i + 1, (y * 0.5 + y.sum()).tanh()), lib.zeros(()), x)[1]

    call = {"choice": choice, "loop": loop}.get(way, turns)
    return way, (k,), axes[1:] if way == "turns" else axes, call


def whole(d: Draw) -> Made:
    """Integers of an input, folded, ordered or multiplied."""
    k = d.rng.randrange(d.program.inputs)
    axes, axis = d.axes(k), d.axis(k)
    kind = d.rng.choice(["int8", "uint8", "int32", "int64"])
    name = d.rng.choice(["sum", "prod", "cumsum", "sort", "matmul", "amax", "any", "shifted"])
    if name == "matmul" and len(axes) < 2:
        raise Unfit

    def call(lib: Any, x: Any) -> Any:
        x = (x * 8).to(lib.int32).to(getattr(lib, kind))
        if name == "sort":
            x = lib.sort(x, dim=axis, stable=True).values
        elif name == "matmul":
            x = x.to(lib.int64) @ x.to(lib.int64).transpose(-1, -2)
        elif name == "amax":
            x = lib.cat([x, lib.ones(*x.shape[:-1], 1, dtype=x.dtype)], -1).amax(-1)
        elif name == "shifted":
            x = (x // 3) % 5
        else:
            x = getattr(lib, name)(x, dim=axis)
        return x.to(lib.int32).to(lib.float32)

    shapes = {
        "matmul": (*axes[:-1], axes[-2:][0]),
        "amax": axes[:-1],
        **dict.fromkeys(("cumsum", "sort", "shifted"), axes),
    }
    return f"{kind} {name} {axis}", (k,), shapes.get(name, dropped(axes, axis)), call


def doubled(d: Draw) -> Made:
    """What is computed in float64."""
    k = d.value(1)
    axes, axis = d.axes(k), d.axis(k)
    name = d.rng.choice(["softmax", "cumsum", "sum", "logsumexp"])

    def call(lib: Any, x: Any) -> Any:
        x = x.to(lib.float64)
        return getattr(lib, name)(x * 2, dim=axis).to(lib.float32)

    shape = axes if name in ("softmax", "cumsum") else dropped(axes, axis)
    return f"float64 {name} {axis}", (k,), shape, call


MAKERS: tuple[Maker, ...] = (
    *(unary, activation, binary, binary, folded, folded, counted, greatest, normalized, scanned),
    *(viewed, viewed, joined, looked_up, scattered, product, product, attended, convolved),
    *(classified, embedded, controlled, whole, doubled),
)


def programs(seed: int, makers: Sequence[Maker] = MAKERS) -> Program:
    """A program, by its number."""
    rng = Random(seed)
    shapes = [tuple(rng.sample(AXES, rng.randint(1, 3))) for _ in range(rng.randint(1, 3))]
    made = Program([Value(axes) for axes in shapes], len(shapes))
    draw, wanted = Draw(rng, made), rng.randint(1, 7)
    while len(made.steps) < wanted:
        try:
            title, operands, axes, call = rng.choice(makers)(draw)
        except Unfit:
            continue
        if len(axes) > 4:
            continue
        made.steps.append(Step(title, operands, call))
        made.values.append(Value(axes))
    last = len(made.values) - 1
    others = [rng.randrange(made.inputs, last + 1) for _ in range(rng.randint(0, 2))]
    made.results = tuple(dict.fromkeys((last, *others)))
    return pruned(made)


def pruned(program: Program) -> Program:
    """The program without steps that its results do not need: nobody asks for what they find."""
    first, wanted = program.inputs, set(program.results)
    for k in range(len(program.values) - 1, first - 1, -1):
        if k in wanted:
            wanted.update(program.steps[k - first].operands)
    kept = [*range(first), *(k for k in sorted(wanted) if k >= first)]
    place = {k: at for at, k in enumerate(kept)}
    steps = [program.steps[k - first] for k in kept[first:]]
    return Program(
        [program.values[k] for k in kept],
        first,
        [Step(s.title, tuple(place[k] for k in s.operands), s.call) for s in steps],
        tuple(place[k] for k in program.results),
    )

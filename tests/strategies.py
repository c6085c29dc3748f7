"""Random small graphs for property tests, and the same graph in another precision.

A graph grows step by step: each step takes nodes that exist and makes one more. `ANY` steps may
make infinities and NaN; `SMOOTH` ones can be differentiated and stay of moderate size. Sizes differ
pairwise, and some are large enough for leaves, lanes and ragged vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from gnomon.dtypes import DType, bfloat16, bool_, dtype_of, float32, float64, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, expand, reduce, reshape, unsqueeze
from gnomon.ops.scalars import where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from tests import drawn as st

SIZES = (2, 3, 5, 7, 20, 33, 64, 70, 130, 256)
LARGEST = 3000
"""Elements of a tensor, and steps times results of a product divided by 20."""
AXES = "abcdefgh"
UNARY = ("neg", "abs", "sign", "sqrt", "rsqrt", "floor", "round", "exp", "log", "tanh", "sigmoid")
SMOOTH_UNARY = ("neg", "tanh", "sigmoid", "sin", "erf")
BINARY = ("add", "sub", "mul", "div", "minimum", "maximum")
SMOOTH_BINARY = ("add", "sub", "mul")
INTEGER_UNARY = ("neg", "abs", "sign", "not")
INTEGER_BINARY = ("add", "sub", "mul", "minimum", "maximum", "floor_divide", "remainder", "xor")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-42, 3e38, 1.0)

Draw = Callable
Step = Callable[[Draw, list[Node]], Node]


def pick(draw: Draw, nodes: Sequence[Node]) -> Node:
    """One of the nodes, the latest first when a failure is simplified."""
    return draw(st.sampled_from(list(reversed(nodes))))


def ranked(draw: Draw, nodes: list[Node]) -> Node:
    """A node with axes."""
    x = pick(draw, nodes)
    return x if x.rank else unsqueeze(x, 0)


def permuted(draw: Draw, nodes: list[Node]) -> Node:
    """Axes in another order."""
    x = pick(draw, nodes)
    return permute(x, tuple(draw(st.permutations(range(x.rank)))))


def reshaped(draw: Draw, nodes: list[Node]) -> Node:
    """Two neighbouring axes merged, or one split."""
    x = ranked(draw, nodes)
    k = draw(st.integers(0, x.rank - 1))
    if x.rank > 1 and k + 1 < x.rank:
        merged = (*x.shape[:k], x.shape[k] * x.shape[k + 1], *x.shape[k + 2 :])
        return reshape(x, merged)
    n = x.shape[k]
    d = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
    return reshape(x, (*x.shape[:k], d, n // d, *x.shape[k + 1 :])) if x.rank < 4 else x


def repeated(draw: Draw, nodes: list[Node]) -> Node:
    """A new axis along which nothing changes."""
    x = pick(draw, nodes)
    k, n = draw(st.integers(0, x.rank)), draw(st.sampled_from(SIZES[:5]))
    if x.rank > 3 or x.size * n > LARGEST:
        return x
    return expand(unsqueeze(x, k), (*x.shape[:k], n, *x.shape[k:]))


def sliced(draw: Draw, nodes: list[Node]) -> Node:
    """A part of one axis, forwards or backwards, with steps."""
    x = ranked(draw, nodes)
    k = draw(st.integers(0, x.rank - 1))
    n, step = x.shape[k], draw(st.sampled_from((1, 2, 3, -1, -2)))
    start, stop = sorted((draw(st.integers(0, n - 1)), draw(st.integers(1, n))))
    stop = max(stop, start + 1)
    bound = (start, stop, step) if step > 0 else (stop - 1, start - 1, step)
    return slice_(x, tuple(bound if j == k else (0, m, 1) for j, m in enumerate(x.shape)))


def padded(draw: Draw, nodes: list[Node]) -> Node:
    """A constant around one axis, and between its elements."""
    x = ranked(draw, nodes)
    k = draw(st.integers(0, x.rank - 1))
    low, high, gap = (draw(st.integers(0, 3)) for _ in range(3))
    if (x.shape[k] * (gap + 1) + low + high) * (x.size // max(x.shape[k], 1)) > LARGEST:
        return x
    where_k = [tuple(n if j == k else 0 for j in range(x.rank)) for n in (low, high, gap)]
    return pad(x, where_k[0], where_k[1], 2.0, where_k[2])


def windowed(draw: Draw, nodes: list[Node]) -> Node:
    """Overlapping stretches of one axis."""
    x = ranked(draw, nodes)
    k, size, stride = draw(st.integers(0, x.rank - 1)), draw(st.integers(1, 3)), 1
    if x.rank > 3 or x.shape[k] < size or x.size * size > LARGEST:
        return x
    return window(x, k, size, draw(st.integers(1, 2)) if x.shape[k] > 2 else stride)


def partner(draw: Draw, x: Node, nodes: list[Node]) -> Node:
    """A node that x can meet elementwise: of its dtype, and of equal, missing or single axes."""

    def fits(y: Node) -> bool:
        pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
        meets = all(n == m or 1 in (n, m) for n, m in pairs)
        return y.dtype is x.dtype and meets and x.size * y.size <= max(x.size, y.size) * 300

    return pick(draw, [y for y in nodes if fits(y)] or [x])


def small(x: Node) -> Node:
    """x unless it grew too large."""
    return x if x.size <= LARGEST else reduce("max", x, tuple(range(x.rank - 1)))


def mapped(unary: Sequence[str], binary: Sequence[str], integers: bool) -> Step:
    """A scalar function of one or two nodes."""

    def step(draw: Draw, nodes: list[Node]) -> Node:
        x = pick(draw, nodes)
        if x.dtype is bool_:
            return cast(x, float32)
        one, two = (unary, binary) if x.dtype.is_floating_point else (INTEGER_UNARY, INTEGER_BINARY)
        name = draw(st.sampled_from((*two, *one)))
        if name in one:
            return elementwise(name, x)
        if draw(st.booleans()):
            return elementwise(name, x, 3 if x.dtype.is_integer else 0.7)
        return small(elementwise(name, x, partner(draw, x, nodes)))

    return step


def chosen(draw: Draw, nodes: list[Node]) -> Node:
    """where(x < y, x, y * 2)."""
    x = pick(draw, nodes)
    if x.dtype is bool_:
        return cast(x, int64)
    y = partner(draw, x, nodes)
    test = elementwise(draw(st.sampled_from(("lt", "ge", "eq"))), x, y)
    return small(where(test, x, y * 2))


def summed_up(monoids: Sequence[str]) -> Step:
    """Some axes folded away."""

    def step(draw: Draw, nodes: list[Node]) -> Node:
        x = ranked(draw, nodes)
        axes = draw(st.sets(st.integers(0, x.rank - 1), min_size=1))
        if x.dtype is bool_:
            return reduce("or", x, tuple(sorted(axes)))
        return reduce(draw(st.sampled_from(monoids)), x, tuple(sorted(axes)))

    return step


def product(draw: Draw, nodes: list[Node]) -> Node:
    """A contract: axes of equal size may share a letter, and any letter may be summed."""
    x, y = ranked(draw, nodes), ranked(draw, nodes)
    if x.dtype is not y.dtype:
        y = x
    left, right, free = AXES[: x.rank], "", list(AXES[x.rank :])
    for n in y.shape:
        same = [c for c, m in zip(left, x.shape, strict=True) if m == n and c not in right]
        right += draw(st.sampled_from(same)) if same and draw(st.booleans()) else free.pop(0)
    size = dict(zip(left + right, x.shape + y.shape, strict=True))
    out = [c for c in draw(st.permutations(list(size))) if draw(st.booleans())]
    if prod(size[c] for c in out) > LARGEST or prod(size.values()) > 20 * LARGEST or len(out) > 4:
        return x
    return contract(f"{left},{right}->{''.join(out)}", x, y)


def softmax(draw: Draw, nodes: list[Node]) -> Node:
    """exp(x - max) / sum along an axis."""
    x = floating(ranked(draw, nodes))
    k = draw(st.integers(0, x.rank - 1))
    e = elementwise("exp", x - unsqueeze(reduce("max", x, (k,)), k))
    return e / unsqueeze(reduce("add", e, (k,)), k)


def rms_norm(draw: Draw, nodes: list[Node]) -> Node:
    """x / sqrt(mean(x^2) + 0.1) along the last axis."""
    x = floating(ranked(draw, nodes))
    k = x.rank - 1
    square = unsqueeze(reduce("add", x * x, (k,)), k)
    return x * elementwise("rsqrt", square * (1 / max(x.shape[k], 1)) + 0.1)


def floating(x: Node) -> Node:
    """x as a float."""
    return x if x.dtype.is_floating_point else cast(x, float32)


def recast(draw: Draw, nodes: list[Node]) -> Node:
    """Another dtype."""
    return cast(pick(draw, nodes), draw(st.sampled_from((float32, float64, bfloat16, int64))))


def positions(x: Node, n: int, size: int) -> Node:
    """n positions in an axis of this size, with repetitions."""
    here = x.arena.node("iota", (), size=n, dtype=int64)
    return elementwise("remainder", here * 7 + 3, size)


def looked_up(draw: Draw, nodes: list[Node]) -> Node:
    """Rows by position."""
    x = ranked(draw, nodes)
    k, n = draw(st.integers(0, x.rank - 1)), draw(st.sampled_from(SIZES[:5]))
    if x.size // x.shape[k] * n > LARGEST:
        return x
    out = AXES[: x.rank].replace(AXES[k], "z")
    return gather(f"{AXES[: x.rank]},z->{out}", x, positions(x, n, x.shape[k]))


def scattered(draw: Draw, nodes: list[Node]) -> Node:
    """Rows folded into places; another axis may be folded with them."""
    x = ranked(draw, nodes)
    k, n = draw(st.integers(0, x.rank - 1)), draw(st.sampled_from(SIZES[:5]))
    if x.size // x.shape[k] * n > LARGEST or x.dtype is bool_:
        return x
    own, others = AXES[: x.rank], [c for j, c in enumerate(AXES[: x.rank]) if j != k]
    kept = "".join(c for c in others if len(others) < 2 or draw(st.booleans()))
    monoid = draw(st.sampled_from(("add", "max", "min")))
    return scatter(monoid, f"{own},{own[k]}->{kept}z", x, positions(x, x.shape[k], n), n)


def scanned(draw: Draw, nodes: list[Node]) -> Node:
    """A running fold."""
    x = ranked(draw, nodes)
    if x.dtype is bool_:
        return x
    monoid = draw(st.sampled_from(("add", "max", "mul", "argmax", "argmin")))
    return scan(monoid, x, draw(st.integers(0, x.rank - 1)))


def sorted_(draw: Draw, nodes: list[Node]) -> Node:
    """Positions in order."""
    x = ranked(draw, nodes)
    return sort_positions(x, draw(st.integers(0, x.rank - 1)), draw(st.booleans()))


VIEWS = (permuted, reshaped, repeated, sliced, padded, windowed)
SMOOTH: tuple[Step, ...] = (
    mapped(SMOOTH_UNARY, SMOOTH_BINARY, integers=False),
    summed_up(("add",)),
    product,
    softmax,
    rms_norm,
    *VIEWS,
)
ANY: tuple[Step, ...] = (
    mapped(UNARY, BINARY, integers=True),
    mapped(UNARY, BINARY, integers=True),
    summed_up(("add", "add", "max", "min", "mul")),
    product,
    softmax,
    rms_norm,
    chosen,
    recast,
    looked_up,
    scattered,
    scanned,
    sorted_,
    *VIEWS,
)


def leaf_shapes() -> st.Strategy:
    """Shapes of up to three axes."""
    axes = st.lists(st.sampled_from(SIZES), max_size=3, unique=True)
    return axes.map(tuple).filter(lambda shape: prod(shape) <= LARGEST)


@st.composite
def graphs(
    draw: Draw, steps: Sequence[Step] = ANY, dtypes: Sequence[DType] = (float32,), most: int = 7
) -> Graph:
    """A graph of one to three inputs, a few steps, and one to three results."""
    arena = Arena()
    kinds = st.tuples(leaf_shapes(), st.sampled_from(dtypes))
    leaves = [arena.input(*kind) for kind in draw(st.lists(kinds, min_size=1, max_size=3))]
    nodes = list(leaves)
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=most)):
        nodes.append(step(draw, nodes))
    others = draw(st.lists(st.sampled_from(nodes), max_size=2))
    return Graph(leaves, [nodes[-1], *others])


def described(graph: Graph) -> str:
    """The graph as text, one node a line, for a failure's message."""
    names = {x: f"x{k}" for k, x in enumerate(graph.inputs)}
    rows = [f"{names[x]} = {x!r}" for x in graph.inputs]
    for node in graph:
        if node not in names:
            names[node] = f"n{len(names)}"
            parts = ", ".join(names[x] for x in node.inputs)
            params = {k: v for k, v in node.params.items() if k != "dtype"}
            rows.append(f"{names[node]} = {node.op}({parts}) {params} -> {node!r}")
    return "\n".join([*rows, "return " + ", ".join(names[x] for x in graph.outputs)])


def arrays_for(graph: Graph, seed: int, special: float = 0.0) -> list[np.ndarray]:
    """Random inputs; a share of their elements has special values."""
    rng = np.random.default_rng(seed)
    found = []
    for leaf in graph.inputs:
        x = rng.normal(size=leaf.shape)
        if leaf.dtype.is_integer:
            found.append((x * 10).astype(leaf.dtype.numpy))
            continue
        strange = rng.choice(SPECIAL, size=leaf.shape)
        with np.errstate(over="ignore"):
            x = np.where(rng.random(leaf.shape) < special, strange, x)
            found.append(x.astype(leaf.dtype.numpy))
    return found


def in_double(graph: Graph) -> Graph:
    """The same graph with every float as float64."""
    arena = Arena()
    known: dict[Node, Node] = {}
    for node in [*graph.inputs, *graph.nodes]:
        if node not in known:
            known[node] = doubled(arena, node, tuple(known[x] for x in node.inputs))
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])


def doubled(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """One node over float64."""
    if node.op == "input":
        return arena.input(node.shape, wide(node.dtype))
    params = {k: wide(v) if isinstance(v, DType) else v for k, v in node.params.items()}
    return arena.node(node.op, inputs, **params)


def wide(dtype: DType) -> DType:
    """float64 for any float."""
    return float64 if dtype.is_floating_point else dtype


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit; any NaN equals any NaN."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    assert a.dtype == b.dtype, f"dtypes differ: {a.dtype} and {b.dtype}"
    assert a.shape == b.shape, f"shapes differ: {a.shape} and {b.shape}"
    if not dtype_of(a.dtype).is_floating_point:
        return bool(np.array_equal(a, b))
    pattern = np.dtype(f"i{a.itemsize}")
    return bool(np.all((a.view(pattern) == b.view(pattern)) | ((a != a) & (b != b))))

"""Long sums: blocks and their tree to the bit, and an error that grows with log n."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen.blocks import Folded
from gnomon.dtypes import DType, bfloat16, float32, float64, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ops import canonical
from gnomon.ops.lookup_primitives import scatter
from gnomon.ops.primitives import expand, reduce, unsqueeze
from gnomon.ops.scan_primitives import scan
from gnomon.runtime import device
from tests.compiled import execute, program, run, threads
from tests.oracle.graphs import exact
from tests.strategies import described, same_bits
from tests.witnesses import forgotten

SIZES = (0, 1, 2, 3, 5, 31, 64, 65, 127, 129, 257, 384, 385, 600)
LARGEST = 3000
"""Elements of an input: the oracle adds one by one."""
DTYPES = (float32, float32, float64, bfloat16)


def is_neon() -> bool:
    """Whether this machine's only instructions are NEON's."""
    return device.target().name == "neon"


@pytest.fixture(params=[2, 3])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of a few terms, so that few elements are many blocks."""
    monkeypatch.setattr(canonical, "BLOCK", request.param)
    with forgotten():
        yield


def softmax(x: Node, axis: int) -> Node:
    """A sum in the midst of other work, and a maximum of the same range."""
    e = cast(x - unsqueeze(reduce("max", x, (axis,)), axis), float32)
    total = unsqueeze(reduce("add", e * e, (axis,)), axis)
    return e / expand(total, e.shape)


Program = Callable[[Node, Node], Node]


def draw(rng: np.random.Generator) -> tuple[Program, tuple[int, ...], int, DType]:
    """A program with long sums: the shape that it is for, how many axes have positions, a dtype."""
    shape = (LARGEST, 2)
    while math.prod(shape) > LARGEST:
        shape = tuple(int(n) for n in rng.choice(SIZES, rng.integers(1, 4)))
    rank = len(shape)
    axis, placed = int(rng.integers(rank)), int(rng.integers(1, rank + 1))
    some = tuple(k for k in range(rank) if rng.random() < 0.6) or (axis,)
    monoid = "mul" if rng.random() < 0.2 else "add"
    names = "abc"[:rank]
    spec = f"{names},{names[:placed]}->z{names[placed:]}"
    programs: tuple[Program, ...] = (
        lambda x, at: reduce(monoid, x, some),
        lambda x, at: reduce("add", x * 0.5 + x, some, float32),
        lambda x, at: scan(monoid, x, axis),
        lambda x, at: softmax(x, axis),
        lambda x, at: scatter(monoid, spec, x, at, 3),
    )
    return programs[int(rng.integers(5))], shape, placed, DTYPES[int(rng.integers(4))]


def built(rng: np.random.Generator) -> tuple[Graph, list[np.ndarray]]:
    """A random program and its inputs, whose sums all depend on their order."""
    f, shape, placed, dtype = draw(rng)
    return made(f, shape, placed, dtype, rng)


def made(
    f: Program, shape: tuple[int, ...], placed: int, dtype: DType, rng: np.random.Generator
) -> tuple[Graph, list[np.ndarray]]:
    """A program as a graph; its second input are positions for leading axes of the first."""
    arena = Arena()
    x, at = arena.input(shape, dtype), arena.input(shape[:placed], int64)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-4, 5, shape)
    arrays = [values.astype(dtype.numpy), rng.integers(0, 3, shape[:placed])]
    return Graph([x, at], [f(x, at)]), arrays


def agree(graph: Graph, arrays: list[np.ndarray], **changes: object) -> None:
    """Compiled code gives the oracle's bits."""
    for found, expected in zip(run(graph, arrays, **changes), exact(graph, arrays), strict=True):
        assert same_bits(found, expected), described(graph)


@pytest.mark.parametrize("seed", range(40))
def test_every_sum_of_several_blocks_has_the_oracles_bits(short, seed: int):
    agree(*built(np.random.default_rng(seed)))


@pytest.mark.long
def test_so_have_many(short):
    for seed in range(40, 2000):
        agree(*built(np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(3))
def test_no_way_to_run_them_changes_a_bit(short, seed: int):
    rng = np.random.default_rng(100 + seed)
    for _ in range(3):
        graph, arrays = built(rng)
        executable, expected = program(graph), exact(graph, arrays)
        for count in (1, 2, 3):
            with threads(count):
                for found, right in zip(execute(executable, graph, arrays), expected, strict=True):
                    assert same_bits(found, right), described(graph)
        agree(graph, arrays, without="fuse,claim,stream")
        agree(graph, arrays, cpu_features="neon" if is_neon() else "avx2")


LIFTED: dict[str, tuple[Program, Callable[[int], tuple[int, ...]]]] = {
    "all": (lambda x, at: reduce("add", x, (0,)), lambda n: (n,)),
    "rows": (lambda x, at: reduce("add", x, (1,)), lambda n: (3, n)),
    "columns": (lambda x, at: reduce("add", x, (0,)), lambda n: (n, 5)),
    "both": (lambda x, at: reduce("add", x, (0, 1)), lambda n: (n // 16, 70)),
    "running": (lambda x, at: scan("add", x, 0), lambda n: (n, 3)),
    "softmax": (lambda x, at: softmax(x, 1), lambda n: (2, n)),
    "placed": (lambda x, at: scatter("add", "ab,a->zb", x, at, 3), lambda n: (n, 2)),
}


@pytest.mark.parametrize("name", LIFTED)
def test_one_code_for_many_sizes_gives_the_same_bits(short, name: str):
    f, shape = LIFTED[name]
    rng = np.random.default_rng(0)
    for n in (640, 645, 700, 1001, 1280, 1290, 96):
        agree(*made(f, shape(n), 1, float32, rng), sizes_vary=True)


def test_sums_of_one_block_are_a_chain_as_ever(rng: np.random.Generator):
    x = rng.standard_normal((64, 3)).astype(np.float32)
    row = rng.standard_normal((1, 4096)).astype(np.float32)
    chain, lanes = np.full(3, -0.0, np.float32), np.full(64, -0.0, np.float32)
    for one in x:
        chain = chain + one
    for part in row.reshape(64, 64):
        lanes = lanes + part
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]

    arena = Arena()
    columns, whole = arena.input((64, 3), float32), arena.input((1, 4096), float32)
    order = {"monoid": "add", "leaves": 1, "dtype": float32}
    down = arena.node("reduce", (columns,), axis=0, lanes=False, **order)
    along = arena.node("reduce", (whole,), axis=1, lanes=True, **order)
    found = run(Graph([columns, whole], [down, along]), [x, row])

    assert found[0].tobytes() == chain.tobytes()
    assert found[1].tobytes() == lanes.tobytes()


# how far from the truth


def tenths(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """The same number everywhere: chains err the same way at each step."""
    return np.full(shape, 0.1).astype(dtype.numpy)


def ragged(shape: tuple[int, ...], dtype: DType) -> np.ndarray:
    """Numbers of both signs and many sizes."""
    rng = np.random.default_rng(math.prod(shape))
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 9, shape)).astype(dtype.numpy)


def bound(x: np.ndarray, dtype: DType) -> np.ndarray:
    """What a sum down the first axis may err: roundings of a block, a tree, a result."""
    unit = 2.0**-53 if dtype is float64 else 2.0**-24
    wide = np.abs(x.astype(np.longdouble))
    n = max(x.shape[0], 2)
    return np.asarray((canonical.BLOCK + 2 * math.log2(n) + 8) * unit * wide.sum(0), np.float64)


LONG = (63, 64, 65, 1025, 4095, 4097, 65_535, 65_537, 131_072, 1_000_003)


@pytest.mark.parametrize("data", [tenths, ragged])
@pytest.mark.parametrize("dtype", [float32, float64, bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("n", LONG)
def test_a_sum_errs_by_a_block_and_a_logarithm(n: int, dtype: DType, data: Callable):
    for shape in ((n,), (n, 1), (n, 3)):
        x = data(shape, dtype)
        exactly, limit = x.astype(np.longdouble).sum(0), bound(x, dtype)
        wide = gn.tensor(x).sum(0, dtype=gn.float64 if dtype is float64 else gn.float32)

        assert np.all(np.abs(wide.numpy() - exactly) <= limit)


@pytest.mark.parametrize("data", [tenths, ragged])
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("n", [65, 4097, 1_000_003])
def test_a_running_sum_errs_no_more(n: int, dtype: DType, data: Callable):
    x = data((n, 2), dtype)
    exactly = np.cumsum(x.astype(np.longdouble), 0)

    found = gn.tensor(x).cumsum(0).numpy()

    assert np.all(np.abs(found - exactly) <= bound(x, dtype))


@pytest.mark.parametrize("index", [lambda n: n * 0, lambda n: n % 2, lambda n: n * n % 5])
def test_so_does_a_scattered_sum(index: Callable[[np.ndarray], np.ndarray]):
    at = index(np.arange(300_007))
    for data in (tenths, ragged):
        x = data((len(at), 2), float32)
        found = gn.zeros(5, 2).index_add(0, gn.tensor(at), gn.tensor(x)).numpy()
        for k in range(5):
            mine = x[at == k]
            exactly, limit = mine.astype(np.float64).sum(0), bound(mine, float32)
            assert np.all(np.abs(found[k] - exactly) <= limit)


def test_ten_million_tenths():
    x = gn.full((10_000_000,), 0.1)
    exactly = float(np.float32(0.1)) * 10_000_000

    whole, columns = x.sum().item(), x.reshape(-1, 1).sum(0).item()

    assert abs(whole / exactly - 1) < 1e-6
    assert abs(columns / exactly - 1) < 1e-6
    assert abs(x.cumsum(0)[-1].item() / exactly - 1) < 1e-6


def test_a_running_sum_of_no_negative_numbers_never_steps_back(rng: np.random.Generator):
    x = (rng.random(100_003) * 2.0 ** rng.integers(-20, 3, 100_003)).astype(np.float32)

    assert np.all(np.diff(gn.tensor(x).cumsum(0).numpy()) >= 0)


def test_what_is_no_number_stays_so_and_infinities_stay():
    x = np.ones((200, 4), np.float32)
    x[70, 0], x[70, 1], x[100, 2], x[70, 3], x[130, 3] = np.inf, -np.inf, np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.cumsum(x, 0)

    found = gn.tensor(x).cumsum(0).numpy()

    np.testing.assert_array_equal(found, expected)


def test_a_running_sum_of_negative_zeros_is_one():
    found = gn.full((300,), -0.0).cumsum(0).numpy()

    assert np.signbit(found).all()


def test_blocks_of_a_leaf_are_counted_in_binary():
    assert [Folded(n, 1).digits for n in (0, 1, 64, 65, 128, 129, 10**7)] == [0, 0, 0, 1, 1, 2, 18]
    assert Folded(1280, 4).digits == 3

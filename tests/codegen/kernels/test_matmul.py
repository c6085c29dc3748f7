"""The packed matrix product: right within rounding, and the canonical order to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import Emitter, LLVMModule, vector
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, MatmulSpec, VectorPlace, store_to
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.exact import by_definition, product, same_bits
from tests.codegen.kernels.operands import KINDS, compile_product, guarded, plain, stored

SIZES = [(1, 1, 1), (2, 3, 5), (6, 16, 8), (7, 17, 9), (13, 47, 31), (70, 1, 67), (1, 70, 61)]
SIZES += [(5, 33, 2), (12, 32, 64), (64, 65, 66), (19, 53, 1)]


def run(
    spec: MatmulSpec, a: np.ndarray, b: np.ndarray, shape: tuple[int, ...], **how
) -> np.ndarray:
    """The product of two stored operands; what is not stored stays NaN."""
    threads = how.pop("threads", 1)
    c = np.full(shape, np.nan, a.dtype)
    compile_product(spec, **how)([c, a, b], threads)
    return c


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_size_and_layout_is_right_within_rounding(rng, kind, size):
    m, n, k = size
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)

    c = run(plain(kind, m, n, k), a_stored, b_stored, (m, n))

    bound = np.abs(a).astype(np.float64) @ np.abs(b) * k * 2.0**-24
    assert np.all(np.abs(c - a.astype(np.float64) @ b) <= bound)


@pytest.mark.parametrize("kind", KINDS)
def test_a_product_has_the_bits_of_the_canonical_order(rng, kind):
    m, n, k, leaves = 7, 19, 96, 4
    a, a_stored = stored(rng, kind[0] == "T", m, k)
    b, b_stored = stored(rng, kind[1] == "T", k, n)

    c = run(plain(kind, m, n, k, leaves), a_stored, b_stored, (m, n))

    assert same_bits(c, product(a, b.T, [(k, leaves)]))
    assert same_bits(c, by_definition(a, b.T, [(k, leaves)]))
    assert not same_bits(c, product(a, b.T, [(k, 1)])), "the order of addition must matter here"


@pytest.mark.parametrize(
    ("k", "leaves"), [(1283, 1), (1200, 2), (2048, 16), (1536, 8), (1920, 1), (1030, 2)]
)
def test_blocks_of_k_cut_in_time_only(rng, k, leaves):
    m, n = 3, 5
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]

    c = run(plain("NN", m, n, k, leaves), a, b, (m, n))

    assert same_bits(c, product(a, b.T, [(k, leaves)]))


@pytest.mark.parametrize(
    "letters", [[(5, 1), (64, 1)], [(12, 4), (48, 2)], [(3, 1), (2, 2), (3, 1)]]
)
def test_nested_letters_reduce_from_the_inside_out(rng, letters):
    sizes = [size for size, _ in letters]
    k = int(np.prod(sizes))
    strides = [int(np.prod(sizes[place + 1 :])) for place in range(len(sizes))]
    axes = tuple(
        Axis(size, a=stride, b=5 * stride, leaves=leaves)
        for (size, leaves), stride in zip(letters, strides, strict=True)
    )
    spec = MatmulSpec("float", (), (Axis(4, a=k, c=5),), (Axis(5, b=1, c=1),), axes)
    a, b = stored(rng, False, 4, k)[0], stored(rng, False, k, 5)[0]

    c = run(spec, a, b, (4, 5))

    assert same_bits(c, by_definition(a, b.T, letters))


@pytest.mark.parametrize("machine", [AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("kind", KINDS)
def test_every_machine_gives_the_same_bits(rng, machine, kind):
    m, n, k, leaves = 37, 101, 1280, 8
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]
    spec = plain(kind, m, n, k, leaves)

    assert same_bits(run(spec, a, b, (m, n), machine=machine), run(spec, a, b, (m, n)))


@pytest.mark.parametrize("threads", [2, 3, 7, 16])
@pytest.mark.parametrize("size", [(1, 300), (130, 70), (300, 1), (13, 13)], ids=str)
def test_the_number_of_threads_changes_nothing(rng, threads, size):
    (m, n), k = size, 1030
    spec = plain("NT", m, n, k, 2)
    a, b = stored(rng, False, m, k)[0], stored(rng, True, k, n)[1]

    alone, shared = run(spec, a, b, (m, n)), run(spec, a, b, (m, n), threads=threads)

    assert not np.isnan(alone).any()
    assert same_bits(alone, shared)


@pytest.mark.parametrize("threads", [1, 3])
def test_small_cache_blocks_change_nothing(rng, threads):
    m, n, k = 50, 90, 1280
    small = type(AVX2)("small", 256, 16, 32 << 10, 16 << 10, 256 << 10)
    spec = plain("NN", m, n, k, 8)
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]

    assert same_bits(
        run(spec, a, b, (m, n), machine=small, threads=threads), run(spec, a, b, (m, n))
    )


def test_batches_may_be_nested_and_shared_by_one_operand(rng):
    # two batches of three heads; b is the same for both batches
    a, b = rng.standard_normal((2, 3, 7, 20)), rng.standard_normal((3, 20, 9))
    a, b = a.astype(np.float32), b.astype(np.float32)
    batch = (Axis(2, a=420, b=0, c=189), Axis(3, a=140, b=180, c=63))
    spec = MatmulSpec(
        "float", batch, (Axis(7, a=20, c=9),), (Axis(9, b=1, c=1),), (Axis(20, a=1, b=9),)
    )

    c = run(spec, a, b, (2, 3, 7, 9), threads=2)

    expected = [[product(a[i, j], b[j].T, [(20, 1)]) for j in range(3)] for i in range(2)]
    assert same_bits(c, np.array(expected))


def test_strides_may_exceed_widths_and_results_may_be_permuted(rng):
    a, b = stored(rng, False, 11, 40)[0], stored(rng, False, 50, 30)[0]
    # c[head, row, column within the head], from columns (head, 10)
    spec = MatmulSpec(
        "float",
        (),
        (Axis(11, a=40, c=10),),
        (Axis(3, b=10, c=110), Axis(10, b=1, c=1)),
        (Axis(31, a=1, b=30),),
        starts=(5, 60, 0),
    )

    c = run(spec, a, b, (3, 11, 10))

    flat = product(a[:, 5:36], b[2:33].T, [(31, 1)])
    assert same_bits(c, flat.reshape(11, 3, 10).transpose(1, 0, 2).copy())


def test_a_convolution_is_a_product_over_a_window(rng):
    # x[n, h, w, c] and f[o, i, j, c], 3 by 3 windows: rows are (n, h, w), steps are (i, j, c)
    x = rng.standard_normal((2, 6, 7, 5)).astype(np.float32)
    f = rng.standard_normal((4, 3, 3, 5)).astype(np.float32)
    spec = MatmulSpec(
        "float",
        (),
        (Axis(2, a=210, c=80), Axis(4, a=35, c=20), Axis(5, a=5, c=4)),
        (Axis(4, b=45, c=1),),
        (Axis(3, a=35, b=15), Axis(3, a=5, b=5), Axis(5, a=1, b=1)),
    )

    y = run(spec, x, f, (2, 4, 5, 4))

    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
    rows = windows.transpose(0, 1, 2, 4, 5, 3).reshape(40, 45)
    assert same_bits(
        y.reshape(40, 4), by_definition(rows, f.reshape(4, 45), [(3, 1)] * 2 + [(5, 1)])
    )


def test_a_sum_of_nothing_is_zero_and_an_empty_result_is_legal():
    empty = np.zeros((0,), np.float32)

    c = run(plain("NN", 3, 20, 0), empty, empty, (3, 20))

    assert same_bits(c, np.zeros((3, 20), np.float32))
    assert run(plain("NN", 0, 4, 3), empty, np.ones((3, 4), np.float32), (0, 4)).size == 0


def test_nan_and_infinity_stay_in_their_row_and_column(rng):
    m, n, k = 9, 21, 33
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]
    a[8, 3], b[4, 20] = np.nan, np.inf

    c = run(plain("NN", m, n, k), a, b, (m, n))

    assert np.isnan(c[8]).all()
    assert np.isinf(c[:8, 20]).all()
    assert np.isfinite(c[:8, :20]).all()


def test_negative_zero_survives(rng):
    a, b = np.full((2, 3), -0.0, np.float32), np.ones((3, 4), np.float32)

    c = run(plain("NN", 2, 4, 3), a, b, (2, 4))

    assert np.signbit(c).all()


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
def test_doubles_have_the_canonical_order_too(rng, machine):
    a, b = rng.standard_normal((5, 24)), rng.standard_normal((24, 18))

    c = run(plain("NN", 5, 18, 24, 4, "double"), a, b, (5, 18), machine=machine)

    assert same_bits(c, product(a, b.T, [(24, 4)]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(7, 19, 13), (70, 33, 50), (1, 65, 16), (6, 16, 8)], ids=str)
def test_nothing_outside_the_operands_is_touched(rng, kind, size):
    m, n, k = size
    a = guarded(stored(rng, kind[0] == "T", m, k)[1])
    b = guarded(stored(rng, kind[1] == "T", k, n)[1])
    c = guarded(np.zeros((m, n), np.float32))

    compile_product(plain(kind, m, n, k))([c, a, b], 2)

    assert np.isfinite(c).all()


SCALARS = {"float": "f4", "bfloat": "u2", "half": "f2", "i8": "i1", "double": "f8"}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("kind", KINDS)
def test_scratch_memory_is_never_left(kind, scalar):
    # it ends where a page without access begins
    def fenced(size: int) -> np.ndarray:
        return guarded(np.full(-(-size // 64) * 64, 0xFF, np.uint8))

    for m, n, k in ((1, 70, 61), (13, 37, 130), (70, 33, 50), (19, 53, 1300)):
        a, b = (np.ones(size, SCALARS[scalar]) for size in (m * k, k * n))
        c = np.zeros(m * n, "f8")

        compile_product(plain(kind, m, n, k, 1, scalar))([c, a, b], 2, fenced)


def test_random_sizes_keep_the_canonical_order(rng):
    for _ in range(12):
        m, n, k = (int(size) for size in rng.integers(1, 71, 3))
        kind, leaves = KINDS[rng.integers(4)], 2 if k % 2 == 0 else 1
        a, a_stored = stored(rng, kind[0] == "T", m, k)
        b, b_stored = stored(rng, kind[1] == "T", k, n)

        c = run(plain(kind, m, n, k, leaves), a_stored, b_stored, (m, n))

        assert same_bits(c, product(a, b.T, [(k, leaves)])), (kind, m, n, k)


def test_an_epilogue_sees_each_sum_once_with_its_place(rng):
    m, n, k = 13, 37, 20
    spec = plain("NN", m, n, k)
    store = store_to(spec)

    def add_bias(e: Emitter, place: VectorPlace, value: str) -> None:
        bias = e.load(e.offset(place.buffers, 24), "ptr", 8)
        bias = e.offset(bias, e.mul(place.column, 4))
        if place.mask is None:
            loaded = e.load(bias, vector("float"), 4)
        else:
            loaded = e.load_masked(bias, place.mask, "float")
        store(e, place, e.value(f"fadd {vector('float')} {value}, {loaded}"))

    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]
    bias, c = guarded(rng.standard_normal(n).astype(np.float32)), np.full((m, n), np.nan, "f4")
    compile_product(spec, epilogue=add_bias)([c, a, b, bias], 2)

    assert same_bits(c, product(a, b.T, [(k, 1)]) + bias)


def test_two_products_live_in_one_module():
    module = LLVMModule()
    for name in ("first", "second"):
        emit_matmul(module, name, plain("NN", 5, 6, 7), AVX2)

    assert {"first", "second", "first.tile", "second.tile"} <= set(module.functions)

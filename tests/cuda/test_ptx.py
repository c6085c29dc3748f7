"""The interpreter of PTX: instructions by hand-made cases, branches that part and meet, faults."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.cuda.opcodes import converted, fma, fma_ftz, function_of
from tests.cuda.ptx import Fault, Kernel, Memory

HEAD = """
.visible .entry launch(
	.param .u64 launch_param_0,
	.param .u64 launch_param_1,
	.param .u64 launch_param_2
)
{
	.reg .pred 	%p<9>;
	ld.param.b64 	%rd1, [launch_param_0];
	ld.global.b64 	%rd2, [%rd1];
	mov.u32 	%r1, %tid.x;
"""
STORE_NUMBERS = (
    HEAD
    + """
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.b32 	[%rd4], %r1;
	ret;
}
"""
)
"""Each thread stores its number behind the first slot's address."""
COLLATZ = (
    HEAD
    + """
	mov.b32 	%r2, 0;
	mov.b32 	%r3, %r1;
$L__BB0_1:
	setp.le.s32 	%p1, %r3, 1;
	@%p1 bra 	$L__BB0_4;
	and.b32 	%r4, %r3, 1;
	setp.ne.b32 	%p2, %r4, 0;
	add.s32 	%r2, %r2, 1;
	@!%p2 bra 	$L__BB0_3;
	mad.lo.s32 	%r3, %r3, 3, 1;
	bra.uni 	$L__BB0_1;
$L__BB0_3:
	shr.u32 	%r3, %r3, 1;
	bra.uni 	$L__BB0_1;
$L__BB0_4:
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.b32 	[%rd4], %r2;
	ret;
}
"""
)
"""Each thread counts its own number of steps, by branches that part."""


def run(text: str, threads: int, nbytes: int) -> np.ndarray:
    """The bytes that a kernel stored."""
    memory = Memory(1 << 20)
    out, table = memory.allocate(nbytes), memory.allocate(8)
    assert out
    assert table
    memory.view(table, 8).view(np.int64)[:] = out
    Kernel(text).run(memory, [table, 0, 0], 1, threads)
    return memory.view(out, nbytes)


@pytest.mark.parametrize("threads", [1, 8, 97])
def test_threads_part_at_branches_and_meet_again(threads):
    def steps(n: int) -> int:
        return 0 if n <= 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    found = run(COLLATZ, threads, 4 * threads).view(np.int32)

    assert found.tolist() == [steps(k) for k in range(threads)]


def test_an_access_outside_of_all_blocks_is_a_fault():
    with pytest.raises(Fault, match="4 bytes at"):
        run(STORE_NUMBERS, 33, 128)
    assert run(STORE_NUMBERS, 32, 128).view(np.int32).tolist() == [*range(32)]


def test_an_access_that_is_not_aligned_is_a_fault():
    memory = Memory(1 << 20)
    place = memory.allocate(64)
    assert place
    with pytest.raises(Fault):
        memory.places(np.array([place + 2], np.uint64), 4)


def test_a_block_that_was_given_back_is_no_memory():
    memory = Memory(1 << 20)
    place = memory.allocate(64)
    assert place
    assert memory.free(place)
    assert not memory.free(place)
    with pytest.raises(Fault):
        memory.view(place, 64)


def test_what_no_kernel_may_use_is_refused():
    for name in ("ex2.approx.f32", "add.ftz.f64"):
        with pytest.raises(AssertionError, match="in a kernel"):
            Kernel(HEAD + f"\t{name} \t%f1, %f2;\n\tret;\n}}\n")
    with pytest.raises(AssertionError, match=r"sin\.f32 is not known"):
        function_of("sin", ("f32",))


def test_a_multiply_add_rounds_once():
    r = np.random.default_rng(0)
    for kind in (np.float32, np.float64):
        a, b = (r.standard_normal(200).astype(kind) for _ in range(2))
        c = (-a * b * (1 + r.integers(-2, 3, 200) * np.finfo(kind).eps)).astype(kind)
        exact = [
            Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            for x, y, z in zip(a, b, c, strict=True)
        ]
        # most of each sum cancels: a product that was rounded would show
        assert np.array_equal(fma(a, b, c), np.array([float(x) for x in exact]).astype(kind))


def test_denormals_are_zeros_where_the_name_says_so():
    tiny = np.array([1e-40, -1e-40, 1.0], np.float32)

    made = fma_ftz(tiny, np.full(3, 1.0, np.float32), np.array([-0.0, -0.0, 1e-40], np.float32))

    assert made.tolist() == [0.0, 0.0, 1.0]
    assert np.signbit(made).tolist() == [False, True, False]


CASES = [
    ("max.f32", [math.nan, -0.0, 1], [2, 0.0, math.nan], [2, 0.0, 1]),
    ("min.f32", [math.nan, 0.0, 1], [2, -0.0, math.nan], [2, -0.0, 1]),
    ("max.NaN.f32", [math.nan, 1, 3], [2, math.nan, 2], [math.nan, math.nan, 3]),
    ("setp.lt.f32", [1, math.nan], [2, 0], [True, False]),
    ("setp.ltu.f32", [3, math.nan], [2, 0], [False, True]),
    ("setp.neu.f32", [1, math.nan], [1, math.nan], [False, True]),
    ("setp.ne.f32", [1, math.nan], [2, math.nan], [True, False]),
    ("setp.num.f32", [1, math.nan], [1, 1], [True, False]),
    ("copysign.f32", [-1, 1], [2, -3], [-2, 3]),
    ("div.s32", [-7, 7, -7], [2, -2, -2], [-3, -3, 3]),
    ("rem.s32", [-7, 7, -7], [2, -2, -2], [-1, 1, -1]),
    ("mul.hi.s32", [1 << 30, -(1 << 30)], [8, 8], [2, -2]),
    ("mul.hi.u32", [1 << 31], [4], [2]),
    ("shl.b32", [1, 1], [31, 32], [1 << 31, 0]),
    ("shr.s32", [-8, -8], [1, 40], [-4, -1]),
    ("shr.u32", [8, 8], [1, 40], [4, 0]),
]


@pytest.mark.parametrize(("name", "a", "b", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_an_instruction_at_its_edges(name, a, b, wanted):
    op, *more = name.split(".")
    function, kinds, result = function_of(op, tuple(more))
    given = [np.array(x).astype(kind_of(k)) for x, k in zip((a, b), kinds, strict=True)]

    made = function(*given).astype(kind_of(result))

    np.testing.assert_array_equal(made, np.array(wanted).astype(kind_of(result)))
    if result[0] == "f":
        np.testing.assert_array_equal(np.signbit(made), np.signbit(np.array(wanted, np.float32)))


def kind_of(name: str) -> type:
    """The numpy type of a PTX type."""
    letters = {"f": "f", "s": "i", "u": "u", "b": "u"}
    return np.bool_ if name == "pred" else np.dtype(f"{letters[name[0]]}{int(name[1:]) // 8}").type


def test_conversions_take_the_nearest_that_fits():
    function, _, _ = converted(("rzi", "s32", "f32"))
    given = np.array([1.9, -1.9, 3e9, -3e9, math.nan, math.inf], np.float32)

    assert function(given).tolist() == [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1]
    halves = converted(("rn", "f16x2", "f32"))[0]
    assert halves(*np.array([[1.0], [2.0]], np.float32)).tolist() == [0x3C004000]


def test_fields_and_bytes_of_words():
    word = np.array([0x12345678], np.uint32)
    number = lambda *values: [np.array([v], np.uint32) for v in values]  # noqa: E731

    assert function_of("bfe", ("u32",))[0](word, *number(8, 12)).tolist() == [0x456]
    assert function_of("bfi", ("b32",))[0](*number(0xF), word, *number(4, 8)).tolist() == [
        0x123450F8
    ]
    assert function_of("prmt", ("b32",))[0](word, *number(0xAABBCCDD, 0x4A10)).tolist() == [
        0xDD005678
    ]
    assert function_of("popc", ("b64",))[0](np.array([255], np.uint64)).tolist() == [8]
    assert function_of("clz", ("b64",))[0](np.array([255], np.uint64)).tolist() == [56]


@pytest.mark.parametrize(("goal", "expected"), [("s8", [-56, 127, -1]), ("u8", [200, 127, 255])])
def test_narrow_conversions_fill_the_register(goal, expected):
    function, _, result = converted((goal, "s32"))
    made = function(np.array([200, 127, -1], np.int32))

    assert made.astype(np.int32).tolist() == expected
    assert result == f"{goal[0]}32"

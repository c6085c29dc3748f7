"""The parts of the card's benchmark that need no card: models, and texts of kernels."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

import gnomon as gn
from benchmarks.cuda import bundle, denormals, tensor_core
from benchmarks.cuda.programs import drawn
from benchmarks.gpu import against
from gnomon.nn import functional as F

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def described(f, *given: gn.Tensor) -> tuple[dict, dict[str, str]]:
    """The first program of a function, and its kernels' PTX."""
    kernels: dict[str, str] = {}
    gn.evaluate(list(given))
    (program, *_) = bundle.recorded(lambda: gn.evaluate(gn.compile(f)(*given)))
    return bundle.described("a program", program, kernels), kernels


def test_kernels_become_ptx_with_no_approximation():
    x, w = gn.randn(4, 33), gn.randn(33, 5)

    program, kernels = described(lambda x, w: F.softmax(F.silu(x) @ w, -1), x, w)

    assert kernels
    for text in kernels.values():
        assert ".entry launch(" in text
        assert not re.search(r"\.approx|\.ftz", text)
    assert program["sizes"] == [4 * 5 * 4]


def test_products_of_bfloats_take_denormals_as_zeros_by_their_instruction():
    x, w = gn.randn(4, 32).bfloat16(), gn.randn(32, 4).bfloat16()

    _, kernels = described(lambda x, w: x @ w, x, w)

    assert any("fma.rn.ftz.f32" in text for text in kernels.values())


def test_texts_of_another_processor_are_refused_before_llvm_sees_them():
    text = "define void @k(ptr %a) nounwind {\n  call void @llvm.x86.sse.ldmxcsr(ptr %a)\n}\n"

    with pytest.raises(bundle.NotForCards, match=r"llvm\.x86\.sse\.ldmxcsr"):
        bundle.ptx("k", {"k": text})


def test_inputs_are_drawn_alike():
    first, second = (drawn([[3], [2, 2]]) for _ in range(2))

    assert [x.tolist() for x in first] == [x.tolist() for x in second]
    assert first[0].dtype == np.float32


def products(kind: str, a: list[float], b: list[float], c: float, **asked: int) -> float:
    """One sum of the model."""
    left, right = np.zeros((1, 16, 16)), np.zeros((1, 16, 8))
    left[0, 0, : len(a)], right[0, : len(b), 0] = a, b
    start = np.full((1, 16, 8), np.float32(c))
    return float(tensor_core.model(left, right, start, kind, **asked)[0, 0, 0])


def test_the_model_cuts_what_is_below_the_largest_product():
    assert products("bf16", [1.0, 2.0**-12], [1.0, 2.0**-12], 0.0) == 1.0
    # two halves of the last bit are cut one by one, so that they never meet
    assert products("bf16", [1.0, 2.0**-13, 2.0**-13], [1.0, 2.0**-13, 2.0**-13], 0.0) == 1.0
    # 25 bits below the largest; with 24 the two are lost
    terms = [1.0, -(2.0**-12), -(2.0**-13)], [1.0, 2.0**-12, 2.0**-12]
    assert products("bf16", *terms, 0.0) != products("bf16", *terms, 0.0, fraction=24)


def test_the_model_keeps_specials():
    assert np.isinf(products("bf16", [np.inf], [2.0], 1.0))
    assert np.isnan(products("bf16", [np.inf], [0.0], 1.0))
    assert products("f16", [0.0], [1.0], -0.0) == 0.0


def test_tiles_come_back_from_the_lanes():
    c = np.arange(128, dtype=np.float32).reshape(1, 16, 8)
    a, b = np.arange(256).reshape(1, 16, 16), np.arange(128).reshape(1, 16, 8)

    left, right, sums = tensor_core.fragments(a, b, c)

    assert (tensor_core.tiles_of(sums) == c).all()
    assert sorted(left.reshape(-1)) == list(range(256))
    assert sorted(right.reshape(-1)) == list(range(128))


@pytest.mark.parametrize(("lacks", "kept"), [(0.25, [1, 0, 1]), (0.75, [0, 0, 1])])
def test_rules_for_tiny_results_differ_at_the_edge(lacks, kept):
    least = np.float32(2.0**-126)
    # the least normal number, less a part of half the distance to the denormal below it
    a, b = np.float32([lacks * 2.0**-75]), np.float32([-(2.0**-75)])

    found = [denormals.model(a, b, least[None], rule)[0] for rule in denormals.RULES]

    assert found == [least if stays else 0.0 for stays in kept]


def test_strided_kernels_say_how_many_threads_are_one_of_their_own():
    x, kernels = gn.randn(2, 2048), {}
    gn.evaluate(x)
    (program,) = bundle.recorded(lambda: gn.evaluate(gn.compile(lambda x: F.softmax(x, -1))(x)))

    old, new = (
        bundle.described("s", program, kernels, machine)
        for machine in (bundle.STRETCHES, bundle.CARD)
    )

    assert [*old["widths"].values(), *new["widths"].values()] == [1, 128]
    assert old["hashes"] == new["hashes"]
    assert ["bar.sync" in text for text in kernels.values()] == [False, True]
    rows = against({"s": {"seconds": 2.0}}, {"s": {"seconds": 0.5}, "t": {"left": "no time"}})
    assert rows["s"] == {"seconds": 0.5, "stretches": 2.0, "times as fast": 4.0}
    assert rows["t"] == {"left": "no time"}

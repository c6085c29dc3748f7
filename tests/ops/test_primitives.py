"""The computing primitives: value as numpy's, gradient as differences show, order as parameters."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bfloat16, float32
from gnomon.errors import DtypeError, ShapeError
from gnomon.ir.node import PRIMITIVES, Arena, Primitive
from gnomon.ir.operators import cast
from gnomon.ops.control_primitives import CONTROL, Control
from gnomon.ops.primitives import contract, expand, flip, reduce, reshape
from tests.graphs import check_gradient, value

pytestmark = pytest.mark.unit

FOLDS = {"add": np.sum, "mul": np.prod, "max": np.max, "min": np.min}
SPECS = [
    "mk,kn->mn",
    "bmk,bkn->bmn",
    "btd,de->bte",
    "btd,bte->de",
    "ij,ij->",
    "i,j->ij",
    "ijk,k->i",
]


def operands(spec, rng):
    size = dict(b=2, m=3, k=5, n=4, t=3, d=2, e=5, i=3, j=4)
    left, right = spec.split("->")[0].split(",")
    return [rng.standard_normal([size[c] for c in part]) for part in (left, right)]


@pytest.mark.parametrize("monoid", FOLDS)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_a_fold_is_numpys(monoid, axes, rng):
    x = rng.standard_normal((2, 3, 5))

    y = value(lambda n: reduce(monoid, n, axes), x)

    np.testing.assert_allclose(y, FOLDS[monoid](x, axis=axes), rtol=1e-14)


def test_folding_nothing_gives_the_identity():
    none = np.zeros((0, 2))

    assert value(lambda n: reduce("add", n, (0,)), none).tolist() == [0, 0]
    assert value(lambda n: reduce("max", n, (0,)), none).tolist() == [-np.inf, -np.inf]
    assert value(lambda n: reduce("and", n, (0,)), none.astype(bool)).tolist() == [True, True]


def test_a_fold_says_in_which_order_it_adds():
    x = Arena().input((4, 256, 512), float32)

    inner = reduce("add", x, (2,))
    outer = reduce("add", x, (0,))

    assert (inner.params["leaves"], inner.params["lanes"]) == (4, True)
    assert (outer.params["leaves"], outer.params["lanes"]) == (4, False)


def test_several_axes_are_folded_innermost_first_and_rounded_once():
    x = Arena().input((2, 3, 5), bfloat16)

    last = reduce("add", x, (0, 2))

    (first,) = last.inputs
    assert (first.params["axis"], first.dtype) == (2, float32)
    assert (last.params["axis"], last.dtype) == (0, bfloat16)


@pytest.mark.parametrize("monoid", ["add", "max", "min"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_a_fold_has_the_gradient_that_differences_show(monoid, axes, rng):
    check_gradient(
        lambda n: reduce(monoid, n, axes), rng.permutation(6.0 * np.arange(6)).reshape(2, 3)
    )


def test_ties_share_a_maximums_gradient():
    from_ties = value(
        lambda n: PRIMITIVES["reduce"].gradient(
            reduce("max", n, (0,)), reduce("add", n, (0,)) * 0.0 + 1.0, (True,)
        )[0],
        np.array([3.0, 1.0, 3.0]),
    )

    assert from_ties.tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("spec", SPECS)
def test_a_product_is_numpys(spec, rng):
    a, b = operands(spec, rng)

    np.testing.assert_allclose(
        value(lambda x, y: contract(spec, x, y), a, b), np.einsum(spec, a, b), rtol=1e-13
    )


@pytest.mark.parametrize("spec", SPECS)
def test_a_product_has_the_gradient_that_differences_show(spec, rng):
    check_gradient(lambda x, y: contract(spec, x, y), *operands(spec, rng))


def test_a_product_says_how_each_sum_is_cut():
    arena = Arena()
    x, w = arena.input((8, 64, 512), float32), arena.input((512, 256), float32)
    g = arena.input((8, 64, 256), float32)

    assert contract("btd,de->bte", x, w).params["leaves"] == (4,)
    assert contract("btd,bte->de", x, g).params["leaves"] == (8, 1)


def test_a_letter_of_one_operand_alone_is_summed_before():
    arena = Arena()

    y = contract("ij,k->k", arena.input((2, 3), float32), arena.input((5,), float32))

    assert y.op == "contract"
    assert y.shape == (5,)
    assert y.params["spec"] == ",k->k"


def test_products_that_do_not_fit_are_refused():
    arena = Arena()
    x = arena.input((2, 3), float32)

    with pytest.raises(ShapeError, match=r"axis k differs: \(2, 3\) and \(5, 7\)"):
        contract("mk,kn->mn", x, arena.input((5, 7), float32))
    with pytest.raises(DtypeError, match="float32 and bfloat16"):
        contract("mk,kn->mn", x, arena.input((3, 7), bfloat16))


def test_flipping_twice_is_nothing(rng):
    x = rng.standard_normal((2, 3))

    assert np.array_equal(value(lambda n: flip(flip(n, 1), 1), x), x)
    assert np.array_equal(value(lambda n: flip(n, 0), x), x[::-1])


def test_views_of_the_same_shape_are_the_node_itself():
    x = Arena().input((2, 3), float32)

    assert reshape(x, (2, 3)) is x
    assert expand(x, (2, 3)) is x


def test_every_primitive_answers_every_question():
    silent = {
        (name, question)
        for name, kind in PRIMITIVES.items()
        for question in ("infer", "signature", "value")
        if type(kind).__module__.startswith("gnomon.ops")
        and getattr(type(kind), question) is getattr(Primitive, question)
    }

    # choices and loops run graphs, for several results at once: they answer by `values`
    inside = {(name, "value") for name in CONTROL}
    assert silent <= {("input", "value"), ("region", "value"), *inside}
    assert all(type(PRIMITIVES[name]).values is not Control.values for name in CONTROL)


def test_the_gradient_of_a_narrow_product_is_one_too():
    arena = Arena()
    a, b = arena.input((3, 4), bfloat16), arena.input((4, 5), bfloat16)
    y = contract("xz,zy->xy", a, b, float32)
    narrow, wide = arena.input((3, 5), bfloat16), arena.input((3, 5), float32)

    for g, dtype in ((cast(narrow, float32), bfloat16), (wide, float32)):
        products = [x.inputs[0] for x in PRIMITIVES["contract"].gradient(y, g, (True, True))]
        assert [factor.dtype for x in products for factor in x.inputs] == [dtype] * 4
        assert {x.dtype for x in products} == {float32}

"""Results stored in a tensor that is there."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.tensor.out import into, kind

X = gn.tensor([[1.0, -2.0], [3.0, 4.0]])


def test_the_tensor_holds_the_result_and_is_given_back():
    place = gn.zeros(2, 2)

    assert gn.add(X, 1, out=place) is place
    assert place.tolist() == [[2, -1], [4, 5]]
    assert gn.matmul(X, X, out=place).tolist() == (X @ X).tolist()
    assert gn.cat([X[:1], X[1:]], out=place).tolist() == X.tolist()
    assert gn.abs(place, out=place)[0].tolist() == [1, 2]


def test_several_results_go_to_several_tensors():
    values, indices = gn.empty(2), gn.empty(2, dtype=gn.int64)

    found = gn.max(X, 0, out=(values, indices))

    assert found.values is values
    assert (values.tolist(), indices.tolist()) == ([3, 4], [1, 1])
    with pytest.raises(ValueError, match="2 tensors: got 1"):
        gn.max(X, 0, out=(values,))


def test_new_tensors_have_the_dtype_that_is_there():
    assert gn.zeros(2, out=gn.ones(2, dtype=gn.int32)).tolist() == [0, 0]
    assert gn.arange(3, out=gn.empty(3, dtype=gn.float64)).dtype is gn.float64


def test_none_is_no_tensor_and_nothing_else_is_one():
    assert gn.add(X, X, out=None).shape == (2, 2)
    assert into(gn.neg, (X,), {"out": None}).shape == (2, 2)
    with pytest.raises(TypeError, match="must be a tensor"):
        gn.add(X, X, out=[1])


def test_another_shape_is_taken_with_a_warning():
    assert gn.neg(X, out=gn.empty(0)).shape == (2, 2)
    with pytest.warns(UserWarning, match="is resized"):
        assert gn.neg(X, out=gn.empty(3)).shape == (2, 2)


def test_a_result_is_not_stored_in_less():
    assert [kind(x) for x in (gn.bool, gn.uint8, gn.float16, gn.complex64)] == [0, 1, 2, 3]
    assert gn.neg(X, out=gn.empty(2, 2, dtype=gn.float16)).dtype is gn.float16
    with pytest.raises(RuntimeError, match="can't be cast"):
        gn.neg(X, out=gn.empty(2, 2, dtype=gn.int32))


def test_gradients_do_not_go_through():
    with pytest.raises(RuntimeError, match="no gradient"):
        gn.cat([X.clone().requires_grad_()], out=gn.empty(2, 2))
    with gn.no_grad():
        assert gn.neg(X.clone().requires_grad_(), out=gn.empty(2, 2)).shape == (2, 2)


def test_compiled_functions_write_too():
    place = gn.zeros(2, 2)

    @gn.compile
    def call(x, place):
        return gn.mul(x, 2, out=place)

    call(X, place)
    assert place.tolist() == (2 * X).tolist()


def test_numbers_of_a_range_fill_a_tensor_of_any_shape_with_as_many_elements():
    for call in (gn.arange, lambda *ends, out: gn.linspace(0, 3, 4, out=out)):
        x = gn.zeros(2, 3)
        call(0, 4, out=x.narrow(1, 1, 2))
        assert x.tolist() == [[0, 0, 1], [0, 2, 3]]
    assert gn.logspace(0, 3, 4, out=gn.zeros(2, 2)).tolist() == [[1, 10], [100, 1000]]


@pytest.mark.parametrize("draw", [gn.rand, gn.randn])
def test_draws_are_of_the_dtype_that_is_there(draw):
    gn.manual_seed(3)
    place = draw(5, out=gn.empty(5, dtype=gn.float64))
    gn.manual_seed(3)

    assert place.equal(draw(5, dtype=gn.float64))
    assert gn.zeros((2,), out=gn.ones(2, dtype=gn.int32)).tolist() == [0, 0]


A = gn.eye(3) * 2 + 1
FUNCTIONS_IN_PYTHON = {
    "linalg.cross": lambda out: gn.linalg.cross(A, A + 1, out=out),
    "linalg.multi_dot": lambda out: gn.linalg.multi_dot([A, A, A], out=out),
    "linalg.norm": lambda out: gn.linalg.norm(A, out=out),
    "linalg.tensorinv": lambda out: gn.linalg.tensorinv(A.reshape(3, 3, 1), 1, out=out),
    "linalg.tensorsolve": lambda out: gn.linalg.tensorsolve(A, A[0], out=out),
    "multinomial": lambda out: gn.multinomial(A[0], 1, out=out),
    "polar": lambda out: gn.polar(A, A, out=out),
    "softshrink": lambda out: gn.nn.functional.softshrink(A, 0.5, out=out),
    "special.chebyshev_polynomial_t": lambda out: gn.special.chebyshev_polynomial_t(A, 2, out=out),
}


@pytest.mark.parametrize("call", FUNCTIONS_IN_PYTHON.values(), ids=FUNCTIONS_IN_PYTHON)
def test_functions_in_python_take_it_too(call):
    gn.manual_seed(1)
    wanted = call(None)
    gn.manual_seed(1)
    place = gn.empty(wanted.shape, dtype=wanted.dtype)

    assert call(place) is place
    assert place.tolist() == wanted.tolist()


def test_several_results_of_a_factorization_are_written():
    values, vectors = gn.linalg.eig(A)
    places = gn.empty_like(values), gn.empty_like(vectors)

    gn.linalg.eig(A, out=places)

    assert [x.tolist() for x in places] == [values.tolist(), vectors.tolist()]

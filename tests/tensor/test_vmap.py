"""gn.vmap: what a function gives for every sample, at once; tests/parity has PyTorch's."""

from __future__ import annotations

import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon.errors import ArgumentError, TraceError


def network(x, w, v):
    return F.softmax(F.layer_norm(F.gelu(F.linear(x, w)), (5,)) @ v, dim=-1)


def test_samples_have_the_bits_of_a_loop_and_gradients_are_those_of_its_sum():
    gn.manual_seed(0)
    w, v = gn.randn(5, 4, requires_grad=True), gn.randn(5, 3, requires_grad=True)
    x = gn.randn(6, 4, requires_grad=True)
    c = gn.randn(6, 3)

    together = gn.vmap(network, in_dims=(0, None, None))(x, w, v)
    apart = gn.stack([network(x[k], w, v) for k in range(6)])
    found = gn.autograd.grad((together * c).sum(), [x, w, v])
    wanted = gn.autograd.grad((apart * c).sum(), [x, w, v])

    assert together.tolist() == apart.tolist()
    assert found[0].tolist() == wanted[0].tolist()
    assert gn.allclose(found[1], wanted[1], atol=1e-6)
    assert gn.allclose(found[2], wanted[2], atol=1e-6)


def test_gradients_inside_are_those_of_each_sample():
    gn.manual_seed(0)
    w = gn.randn(3, 4, requires_grad=True)
    x, y = gn.randn(5, 4), gn.tensor([0, 1, 2, 0, 1])

    def slope(x, y):
        return gn.autograd.grad(F.cross_entropy(F.linear(x, w)[None], y[None]), w)[0]

    assert gn.vmap(slope)(x, y).tolist() == [slope(x[k], y[k]).tolist() for k in range(5)]


def test_what_waits_outside_is_computed_while_a_function_is_mapped():
    waiting = gn.ones(3) + 1
    leaf = (gn.ones(3) * 2).requires_grad_()
    mapped = gn.vmap(lambda x: x * leaf + waiting.sum().item())(gn.eye(3))

    assert mapped.sum().item() == 6 + 9 * 6
    assert waiting.tolist() == [2, 2, 2]


def test_axes_are_chosen_nested_and_put_where_they_are_wanted():
    def f(both, y, scale=2):
        return {"sum": both["a"].sum() + y, "outer": (both["a"] * both["b"], y * scale)}

    a, b, y = gn.rand(2, 3), gn.rand(2), gn.rand(3)
    out = gn.vmap(f, in_dims=({"a": 1, "b": None}, 0), out_dims={"sum": 0, "outer": (-1, 0)})(
        {"a": a, "b": b}, y
    )

    assert gn.allclose(out["sum"], a.sum(dim=0) + y)
    assert gn.allclose(out["outer"][0], a * b[:, None])
    assert out["outer"][1].tolist() == (y * 2).tolist()


def test_maps_nest_and_what_ignores_samples_is_repeated():
    table = gn.vmap(gn.vmap(lambda a, b: a * b, (None, 0)), (0, None))(gn.arange(3), gn.arange(2))
    same = gn.vmap(lambda x: gn.ones(2))(gn.zeros(3))

    assert table.tolist() == [[0, 0], [0, 1], [0, 2]]
    assert same.tolist() == [[1, 1]] * 3


def test_a_compiled_map_is_one_program_with_the_same_bits():
    f = gn.vmap(lambda x: x.cumsum(0).exp())
    x = gn.rand(3, 5)
    compiled = gn.compile(f)

    assert compiled(x).tolist() == f(x).tolist()
    assert compiled.captures == 1


def test_draws_are_refused_or_the_same_for_all():
    def noisy(x):
        return x + gn.rand(2)

    with pytest.raises(ArgumentError, match="draws random numbers"):
        gn.vmap(noisy)(gn.zeros(3, 2))
    rows = gn.vmap(noisy, randomness="same")(gn.zeros(3, 2)).tolist()

    assert rows[0] == rows[1] == rows[2]
    with pytest.raises(ArgumentError, match="draw for all samples outside"):
        gn.vmap(noisy, randomness="different")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gn.vmap(gn.add)(gn.zeros(2), gn.zeros(3)), r"got \[2, 3\]"),
        (lambda: gn.vmap(gn.sin, in_dims=None)(gn.zeros(2)), r"got \[\]"),
        (lambda: gn.vmap(gn.sin)(gn.zeros(())), "no axis 0 of samples"),
        (lambda: gn.vmap(gn.sin, out_dims=3)(gn.zeros(2)), "no axis 3 in a result"),
        (lambda: gn.vmap(gn.sin, out_dims=None)(gn.zeros(2)), "out_dims must be axes"),
        (lambda: gn.vmap(gn.sin, in_dims=(0, 0))(gn.zeros(2)), "in_dims .* does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_a_look_at_one_sample_is_an_error():
    def branches(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(TraceError, match="where"):
        gn.vmap(branches)(gn.ones(3, 2))


def test_gradients_that_a_user_wrote_are_not_mapped():
    class Double(gn.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, g):
            return g * 2

    x = gn.ones(3, requires_grad=True)

    with pytest.raises(ArgumentError, match=r"Double\.apply takes no axis"):
        gn.vmap(Double.apply)(x)


def test_chunks_of_samples_change_nothing():
    x = gn.randn(6, 4)

    assert gn.vmap(gn.sin, chunk_size=4)(x).tolist() == gn.vmap(gn.sin)(x).tolist()
    with pytest.raises(ArgumentError, match="chunk_size should be greater than 0: got 0"):
        gn.vmap(gn.sin, chunk_size=0)

"""Functions of functions beside closed forms, nested, batched and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import func, nn
from gnomon.errors import ArgumentError


def test_levels_do_not_see_each_other():
    # d/dx of x · d/dy (x y x) at y = x: x · x² = x³
    outer = func.grad(lambda x: x * func.grad(lambda y: x * y * x)(x))

    assert outer(gn.tensor(2.0)).item() == 12.0


def test_several_arguments_nested_ones_and_what_comes_besides():
    def f(d, x):
        return (d["a"] * x).sum(), "besides"

    given = {"a": gn.tensor([1.0, 2.0])}, gn.tensor([3.0, 4.0])
    slopes, (value, more) = func.grad_and_value(f, argnums=(0, 1), has_aux=True)(*given)

    assert slopes[0]["a"].tolist() == [3.0, 4.0]
    assert slopes[1].tolist() == [1.0, 2.0]
    assert (value.item(), more) == (11.0, "besides")


def test_gradients_pass_on_where_somebody_asked_for_them():
    w = gn.tensor(2.0, requires_grad=True)
    x = gn.tensor(3.0)

    slope = func.grad(lambda x: x * x * w)(x)
    slope.backward()

    assert w.grad.item() == 6.0
    assert not func.grad(lambda x: x * x)(x).requires_grad


def test_a_jacobian_of_what_does_not_depend_is_zero():
    rows = func.jacrev(lambda x, y: (x * y, y), argnums=(0, 1))(gn.ones(2), gn.ones(2))

    assert rows[1][0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert rows[1][1].tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_products_with_a_jacobian_from_both_sides_agree():
    a = gn.tensor(np.random.default_rng(0).standard_normal((3, 4)))
    x, v, u = gn.ones(4, dtype="float64"), gn.arange(4.0).double(), gn.arange(3.0).double()

    def f(x):
        return (a @ x).sin()

    _, along = func.jvp(f, (x,), (v,))
    back = func.vjp(f, x)[1](u)[0]
    rows = func.jacfwd(f)(x)

    wanted = np.cos(a.numpy().sum(1))[:, None] * a.numpy()
    np.testing.assert_allclose(rows.numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(along.numpy(), wanted @ v.numpy(), rtol=1e-12)
    np.testing.assert_allclose(back.numpy(), u.numpy() @ wanted, rtol=1e-12)


def test_gradients_of_each_sample_of_a_module():
    layer = nn.Linear(2, 1)
    params = {name: p.detach() for name, p in layer.named_parameters()}
    x = gn.tensor([[1.0, 2.0], [3.0, 4.0]])

    each = func.vmap(func.grad(lambda p, x: func.functional_call(layer, p, x).sum()), (None, 0))

    assert each(params, x)["weight"].tolist() == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert [p.grad for p in layer.parameters()] == [None, None]


def test_a_gradient_is_captured():
    run = gn.compile(func.grad(lambda x: (x**3).sum()))

    assert run(gn.tensor([2.0, 3.0])).tolist() == [12.0, 27.0]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="one number"):
        func.grad(lambda x: x)(gn.ones(2))
    with pytest.raises(ArgumentError, match="argnums 1"):
        func.grad(lambda x: x, argnums=1)(gn.ones(2))


def test_a_function_is_linearized_where_it_stands():
    value, push = func.linearize(lambda x, y: x * y, gn.tensor(3.0), gn.tensor(4.0))

    assert value.item() == 12.0
    assert push(gn.tensor(1.0), gn.tensor(10.0)).item() == 34.0
    assert func.functionalize(abs) is abs


def test_several_modules_are_one_call():
    gn.manual_seed(0)
    models = [nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)) for _ in range(4)]
    parameters, buffers = func.stack_module_state(models)
    x = gn.arange(12.0).reshape(4, 3)

    assert parameters["0.weight"].shape == (4, 2, 3)
    assert parameters["0.weight"].requires_grad
    assert parameters["0.weight"].is_leaf
    assert buffers["1.running_mean"].shape == (4, 2)
    for model in models:
        model.eval()
    together = func.vmap(lambda p, b: func.functional_call(models[0], (p, b), (x,)))
    found = together(parameters, buffers)
    gn.testing.assert_close(found, gn.stack([model(x) for model in models]))
    with pytest.raises(ArgumentError, match="modules of one class"):
        func.stack_module_state([nn.Linear(1, 1), nn.ReLU()])


def test_batch_norms_take_the_batch_where_they_are_told_to():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True))

    assert func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is net[0].num_batches_tracked is None
    assert net[1].running_mean is not None
    x = gn.tensor([[0.0, 2.0], [2.0, 6.0]])
    gn.testing.assert_close(net[0].eval()(x).mean(0), gn.zeros(2))


def test_the_jacobian_of_a_number_by_a_number_is_a_number():
    made = gn.func.jacrev(lambda x: x * x)(gn.tensor(3.0))

    assert made.shape == ()
    assert made.item() == 6

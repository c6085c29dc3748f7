"""Tensors with a direction: results change along it as functions of func.jvp do."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.autograd import forward_ad as fwd
from gnomon.errors import GradientError, ShapeError


def test_results_change_along_the_direction():
    x, v = gn.tensor([1.0, 2.0, 3.0]), gn.tensor([1.0, 0.0, -1.0])
    with gn.no_grad(), fwd.dual_level():
        dual = fwd.make_dual(x, v)
        made = fwd.unpack_dual((dual.sin() * dual).cumsum(0))
        assert fwd.unpack_dual(dual).tangent.tolist() == v.tolist()
        assert fwd.unpack_dual(x) == (x, None)
        assert fwd.unpack_dual(gn.ones(2, requires_grad=True) * 2).tangent is None

    value, slope = gn.func.jvp(lambda x: (x.sin() * x).cumsum(0), (x,), (v,))
    assert gn.allclose(made.primal, value)
    assert gn.allclose(made.tangent, slope)
    assert not made.primal.requires_grad
    assert fwd.unpack_dual(x).tangent is None


def test_directions_of_several_tensors_add_up():
    with fwd.dual_level():
        a = fwd.make_dual(gn.tensor(2.0), gn.tensor(1.0))
        b = fwd.make_dual(gn.tensor(3.0), gn.tensor(10.0))
        assert fwd.unpack_dual(a * b).tangent.item() == 23


def test_a_module_is_followed_with_dual_parameters():
    layer = gn.nn.Linear(2, 1)
    x, w, v = gn.ones(1, 2), layer.weight.detach(), gn.tensor([[1.0, 2.0]])
    with fwd.dual_level():
        parameters = {"weight": fwd.make_dual(w, v), "bias": layer.bias.detach()}
        made = gn.func.functional_call(layer, parameters, x)
        assert fwd.unpack_dual(made).tangent.tolist() == [[3]]


def test_levels_are_opened_and_closed():
    with pytest.raises(GradientError, match="no level exists"):
        fwd.make_dual(gn.ones(1), gn.ones(1))
    assert fwd.enter_dual_level() == 0
    with pytest.raises(GradientError, match="Nested"):
        fwd.enter_dual_level()
    with pytest.raises(ShapeError, match=r"expected a tangent of the same size .* \(2,\)"):
        fwd.make_dual(gn.ones(2), gn.ones(3))
    with pytest.raises(GradientError, match="expected floats: got gnomon"):
        fwd.make_dual(gn.ones(2), gn.ones(2).int())
    assert (
        fwd.unpack_dual(fwd.make_dual(gn.ones(2).double(), gn.ones(2))).tangent.dtype == gn.float64
    )
    fwd.exit_dual_level(level=0)
    with pytest.raises(GradientError, match="there is no level"):
        fwd.exit_dual_level()


def test_gradients_of_what_changes_along_a_direction():
    w = gn.tensor([2.0, 3.0], requires_grad=True)
    with fwd.dual_level():
        x = fwd.make_dual(gn.tensor([1.0, 5.0]), gn.tensor([1.0, 1.0]))
        made = fwd.unpack_dual(x * x * w * w)
    made.tangent.sum().backward()

    assert w.grad.tolist() == [8, 60]


def test_the_tangent_of_a_dual_tensor_is_the_one_that_was_given():
    x, tangent = gn.ones(3), gn.arange(3.0)
    with fwd.dual_level():
        dual = fwd.make_dual(x, tangent)
        found = fwd.unpack_dual(dual)

        assert found.tangent is tangent
        assert found.primal.tolist() == [1, 1, 1]
        assert not found.primal.requires_grad
        assert fwd.unpack_dual(dual * 2).tangent.tolist() == [0, 2, 4]

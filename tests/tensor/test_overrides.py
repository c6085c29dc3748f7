"""Classes that take functions of tensors over."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.overrides import (
    DisableTorchFunctionSubclass,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
)
from gnomon.testing import assert_close

pytestmark = pytest.mark.unit


class Plain(gn.Tensor):
    """A class with nothing of its own."""


class Deeper(Plain):
    """A class below another."""


class Listed(gn.Tensor):
    """A class that writes down what it is asked for."""

    asked: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


class Told:
    """No tensor at all: it gives the function that it is asked for."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func


class Refusing:
    """A class that takes nothing over."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


@pytest.fixture
def x() -> Listed:
    Listed.asked.clear()
    return gn.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Listed)


CALLS = [
    (lambda x: x + 1, "add"),
    (lambda x: 1 - x, "sub"),
    (lambda x: gn.ones(2, 2) * x, "mul"),
    (lambda x: x / x, "div"),
    (lambda x: x**2, "pow"),
    (lambda x: x @ x, "matmul"),
    (lambda x: x == x, "eq"),
    (lambda x: -x, "neg"),
    (lambda x: x.sum(), "sum"),
    (lambda x: gn.sum(x, 0), "sum"),
    (lambda x: gn.ones(2, 2).add(x), "add"),
    (lambda x: gn.mul(2.0, x), "mul"),
    (lambda x: gn.cat([gn.ones(1, 2), x]), "cat"),
    (lambda x: x.view(4), "view"),
    (lambda x: x[0], "__getitem__"),
    (lambda x: x.add_(1), "add_"),
    (lambda x: x.to(gn.float64), "to"),
    (lambda x: gn.zeros_like(x), "zeros_like"),
    (lambda x: gn.where(gn.ones(2, 2) > 0, x, 0.0), "where"),
    (lambda x: F.linear(x, gn.ones(3, 2)), "linear"),
    (lambda x: F.dropout(x, 0.5), "dropout"),
    (lambda x: F.softmax(x, -1), "softmax"),
]


@pytest.mark.parametrize(("call", "name"), CALLS)
def test_a_class_is_asked_once_and_gets_its_own_kind_back(x, call, name):
    made = call(x)

    assert Listed.asked == [name]
    assert type(made) is Listed
    with DisableTorchFunctionSubclass():
        plain = call(x.as_subclass(gn.Tensor))
    if name != "dropout":
        assert_close(made.as_subclass(gn.Tensor), call(x) if name == "add_" else plain)


@pytest.mark.parametrize(
    "call", [lambda x: x.split(1), lambda x: x.max(0), lambda x: gn.topk(x, 1), list]
)
def test_parts_are_of_the_class_too(x, call):
    assert {type(part) for part in call(x)} == {Listed}


FUNCTIONS = (
    *(gn.add, gn.sub, gn.sum, gn.max, gn.sort, gn.topk, gn.where, gn.unique, gn.zeros_like),
    *(gn.clone, gn.std_mean, gn.linalg.inv, gn.addbmm, gn.Tensor.exp),
    *(F.relu, F.dropout, F.embedding, F.layer_norm, F.max_pool2d, F.scaled_dot_product_attention),
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_class_is_given_the_very_function(function):
    assert function(Told(), 1, 1) is function


def test_operators_between_tensors_and_strangers():
    assert gn.ones(1) + Told() is gn.add
    assert gn.ones(1) - Told() is gn.sub
    assert (gn.ones(1) < Told()) is gn.lt


def test_whoever_refuses_is_named():
    with pytest.raises(TypeError, match=r"^exp: no implementation found on types .* got Refusing"):
        gn.exp(Refusing())
    with pytest.raises(TypeError, match="got Refusing"):
        gn.ones(1) + Refusing()


def test_a_subclass_is_asked_before_the_class_above_and_the_left_before_the_right():
    order = []

    class Above(gn.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    class Below(Above):
        pass

    class Beside(Refusing):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented

    above, below = gn.ones(1).as_subclass(Above), gn.ones(1).as_subclass(Below)
    with pytest.raises(TypeError, match="got Below, Above, Beside"):
        gn.cat([above, below, Beside(), above])
    assert order == ["Below", "Above", "Beside"]


def test_classes_that_know_nothing_of_each_other_refuse():
    with pytest.raises(TypeError, match="add: no implementation found"):
        gn.ones(1).as_subclass(Plain) + gn.ones(1).as_subclass(Listed)


def test_a_class_below_takes_the_one_above_in():
    made = gn.ones(1).as_subclass(Plain) + gn.ones(1).as_subclass(Deeper)
    assert type(made) is Deeper


def test_what_a_class_defines_itself_is_not_asked_for():
    class Own(gn.Tensor):
        def sum(self):
            return "own"

    assert gn.ones(1).as_subclass(Own).sum() == "own"


def test_gradients_pass():
    x = gn.tensor([1.0, 2.0], requires_grad=True)
    y = x.as_subclass(Plain)
    (y * y).sum().backward()

    assert not y.is_leaf
    assert_close(x.grad, gn.tensor([2.0, 4.0]))


def test_memory_is_shared_and_flags_stay():
    x = gn.ones(3)
    y = x[1:].as_subclass(Plain)
    y += 1

    assert_close(x, gn.tensor([1.0, 2.0, 2.0]))
    assert type(y) is Plain
    leaf = gn.Tensor._make_subclass(Plain, x, True)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert type(leaf) is Plain


def test_copies_and_pickles_keep_class_and_attributes():
    x = gn.ones(2).as_subclass(Plain)
    x.unit = "m"

    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is Plain
        assert made.unit == "m"
    assert repr(x) == "Plain([1., 1.])"


def test_parameters_are_tensors_like_others():
    assert type(gn.nn.Parameter(gn.ones(1)) + 1) is gn.Tensor
    assert not has_torch_function([gn.nn.Parameter(gn.ones(1))])
    with pytest.raises(ValueError, match=r"Parameter: needs a plain tensor, .* got Plain"):
        gn.nn.Parameter(gn.ones(1).as_subclass(Plain))


def test_who_is_like_a_tensor():
    assert is_tensor_like(Told())
    assert is_tensor_like(gn.ones(1))
    assert not is_tensor_like([])
    assert has_torch_function([1, Told()])
    assert has_torch_function([gn.ones(1).as_subclass(Plain)])
    assert handle_torch_function(gn.add, (Told(),), Told(), 1) is gn.add


@pytest.mark.parametrize("kind", [int, "Plain", None])
def test_other_classes_are_refused(kind):
    with pytest.raises(TypeError, match="as_subclass: needs a class below Tensor"):
        gn.ones(1).as_subclass(kind)


def test_complex_tensors_have_no_subclasses():
    with pytest.raises(TypeError, match="as_subclass: complex tensors"):
        gn.complex(gn.ones(1), gn.ones(1)).as_subclass(Plain)


def test_a_tensor_is_like_one_by_pytorchs_word():
    assert gn.overrides.is_tensor_like(inp=gn.ones(1))

"""Objects of classes below Tensor, and of classes that stand for tensors, in compiled functions."""

from __future__ import annotations

import warnings
from typing import ClassVar

import pytest

import gnomon as gn
from gnomon.overrides import DisableTorchFunctionSubclass
from gnomon.testing import assert_close


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def programs(function) -> int:
    return sum(map(len, function.programs.values()))


class Plain(gn.Tensor):
    pass


class Scaled(gn.Tensor):
    """A tensor that carries a unit, a tensor and what its class says."""

    factor = 1.0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs)
        first = next((x for x in args if isinstance(x, Scaled) and hasattr(x, "unit")), None)
        if isinstance(made, Scaled) and first is not None:
            made.unit, made.scale = first.unit, first.scale
        return made


def scaled(value: float, unit: str = "m") -> Scaled:
    x = gn.full((2,), value).as_subclass(Scaled)
    x.unit, x.scale = unit, gn.tensor(value * 10)
    return x


class Wrapped:
    """A tensor inside of an object, with a table of functions."""

    table: ClassVar[dict] = {}

    def __init__(self, inner, note):
        self.inner, self.note = inner, note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.table:
            return NotImplemented
        return cls.table[func](*args, **(kwargs or {}))


def test_results_are_of_the_class():
    f = gn.compile(lambda x, y: x * 2 + y)
    for k in range(4):
        made = f(gn.full((3,), float(k)).as_subclass(Plain), gn.ones(3))
        assert type(made) is Plain
        assert made.tolist() == [2.0 * k + 1] * 3
    assert programs(f) == 1


def test_attributes_are_part_of_arguments_and_results():
    f = gn.compile(lambda x, k: (x * k, (x * k).scale + 1))
    for k, unit in enumerate(["m", "m", "s", "m"]):
        made, more = f(scaled(float(k), unit), 2.0)
        assert (type(made), made.unit, made.tolist()) == (Scaled, unit, [2.0 * k] * 2)
        assert made.scale.item() == 10 * k
        assert more.item() == 10 * k + 1
    assert programs(f) == 2


def test_what_is_written_to_an_argument_is_written_by_each_call():
    @gn.compile
    def f(x):
        x.unit, x.more = "km", x.scale * 2
        x.add_(1)
        return x

    for k in range(3):
        x = scaled(float(k))
        assert f(x) is x
        assert (x.unit, x.more.item(), x.tolist()) == ("km", 20.0 * k, [k + 1.0] * 2)


def test_one_object_twice_in_a_result_is_one():
    def f(x):
        y = x + 1
        return y, [y]

    compiled = gn.compile(f)
    for _ in range(3):
        one, (two,) = compiled(scaled(1.0))
        assert one is two


def test_arguments_that_share_memory():
    @gn.compile
    def f(a, b):
        a.mul_(2)
        return b + 0

    for k in range(3):
        whole = gn.arange(6.0) + k
        made = f(whole[:4].as_subclass(Plain), whole[2:].as_subclass(Plain))
        assert type(made) is Plain
        assert made.tolist() == whole[2:].tolist() == [2.0 * (k + 2), 2.0 * (k + 3), k + 4, k + 5]


def test_a_change_of_the_class_or_of_an_attribute_is_seen():
    class Changing(gn.Tensor):
        factor = 2.0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            made = super().__torch_function__(func, types, args, kwargs)
            return made.as_subclass(gn.Tensor) * cls.factor if func is gn.exp else made

    x = gn.zeros(1).as_subclass(Changing)
    x.k = 1.0

    def f(x):
        return gn.exp(x) * x.k

    compiled = gn.compile(f)
    for factor, k in [(2.0, 1.0), (3.0, 1.0), (5.0, 4.0), (5.0, 7.0)]:
        Changing.factor, x.k = factor, k
        assert compiled(x).item() == f(x).item() == factor * k
    Changing.exp = lambda self: gn.ones(1)
    hidden = gn.compile(lambda x: x.exp())
    assert hidden(x).item() == 1.0
    del Changing.exp
    assert hidden(x).item() == 5.0


def test_a_tensor_of_the_file_and_a_buffer():
    class Model(gn.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", scaled(1.0))
            self.b.k = 3.0

        def forward(self, x):
            return x * self.b * self.b.k

    model = Model()
    compiled = gn.compile(model)
    for k in (3.0, 4.0, 5.0):
        model.b.k = k
        assert type(compiled(gn.ones(2))) is Scaled
        assert compiled(gn.ones(2)).tolist() == [k, k]


def test_a_parameters_attribute_is_seen():
    class Model(gn.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = gn.nn.Parameter(gn.ones(2))
            self.w.k = 3.0

        def forward(self, x):
            return x * self.w * self.w.k

    model = Model()
    compiled = gn.compile(model)
    for k in (3.0, 4.0, 5.0):
        model.w.k = k
        assert compiled(gn.ones(2)).tolist() == [k, k]


def test_backward_inside_and_outside():
    x = gn.ones(3, requires_grad=True)
    f = gn.compile(lambda x: (x.as_subclass(Plain) * x).sum())
    for k in range(3):
        made = f(x)
        made.backward()
        assert type(made) is Plain
        assert x.grad.tolist() == [2.0 * (k + 1)] * 3

    leaf = gn.Tensor._make_subclass(Plain, gn.ones(3), True)

    @gn.compile
    def step(x):
        made = (x * x).sum()
        made.backward()
        return made

    for k in range(3):
        assert type(step(leaf)) is Plain
        assert leaf.grad.tolist() == [2.0 * (k + 1)] * 3


def test_a_block_without_subclasses():
    f = gn.compile(lambda x: x + 1)
    x = scaled(1.0)
    assert type(f(x)) is Scaled
    with DisableTorchFunctionSubclass():
        assert type(f(x)) is gn.Tensor
    assert type(f(x)) is Scaled

    @gn.compile
    def inside(x):
        with DisableTorchFunctionSubclass():
            return x + 1

    assert {type(inside(x)) for _ in range(3)} == {gn.Tensor}


def test_objects_that_stand_for_tensors():
    Wrapped.table[gn.exp] = lambda x: Wrapped(x.inner + 1, x.note)
    Wrapped.table[gn.add] = lambda x, y: Wrapped(x.inner + y, x.note)

    def f(x):
        return gn.add(gn.exp(x), 1.0)

    compiled = gn.compile(f)
    for k in range(4):
        made = compiled(Wrapped(gn.full((2,), float(k)), "n"))
        assert (type(made), made.note, made.inner.tolist()) == (Wrapped, "n", [k + 2.0] * 2)
    assert programs(compiled) == 2
    Wrapped.table[gn.exp] = lambda x: Wrapped(-x.inner, x.note)
    assert compiled(Wrapped(gn.ones(2), "n")).inner.tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="sin: no implementation found"):
        gn.compile(gn.sin)(Wrapped(gn.ones(2), "n"))


def test_ragged_tensors():
    linear = gn.nn.Linear(4, 4)

    def f(x):
        y = linear(x).relu()
        return y, y.sum(1), x

    compiled = gn.compile(f)
    for sizes in ([3, 0, 2], [1, 4, 4], [2, 2, 2], [5, 1, 7]):
        parts = [gn.randn(n, 4) for n in sizes]
        x = gn.nested.nested_tensor(parts)
        made, sums, same = compiled(x)
        assert same is x
        assert made.offsets() is x.offsets()
        for part, given in zip(made.unbind(), parts, strict=True):
            assert_close(part, linear(given).relu())
        assert_close(sums, f(x)[1])
    assert programs(compiled) <= 4

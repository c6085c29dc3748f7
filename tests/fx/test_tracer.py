"""Tracing: what is one call, what is traced through, and what is refused."""

from __future__ import annotations

import math
import threading

import pytest

import gnomon as gn
from gnomon import fx, nn
from gnomon.errors import TraceError
from tests.fx.programs import functions_of, modules_of


def test_a_traced_module_gives_what_the_module_gives():
    module = modules_of(gn)["block"]
    x = gn.arange(48.0).reshape(2, 3, 8) / 48

    traced = fx.symbolic_trace(module)

    made, wanted = traced(x), module(x)
    assert made["y"].tolist() == wanted["y"].tolist()
    assert [each.tolist() for each in made["last"]] == [each.tolist() for each in wanted["last"]]
    traced.graph.lint()


@pytest.mark.parametrize("name", ["signs", "methods", "calls", "defaults"])
def test_a_traced_function_gives_what_the_function_gives(name):
    function, x = functions_of(gn)[name], gn.arange(9.0).reshape(3, 3) + 1
    given = (x, x.t() * 0.5) if name == "signs" else (x,)

    made, wanted = fx.symbolic_trace(function)(*given), function(*given)

    assert repr(made) == repr(wanted)


def test_arguments_behind_stars_are_one_value_each():
    module = modules_of(gn)["shared"]
    x = gn.ones(2, 4)

    traced = fx.symbolic_trace(module)

    assert [n.target for n in traced.graph.find_nodes(op="placeholder")] == [
        "x",
        "*rest",
        "**named",
    ]
    assert repr(traced(x, x, z=x)) == repr(module(x, x, z=x))


def test_python_cannot_decide_by_what_is_traced():
    with pytest.raises(TraceError, match=r"trace: gt is a value that is traced: it can't decide"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(TraceError, match=r"trace: x is traced: its length is not known"):
        fx.symbolic_trace(lambda x: [y for y in x])


def test_a_value_that_is_given_decides():
    def chosen(x: gn.Tensor, double: bool) -> gn.Tensor:
        return x * 2 if double else x

    traced = fx.symbolic_trace(chosen, {"double": True})

    assert traced(gn.ones(1), None).tolist() == [2.0]


def test_modules_of_the_package_are_one_call_but_for_sequential():
    class Through(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return not isinstance(m, nn.ReLU) and super().is_leaf_module(m, module_qualified_name)

    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    assert [x.op for x in fx.Tracer().trace(model).nodes][1:3] == ["call_module", "call_module"]
    found = [(x.op, str(x)) for x in Through().trace(model).nodes]
    assert found[1:3] == [("call_module", "_0"), ("call_function", "relu")]


def test_a_module_that_is_no_part_of_the_root_is_refused():
    other = nn.Linear(2, 2)

    with pytest.raises(TraceError, match="trace: Linear is called, but is no part of the root"):
        fx.symbolic_trace(lambda x: other(x))


def test_functions_of_math_are_one_call_each():
    traced = fx.symbolic_trace(lambda x: math.sqrt(x.shape[0]) * x)

    assert traced(gn.ones(4)).tolist() == [2.0] * 4
    assert math.sqrt is traced.graph.find_nodes(op="call_function")[2].target
    assert not hasattr(math.sqrt, "__wrapped_by_fx__"), "nobody else sees it"


def twice(x: gn.Tensor) -> gn.Tensor:
    """A function that stays one call."""
    return x * 2 if x.sum() > 0 else x


fx.wrap("twice")
fx.wrap("len")


def test_wrapped_functions_are_one_call_each():
    traced = fx.symbolic_trace(lambda x: twice(x) + len(x))

    assert [x.name for x in traced.graph.nodes] == ["x", "twice", "len_1", "add", "output"]
    assert traced(gn.ones(3)).tolist() == [5.0] * 3
    with pytest.raises(TraceError, match="wrap: expected at the top of a file"):
        fx.wrap("twice")


def test_other_threads_call_modules_as_ever():
    entered, left, found = threading.Event(), threading.Event(), []

    class Slow(nn.Module):
        def forward(self, x: gn.Tensor) -> gn.Tensor:
            entered.set()
            left.wait()
            return x + 1

    def beside() -> None:
        entered.wait()
        found.append(nn.Linear(2, 1)(gn.ones(1, 2)).shape)
        left.set()

    thread = threading.Thread(target=beside)
    thread.start()
    traced = fx.symbolic_trace(Slow())
    thread.join()

    assert found == [(1, 1)]
    assert [x.name for x in traced.graph.nodes] == ["x", "add", "output"]


def test_a_traced_module_compiles_once():
    traced = fx.symbolic_trace(modules_of(gn)["block"])
    compiled, x = gn.compile(traced), gn.ones(2, 3, 8)

    assert compiled(x)["y"].tolist() == compiled(x)["y"].tolist() == traced(x)["y"].tolist()
    assert compiled.captures == 1


def test_a_tensor_that_a_program_makes_of_nothing_is_an_attribute():
    traced = fx.symbolic_trace(lambda x: x + gn.ones(2) * 3)

    assert traced._tensor_constant0.tolist() == [3.0, 3.0]
    assert traced(gn.zeros(2)).tolist() == [3.0, 3.0]


def test_nodes_name_the_modules_in_which_they_are_made():
    graph = fx.Tracer().trace(modules_of(gn)["block"])

    inside = next(x for x in graph.nodes if x.target == "attention.qkv")
    assert [*inside.meta["nn_module_stack"]] == ["attention", "attention.qkv"]


def test_shapes_of_parameters_are_numbers_where_a_tracer_says_so():
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(gn.ones(3, 4))

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            w = self.weight
            assert (w.shape, w.ndim, w.dim()) == (gn.Size([3, 4]), 2, 2)
            return x.view(w.size(0), w.numel() // w.size()[0]) * w

    module = Scaled()
    graph = fx.Tracer(param_shapes_constant=True).trace(module)

    assert [n.op for n in graph.nodes] == [
        *("placeholder", "get_attr", "call_method", "call_function", "output")
    ]
    assert fx.GraphModule(module, graph)(gn.ones(12)).tolist() == gn.ones(3, 4).tolist()


def test_paths_are_looked_up_once(monkeypatch):
    walks = []
    walk = nn.Module.named_parameters
    monkeypatch.setattr(
        nn.Module, "named_parameters", lambda m, *a, **k: walks.append(1) or walk(m, *a, **k)
    )

    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scales = nn.ParameterList(gn.ones(2) for _ in range(20))
            self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(20))

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            for scale, layer in zip(self.scales, self.layers, strict=True):
                x = layer(x * scale)
            return x

    module = Many()
    walks.clear()
    fx.symbolic_trace(module)

    assert len(walks) <= 3


def test_an_assertion_is_a_call():
    def checked(x: gn.Tensor) -> gn.Tensor:
        gn._assert(x.shape[-1] == 3, "three")
        return x * 2

    traced = fx.symbolic_trace(checked)

    assert "_assert(eq, 'three')" in traced.code
    assert traced(gn.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(AssertionError, match="three"):
        traced(gn.ones(2))


def test_operands_of_einsum_are_arguments_also_in_a_list():
    graph = fx.symbolic_trace(lambda x, y: gn.einsum("ij,jk->ik", [x, y])).graph

    (node,) = [x for x in graph.nodes if x.op == "call_function"]
    assert [str(x) for x in node.args] == ["ij,jk->ik", "x", "y"]

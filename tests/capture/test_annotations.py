"""Marks of PyTorch's compiler: what is disabled stays eager, other marks change nothing."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.capture.annotations import config
from gnomon.errors import ArgumentError

marks = gn.compiler


def asks(x):
    return x * 2 + marks.is_compiling()


def test_a_function_knows_whether_it_is_compiled():
    assert gn.compile(asks)(gn.ones(1)).tolist() == [3.0]
    assert asks(gn.ones(1)).tolist() == [2.0]
    assert not marks.is_exporting()


def test_a_disabled_function_or_module_is_left_as_it_is():
    @marks.disable(recursive=False, reason="prints")
    def eager(x):
        return asks(x)

    layer = marks.disable(gn.nn.Linear(2, 1))

    assert gn.compile(eager)(gn.ones(1)).tolist() == [2.0]
    assert marks.disable(gn.compile(asks))(gn.ones(1)).tolist() == [2.0]
    assert gn.compile(layer) is layer
    assert gn.compile(lambda x: eager(x) + 1)(gn.ones(1)).tolist() == [4.0]
    with pytest.raises(ArgumentError, match="must be called with a function: got 3"):
        marks.disable(3)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_compile_nothing_compile_nothing(backend):
    assert gn.compile(asks, backend=backend) is asks
    assert {backend, "gnomon", "inductor"} <= set(marks.list_backends())


def test_further_marks_change_nothing():
    for mark in (marks.allow_in_graph, marks.assume_constant_result, marks.nested_compile_region):
        assert mark(asks) is asks
    assert marks.substitute_in_graph(abs, skip_signature_check=True)(asks) is asks
    for call in (marks.cudagraph_mark_step_begin, marks.graph_break):
        assert call() is None
    marks.mark_dynamic(gn.ones(2), 0, min=1)
    config.triton.cudagraphs = True
    assert config.triton.cudagraphs
    assert gn.compile(asks, dynamic=True)(gn.ones(1)).tolist() == [3.0]


def test_a_stance_holds_at_once_and_ends_with_its_block():
    compiled, x = gn.compile(asks), gn.ones(1)
    with marks.set_stance("force_eager"):
        assert compiled(x).tolist() == [2.0]
    assert compiled(x).tolist() == [3.0]

    @marks.set_stance("force_eager")
    def inside():
        return compiled(x)

    assert (inside().tolist(), compiled(x).tolist()) == ([2.0], [3.0])
    marks.set_stance("force_eager")
    assert compiled(x).tolist() == [2.0]
    marks.set_stance()
    assert compiled(x).tolist() == [3.0]
    with pytest.raises(ArgumentError, match=r"must be one of .* got 'slow'"):
        marks.set_stance("slow")


def test_a_reset_lets_functions_be_captured_anew():
    compiled = gn.compile(asks)
    compiled(gn.ones(2))
    assert compiled.captured()

    marks.reset()

    assert not compiled.captured()
    assert compiled(gn.ones(2)).tolist() == [3.0, 3.0]


def test_the_package_keeps_its_files_and_knows_no_other_names():
    with pytest.raises(
        AttributeError, match=r"module 'gnomon\.compiler' has no attribute 'nonsense'"
    ):
        _ = gn.compiler.nonsense
    assert not hasattr(gn.compiler, "Switches")

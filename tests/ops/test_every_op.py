"""Every operation of the registry: value, shape, slope, words, documentation, and compiled value.

The calls are in samples.py. What an operation's numpy reference says is compared here; torch's word
is in tests/parity.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops import every
from gnomon.ops.interpret import interpret
from gnomon.ops.registry import OPS
from gnomon.runtime.buffer import DeviceBuffer
from tests.gradients import gradients
from tests.ops.samples import SAMPLES, Sample
from tests.ops.shape_lines import called_with, forms, holds, said_of_shapes

NAMES = sorted({op.__name__ for op in OPS.values()})
CALLS = [(name, sample) for name in NAMES for sample in SAMPLES.get(name, [])]
LABELS = [f"{name}-{k}" for name in NAMES for k in range(len(SAMPLES.get(name, [])))]
each_call = pytest.mark.parametrize(("name", "sample"), CALLS, ids=LABELS)
STEP = 1e-6


class Called:
    """A call of an operation on fresh leaves."""

    def __init__(self, name: str, sample: Sample) -> None:
        self.arena, self.feeds = Arena(), {}
        self.sample = sample
        result = OPS[name](*self.leaves(sample.args), **self.leaves(sample.kwargs))
        self.results: list[Node] = list(result) if isinstance(result, tuple) else [result]

    def leaves(self, value: Any) -> Any:
        """The value with leaves for arrays."""
        if isinstance(value, np.ndarray):
            leaf = self.arena.input(value.shape, dtype_of(value.dtype))
            self.feeds[leaf] = value
            return leaf
        if isinstance(value, dict):
            return {k: self.leaves(v) for k, v in value.items()}
        return type(value)(map(self.leaves, value)) if isinstance(value, list | tuple) else value

    def floats(self) -> list[Node]:
        """The leaves that can have gradients."""
        return [leaf for leaf in self.feeds if leaf.dtype.is_floating_point]

    def slopes(self, rng: np.random.Generator) -> tuple[Node, list[Node | None]]:
        """A weighted sum of the results, and its gradients."""
        flowing = self.sample.results or range(len(self.results))
        total, parts = None, [None] * len(self.floats())
        for k in flowing:
            node = self.results[k]
            if not node.dtype.is_floating_point:
                continue
            seed = self.arena.input(node.shape, node.dtype)
            self.feeds[seed] = rng.standard_normal(node.shape)
            product = OPS["sum"](node * seed)
            total = product if total is None else total + product
            found = gradients(node, seed, self.leaves_at(len(parts)))
            parts = [
                b if a is None else a if b is None else a + b
                for a, b in zip(parts, found, strict=True)
            ]
        return total, parts

    def leaves_at(self, count: int) -> list[Node]:
        """The first float leaves: those of the call, not the seeds."""
        return self.floats()[:count]


def test_every_operation_has_a_sample():
    assert not [name for name in NAMES if name not in SAMPLES]


def test_every_sample_has_an_operation():
    assert not [name for name in SAMPLES if name not in NAMES]


def test_every_file_of_operations_is_listed():
    listed = {file.__name__ for file in every.FILES}

    ours = {op.__module__ for op in OPS.values() if op.__module__.startswith("gnomon.")}

    assert ours <= listed


@pytest.mark.unit
@each_call
def test_a_value_is_what_the_reference_says(name, sample):
    called = Called(name, sample)

    made = interpret(called.results, called.feeds)

    if OPS[name].reference is None or not sample.reference:
        return
    wanted = OPS[name].reference(*sample.args, **sample.kwargs)
    for a, b in zip(made, wanted if isinstance(wanted, list | tuple) else [wanted], strict=False):
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.unit
@each_call
def test_a_slope_is_what_differences_say(name, sample, rng):
    called = Called(name, sample)
    total, slopes = called.slopes(rng) if sample.gradient else (None, [])
    leaves = called.leaves_at(len(slopes))
    for leaf, slope in zip(leaves, slopes, strict=True):
        if slope is None:
            continue
        way = rng.standard_normal(leaf.shape)
        ends = [
            interpret([total], called.feeds | {leaf: called.feeds[leaf] + step * way})[0]
            for step in (STEP, -STEP)
        ]

        told = np.sum(interpret([slope], called.feeds)[0] * way)

        assert told == pytest.approx((ends[0] - ends[1]) / (2 * STEP), rel=2e-5, abs=2e-6)


def in_dtype(value: Any, dtype: type) -> Any:
    """A call's argument with its float64 arrays in another dtype."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype == np.float64 else value
    if isinstance(value, dict):
        return {k: in_dtype(v, dtype) for k, v in value.items()}
    return type(value)(in_dtype(v, dtype) for v in value) if isinstance(value, list) else value


NARROW = [(np.float32, 2e-4), (ml_dtypes.bfloat16, 0.2)]


@pytest.mark.unit
@pytest.mark.parametrize(("dtype", "close"), NARROW, ids=["float32", "bfloat16"])
@each_call
def test_in_fewer_bits_it_is_nearly_the_same(name, sample, dtype, close):
    if not any(isinstance(v, np.ndarray) and v.dtype == np.float64 for v in flat(sample.args)):
        return
    narrow = Sample(*(in_dtype(list(sample.args), dtype), in_dtype(sample.kwargs, dtype)))
    full, called = Called(name, sample), Called(name, narrow)

    made = interpret(called.results, called.feeds)

    wanted = interpret(full.results, full.feeds)
    for k, (a, b, node) in enumerate(zip(made, wanted, full.results, strict=True)):
        if sample.results is None or k in sample.results:
            # numbers of logits are sums, and stay as wide as those
            kept = np.float32 if name == "logit_rows" else dtype
            assert a.dtype == (np.dtype(kept) if follows(name, node) else b.dtype)
        if node.dtype.is_floating_point and name not in CHAOTIC:
            np.testing.assert_allclose(a.astype(float), b, rtol=close, atol=close)


CHAOTIC = {"nextafter", "quantile", "remainder", "fmod", "floor_divide", "divide", "rsqrt"}
CHAOTIC |= {"eigh", "svd"}
"""Operations that turn a rounding into a jump, at some of their samples, or a vector into its
negative."""


def flat(values: Any) -> list:
    """The arguments, lists opened."""
    return [w for v in values for w in (flat(v) if isinstance(v, list | tuple) else [v])]


def follows(name: str, node: Node) -> bool:
    """Whether a result has the dtype of the arguments."""
    return node.dtype.name == "float64" and name != "float_power"


@each_call
def test_compiled_it_is_what_the_interpreter_says(name, sample, rng):
    called = Called(name, sample)
    slopes = called.slopes(rng)[1] if sample.gradient else []
    roots = [*called.results, *(slope for slope in slopes if slope is not None)]
    graph = Graph(list(called.feeds), roots)
    given = [DeviceBuffer.of(np.ascontiguousarray(v)) for v in called.feeds.values()]

    made = build(graph).run(given)

    for node, buffer, wanted in zip(roots, made, interpret(roots, called.feeds), strict=True):
        found = buffer.numpy(node.dtype.numpy, node.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11, err_msg=repr(node))


@pytest.mark.parametrize("name", NAMES)
def test_documentation_is_a_sentence_and_a_line_of_shapes(name):
    assert OPS[name].__doc__.splitlines()[0].endswith((".", "?"))
    assert said_of_shapes(name)


def test_every_operation_shows_what_it_does():
    assert not [name for name in NAMES if f">>> {name}(" not in unspaced(name)]


def test_an_operation_that_raises_shows_an_error():
    raising = {name for name in NAMES if any("Error" in x for x in words_of(OPS[name].function))}

    assert not [name for name in raising if "Traceback" not in OPS[name].__doc__]


def words_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names that a function's code uses."""
    return function.__code__.co_names


def unspaced(name: str) -> str:
    """An operation's documentation, each example's first call at the prompt."""
    return re.sub(rf">>> .*\b{name}\(", f">>> {name}(", OPS[name].__doc__ or "")


# shapes

UNSAID = {"block_diag", "column_stack", "einsum", "logit_rows", "vstack"}
"""Operations with a (?) in their line; no others, and only fewer."""
UNTESTED = {"avg_pool", "convolution", "max_pool"}
"""Operations with a letter whose size nothing says; no others, and only fewer."""


def unsaid(name: str) -> bool:
    """Whether an operation's line leaves axes open."""
    return "?" in said_of_shapes(name)


def untested(name: str) -> bool:
    """Whether a letter of the results is no argument's, no parameter and in no law."""
    words = set(inspect.signature(OPS[name].function).parameters)
    return any(results - said - words for results, said in (f.letters() for f in forms(name)))


def test_only_these_operations_leave_their_axes_open():
    assert {name for name in NAMES if unsaid(name)} == UNSAID


def test_every_letter_of_a_result_is_said_elsewhere():
    assert {name for name in NAMES if not unsaid(name) and untested(name)} == UNTESTED


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_shapes_names_arguments(name):
    named = {word for form in forms(name) for word in form.given}

    assert named <= set(inspect.signature(OPS[name].function).parameters)


@pytest.mark.parametrize("name", sorted(set(NAMES) - UNSAID))
def test_the_line_of_shapes_holds_and_every_form_is_met(name):
    met = set()
    for sample in SAMPLES[name]:
        results = [node.shape for node in Called(name, sample).results]
        arguments = called_with(name, sample.args, sample.kwargs)
        found = [k for k, form in enumerate(forms(name)) if holds(form, arguments, results)]

        assert found, f"{said_of_shapes(name)}: {sample.args}, {sample.kwargs} -> {results}"
        met |= set(found)

    assert met == set(range(len(forms(name)))), said_of_shapes(name)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("matmul", (3, 4)),
        ("topk", (2, 4)),
        ("sum", (2, 3)),
        ("cat", (2, 7)),
        ("conv2d", (2, 3, 4, 4)),
    ],
)
def test_a_wrong_shape_is_noticed(line, wrong):
    sample = SAMPLES[line][0]
    arguments = called_with(line, sample.args, sample.kwargs)

    assert not any(holds(form, arguments, [wrong]) for form in forms(line))

"""Every operation of the registry: value, shape, slope, words, documentation, and compiled value.

The calls are in samples.py. What an operation's numpy reference says is compared here; torch's word
is in tests/parity.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gnomon.dtypes import dtype_of
from gnomon.executable import build
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops import every
from gnomon.ops.interpret import interpret
from gnomon.ops.registry import OPS
from gnomon.passes.grad import gradients
from gnomon.runtime.buffer import Buffer
from tests.ops.samples import SAMPLES, Sample

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
            assert a.dtype == (np.dtype(dtype) if follows(name, node) else b.dtype)
        if node.dtype.is_floating_point and name not in CHAOTIC:
            np.testing.assert_allclose(a.astype(float), b, rtol=close, atol=close)


CHAOTIC = {"nextafter", "quantile", "remainder", "fmod", "floor_divide", "divide", "rsqrt"}
"""Operations that turn a rounding into a jump, at some of their samples."""


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
    given = [Buffer.of(np.ascontiguousarray(v)) for v in called.feeds.values()]

    made = build(graph).run(given)

    for node, buffer, wanted in zip(roots, made, interpret(roots, called.feeds), strict=True):
        found = buffer.numpy(node.dtype.numpy, node.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11, err_msg=repr(node))


@pytest.mark.parametrize("name", NAMES)
def test_documentation_is_a_sentence_and_a_line_of_shapes(name):
    assert OPS[name].__doc__.splitlines()[0].endswith((".", "?"))
    assert said_of_shapes(name)


# shapes


def axes_of(text: str) -> list[str]:
    """The letters between parentheses."""
    return [word for word in re.split(r"[ ,]+", text.strip("() ")) if word]


def said_of_shapes(name: str) -> re.Match | None:
    """What an operation's documentation says after `Shapes:`, up to the next blank line."""
    found = re.search(r"Shapes: (.*?)(\n *\n|$)", OPS[name].__doc__.strip(), re.DOTALL)
    return found and re.fullmatch(r"(.+) -> (.+)", " ".join(found[1].split()))


def shapes_line(name: str) -> tuple[dict[str, list[str]], list[list[str]]]:
    """An operation's `Shapes:` line: per argument its axes, and per result its."""
    line = said_of_shapes(name)
    given = re.findall(r"(\w+) (\([^)]*\))", line[1])
    return {k: axes_of(v) for k, v in given}, [
        axes_of(v) for v in re.findall(r"\([^)]*\)", line[2])
    ]


def bind(axes: list[str], shape: tuple[int, ...], known: dict[str, Any]) -> bool:
    """Whether a shape fits its axes, given what letters and runs of axes meant before."""
    if "?" in axes:
        return True
    run = next((k for k, word in enumerate(axes) if word[0] in ".*"), None)
    if run is not None:
        word, tail = axes[run], len(axes) - run - 1
        own = shape[run : len(shape) - tail]
        shape = (*shape[:run], *shape[len(shape) - tail :])
        axes = axes[:run] + axes[run + 1 :]
        before = known.setdefault(word, own)
        # dots broadcast, a named run of axes is the same everywhere
        known[word] = np.broadcast_shapes(before, own) if word == "..." else own
        if word != "..." and before != own:
            return False
    return len(axes) == len(shape) and all(
        known.setdefault(a, n) == n for a, n in zip(axes, shape, strict=True)
    )


@each_call
def test_the_line_of_shapes_holds(name, sample):
    called = Called(name, sample)
    given, results = shapes_line(name)
    words = OPS[name].words
    known: dict[str, Any] = {}

    said = dict(zip(words, sample.args, strict=False)) | sample.kwargs
    for word, value in said.items():
        if word in given and isinstance(value, np.ndarray):
            assert bind(given[word], value.shape, known), f"{word} {value.shape}, {given[word]}"

    if len(results) == len(called.results):
        for axes, node in zip(results, called.results, strict=True):
            assert bind(axes, node.shape, known), f"{node.shape}, {axes}, {known}"

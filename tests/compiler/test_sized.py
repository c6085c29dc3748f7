"""Programs that serve every size: few compilations, no passes, the bits of each size's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture import size_families
from gnomon.compiler import pipeline, sized, target
from gnomon.compiler.build import build
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import cast
from gnomon.ir.specializations import CAPTURES, PROGRAMS
from gnomon.models.config import Qwen3Config
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.nn import functional as F
from gnomon.ops import layouts
from gnomon.ops.placements import Split
from gnomon.passes.localize import rank_name
from gnomon.settings import override
from gnomon.tensor.state import state
from tests.strategies import same_bits

Shape = tuple[int, ...]
Function = Callable[[gn.Tensor], gn.Tensor]
Sweep = tuple[Callable[..., Any], list[tuple[gn.Tensor, ...]]]
"""A function, and its arguments at several sizes."""


@contextmanager
def passes() -> Iterator[list[int]]:
    """How often passes ran inside, on graphs of how many nodes."""
    counted: list[int] = []
    run = pipeline.kernels_of

    def counting(graph, *given, **named):
        counted.append(len(graph.nodes))
        return run(graph, *given, **named)

    memo.clear()
    # a number that another test had vary is an input of later graphs
    state.arena.constants.clear()
    with (
        patch.object(pipeline, "kernels_of", counting),
        patch.object(sized._families, "limits", PROGRAMS._replace(enough=2)),
        patch.object(size_families, "CAPTURES", CAPTURES._replace(enough=2)),
        override(cache=False, dynamic_sizes=True),
        gn.no_grad(),
    ):
        yield counted


def values(shape: Shape) -> gn.Tensor:
    """Numbers that follow from a shape."""
    rng = np.random.default_rng(shape)
    return gn.from_numpy(rng.standard_normal(shape, dtype=np.float32))


def swept(function: Function, shapes: Sequence[Shape], known: int = 0) -> int:
    """How often passes ran at shapes but the first; each has the bits of its own program.

    Without pieces, which a line of so many structures would be run in.
    """
    with passes() as counted, override(without="pieces"):
        found = [function(values(shape)).numpy() for shape in shapes[:known]]
        before = len(counted)
        found += [function(values(shape)).numpy() for shape in shapes[known:]]
        ran = len(counted) - before
        for shape, y in zip(shapes, found, strict=True):
            memo.clear()
            assert same_bits(function(values(shape)).numpy(), y), shape
    return ran


def perceptron() -> nn.Module:
    """Three layers."""
    gn.manual_seed(0)
    made = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 16), nn.Linear(16, 3))
    gn.evaluate(*made.parameters())
    return made


BATCHES = [(2, 3, 8), (4, 7, 8), (5, 9, 8), (64, 512, 8), (6, 33, 8), (3, 100, 8)]


def test_batches_and_lengths_run_passes_twice():
    assert swept(gn.compile(perceptron()), BATCHES, known=2) == 0


def test_eager_evaluation_runs_them_twice():
    assert swept(perceptron(), BATCHES, known=2) == 0


def test_sizes_of_0_and_1_have_programs_of_their_own():
    shapes = [
        (2, 3, 8),
        (4, 7, 8),
        (1, 7, 8),
        (4, 1, 8),
        (0, 7, 8),
        (3, 0, 8),
        (1, 1, 8),
        (9, 2, 8),
    ]

    assert swept(perceptron(), shapes) <= len(shapes) - 1


def test_a_growing_sequence_compiles_once_for_few_and_once_for_many():
    gn.manual_seed(0)
    table, layer = nn.Embedding(11, 16), nn.Linear(16, 48)
    gn.evaluate(*table.parameters(), *layer.parameters())

    def step(x: gn.Tensor) -> gn.Tensor:
        h = table(x.abs().to(gn.int64) % 11)
        q, k, v = layer(h).reshape(1, -1, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, :, -1]

    assert swept(step, [(1, n) for n in (2, 3, 4, 5, 8, 13, 15)], known=3) == 0


def test_what_looks_alike_by_chance_is_no_trouble():
    # as many rows as columns, as a weight has, as a vector holds: the same program as for any other
    shapes = [(24, 18), (26, 17), (24, 24), (16, 17), (32, 16), (17, 17), (31, 128)]

    assert swept(lambda x: (x.T @ x).exp() + x.reshape(-1)[0], shapes) <= 5


def test_a_number_that_does_not_follow_is_met_by_another_program():
    # 2 · 3 and 2 · 5 agree with 3 + 3 and 5 + 5; what is taken for one of these may be the other
    def f(x: gn.Tensor) -> gn.Tensor:
        n, m = x.shape
        return gn.arange(n * m).reshape(n, m) * x + gn.arange(n + m).sum()

    assert swept(f, [(2, 2), (3, 3), (5, 5), (3, 4), (7, 2)]) <= 4


@pytest.mark.parametrize("rows", [1, 3, 5, 13])
def test_batches_of_products_with_few_rows_vary(rows: int):
    def slopes(x: gn.Tensor) -> gn.Tensor:
        with gn.enable_grad():
            x = x.requires_grad_()
            scores = gn.bmm(x, x.sum(1).unsqueeze(2)).squeeze()
            (found,) = gn.autograd.grad(scores.exp().sum(), x)
            return found

    assert swept(slopes, [(n, rows, 100) for n in (70, 91, 33, 150, 47, 64)], known=2) == 0


WEIGHT = np.random.default_rng(0).standard_normal((4, 5, 4), np.float32)
KEEPS: dict[str, tuple[Function, Callable[[int], Shape]]] = {
    "sort": (lambda x: x.sort(1).values, lambda n: (3, n)),
    "median": (lambda x: x.median(1).values, lambda n: (3, n)),
    "transposed convolution": (
        lambda x: F.conv_transpose1d(x, gn.from_numpy(WEIGHT), stride=2, padding=1).exp(),
        lambda n: (2, 4, n),
    ),
}
"""Programs whose kernels once kept their sizes, and shapes of their operand."""


@pytest.mark.parametrize("name", KEEPS)
def test_kernels_that_once_kept_their_sizes_serve_all(name: str):
    function, shape = KEEPS[name]

    assert swept(function, [shape(n) for n in (80, 93, 71, 76, 90, 67)], known=2) == 0


def test_an_axis_of_1_takes_no_programs_from_other_shapes():
    def total(x: gn.Tensor) -> float:
        return x.sum().item()

    with passes() as counted, override(without="pieces"):
        for n in (40, 53, 71):
            total(values((2, 2, n, 8)))
            total(values((1, 5, n, n + 3)))
            total(values((n, 1, 7, n)))
        before = len(counted)
        for n in (36, 90, 67):
            total(values((2, 2, n, 8)))
            total(values((1, 5, n, n + 3)))
            total(values((n, 1, 7, n)))

    assert len(counted) == before


def test_axes_are_no_sizes():
    x = np.arange(720, dtype=np.float32).reshape(2, 3, 4, 5, 6)
    functions = [
        *[lambda y, k=k: y.sum(k) for k in (2, 3, 4)],
        *[lambda y, k=k: y.cumsum(k).sort(k).values for k in (2, 3, 4)],
        *[lambda y, k=k: y.movedim(0, k) * 2 for k in (2, 3, 4)],
        *[lambda y, k=k: y.unbind(4)[k].exp() for k in (2, 3, 4)],
    ]
    with passes():
        found = [f(gn.from_numpy(x)).numpy() for f in functions]
    with override(cache=False, dynamic_sizes=False):
        for f, y in zip(functions, found, strict=True):
            memo.clear()
            assert same_bits(f(gn.from_numpy(x)).numpy(), y)


@pytest.mark.parametrize("numbers", [(1 << 40, 1 << 50, 3 << 60), (-5, -6, -7), (3, 1 << 31, 0)])
def test_a_number_beyond_all_sizes_is_that_number(numbers: tuple[int, ...]):
    # a prime beside 2⁶³ takes minutes to find
    with passes():
        for n in numbers:
            assert (gn.tensor([1, 2, 3]) + n).tolist() == [n + 1, n + 2, n + 3]


def test_programs_over_ranks_keep_their_sizes():
    layout = (("data", 2, Split(0)),)
    for make in (layouts.from_local, layouts.to_local, layouts.place):
        leaf = Arena().input((4, 3), gn.float32)
        with pytest.raises(sized.Unsized):
            sized.refuse_fixed(Graph([leaf], [make(leaf, layout)]))


def test_who_is_told_its_rank_has_a_program_of_its_own():
    with passes():
        # of one outline: the name of an input is no part of it
        for n in (3, 5, 7, 4, 6, 8):
            name = "" if n % 2 else rank_name("data")
            arena = Arena()
            x, rank = arena.input((2, n), gn.float32), arena.input((), gn.int64, name)
            made = build(Graph([x, rank], [x + cast(rank, gn.float32)]))
            assert len(made.plan.numbers) == bool(name)


def test_many_programs_of_one_outline_end_in_programs_of_their_own():
    shapes = [(3, n) for n in (3, 4, 20, 5, 21)]  # few and many rows are two programs
    with patch.dict(globals(), PROGRAMS=PROGRAMS._replace(kept=1)):
        assert swept(lambda x: x.T @ x, shapes) >= 4


def test_a_program_that_cannot_have_sizes_is_made_for_each():
    with passes() as counted, patch.object(sized, "refuse_fixed", side_effect=sized.Unsized("so")):
        for n in (3, 5, 7, 9, 11, 13):
            values((2, n)).exp().numpy()

    assert len(counted) == 6


def test_loops_of_any_length():
    def f(x: gn.Tensor) -> gn.Tensor:
        return gn.scan(lambda c, row: (c + row, c), gn.zeros(x.shape[1]), x)[0]

    shapes = [(2, 3), (2, 5), (4, 5), (3, 7), (9, 8), (30, 21)]

    assert swept(f, shapes) <= 4


def test_records_and_listings_tell_the_sizes_at_hand():
    with passes():
        layers = gn.compile(perceptron())
        for shape in BATCHES:
            layers(values(shape))
        made = [program.executable for program in layers.captured()]
        flops = [sum(record.flops for record in each.records) for each in made]
        shapes = [each.kernels[-1].buffers[0].shape for each in made]

    assert shapes == [(*shape[:-1], 3) for shape in BATCHES]
    sizes = [shape[0] * shape[1] for shape in BATCHES]
    assert flops[2] // sizes[2] == flops[3] // sizes[3] == flops[4] // sizes[4] > 1000


def test_a_position_out_of_bounds_is_told_by_its_line():
    with passes():
        table = gn.compile(lambda x, at: x[at] * 2)
        for n in (3, 5, 7):
            table(values((n, 4)), gn.tensor([n - 1]))
        with pytest.raises(gn.errors.IndexOutOfBounds, match="test_sized"):
            table(values((9, 4)), gn.tensor([9])).numpy()


def test_a_mean_divides_by_the_count_at_hand():
    shapes = [(3, 20), (5, 21), (7, 23), (9, 27), (33, 45)]

    assert swept(lambda x: (x.mean(1) / x.shape[0]).sum(), shapes, known=2) <= 1


def test_experts_take_as_many_rows_as_there_are():
    layers = [perceptron() for _ in range(3)]

    def step(x: gn.Tensor) -> gn.Tensor:
        chosen = np.random.default_rng(x.shape[0]).integers(0, 3, x.shape[0])
        return gn.cat([f(x[np.flatnonzero(chosen == k)]) for k, f in enumerate(layers)])

    assert swept(step, [(90 + 7 * n, 8) for n in range(6)], known=3) == 0


def test_a_cache_grows_by_concatenation():
    def step(x: gn.Tensor) -> gn.Tensor:
        k = gn.cat([x, x[:, :, -1:] + 1], 2)
        return F.scaled_dot_product_attention(x[:, :, :1], k, k * 2)

    assert swept(step, [(1, 2, n, 8) for n in (2, 3, 4, 5, 7, 8, 20, 31)], known=3) == 0


@pytest.mark.parametrize(
    "function", [lambda x: x.exp() * 2, lambda x: x.softmax(-1), lambda x: (x * 2).sum(1) + 1]
)
def test_results_written_past_the_caches_have_sizes_too(function: Function, monkeypatch):
    small = replace(target.machine(), last=0)
    monkeypatch.setattr(target, "machine_of", lambda _: small)
    shapes = [(3, 64), (9, 208), (5, 301), (31, 77), (2, 16), (8, 96)]
    assert swept(gn.compile(function), shapes, known=2) <= 1  # rows of whole vectors, and others


def decoder() -> nn.Module:
    """One small layer of a decoder with its embedding."""
    gn.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "head_dim": 8, "vocab_size": 32}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1}
    made = DecoderForCausalLM(Qwen3Config(**sizes, **heads))
    gn.evaluate(*made.parameters())
    return made


def sampling() -> Sweep:
    """The next token of sequences that grow; below 16 rows `linears` is another graph."""
    model = decoder()
    lengths = (16, 17, 30, 31, 64, 100, 333, 500)
    given = [(gn.from_numpy(np.arange(n).reshape(1, -1) % 32),) for n in lengths]
    return (lambda x: model(x)[:, -1].argmax(-1)), given


def with_cache() -> Sweep:
    """One token beside keys and values that grow."""
    weights = nn.Linear(8, 24)
    gn.evaluate(*weights.parameters())

    def step(x: gn.Tensor, k: gn.Tensor, v: gn.Tensor) -> tuple[gn.Tensor, ...]:
        q, key, value = weights(x).reshape(1, 3, 2, 1, 4).unbind(1)
        k, v = gn.cat([k, key], 2), gn.cat([v, value], 2)
        return F.scaled_dot_product_attention(q, k, v), k, v

    x, grown = values((1, 1, 8)), (2, 3, 5, 8, 15, 16, 40, 500)
    return step, [(x, values((1, 2, n, 4)), values((1, 2, n, 4)) * 2) for n in grown]


def with_experts() -> Sweep:
    """Experts with as many rows as the data say."""
    layers = [nn.Linear(8, 8) for _ in range(3)]
    gn.evaluate(*[p for f in layers for p in f.parameters()])

    def step(x: gn.Tensor, *rows: gn.Tensor) -> gn.Tensor:
        return gn.cat([F.silu(f(x[at])) for f, at in zip(layers, rows, strict=True)])

    chosen = [np.random.default_rng(n).integers(0, 3, 40) for n in range(8)]
    rows = [[gn.from_numpy(np.flatnonzero(each == k)) for k in range(3)] for each in chosen]
    return step, [(values((40, 8)), *each) for each in rows]


def batched() -> Sweep:
    """Batches of rows of any length."""
    layers = perceptron()
    shapes = [(2, 3), (4, 7), (64, 512), (6, 33), (3, 100), (5, 9), (17, 2), (33, 301)]
    return layers, [(values((*shape, 8)),) for shape in shapes]


def test_tokens_one_after_the_other_compile_few_programs():
    sizes = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 16, "vocab_size": 320}
    model = DecoderForCausalLM(Qwen3Config(num_hidden_layers=1, **sizes))
    gn.evaluate(*model.parameters())
    with passes() as counted, patch.object(sized._families, "limits", PROGRAMS):
        for n in range(2, 30):
            model(gn.from_numpy(np.arange(n).reshape(1, -1) % 32))[:, -1].argmax(-1).numpy()

    assert len(counted) <= 8  # few rows and many: two of their own each, and one for the rest


def training() -> Sweep:
    """Losses of a decoder and their gradients."""
    model = decoder()

    @gn.enable_grad()
    def step(x: gn.Tensor) -> tuple[gn.Tensor, ...]:
        model.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), x.flatten())
        loss.backward()
        return loss.detach(), *[p.grad for p in model.parameters()]

    shapes = [(2, 3), (4, 7), (5, 9), (6, 33), (33, 24), (17, 2), (3, 100), (48, 16), (7, 500)]
    return step, [(gn.from_numpy(np.arange(b * n).reshape(b, n) % 32),) for b, n in shapes]


@pytest.mark.parametrize("sweep", [sampling, with_cache, with_experts, batched, training])
def test_a_function_that_asks_for_it_compiles_three_times_for_all_sizes(sweep: Callable[[], Sweep]):
    function, given = sweep()
    memo.clear()
    with override(cache=False, dynamic_sizes=False), gn.no_grad():
        dynamic = gn.compile(function, dynamic=True)
        found = [dynamic(*each) for each in given]

        assert dynamic.compiles <= 3
        for each, results in zip(given, found, strict=True):
            memo.clear()
            own = gn.compile(function, dynamic=False)(*each)
            pairs = zip(results, own, strict=True) if isinstance(own, tuple) else [(results, own)]
            assert all(same_bits(x.numpy(), y.numpy()) for x, y in pairs)


@pytest.mark.parametrize("setting", [True, False])
def test_what_a_function_asks_goes_before_the_setting(setting: bool):
    with override(cache=False, dynamic_sizes=setting), patch.object(sized, "serving") as asked:
        asked.return_value = None
        for dynamic in (True, False, None):
            memo.clear()
            asked.reset_mock()
            double = gn.compile(lambda x: x * 2, dynamic=dynamic)
            for n in (3, 5):
                double(values((n,))).numpy()

            assert asked.called is (setting if dynamic is None else dynamic)


@pytest.mark.parametrize(("dynamic", "own"), [(None, 2), (True, 1)])
def test_the_third_size_asks_and_the_second_where_a_function_says_so(dynamic: bool, own: int):
    memo.clear()
    with override(cache=False, dynamic_sizes=True), patch.object(sized, "first_that_serves") as f:
        f.return_value = None
        double = gn.compile(lambda x: x * 2, dynamic=dynamic)
        asked = []
        for n in (3, 5, 7, 9, 11, 13):
            double(values((n,))).numpy()
            asked.append(f.call_count)

    # and an outline that was refused twice is left alone
    assert asked[own - 1 : own + 3] == [0, 1, 2, 2]


def test_a_file_holds_programs_of_their_own_sizes(tmp_path):
    double = gn.compile(lambda x: x * 2, dynamic=True)
    made = double.precompile(values((3,))).precompile(values((5,))).precompile(values((7,)))
    made.save(tmp_path / "double")
    loaded = gn.load_compiled(tmp_path / "double")

    assert same_bits(loaded(values((7,))).numpy(), (values((7,)) * 2).numpy())

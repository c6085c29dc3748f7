"""Products are measured where that is asked for; the clock is the test's own."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen import choices
from gnomon.codegen.choices import Choice, candidates, class_of
from gnomon.codegen.machine import COMMON
from gnomon.compiler import autotuning
from gnomon.compiler.build import executable_of_part
from gnomon.compiler.target import context, machine
from gnomon.ir import memo
from gnomon.ir.node import Graph
from gnomon.ops.primitives import contract, reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.program.context import Moments
from gnomon.runtime import events
from gnomon.settings import current, override
from tests.codegen.kernels.operands import plain
from tests.compiled import execute, program
from tests.schedule.kernels_of import graph, leaf
from tests.strategies import same_bits


@pytest.fixture(autouse=True)
def _nothing_decided(tmp_path):
    memo.clear()
    with override(cache_dir=str(tmp_path)):
        yield


class Ticking(Moments):
    """A clock that says what it is given."""

    def __init__(self, told: Iterable[float]) -> None:
        self.clock = iter(told).__next__


def product(rows: int = 96, columns: int = 48, steps: int = 40) -> Graph:
    """A product and what is made of it."""
    x = leaf(rows, steps)
    y = x.arena.input((steps, columns), x.dtype)
    return graph(contract("ab,bc->ac", x, y) * 2.0)


def test_the_quickest_candidate_is_taken():
    spec = plain("NN", 96, 48, 40)
    shapes = candidates(spec, machine())
    for number, shape in enumerate(shapes):
        ticks = Ticking(clock(len(shapes), number))
        found = autotuning.measure(spec, machine(), ticks, 1e9)

        assert found.tile == shape
        assert (found.regret == 0) == (number == 0)


def clock(shapes: int, quick: int, seconds: float = 0.1) -> list[float]:
    """What a clock says: at the start, twice, around each run, after each turn, at last."""
    now, told = 0.0, [0.0, 0.0]
    for _ in range(autotuning.ROUNDS):
        for number in range(shapes):
            told.append(now)
            now += seconds if number == quick else 1.0
            told.append(now)
        told.append(now)
    return [*told, now]


def test_a_candidate_that_is_hardly_faster_is_left():
    spec = plain("NN", 96, 48, 40)
    shapes = candidates(spec, machine())
    for quick, number in ((0.99, 0), (0.97, 1)):
        ticks = Ticking(clock(len(shapes), 1, quick))
        found = autotuning.measure(spec, machine(), ticks, 1e9)

        assert found.tile == shapes[number]


def test_other_work_on_the_machine_decides_nothing():
    told = Ticking([0, 0, 9, 9, 11, 11, 11, 12, 12, 14, 14])

    found = autotuning.interleaved([lambda given: None] * 2, [()], told, 13)

    assert found == [1, 2]


def test_what_was_measured_is_known_again_by_its_own_key_alone():
    spec = plain("NN", 96, 48, 40)
    keys = [class_of(plain("NN", n, 48, 40), machine()) for n in (96, 192, 384)]
    found = [
        autotuning.measure(spec, machine(), Ticking(clock(len(shapes), k)), 1e9)
        for shapes in [candidates(spec, machine())]
        for k in (0, 1)
    ]
    for key, choice in zip(keys, found, strict=False):
        autotuning.remember(key, choice, current())

    again = [autotuning.remembered(key, current(), Choice) for key in keys]

    assert [x and x.tile for x in again] == [*(x.tile for x in found), None]


def test_every_candidate_has_the_same_bits(rng):
    made = product()
    arrays = [rng.normal(size=x.shape).astype(np.float32) for x in made.inputs]
    (plainly,) = execute(program(made), made, arrays)
    (tuned,) = execute(program(made, seconds=0.5), made, arrays)

    assert same_bits(plainly, tuned)


def test_a_product_is_measured_once_and_remembered():
    for source in ("measured", "remembered"):
        memo.clear()
        ticks = Ticking(k * 1e-6 for k in itertools.count())
        made = program(product(), seconds=2.0, moments=ticks)
        assert f"{source} in" in autotuning.explain(made.kernels)


def test_what_was_measured_keeps_no_tensor_alive():
    x, w = gn.ones(64, 40), gn.ones(40, 32)
    tuned = gn.compile(lambda x, w: (x @ w) * 2.0, mode="max-autotune")
    tuned(x, w)
    assert "measured in" in tuned.explain_gemm()
    alive = [weakref.ref(x), weakref.ref(w)]

    del x, w
    gc.collect()

    assert choices._choices
    assert [ref() for ref in alive] == [None, None]


def test_every_candidate_is_first_by_the_model_for_some_product():
    """A unit mistaken in the model would leave a tile that never wins."""
    first, met = set(), set()
    for rows in (1, 2, 3, 4, 5, 6, 12, 20, 96):
        for columns in (1, 8, 16, 17, 24, 32, 48, 64, 96):
            shapes = candidates(plain("NN", rows, columns, 40), COMMON)
            first.update(shapes[:1])
            met.update(shapes)

    assert len(first) > 3
    assert {rows for rows, _ in met} <= {rows for rows, _ in first}


def test_without_being_asked_nothing_is_measured():
    assert "by the model" in autotuning.explain(program(product()).kernels)
    assert not choices._choices


def test_what_is_beyond_the_budget_is_left_to_the_model():
    asked = context(seconds=0.5, moments=Ticking(range(100)))

    autotuning.Tuner(asked, partial(executable_of_part, asked)).settle(product())

    assert not choices._choices


def test_a_compiled_function_measures_in_the_mode_that_asks_for_it():
    x, w = gn.ones(64, 40), gn.ones(40, 32)
    quick, tuned = gn.compile(lambda: x @ w), gn.compile(lambda: x @ w + 0, mode="max-autotune")
    assert (quick() == tuned()).all()

    assert "measured in" in tuned.explain_gemm()


class Told(Moments):
    """A clock that goes on only while a form of a fusion runs, and as far as a test says."""

    def __init__(self, monkeypatch, apart: float, together: float) -> None:
        self.now, self.costs, self.measured = 0.0, (apart, together), 0
        tuner = autotuning.Tuner
        monkeypatch.setattr(
            autotuning, "Tuner", lambda c, form: tuner(replace(c, moments=self), self.slow(form))
        )

    def clock(self) -> float:
        """The time that it has come to."""
        return self.now

    def slow(self, form):
        """Forms whose runs take what was said; they come in pairs, what is apart first."""

        def made(placed):
            self.measured += 1
            return Timed(form(placed), self, self.costs[1 - self.measured % 2])

        return made


class Timed:
    """A program that takes so long by a clock."""

    def __init__(self, made, clock: Told, seconds: float) -> None:
        self.made, self.clock, self.seconds = made, clock, seconds

    def run(self, inputs):
        """Run, which takes time."""
        self.made.run(inputs)
        self.clock.now += self.seconds


def layers(operands: int = 1, times: int = 1) -> Graph:
    """Products with pointwise work on them, over operands of their size."""
    x = leaf(48, 40)
    weights = [x.arena.input((40, 40), x.dtype) for _ in range(times)]
    others = [x.arena.input((48, 40), x.dtype) for _ in range(operands)]
    made = x
    for w in weights:
        made = contract("ab,bc->ac", made, w)
        for other in others:
            made = made * other
    return Graph([x, *weights, *others], [made])


def fused(made) -> int:
    """How many products took something along."""
    return sum(len(k.nodes) > 1 and k.nodes[0].op == "contract" for k in made.kernels)


@pytest.mark.parametrize(("seconds", "kept"), [(0.9, True), (0.98, False), (1.2, False)])
def test_a_fusion_is_kept_only_where_it_is_measured_to_be_faster(
    monkeypatch, rng, seconds: float, kept: bool
):
    Told(monkeypatch, apart=1.0, together=seconds)
    graph_ = layers()
    arrays = [rng.normal(size=x.shape).astype(np.float32) for x in graph_.inputs]
    plainly = program(graph_)
    tuned = program(graph_, seconds=100)

    assert fused(plainly) == 1
    assert fused(tuned) == kept
    assert same_bits(*execute(plainly, graph_, arrays), *execute(tuned, graph_, arrays))
    (decision,) = (d for r in tuned.records for d in r.decisions if d.seconds and d.side != "reads")
    assert (decision.refused == "") == kept
    assert decision.seconds == pytest.approx((1.0, seconds))


def test_a_fusion_that_bytes_refuse_is_done_where_it_is_measured_to_be_faster(monkeypatch, rng):
    Told(monkeypatch, apart=1.0, together=0.5)
    graph_ = layers(operands=2)
    arrays = [rng.normal(size=x.shape).astype(np.float32) for x in graph_.inputs]
    plainly = program(graph_)
    tuned = program(graph_, seconds=100)

    assert (fused(plainly), fused(tuned)) == (0, 1)
    assert same_bits(*execute(plainly, graph_, arrays), *execute(tuned, graph_, arrays))
    told = tuned.explain_fusions()
    assert "done, measured in 10 s: 1e+03 ms apart, 500 ms together" in told
    assert "what bytes say takes 100.0% more" in told


def shared() -> Graph:
    """Two results that read one tensor."""
    x = leaf(48, 40)
    y, z = (x.arena.input(x.shape, x.dtype) for _ in range(2))
    return Graph([x, y, z], [exp(x) * y, exp(x * 2.0) * z])


def rows() -> Graph:
    """A kernel in which each row is read more than once."""
    x = leaf(48, 40)
    shares = exp(x - unsqueeze(reduce("max", x, (1,)), 1))
    return Graph([x], [shares / unsqueeze(reduce("add", shares, (1,)), 1)])


def again() -> Graph:
    """A value that a later kernel can make of what it reads anyway."""
    x = leaf(30, 30)
    u, w = (x.arena.input((30, 30), x.dtype) for _ in range(2))
    through = x * exp(x)
    return Graph([x, u, w], [contract("ab,bc->ac", through * u, w) * through * exp(x) * x])


def factor() -> Graph:
    """A product whose left factor is pointwise."""
    x = leaf(64, 48)
    w = x.arena.input((48, 32), x.dtype)
    return Graph([x, w], [contract("ab,bc->ac", x * 2.0 + 1.0, w)])


def kinds_done(made) -> set[str]:
    """The kinds of fusion that a program has."""
    return {each.kind for each in made.block.decisions() if not each.refused}


@pytest.mark.parametrize(
    ("built", "kind", "slower"),
    [
        (shared, "share", 0.98),
        (rows, "join", 1.1),
        (again, "recompute", 1.1),
        (factor, "prologue", 0.98),
    ],
)
def test_every_kind_of_fusion_is_a_candidate(rng, built, kind: str, slower: float):
    graph_ = built()
    arrays = [rng.normal(size=x.shape).astype(np.float32) for x in graph_.inputs]
    plainly = program(graph_)
    assert kind in kinds_done(plainly)
    for together, kept in ((0.9, True), (slower, False)):
        with pytest.MonkeyPatch.context() as patch:
            Told(patch, apart=1.0, together=together)
            tuned = program(graph_, seconds=1000, cache=False)

        assert (kind in kinds_done(tuned)) == kept
        pairs = zip(*(execute(x, graph_, arrays) for x in (plainly, tuned)), strict=True)
        assert all(same_bits(*pair) for pair in pairs)
        found = [d for d in tuned.block.decisions() if d.kind == kind and d.measured]
        assert found
        assert all(bool(d.refused) != kept for d in found)
        assert f"{1e3 * together:.3g} ms together" in tuned.explain_fusions()


def test_equal_layers_are_measured_once_and_remembered_with_the_refusal(monkeypatch):
    clock = Told(monkeypatch, apart=1.0, together=2.0)
    for source in ("measured", "remembered"):
        made = program(layers(times=3), seconds=100, keep_programs=False)

        assert fused(made) == 0
        assert f"is no faster, {source} in" in made.explain_fusions()
    # the last layer's result is the program's, so that it is an excerpt of its own
    assert clock.measured <= 2 * 2


def test_a_program_from_the_disk_has_the_decisions_that_were_measured(monkeypatch):
    clock = Told(monkeypatch, apart=1.0, together=2.0)
    first = program(layers(), seconds=100, verify=False, keep_programs=True)
    many = clock.measured
    again = program(layers(), seconds=100, verify=False, keep_programs=True)
    found = again.under(again.source, again.lines)
    found._block = None

    assert clock.measured == many
    assert first.records == again.records == found.records
    assert first.explain_fusions() == found.explain_fusions()


def test_fusions_beyond_the_budget_are_left_to_bytes(monkeypatch):
    clock = Told(monkeypatch, apart=1.0, together=2.0)
    made = program(graph(*(x for size in (48, 56) for x in layers(size % 5).outputs)), seconds=1.5)
    found = made.under(made.source, made.lines)
    found._block = None

    assert clock.measured <= 2
    assert found.records == made.records


def test_nothing_is_measured_of_fusions_that_are_switched_off(monkeypatch):
    clock = Told(monkeypatch, apart=1.0, together=0.5)
    made = program(layers(), seconds=100, without="epilogues,prologues")

    assert (fused(made), clock.measured) == (0, 0)


def test_a_program_that_is_measured_goes_through_the_passes_once(monkeypatch):
    Told(monkeypatch, apart=1.0, together=0.5)
    heard: list[str] = []
    stop = events.subscribe(lambda kind, told: heard.append(told.get("name", "")))
    program(layers(), seconds=100)
    stop()

    assert sum(name.startswith("inline") for name in heard) == 1

"""When values are computed, how often, and what is kept for gradients."""

from __future__ import annotations

import gc
import importlib

import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds, NanError, TraceError
from gnomon.program.executable import Executable
from gnomon.settings import current, override
from gnomon.tensor.borrowing import borrows, numbered
from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import raw, wrap
from tests.strategies import same_bits

evaluation = importlib.import_module("gnomon.tensor.evaluate")


@pytest.fixture
def runs():
    """Counts programs that ran since the test began."""
    start = evaluation.evaluations
    return lambda: evaluation.evaluations - start


def work_of(nodes):
    """The names of regions and products among nodes that are still pending."""
    return sorted(n.params.get("name", n.op) for n in numbered(nodes, borrows) if not n.value)


def test_nothing_runs_until_a_value_is_needed(runs):
    x = gn.ones(3) + 1

    assert runs() == 0
    assert x.tolist() == [2, 2, 2]
    assert runs() == 1


def test_a_value_is_computed_once(runs):
    x = gn.ones(3) + 1
    x.tolist()
    x.tolist()
    y = x * 2
    y.tolist()

    assert runs() == 2
    assert raw(x).op == "input"


def test_what_is_held_is_kept_when_it_lies_on_the_way(runs):
    x = gn.ones(3) + 1
    y = x * 2
    y.tolist()
    x.tolist()

    assert runs() == 1


def test_item_before_backward_runs_the_forward_once():
    w = gn.ones(4, 4, requires_grad=True)
    x = gn.ones(2, 4)
    hidden = gn.tanh(x @ w)
    loss = (hidden * hidden).sum()
    del hidden

    loss.item()
    loss.backward()

    pending = [raw(w.grad)]
    assert "tanh" not in [n.params.get("f") for n in pending_nodes(pending)]
    assert sum(n.op == "contract" for n in pending_nodes(pending)) <= 1


def pending_nodes(roots):
    """Nodes that will be computed for the roots."""
    return [n for n in numbered(roots, borrows) if n.value is None]


def test_a_loop_of_one_structure_builds_one_program():
    x = gn.ones(5)
    programs = []
    for _ in range(4):
        x = (x * 3 + 1).sin()
        x.tolist()
        programs.append(sum(map(len, evaluation._programs.values())))

    assert programs[1] == programs[3]


def test_parts_of_values_need_no_program(runs):
    x = gn.arange(12).reshape(3, 4)
    x.tolist()
    start = runs()

    assert [x[k].tolist() for k in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert x[:, 1].tolist() == [1, 5, 9]
    assert runs() == start


def test_a_long_pending_graph_is_evaluated_by_itself(runs):
    with override(pending_limit=50):
        x = gn.ones(2)
        for _ in range(120):
            x = x + 1

        assert runs() >= 1
    assert x.tolist() == [121, 121]


def test_a_loop_of_model_calls_without_gradients_is_one_program_again_and_again():
    model = gn.nn.Sequential(
        *(gn.nn.Sequential(gn.nn.Linear(4, 4), gn.nn.Tanh()) for _ in range(70))
    )
    programs, x = [], gn.ones(2, 4)
    gc.collect()
    with gn.no_grad():
        for _ in range(6):
            x = x - 0.1 * model(x)
            programs.append(sum(map(len, evaluation._programs.values())))

    assert programs[5] == programs[2]


def test_a_models_call_waits_where_gradients_look_back(runs):
    model = gn.nn.Sequential(*(gn.nn.Tanh() for _ in range(200)))
    start = runs()
    loss = model(gn.tensor([1.0, 1.0], requires_grad=True)).sum()

    assert runs() == start
    assert loss.item() > 0


def test_history_that_nobody_needs_is_freed():
    x = gn.ones(2) + 1
    x.tolist()

    assert raw(x).inputs == ()


def test_a_leaf_is_fresh_after_a_step():
    w = gn.nn.Parameter(gn.ones(3))
    optimizer = gn.optim.SGD([w], lr=0.5)
    (w * w).sum().backward()
    optimizer.step()

    assert raw(w).op == "input"
    assert raw(w).value is not None
    assert w.tolist() == [0, 0, 0]
    assert not is_capturing()


def test_a_pending_tensor_can_be_explained_without_computing_it(runs):
    x = gn.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = (x @ x).sum(dim=0)

    text = gn.explain(y)

    assert text.startswith("2 kernels of 2 codes; ")
    assert text.count("test_evaluate.py:") == 2
    assert runs() == 0
    y.numpy()
    assert "nothing to compute" in gn.explain(y)


def test_a_program_that_is_found_again_names_the_lines_of_its_own_caller():
    def first(x, at):
        return gn.take(x, at).tolist()

    def second(x, at):
        return gn.take(x, at).tolist()

    rows, inside, outside = gn.arange(5.0), gn.tensor([4]), gn.tensor([9])
    gn.evaluate(rows, inside, outside)
    assert first(rows, inside) == second(rows, inside)
    compiled = len(importlib.import_module("gnomon.compiler.build")._built)

    for caller in (first, second, first):
        line = caller.__code__.co_firstlineno + 1
        with pytest.raises(IndexOutOfBounds, match=rf"test_evaluate\.py:{line}\b"):
            caller(rows, outside)
    assert len(importlib.import_module("gnomon.compiler.build")._built) == compiled


def test_a_program_for_many_sizes_is_found_without_a_graph_and_names_each_callers_lines(
    tmp_path, monkeypatch
):
    def one(x):
        return (x.softmax(0) * 2.5).sum(1)

    def other(x):
        return (x.softmax(0) * 2.5).sum(1)

    made = []
    run = Executable.run
    monkeypatch.setattr(evaluation, "others", set())  # whatever earlier tests took memory of
    monkeypatch.setattr(
        Executable, "run", lambda self, *given: made.append(self) or run(self, *given)
    )
    found = {}
    with override(cache_dir=tmp_path, dynamic_sizes=True):
        for n in (20, 21, 23):
            x = gn.arange(7.0 * n).reshape(n, 7) * 0.1
            gn.evaluate(x)
            one(x).tolist()
        with monkeypatch.context() as change:
            change.setattr(evaluation, "copy_into", None)
            for n in (29, 37):
                for function in (one, other):
                    x = gn.arange(7.0 * n).reshape(n, 7) * 0.1
                    gn.evaluate(x)
                    found[function, n] = function(x).numpy(), made[-1]
    for (function, n), (value, executable) in found.items():
        first = function.__code__.co_firstlineno
        assert {x.line for kernel in executable.kernels for x in kernel.sites} == {first + 1}
        assert executable.source.inputs[0].shape == (n, 7)
        with override(cache=False, dynamic_sizes=False):
            x = gn.arange(7.0 * n).reshape(n, 7) * 0.1
            gn.evaluate(x)
            assert same_bits(function(x).numpy(), value)
        assert made[-1].source.key == executable.source.key
        assert made[-1].lines == executable.lines


def test_a_nan_in_a_program_that_is_found_again_is_laid_to_its_own_line():
    def first(x):
        return x.log().tolist()

    def second(x):
        return x.log().tolist()

    for caller in (first, second, first):
        line = caller.__code__.co_firstlineno + 1
        bad = gn.tensor([-1.0])
        with gn.debug_nans(), pytest.raises(NanError, match=rf"test_evaluate\.py:{line}\b"):
            caller(bad)


def test_lines_of_values_make_no_difference_to_what_reads_them():
    def make(k):
        return gn.ones(3) if k else gn.zeros(3)

    added, used = [], []
    for k in (0, 1):
        x = make(k)
        gn.evaluate(x)
        known = list(evaluation._programs[current()].values())
        (x * 5.25 - 2.75).tolist()
        added += [p for p in evaluation._programs[current()].values() if p not in known]
        used.append(added[0].last[1])

    assert len(added) == 1
    assert used[0] is used[1]


def compiled_by(step, calls=3):
    """How many programs each call of a step has built."""
    counts = []
    for _ in range(calls):
        before = sum(map(len, evaluation._programs.values()))
        step()
        counts.append(sum(map(len, evaluation._programs.values())) - before)
    return counts


def test_the_second_step_of_unrolled_cells_builds_no_program():
    # the zeros of the first step were computed with the model's parameters, those of the second not
    cell, x = gn.nn.LSTMCell(3, 5), gn.randn(4, 2, 3)

    def step():
        h, c = gn.zeros(2, 5), gn.zeros(2, 5)
        for k in range(4):
            h, c = cell(x[k], (h, c))
        h.sum().backward()
        gn.evaluate(cell.weight_hh.grad)
        cell.zero_grad()

    assert compiled_by(step)[1:] == [0, 0]


def test_the_first_call_of_a_model_computes_it_beforehand():
    model, x = gn.nn.Linear(3, 2), gn.randn(5, 3)

    def step():
        with gn.no_grad():
            return (x + model(x)[:, :1]).sum().item()

    assert compiled_by(step)[1:] == [0, 0]


def test_a_plain_tensor_has_no_value_of_its_own_until_it_is_read(runs):
    plain = gn.full((3,), 0.625)
    (plain + gn.tensor([1.0, 2.0, 3.0])).tolist()

    assert raw(plain).value is None
    assert (plain.tolist(), runs()) == ([0.625] * 3, 2)


def test_a_plain_tensor_whose_parts_are_read_is_computed_once(runs):
    board = gn.full((3, 3), 0.375)
    other = gn.tensor([1.0, 2.0, 3.0])

    assert [(board[k, k] * other[k]).item() for k in range(3)] == [0.375, 0.75, 1.125]
    assert raw(board).value is not None
    assert [board[0, k].item() for k in range(3)] == [0.375] * 3
    assert runs() == 3


def test_an_error_is_told_beside_what_is_left_of_a_capture():
    left = wrap(state.arena.input((1,), gn.float32)) * 2
    kept = []

    with pytest.raises(NanError, match="log made a NaN"), gn.autograd.detect_anomaly():
        kept.append(gn.tensor([-1.0]).log() + 1)
    gn.synchronize()  # of what failed before, nobody is told
    with pytest.raises(TraceError, match="not known yet"):
        left.numpy()

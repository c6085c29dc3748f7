"""gn.compile: one capture per signature, one native call per replay, the same bits as eager."""

from __future__ import annotations

import importlib
import threading

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture import recompile_reasons
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.errors import ArgumentError, TraceError
from gnomon.tensor.borrowing import Survey
from gnomon.tensor.tensor import raw

evaluation = importlib.import_module("gnomon.tensor.evaluate")


def model_of(seed=0):
    gn.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))


def step_of(model, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_a_compiled_training_step_gives_eager_s_bits(kind):
    x, y = gn.rand(5, 4), gn.rand(5, 2)
    losses = []
    for compiled in (False, True):
        model = model_of()
        step = step_of(model, getattr(gn.optim, kind)(model.parameters(), lr=0.1))
        step = gn.compile(step) if compiled else step
        losses.append([step(x, y).item() for _ in range(5)])

    assert losses[0] == losses[1]


def test_a_schedule_changes_the_rate_of_a_replayed_step():
    x, y = gn.rand(5, 4), gn.rand(5, 2)
    ends = []
    for compiled in (False, True):
        model = model_of()
        optimizer = gn.optim.SGD(model.parameters(), lr=0.1)
        step = step_of(model, optimizer)
        step = gn.compile(step) if compiled else step
        for k in range(5):
            optimizer.param_groups[0]["lr"] = 0.1 / (k + 1)
            step(x, y)
        ends.append(model[0].weight.tolist())
        assert not compiled or step.captures == 1

    assert ends[0] == ends[1]


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "AdamW"])
def test_a_training_step_is_captured_once_wherever_gradients_are_forgotten(kind):
    x, y = gn.rand(5, 4), gn.rand(5, 2)
    for place in ("by the optimizer", "by the model", "at the end"):
        model = model_of()
        optimizer = getattr(gn.optim, kind)(model.parameters(), lr=0.1)

        def step(x, y, model=model, optimizer=optimizer, place=place):
            if place != "at the end":
                (model if place == "by the model" else optimizer).zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            if place == "at the end":
                optimizer.zero_grad()
            return loss

        step = gn.compile(step)
        losses = [step(x, y).item() for _ in range(3)]

        assert step.captures == 1
        assert losses[0] > losses[1] > losses[2]


def test_a_step_is_captured_again_when_its_optimizer_gets_another_state():
    model = model_of()
    optimizer = gn.optim.AdamW(model.parameters(), lr=0.1)
    step = gn.compile(step_of(model, optimizer))
    x, y = gn.rand(5, 4), gn.rand(5, 2)
    step(x, y)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    step(x, y)

    assert step.captures == 2
    assert all(entry["step"].item() == 2 for entry in optimizer.state.values())


def test_a_compiled_forward_stays_differentiable():
    x = gn.rand(5, 4)
    grads = []
    for compiled in (False, True):
        model = model_of()
        forward = gn.compile(model) if compiled else model
        for _ in range(2):
            model.zero_grad()
            loss = forward(x).pow(2).sum()
            loss.item()
            loss.backward()
        grads.append([p.grad.tolist() for p in model.parameters()])

    assert grads[0] == grads[1]


def test_a_forward_whose_loss_is_read_before_the_backward_pass_runs_once():
    model, x = model_of(), gn.rand(7, 4)
    forward = gn.compile(model)
    work = []
    for _ in range(3):
        model.zero_grad()
        loss = forward(x).pow(2).sum()
        loss.item()
        loss.backward()
        pending = [raw(p.grad) for p in model.parameters()]
        source = evaluation.prepare(Survey(pending), pending)[0].source
        program = kernels_of(source, context()).graph
        work.append([node.params.get("f") for node in program].count("tanh"))

    assert work == [1, 0, 0]


def test_gradients_reach_the_arguments_of_a_compiled_function():
    f = gn.compile(lambda a, b: a.exp() * b)
    a, b = gn.ones(2, requires_grad=True), gn.ones(2, requires_grad=True)
    (f(a * 2, b) * 3).sum().backward()

    assert a.grad.tolist() == pytest.approx([6 * 2.718281828**2] * 2)
    assert b.grad.tolist() == pytest.approx([3 * 2.718281828**2] * 2)


def test_gradients_that_a_function_sets_belong_to_the_arguments_of_the_replay():
    @gn.compile
    def step(x):
        loss = (x * x).sum()
        loss.backward()
        return loss

    for value in (1.0, 2.0, 3.0):
        x = gn.tensor([value], requires_grad=True)
        step(x)
        assert x.grad.tolist() == [2 * value]
        step(x)
        assert x.grad.tolist() == [4 * value]
    assert step.captures == 2


def test_a_replay_runs_one_program_and_captures_nothing():
    f = gn.compile(lambda x: (x * 2).sum())
    x = gn.ones(3)
    x.tolist()
    f(x)
    start = evaluation.evaluations

    assert [f(x).item() for _ in range(3)] == [6, 6, 6]
    assert evaluation.evaluations == start
    assert f.captures == 1


def test_python_values_shapes_and_modes_are_guards():
    scale = 2.0
    layer = nn.Dropout(0.5)

    def f(x, shift=0):
        return layer(x) * scale + shift

    compiled = gn.compile(f)
    layer.eval()
    assert compiled(gn.ones(2)).tolist() == [2, 2]
    scale = 3.0
    assert compiled(gn.ones(2)).tolist() == [3, 3]
    assert compiled(gn.ones(2), shift=1).tolist() == [4, 4]
    assert compiled(gn.ones(3)).tolist() == [3, 3, 3]
    assert compiled(gn.ones(2, dtype=gn.int64)).dtype is gn.float32
    layer.train()
    assert set(compiled(gn.ones(200)).tolist()) == {0.0, 6.0}
    assert compiled.captures == 6


def test_random_draws_go_on_through_replays_as_outside():
    draws = []
    for compiled in (False, True):
        gn.manual_seed(5)
        f = (lambda: gn.rand(3)) if not compiled else gn.compile(lambda: gn.rand(3))
        draws.append([f().tolist() for _ in range(3)])

    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


def test_buffers_and_arguments_that_are_written_change_for_real():
    norm = nn.BatchNorm1d(2)
    f = gn.compile(norm)
    f(gn.tensor([[0.0, 2.0], [2.0, 4.0]]))
    f(gn.tensor([[0.0, 2.0], [2.0, 4.0]]))
    assert norm.num_batches_tracked.item() == 2

    def fill(x):
        x.add_(1)
        x[0] = 5

    target = gn.zeros(3)
    gn.compile(fill)(target)
    assert target.tolist() == [5, 1, 1]


def test_nested_results_come_back_in_their_shape():
    f = gn.compile(lambda x: {"a": (x + 1, 3), "b": [x, None]})
    x = gn.zeros(1)
    out = f(x)

    assert (out["a"][0].tolist(), out["a"][1], out["b"][1]) == ([1], 3, None)


@pytest.mark.parametrize("look", [bool, float, lambda x: x.item(), lambda x: x.numpy()])
def test_a_look_at_a_traced_value_can_be_an_error_that_names_the_line(look):
    @gn.compile(breaks="error")
    def f(x):
        return x if look(x.sum()) else -x

    with pytest.raises(TraceError, match=r"gn\.where.*test_jit\.py:\d+"):
        f(gn.ones(2))
    assert gn.ones(1).item() == 1


def test_explain_and_kernels_say_what_runs():
    f = gn.compile(lambda x: (x * 2).sum())
    f(gn.ones(3))

    assert "1 input" in f.explain()
    assert "test_jit.py" in f.explain()
    assert len(f.kernels()) >= 1


def test_unknown_options_are_refused():
    gn.compile(lambda x: x, fullgraph=True, dynamic=False)
    with pytest.raises(ArgumentError, match="backend"):
        gn.compile(lambda x: x, backend="other")
    with pytest.raises(ArgumentError, match="no option"):
        gn.compile(lambda x: x, fast=True)


def test_32_threads_compile_once_per_signature_and_get_right_results():
    weight = gn.rand(4, 4)
    weight.tolist()
    f = gn.compile(lambda x: (x @ weight).sin())
    inputs = {n: gn.full((n, 4), 0.25 * n) for n in (1, 2, 3)}
    expected = {n: (x @ weight).sin().tolist() for n, x in inputs.items()}
    wrong, gate = [], threading.Barrier(32)

    def work(number):
        gate.wait()
        for k in range(6):
            n = 1 + (number + k) % 3
            if f(inputs[n]).tolist() != expected[n]:
                wrong.append((number, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong
    assert f.captures == 3


def test_values_made_inside_are_part_of_the_program():
    f = gn.compile(lambda x: x * gn.tensor([1.0, 2.0, 3.0]) + gn.arange(3))

    assert [f(gn.full((3,), k)).tolist() for k in (1.0, 2.0)] == [[1, 3, 5], [2, 5, 8]]


def test_gradients_gather_at_arguments_that_are_views():
    numbers = gn.arange(6.0)
    f = gn.compile(lambda a: (a * a).sum().backward())

    for start in (0, 2, 4):
        a = numbers[start : start + 2].detach().requires_grad_()
        f(a)
        once = a.grad.tolist()
        f(a)
        assert once == [2.0 * start, 2.0 * start + 2]
        assert a.grad.tolist() == [2 * x for x in once]
    assert f.captures == 2


def test_a_leaf_of_the_functions_own_is_captured_once():
    @gn.compile
    def slope(v):
        x = v.detach().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    slopes = [slope(gn.full((2,), float(k))).tolist() for k in range(4)]

    assert slopes == [[2.0 * k] * 2 for k in range(4)]
    assert slope.captures == 1


def test_the_gradient_of_a_leaf_that_is_returned_is_set_by_every_replay():
    @gn.compile
    def leaf(v):
        x = v.detach().requires_grad_()
        (x * x).sum().backward()
        return x

    assert [leaf(gn.full((2,), float(k))).tolist() for k in range(3)] == [
        [0.0] * 2,
        [1.0] * 2,
        [2.0] * 2,
    ]


FACTORS = [1.0, 2.0]
OPTIONS = {"shift": 0.0}


def shifted(x):
    """Depends on what globals hold."""
    return x * FACTORS[-1] + OPTIONS["shift"]


def test_what_lists_and_dictionaries_hold_is_a_guard(monkeypatch):
    f = gn.compile(lambda x: shifted(x))
    seen = [f(gn.ones(1)).item() for _ in range(2)]
    monkeypatch.setitem(OPTIONS, "shift", 5.0)
    seen.append(f(gn.ones(1)).item())
    monkeypatch.setattr(f"{__name__}.FACTORS", [3.0])
    seen += [f(gn.ones(1)).item() for _ in range(2)]
    FACTORS.append(4.0)
    seen.append(f(gn.ones(1)).item())

    assert seen == [2, 2, 7, 8, 8, 9]
    assert f.captures == 4


def test_an_equal_value_of_another_object_needs_no_capture():
    scale = 0.5
    f = gn.compile(lambda x: x * scale)
    f(gn.ones(1))
    scale = float("0.5")

    assert [f(gn.ones(1)).item() for _ in range(2)] == [0.5, 0.5]
    assert f.captures == 1


def test_a_named_tensor_that_begins_to_want_gradients_is_captured_again():
    w = gn.ones(2)
    f = gn.compile(lambda x: x * w)
    assert not f(gn.ones(2)).requires_grad
    w.requires_grad_()

    assert f(gn.ones(2)).requires_grad
    assert f.captures == 2


def test_a_name_that_appears_later_is_seen():
    f = gn.compile(lambda x: x * late() if "late" in globals() else x)  # noqa: F821
    assert f(gn.ones(1)).item() == 1
    globals()["late"] = lambda: 3.0

    try:
        assert f(gn.ones(1)).item() == 3
    finally:
        del globals()["late"]


def test_programs_that_come_while_others_are_looked_through(monkeypatch):
    compiled = gn.compile(lambda x: x * 2)
    for n in (2, 3):
        compiled(gn.ones(n))
    compare = recompile_reasons.of_key

    def meanwhile(*keys):
        compiled.programs[len(compiled.programs)] = []  # as another thread does
        yield from compare(*keys)

    monkeypatch.setattr(recompile_reasons, "of_key", meanwhile)
    assert compiled(gn.ones(4, 4)).shape == (4, 4)

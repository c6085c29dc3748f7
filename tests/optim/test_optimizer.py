"""What all optimizers share: groups, counts, one program per step, saving and loading."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError
from tests.optim.walks import parameters, slope, values, walk


def evaluations() -> int:
    """How many programs have run so far."""
    return sys.modules["gnomon.tensor.evaluate"].evaluations


def test_a_step_is_one_evaluation():
    params = parameters()
    optimizer = optim.AdamW(params, lr=0.1)
    loss = sum((p * p).sum() for p in params)
    loss.backward()
    before = evaluations()

    optimizer.step()

    assert evaluations() == before + 1
    assert all(p.detach()._storage.node.value is not None for p in params)


def test_a_schedule_of_rates_adds_no_program():
    module = sys.modules["gnomon.tensor.evaluate"]
    params = parameters()
    optimizer = optim.AdamW(params, lr=0.1)
    walk(optimizer, params, range(2))
    known = sum(map(len, module._programs.values()))

    for step in range(2, 6):
        optimizer.param_groups[0]["lr"] = 0.1 / step
        walk(optimizer, params, range(step, step + 1))

    assert sum(map(len, module._programs.values())) == known


def test_parameters_that_step_together_share_a_count_and_part_when_one_sits_out():
    params = parameters()
    optimizer = optim.AdamW(params, lr=0.1)
    walk(optimizer, params, range(2))
    together = {id(optimizer.state[p]["step"]) for p in params}
    params[2].grad = None

    optimizer.step()

    counts = [optimizer.state[p]["step"].item() for p in params]
    assert len(together) == 1
    assert counts == [3.0, 3.0, 2.0]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad", "NAdam", "Adafactor", "SGD"])
def test_steps_of_any_parameters_have_the_bits_of_compiled_ones_and_share_rules(name):
    rule = sys.modules["gnomon.optim.optimizer"].Op
    sets = [(0, 1, 2), (0, 2), (1,), (0, 1, 2), (0, 1)]

    def taken(compiled):
        params = parameters()
        options = {"momentum": 0.9, "dampening": 0.1} if name == "SGD" else {}
        optimizer = getattr(optim, name)(params, lr=0.1, **options)
        run = gn.compile(optimizer.step) if compiled else optimizer.step
        traced = []
        for step, active in enumerate(sets):
            for place, p in enumerate(params):
                there = place in active
                p.grad = gn.tensor(slope(step, place), dtype=p.dtype) if there else None
            run()
            rules = [x for x in vars(sys.modules[type(optimizer).__module__]).values()]
            traced.append(sum(len(x._traced) for x in rules if type(x) is rule))
        state = optimizer.state_dict()["state"]
        kept = [x.numpy().tobytes() for entry in state.values() for x in entry.values()]
        return values(params), kept, traced

    eager, kept, traced = taken(False)
    found, wanted, _ = taken(True)

    assert all(a.tobytes() == b.tobytes() for a, b in zip(eager, found, strict=True))
    assert kept == wanted
    assert len({*traced}) == 1  # all shapes came in the first step


def test_a_state_dict_shares_no_count():
    params = parameters()
    optimizer = optim.AdamW(params, lr=0.1)
    walk(optimizer, params, range(2))

    entries = optimizer.state_dict()["state"]
    for entry in entries.values():
        entry["step"].add_(1)

    assert [entry["step"].item() for entry in entries.values()] == [3.0, 3.0, 3.0]
    assert entries[0]["step"] is optimizer.state[params[0]]["step"]


def test_zero_grad_forgets_or_clears():
    params = parameters()
    optimizer = optim.SGD(params, lr=0.1)
    for p in params:
        p.grad = gn.ones_like(p)

    optimizer.zero_grad(set_to_none=False)
    cleared = [p.grad.abs().sum().item() for p in params]
    optimizer.zero_grad()

    assert cleared == [0.0, 0.0, 0.0]
    assert [p.grad for p in params] == [None] * 3


def test_a_closure_computes_the_loss_with_gradients():
    (p, *_) = parameters()
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        loss = (p * p).sum()
        loss.backward()
        return loss

    before = values([p])[0]

    with gn.no_grad():
        loss = optimizer.step(closure)

    np.testing.assert_allclose(loss.item(), (before**2).sum())
    np.testing.assert_allclose(values([p])[0], before * 0.8)


def test_state_and_options_survive_saving():
    params, others = parameters(), parameters()
    optimizer = optim.AdamW([{"params": params[:1], "lr": 0.3}, {"params": params[1:]}], lr=0.1)
    walk(optimizer, params, range(2))
    for other, p in zip(others, params, strict=True):
        other.data.copy_(p.detach())

    resumed = optim.AdamW([{"params": others[:1]}, {"params": others[1:]}], lr=7.0)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    walk(optimizer, params, range(2, 4))
    walk(resumed, others, range(2, 4))

    assert [group["lr"] for group in resumed.param_groups] == [0.3, 0.1]
    for one, two in zip(values(params), values(others), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_state_of_other_groups_is_refused():
    saved = optim.SGD(parameters(), lr=0.1).state_dict()

    with pytest.raises(ArgumentError, match=r"groups of \[3\] parameters"):
        optim.SGD(parameters()[:2], lr=0.1).load_state_dict(saved)


def test_parameters_are_leaves_and_belong_to_one_group():
    params = parameters()

    with pytest.raises(ArgumentError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([params[0] * 2], lr=0.1)
    with pytest.raises(ArgumentError, match="more than one parameter group"):
        optim.SGD([{"params": params}, {"params": params[:1]}], lr=0.1)
    with pytest.raises(ArgumentError, match="empty parameter list"):
        optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        optim.SGD(params[0], lr=0.1)


def test_a_compiled_step_reads_the_rate_at_every_call():
    plain, compiled = parameters(), parameters()
    optimizers = [optim.AdamW(plain, lr=0.1), optim.AdamW(compiled, lr=0.1)]

    def step_of(params: list, optimizer: optim.Optimizer):
        def step() -> gn.Tensor:
            optimizer.zero_grad()
            loss = sum((p * p * p).sum() for p in params)
            loss.backward()
            optimizer.step()
            return loss

        return step

    steps = [step_of(plain, optimizers[0]), gn.compile(step_of(compiled, optimizers[1]))]
    losses = [[], []]
    for rate in (0.1, 0.05, 0.02, 0.01):
        for kept, step, optimizer in zip(losses, steps, optimizers, strict=True):
            optimizer.param_groups[0]["lr"] = rate
            kept.append(step().item())

    assert losses[0] == losses[1]
    assert steps[1].captures <= 2
    assert optimizers[1].state[compiled[0]]["step"].item() == 4.0


def test_a_compiled_step_reads_state_that_a_user_put_there():
    def walked(compiles):
        p = gn.full((2,), 0.5, requires_grad=True)
        sgd = optim.SGD([p], lr=0.25, momentum=0.5)

        def step(x):
            sgd.zero_grad()
            (p * x).sum().backward()
            sgd.step()

        step, x = gn.compile(step) if compiles else step, gn.tensor([1.25, -0.5])
        step(x)
        step(x)
        sgd.state[p] = {}
        step(x)
        sgd.state[p]["momentum_buffer"] = gn.full((2,), 0.25)
        step(x)
        return p.tolist()

    assert walked(True) == walked(False)


def test_the_text_of_an_optimizer_lists_its_options():
    text = repr(optim.SGD(parameters(), lr=0.25))

    assert text.startswith("SGD (\nParameter Group 0\n")
    assert "    lr: 0.25\n" in text


def test_hooks_are_called_around_a_step():
    (p, *_) = parameters()
    p.grad = gn.ones_like(p)
    optimizer, seen = optim.SGD([p], lr=1.0), []
    start = p[0, 0].item()
    before = optimizer.register_step_pre_hook(lambda o, *_: seen.append(p[0, 0].item() - start))
    optimizer.register_step_post_hook(lambda o, *_: seen.append(p[0, 0].item() - start))

    optimizer.step()
    before.remove()
    optimizer.step()

    assert seen == [0.0, -1.0, -2.0]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "made",
    [
        lambda params: optim.AdamW(params, lr=0.1, amsgrad=True),
        lambda params: optim.SGD(params, lr=0.1, momentum=0.9),
        lambda params: optim.Adagrad(params, lr=0.1),
        lambda params: optim.RMSprop(params, lr=0.1, centered=True),
        lambda params: optim.ASGD(params, lr=0.1, t0=1),
        lambda params: optim.Rprop(params, lr=0.1),
        lambda params: optim.Adafactor(params, lr=0.1),
        lambda params: optim.Muon(params[:1], lr=0.1),
    ],
    ids=["AdamW", "SGD", "Adagrad", "RMSprop", "ASGD", "Rprop", "Adafactor", "Muon"],
)
def test_a_step_that_is_shut_changes_nothing_and_an_open_one_what_any_would(made, compiled):
    def step(optimizer, params, scale, gate):
        optimizer.zero_grad()
        loss = sum((p * p * scale).sum() for p in params)
        loss.backward()
        optimizer.step(only_if=loss.detach().isfinite() if gate else None)

    def taken(scales, gate):
        params = parameters()
        optimizer = made(params)
        run = gn.compile(lambda x: step(optimizer, params, x, gate)) if compiled else step
        for scale in scales:
            run(gn.tensor(scale)) if compiled else run(optimizer, params, gn.tensor(scale), gate)
        state = optimizer.state_dict()["state"]
        kept = [x.numpy().tobytes() for entry in state.values() for x in entry.values()]
        return values(params), kept

    gated, kept = taken([1.0, float("nan"), 2.0, float("inf"), 3.0], True)
    free, wanted = taken([1.0, 2.0, 3.0], False)

    assert all(np.array_equal(a, b) for a, b in zip(gated, free, strict=True))
    assert kept == wanted


def test_hooks_stand_around_saving_and_loading():
    optimizer, seen = optim.SGD(parameters(), lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("before saving"))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("after loading"))

    def shown(o, state):
        return {**state, "mark": len(o.param_groups)}

    def changed(o, state):
        groups = [{**group, "lr": 0.5} for group in state["param_groups"]]
        return {**state, "param_groups": groups}

    handle = optimizer.register_state_dict_post_hook(shown)
    optimizer.register_load_state_dict_pre_hook(changed)
    state = optimizer.state_dict()
    handle.remove()
    optimizer.load_state_dict(state)

    assert state["mark"] == 1
    assert "mark" not in optimizer.state_dict()
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert seen == ["before saving", "after loading", "before saving"]


def test_a_hook_may_go_before_others():
    optimizer, seen = optim.SGD(parameters(), lr=0.1), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("one"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("two"), prepend=True)

    optimizer.state_dict()

    assert seen == ["two", "one"]


def lent_parameter(a: np.ndarray, share: bool) -> gn.nn.Parameter:
    return gn.nn.Parameter(gn.from_numpy(a) if share else gn.tensor(a))


@pytest.mark.parametrize("name", ["SGD", "AdamW", "RMSprop", "Adadelta", "NAdam"])
def test_a_parameter_over_an_array_steps_in_its_memory(name, monkeypatch):
    writing = sys.modules["gnomon.tensor.writing"]
    copied = []
    monkeypatch.setattr(writing, "overwrite", lambda *given: copied.append(given))
    found = []
    for share in (False, True):
        a = np.linspace(-1, 1, 35, dtype=np.float32).reshape(5, 7)
        p = lent_parameter(a, share)
        optimizer = getattr(optim, name)([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p * p * p).sum().backward()
            optimizer.step()
        found.append(p.detach().numpy().copy())
        assert (a == found[-1]).all() == share

    assert not copied
    assert found[0].tobytes() == found[1].tobytes()


def test_what_waits_for_a_parameter_over_an_array_has_its_old_value():
    a = np.arange(6, dtype=np.float32)
    p = lent_parameter(a, True)
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = gn.ones(6)
    before, double, detached = p + 0, p * 2, p.detach().clone()
    optimizer.step()

    assert a.tolist() == [-1, 0, 1, 2, 3, 4]
    assert before.tolist() == detached.tolist() == [0, 1, 2, 3, 4, 5]
    assert double.tolist() == [0, 2, 4, 6, 8, 10]


def test_parameters_over_overlapping_parts_of_an_array_step_one_after_another():
    a = np.zeros(6, np.float32)
    first, second = lent_parameter(a[:4], True), lent_parameter(a[2:], True)
    first.grad, second.grad = gn.ones(4), gn.ones(4)
    optim.SGD([first, second], lr=1.0).step()

    assert a.tolist() == [-1, -1, -2, -2, -1, -1]

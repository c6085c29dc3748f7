"""Optimizers and learning-rate schedules of both libraries take the same steps in float64.

The slopes are given, not computed: what is compared is the update alone.
"""

from __future__ import annotations

import copy
import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

OPTIMIZERS = (
    *("SGD(p, lr=0.1)", "SGD(p, 0.1, momentum=0.9)", "SGD(p, 0.1, momentum=0.9, nesterov=True)"),
    *("SGD(p, 0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)", "SGD(p, 0.1, maximize=True)"),
    *("Adam(p)", "Adam(p, lr=0.1, betas=(0.5, 0.9), eps=1e-6)", "Adam(p, 0.1, weight_decay=0.1)"),
    "Adam(p, 0.1, weight_decay=0.3, decoupled_weight_decay=True)",
    *("Adam(p, 0.1, amsgrad=True)", "AdamW(p)", "AdamW(p, 0.1, weight_decay=0.3)"),
    *("AdamW(p, 0.1, (0.9, 0.95), amsgrad=True)", "Adagrad(p)", "RMSprop(p, 0.1)"),
    *("Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.2)",),
    *("RMSprop(p, 0.1, momentum=0.9, centered=True)", "NAdam(p, 0.1)", "RAdam(p, 0.1)"),
    *("NAdam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True)", "Adamax(p, 0.1)"),
    *("RAdam(p, 0.1, (0.5, 0.6), weight_decay=0.1)", "Adamax(p, 0.1, weight_decay=0.1)"),
    *("Adadelta(p)", "Adadelta(p, 0.5, rho=0.8, weight_decay=0.1, maximize=True)"),
    *("ASGD(p, 0.1)", "ASGD(p, 0.1, lambd=0.1, alpha=0.5, t0=2, weight_decay=0.1, maximize=True)"),
    *("Rprop(p, 0.1)", "Rprop(p, 0.1, etas=(0.4, 1.5), step_sizes=(0.05, 0.12), maximize=True)"),
    *("Adafactor(p, 0.1)", "Adafactor(p, 0.9, -0.5, eps=(1e-2, 1e-2), d=1.1, weight_decay=0.1)"),
)
SCHEDULES = (
    *("StepLR(o, 3, gamma=0.5)", "MultiStepLR(o, [2, 5])", "ExponentialLR(o, 0.9)"),
    *("CosineAnnealingLR(o, 10, eta_min=0.01)", "LambdaLR(o, lambda n: 1 / (n + 1))"),
    *("LinearLR(o, 0.1, total_iters=5)", "ConstantLR(o, 0.5, total_iters=3)"),
    *("PolynomialLR(o, 8, power=2)", "CosineAnnealingWarmRestarts(o, 4, T_mult=2)"),
    *("MultiplicativeLR(o, lambda n: 0.95)", "OneCycleLR(o, max_lr=0.3, total_steps=20)"),
    *("CyclicLR(o, 0.01, 0.2, 3)", "CyclicLR(o, 0.01, 0.2, 2, 4, 'triangular2')"),
    "CyclicLR(o, 0.01, 0.2, 3, mode='exp_range', gamma=0.9, cycle_momentum=True)",
    *("swa.SWALR(o, 0.02, 5)", "swa.SWALR(o, 0.02, 4, 'linear')"),
    "SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3), s.ExponentialLR(o, 0.9)], [3])",
)
SHAPES = ((3, 4), (5,), ())


def parameters(lib: Any) -> list[Any]:
    """Three parameters of different shapes."""
    random = np.random.default_rng(0)
    values = [np.asarray(random.standard_normal(shape)) for shape in SHAPES]
    return [lib.nn.Parameter(lib.tensor(value, dtype=lib.float64)) for value in values]


def slope(lib: Any, step: int, place: int) -> Any:
    """The gradient of one parameter at one step."""
    random = np.random.default_rng(10 * step + place + 1)
    return lib.tensor(np.asarray(random.standard_normal(SHAPES[place])), dtype=lib.float64)


def made(lib: Any, text: str, params: Any) -> Any:
    """The optimizer that a constructor call, written as text, makes."""
    return eval(f"optim.{text}", {"optim": lib.optim, "p": params})


def walk(lib: Any, optimizer: Any, params: list[Any], steps: range) -> None:
    """Take steps along the given slopes; the last parameter sits out step 2."""
    for step in steps:
        for place, parameter in enumerate(params):
            absent = step == 2 and place == len(params) - 1
            parameter.grad = None if absent else slope(lib, step, place)
        optimizer.step()


def assert_equal_parameters(ours: list[Any], theirs: list[Any]) -> None:
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our.detach().numpy(), their.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_steps_are_torchs(text: str):
    ends = []
    for lib in (gnomon, torch):
        params = parameters(lib)
        walk(lib, made(lib, text, params), params, range(6))
        ends.append(params)

    assert_equal_parameters(*ends)


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_a_loaded_state_continues_the_walk(text: str):
    walked, resumed = parameters(gnomon), parameters(gnomon)
    optimizer = made(gnomon, text, walked)
    walk(gnomon, optimizer, walked, range(3))
    for target, origin in zip(resumed, walked, strict=True):
        target.data.copy_(origin.detach())
    other = made(gnomon, text, resumed)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    walk(gnomon, optimizer, walked, range(3, 6))
    walk(gnomon, other, resumed, range(3, 6))

    for one, two in zip(walked, resumed, strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), two.detach().numpy())


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_state_dict_has_torchs_keys(text: str):
    keys = []
    for lib in (gnomon, torch):
        params = parameters(lib)
        optimizer = made(lib, text, params)
        walk(lib, optimizer, params, range(1))
        state = optimizer.state_dict()
        keys.append([sorted(entry) for entry in state["state"].values()])
        keys[-1].append([group["params"] for group in state["param_groups"]])

    assert keys[0] == keys[1]


def valley(lib: Any, x: Any) -> Any:
    """A curved valley with its least value, 0, where all elements are 1."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize("options", [{}, {"history_size": 3}, {"max_iter": 4}])
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_goes_torchs_way_down_a_valley(search: str | None, options: dict):
    ends = []
    for lib in (gnomon, torch):
        x = lib.tensor([-1.0, 0.5, 2.0, -0.3], dtype=lib.float64, requires_grad=True)
        rate = 1.0 if search else 0.01
        optimizer = lib.optim.LBFGS([x], lr=rate, line_search_fn=search, **options)

        def closure(lib=lib, x=x, optimizer=optimizer):
            optimizer.zero_grad()
            loss = valley(lib, x)
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        ends.append([*losses, *x.tolist(), optimizer.state_dict()["state"][0]["func_evals"]])

    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (6, 2)])
@pytest.mark.parametrize("options", [{}, {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"}])
def test_muon_turns_as_torch_turns(shape: tuple[int, int], options: dict):
    random = np.random.default_rng(0)
    start, slopes = random.standard_normal(shape), random.standard_normal((4, *shape))
    ends = []
    for lib in (gnomon, torch):
        p = lib.tensor(start, dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.Muon([p], lr=0.1, **options)
        for g in slopes:
            p.grad = lib.tensor(g, dtype=lib.float64)
            optimizer.step()
        ends.append(p.detach().numpy())

    # the direction is computed in bfloat16, by products whose sums are in different orders
    np.testing.assert_allclose(ends[0], ends[1], atol=4 * 0.1 * 2**-7)


def test_groups_have_their_own_options():
    ends = []
    for lib in (gnomon, torch):
        params = parameters(lib)
        groups = [{"params": params[:1], "lr": 0.2}, {"params": params[1:], "weight_decay": 0.3}]
        optimizer = lib.optim.AdamW(groups, lr=0.05)
        walk(lib, optimizer, params, range(4))
        ends.append(params)

    assert_equal_parameters(*ends)


@pytest.mark.parametrize("text", SCHEDULES)
def test_rates_are_torchs(text: str):
    curves = []
    for lib in (gnomon, torch):
        params = parameters(lib)
        optimizer = lib.optim.SGD(params, lr=0.1, momentum=0.9)
        schedulers = lib.optim.lr_scheduler
        names = {"s": schedulers, "o": optimizer, "swa": lib.optim.swa_utils}
        scheduler = eval(text if text.startswith("swa.") else f"s.{text}", names)
        curve = [optimizer.param_groups[0]["lr"]]
        for step in range(12):
            walk(lib, optimizer, params, range(step, step + 1))
            scheduler.step()
            curve.append(scheduler.get_last_lr()[0])
        curves.append(curve)

    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-12)


def as_float(lib, rate: float) -> float:
    """A rate as a number."""
    return rate


def as_tensor(lib, rate: float):
    """A rate as a tensor."""
    return lib.tensor(rate, dtype=lib.float64)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step:UserWarning")
@pytest.mark.parametrize("last_epoch", [-1, 0, 3, 4])
@pytest.mark.parametrize("text", [text for text in SCHEDULES if "last_epoch" not in text])
def test_rates_that_are_tensors_and_resumed_schedules_are_torchs(text: str, last_epoch: int):
    if last_epoch >= 0 and ("Sequential" in text or "Chained" in text):
        return
    curves = []
    for lib, rate in product((gnomon, torch), (as_float, as_tensor)):
        optimizer = lib.optim.SGD(parameters(lib), lr=rate(lib, 0.1), momentum=0.9)
        for group in optimizer.param_groups if last_epoch >= 0 else ():
            group.update(initial_lr=0.3, max_lr=0.3, min_lr=0.001)
            group.update(base_momentum=0.8, max_momentum=0.9)
        names = {"s": lib.optim.lr_scheduler, "o": optimizer, "swa": lib.optim.swa_utils}
        text = text if text.startswith(("swa.", "s.")) else f"s.{text}"
        resumed = text if last_epoch < 0 else f"{text[:-1]}, last_epoch={last_epoch})"
        scheduler = eval(resumed, names)
        curve = [float(scheduler.get_last_lr()[0])]
        for _ in range(10):
            scheduler.step()
            curve += [float(scheduler.get_last_lr()[0]), float(optimizer.param_groups[0]["lr"])]
        curves.append(curve)

    for curve in curves[:3]:
        np.testing.assert_allclose(curve, curves[3], rtol=1e-12, atol=1e-15)


def test_a_plateau_lowers_the_rate_when_torchs_does():
    curves = []
    for lib in (gnomon, torch):
        optimizer = lib.optim.SGD(parameters(lib), lr=0.1)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2)
        curve = []
        for step in range(15):
            scheduler.step(math.exp(-min(step, 4)))
            curve.append(optimizer.param_groups[0]["lr"])
        curves.append(curve)

    assert curves[0] == curves[1]


@pytest.mark.parametrize("norm", [1.0, 2.0, math.inf])
def test_clipping_by_norm_is_torchs(norm: float):
    ends = []
    for lib in (gnomon, torch):
        params = parameters(lib)
        for place, parameter in enumerate(params):
            parameter.grad = slope(lib, 0, place)
        total = lib.nn.utils.clip_grad_norm_(params, 0.7, norm_type=norm)
        ends.append([total, *(parameter.grad for parameter in params)])

    assert_equal_parameters(*ends)

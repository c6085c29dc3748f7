"""Tensors on a card: programs of every family have the bits of the CPU, by interpreted PTX."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DeviceError, DeviceLost
from gnomon.nn import functional as F
from gnomon.runtime.cuda.driver import driver
from tests.cuda.cards import bits, fake_card
from tests.cuda.fake_driver import ILLEGAL_ADDRESS

there = pytest.fixture(fake_card, name="there", autouse=True)

R = np.random.default_rng(0)
X, Y, B, W = (R.standard_normal(s).astype(np.float32) for s in ((9, 70), (9, 70), (70,), (70, 11)))
Q, IMAGE, FILTERS = (
    R.standard_normal(s).astype(np.float32) for s in ((1, 2, 20, 8), (2, 3, 7, 6), (4, 3, 3, 3))
)
FEW, CLASSES = R.integers(0, 9, (4, 5)), R.integers(0, 70, 9)

PROGRAMS: dict[str, tuple[Callable, tuple[np.ndarray, ...]]] = {
    "silu": (lambda x, y, b: F.silu(x + b) * y, (X, Y, B)),
    "gelu": (lambda x, y: F.gelu(x) * y, (X, Y)),
    "gelu bf16": (lambda x, y: F.gelu(x.bfloat16()) * y.bfloat16(), (X, Y)),
    "functions": (lambda x, y: gn.erf(x) + gn.log1p(x * x) ** y, (X, Y)),
    "trigonometry": (lambda x, y: gn.sin(x) * gn.tan(y) + gn.atan2(x, y), (X, Y)),
    "integers": (lambda k, n: (k * 7 + n[0]) % 13 // 3, (FEW, CLASSES)),
    "float64": (lambda x, y: gn.exp(x.double()) / (y.double() ** 2 + 1), (X, Y)),
    "halves": (lambda x, y: gn.sqrt(x.half().abs()) - y.half(), (X, Y)),
    "truth": (lambda x, y: (x > y) & (x != 0), (X, Y)),
    "softmax": (lambda x: F.softmax(x, -1), (X,)),
    "rms_norm": (lambda x, b: F.rms_norm(x, (70,), b), (X, B)),
    "layer_norm": (lambda x, b: F.layer_norm(x, (70,), b, b), (X, B)),
    "sums": (lambda x: (x.sum(-1), x.sum(0), x.sum(), x.mean()), (X,)),
    "extremes": (lambda x: (x.argmax(-1), x.amax(0), x.max(-1)[0]), (X,)),
    "scans": (lambda x: (x.cumsum(-1), x.cumprod(0)), (X,)),
    "sort": (lambda x: gn.sort(x, -1), (X,)),
    "views": (lambda x: x.t().contiguous().view(-1)[3:40:2] + 1, (X,)),
    "embedding": (lambda w, t: F.embedding(t, w), (X, FEW)),
    "index_add": (lambda x, k, y: x.index_add(0, k, y[:5]), (X, FEW[0], Y)),
    "writes": (lambda x, y: x.clone().index_put((x[:, 0] > 0,), y[0]), (X, Y)),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t), (X, CLASSES)),
    "matmul": (lambda x, w: x @ w, (X, W)),
    "matmul float64": (lambda x, w: x.double() @ w.double(), (X, W)),
    "matmul bf16": (lambda x, w: x.bfloat16() @ w.bfloat16(), (X, W)),
    "tiny bf16": (lambda x, w: (x * 2e-38).bfloat16() @ w.bfloat16(), (X, W)),
    "matmul int8": (lambda x, w: (x * 40).to(gn.int8).int() @ (w * 40).int(), (X, W)),
    "one row": (lambda x, w: x[:1] @ w, (X, W)),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (IMAGE, FILTERS)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (IMAGE,)),
    "attention": (lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (Q,)),
    "float8": (lambda x: x.to(gn.float8_e4m3fn).float() * 2, (X,)),
    "complex": (lambda x, y: gn.view_as_real(gn.complex(x, y) * 2j), (X, Y)),
    "draws": (lambda x: F.dropout(x, 0.5) + gn.rand_like(x), (X,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_bits_of_the_cpu(name):
    f, given = PROGRAMS[name]
    found = []
    for device in ("cpu", "cuda"):
        gn.manual_seed(0)
        made = f(*(gn.tensor(x, device=device) for x in given))
        found.append(bits(made))
        assert all(x.device == device for x in (made if isinstance(made, tuple) else (made,)))

    assert found[0] == found[1]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_training_step_has_the_bits_of_the_cpu(compiled):
    curves = []
    for device in ("cpu", "cuda"):
        gn.manual_seed(0)
        layers = [gn.nn.Embedding(11, 8), gn.nn.Linear(8, 9), gn.nn.GELU(), gn.nn.LayerNorm(9)]
        model = gn.nn.Sequential(*layers, gn.nn.Linear(9, 11)).to(device)
        optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)
        tokens = gn.tensor(R.integers(0, 11, (2, 7)) * 0 + np.arange(7), device=device)

        def step(tokens, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        first = step(tokens).item()  # the optimizer makes its state
        run = gn.compile(step) if compiled else step
        curves.append([first, *(run(tokens).item() for _ in range(3))])
        assert {p.device for p in model.parameters()} == {gn.device(device)}

    assert curves[0] == curves[1]
    assert curves[0][3] < curves[0][0]


def test_sizes_that_vary_share_a_program():
    @gn.compile(dynamic=True)
    def f(x: gn.Tensor) -> gn.Tensor:
        return (x * 2).softmax(-1).sum(0)

    for rows in (3, 4, 5, 9, 1):
        x = gn.tensor(X[:rows])
        assert bits(f(x.cuda())) == bits(f(x))


def test_state_goes_there_and_back():
    model = gn.nn.Linear(3, 2).cuda()
    before = {name: x.cpu().clone() for name, x in model.state_dict().items()}

    assert all(x.is_cuda for x in model.state_dict().values())
    model.load_state_dict({name: x + 1 for name, x in before.items()})
    assert all(p.is_cuda for p in model.parameters())
    assert model.cpu().weight.equal(before["weight"] + 1)


def test_an_operation_of_the_cpu_alone_is_refused_by_its_line():
    with pytest.raises(
        DeviceError, match=r"it runs on the CPU alone: got a program for device cuda"
    ):
        gn.linalg.svdvals(gn.tensor(X).cuda()).tolist()


def test_a_lost_device_names_the_program_and_its_line(there):
    x = gn.ones(3, 4, device="cuda")
    gn.evaluate(x)
    there.sticky = ILLEGAL_ADDRESS
    try:
        with pytest.raises(
            DeviceLost,
            match=r"cuda: the device is lost: \w+: CUDA error 700.*Programs since the last "
            r"synchronization: .*eager \w{12} \(.*test_device_cuda\.py:\d+",
        ):
            gn.evaluate(x * 2 + 1)
    finally:
        there.sticky = 0
        driver().lost = ""
    assert (x * 2).sum().item() == 24


def test_memory_comes_back():
    gc.collect()
    x = gn.tensor(X).cuda()
    (x @ x.t()).tolist()
    before = gn.cuda.memory_allocated()
    for _ in range(4):
        (x @ x.t()).tolist()

    assert gn.cuda.memory_allocated() == before


def test_a_compiled_step_copies_nothing_to_the_host(there):
    model = gn.nn.Linear(3, 2).cuda()
    optimizer = gn.optim.SGD(model.parameters(), lr=0.1)
    x = gn.ones(4, 3, device="cuda")

    @gn.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    places = []
    for _ in range(3):
        gn.evaluate(step(x))
        places.append(model.weight.data_ptr())
        before = there.calls["cuMemcpyDtoH_v2"]
    gn.evaluate(step(x))

    assert there.calls["cuMemcpyDtoH_v2"] == before
    assert len(set(places)) == 1

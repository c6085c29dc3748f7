"""Weights that products keep in panels: the same bits, never those of an older value."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture import panels
from gnomon.nn import functional as F
from gnomon.runtime.buffer import memory
from gnomon.settings import override
from tests.counters import settled
from tests.strategies import same_bits

OFF = {"prepack": False}


def layer(rows: int = 24) -> tuple[nn.Linear, gn.Tensor]:
    gn.manual_seed(3)
    return nn.Linear(200, 130), gn.randn(rows, 200)


def count_packs(compiled: object) -> int:
    """How many kernels of a compiled function pack a weight."""
    return sum(record.name == "pack" for record in compiled.kernels())


def run(compiled: object, *given: gn.Tensor) -> np.ndarray:
    with gn.no_grad():
        return compiled(*given).numpy()


@pytest.mark.parametrize("rows", [16, 17, 24, 100, 256, 257])
def test_panels_change_no_bit(rows):
    model, x = layer(rows)
    # which rows have panels is asked of programs of these rows alone
    kept = gn.compile(model, dynamic=False)
    other = gn.compile(model, dynamic=False, options=OFF)

    results = [run(f, x) for f in (kept, kept, other, model)]

    assert all(same_bits(one, results[0]) for one in results[1:])
    assert count_packs(kept) == (17 <= rows <= 256)
    assert count_packs(other) == 0


def test_bfloat16_and_double_weights_are_kept_too():
    for dtype in (gn.bfloat16, gn.float64):
        gn.manual_seed(1)
        w, x = gn.randn(130, 77).to(dtype), gn.randn(40, 77).to(dtype)

        kept = gn.compile(lambda x, w=w: x @ w.T)
        other = gn.compile(lambda x, w=w: x @ w.T, options=OFF)
        found = [run(lambda x, f=f: f(x).double(), x) for f in (kept, kept, other)]

        assert count_packs(kept) == 1
        assert same_bits(found[0], found[2])
        assert same_bits(found[1], found[2])


def assigned(model: nn.Linear) -> None:
    model.weight.copy_(model.weight + 1.0)


def in_place(model: nn.Linear) -> None:
    model.weight.mul_(1.5)


def by_index(model: nn.Linear) -> None:
    model.weight[3, 5:9] = 4.0


def through_a_view(model: nn.Linear) -> None:
    model.weight.T[7].add_(2.0)


def through_detach(model: nn.Linear) -> None:
    model.weight.detach().sub_(0.25)


def replaced(model: nn.Linear) -> None:
    model.weight = nn.Parameter(gn.randn(130, 200))


def data_replaced(model: nn.Linear) -> None:
    model.weight.data = gn.randn(130, 200)


def loaded(model: nn.Linear) -> None:
    model.load_state_dict({k: v * -2.0 for k, v in model.state_dict().items()})


def by_numpy(model: nn.Linear) -> None:
    model.weight.detach().numpy()[4] = 3.0


def by_a_compiled_function(model: nn.Linear) -> None:
    gn.compile(lambda: model.weight.mul_(0.5))()


def by_an_optimizer(model: nn.Linear) -> None:
    step(model, gn.optim.SGD(model.parameters(), lr=0.1))


def by_a_compiled_step(model: nn.Linear) -> None:
    optimizer = gn.optim.AdamW(model.parameters(), lr=0.1)
    gn.compile(lambda: step(model, optimizer))()


def step(model: nn.Linear, optimizer: gn.optim.Optimizer) -> None:
    with gn.enable_grad():
        model(gn.ones(20, 200)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


WRITES = [
    *(assigned, in_place, by_index, through_a_view, through_detach, replaced, data_replaced),
    *(loaded, by_numpy, by_a_compiled_function, by_an_optimizer, by_a_compiled_step),
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_panels_are_never_those_of_an_older_weight(write):
    model, x = layer()
    kept = gn.compile(model)
    before = run(kept, x)

    for _ in range(2):
        with gn.no_grad():
            write(model)
        now, again = run(kept, x), run(kept, x)

        assert same_bits(now, run(model, x))
        assert same_bits(again, now)
        assert not same_bits(now, before)


def test_numpy_can_write_again_and_again():
    model, x = layer()
    kept, shared = gn.compile(model), model.weight.detach().numpy()

    for value in (0.5, 0.25):
        shared[...] = value

        assert same_bits(run(kept, x), run(model, x))


def test_a_weight_is_packed_once_for_all_shapes_and_goes_with_its_panels():
    model, x = layer()
    kept = gn.compile(model)
    run(kept, x)
    (shelf,) = (s for k, s in panels._shelves.items() if k is model.weight._storage)
    first = [room for _, room in shelf.values()]

    for rows in (17, 18, 20, 25, 26, 29, 57, 100, 256):
        run(kept, gn.randn(rows, 200))
    run(kept, x)

    assert [room for _, room in shelf.values()] == first
    held = settled().allocated
    size = sum(room.nbytes for room in first)
    del model, kept, shelf, first
    gc.collect()
    assert held - memory.use().allocated >= size


def test_a_weight_that_the_program_writes_is_not_kept():
    model, x = layer()
    weight = model.weight.detach()

    def counted(x: gn.Tensor) -> gn.Tensor:
        y = x @ weight.T
        weight.mul_(0.5)
        return y

    compiled = gn.compile(counted)
    first, second = run(compiled, x), run(compiled, x)

    assert count_packs(compiled) == 0
    assert same_bits(second, (first * np.float32(0.5)))


def test_a_tensor_that_a_function_names_may_get_another_storage():
    w, x = gn.randn(130, 77), gn.randn(40, 77)
    compiled = gn.compile(lambda x: x @ w.T)
    run(compiled, x)

    w.data = gn.randn(130, 77)

    assert same_bits(run(compiled, x), (x @ w.T).numpy())


def test_a_weight_whose_gradient_is_taken_is_not_kept():
    model, x = layer()
    compiled = gn.compile(lambda x: model(x).sum().backward())

    compiled(x)

    assert count_packs(compiled) == 0


def test_an_argument_is_not_kept():
    model, x = layer()
    compiled = gn.compile(lambda x, w: x @ w.T)

    run(compiled, x, model.weight.detach())

    assert count_packs(compiled) == 0


def test_weights_that_are_most_of_the_memory_are_not_kept(monkeypatch):
    model, x = layer()
    monkeypatch.setattr(panels, "SHARE", 1 + memory.limit // (200 * 130 * 4))
    compiled = gn.compile(model)

    run(compiled, x)

    assert count_packs(compiled) == 0


def test_a_run_that_fails_keeps_nothing():
    model, x = layer()
    table = gn.ones(10, 3)

    def looked_up(x: gn.Tensor, index: gn.Tensor) -> gn.Tensor:
        return model(x).sum() + table[index].sum()

    compiled = gn.compile(looked_up)
    with pytest.raises(IndexError):
        run(compiled, x, gn.tensor([3, 10]))

    assert same_bits(run(compiled, x, gn.tensor([3, 9])), run(looked_up, x, gn.tensor([3, 9])))


def test_threads_may_call_while_a_weight_is_packed():
    model, x = layer()
    expected, found = run(model, x), []
    kept = gn.compile(model)
    workers = [threading.Thread(target=lambda: found.append(run(kept, x))) for _ in range(4)]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(found) == 4
    assert all(same_bits(one, expected) for one in found)


def test_reports_tell_of_panels():
    model, x = nn.Linear(200, 128), gn.randn(24, 200)  # 128 fills panels of any processor
    kept = gn.compile(model)
    run(kept, x)

    assert "102 kB in panels, packed when 1 weight changed" in kept.explain()
    assert "right factor kept in panels" in kept.explain_gemm()


def test_graphs_inside_a_program_have_inputs_of_their_own():
    gn.manual_seed(2)
    model, x, w = nn.Linear(64, 48), gn.randn(40, 64), gn.randn(700, 48)
    y = gn.randint(0, 700, (40,))

    def loss(x: gn.Tensor) -> gn.Tensor:
        return F.linear_cross_entropy(model(x), w, y, strategy="batch", most_rows=20)

    kept = gn.compile(loss)

    assert same_bits(run(kept, x), run(loss, x))
    assert count_packs(kept) >= 1


def test_measured_products_read_panels_too(tmp_path):
    model, x = layer(48)
    with override(cache_dir=str(tmp_path)):
        tuned = gn.compile(lambda x: model(x).relu() + 1.0, mode="max-autotune")

        assert same_bits(run(tuned, x), run(lambda x: model(x).relu() + 1.0, x))
        assert count_packs(tuned) == 1

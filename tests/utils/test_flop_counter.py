"""Flops are those of products, by module and operation, as PyTorch counts them."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.ir.node import Arena
from gnomon.tensor.state import state
from gnomon.utils.flop_counter import FlopCounterMode

pytestmark = pytest.mark.unit

CONVOLUTION, FIRST, LAST = 2 * 2 * 8 * 64 * 27, 2 * 2 * 8 * 16, 2 * 2 * 16 * 4


class Net(nn.Module):
    """A convolution and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, 4, bias=False)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return self.head(self.body(self.conv(x).mean((2, 3))))


def counted(work) -> FlopCounterMode:
    with FlopCounterMode(display=False) as counter:
        work()
    return counter


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_products_count_under_their_modules_and_need_no_values(device: str):
    model = Net().to(device)

    found = counted(lambda: model(gn.ones(2, 3, 8, 8, device=device)))

    assert found.get_total_flops() == CONVOLUTION + FIRST + LAST
    by_module = {name: sum(ops.values()) for name, ops in found.get_flop_counts().items()}
    assert by_module == {
        **dict.fromkeys(("Global", "Net"), CONVOLUTION + FIRST + LAST),
        "Net.conv": CONVOLUTION,
        **dict.fromkeys(("Net.body", "Net.body.0"), FIRST),
        "Net.head": LAST,
    }


def test_a_backward_pass_counts_what_it_computes():
    """The gradient of an input that wants none is not there; PyTorch 2.13 counts 112,896."""
    model, x = Net(), gn.ones(2, 3, 8, 8)

    assert counted(lambda: model(x).sum().backward()).get_total_flops() == 112_896
    y = model(x).sum()
    y.item()
    assert counted(y.backward).get_total_flops() == 112_896 - CONVOLUTION - FIRST - LAST


def test_attention_counts_its_two_products_and_the_four_of_its_gradient():
    q = gn.ones(2, 4, 16, 8, requires_grad=True)
    product = 2 * 2 * 4 * 16 * 16 * 8

    def attend() -> gn.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q)

    assert counted(attend).get_total_flops() == 2 * product
    assert counted(lambda: attend().sum().backward()).get_total_flops() == 6 * product


def test_counters_stand_in_each_other_and_end():
    model, x = Net(), gn.ones(2, 3, 8, 8)
    with FlopCounterMode(display=False) as outer:
        inner = counted(lambda: model(x))
        model(x)
    once = inner.get_total_flops()

    assert outer.get_total_flops() == 2 * once
    assert type(state.arena) is Arena
    assert model(x).shape == (2, 4)
    assert inner.get_total_flops() == once
    with pytest.raises(ValueError, match="linear"), FlopCounterMode(display=False):
        model.head(gn.ones(2, 3))
    assert type(state.arena) is Arena


def test_the_table_says_parts_of_the_whole(capsys: pytest.CaptureFixture):
    with FlopCounterMode(depth=1):
        nn.Sequential(nn.Linear(1000, 1000), nn.Sequential(nn.Linear(1000, 1000)))(gn.ones(1000))

    assert capsys.readouterr().out.splitlines() == [
        "module          FLOP  % total",
        "Global        4.000M  100.00%",
        "  linear      4.000M",
        "Sequential    4.000M  100.00%",
        "  linear      4.000M",
        "Sequential.0  2.000M   50.00%",
        "  linear      2.000M",
        "Sequential.1  2.000M   50.00%",
        "  linear      2.000M",
    ]
    assert FlopCounterMode(display=False).get_total_flops() == 0


def test_formulas_of_others_are_refused():
    with pytest.raises(ArgumentError, match="custom_mapping is refused"):
        FlopCounterMode(custom_mapping={"linear": lambda *shapes: 0})

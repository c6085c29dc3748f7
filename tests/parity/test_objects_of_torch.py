"""Objects of torch that a program meets: generators are state, tensors and functions foreign."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import DtypeError

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("way", ["argument", "closure", "attribute"])
def test_a_compiled_function_may_reach_a_generator_of_torchs(way):
    generator = torch.Generator()

    class Held:
        found = generator

    held = Held()

    @gn.compile
    def scaled(x, given=None):
        if way == "closure":
            return x * (2.0 if generator is not None else 3.0)
        return x * (2.0 if (given if way == "argument" else held.found) is not None else 3.0)

    assert [scaled(gn.ones(2), generator).tolist() for _ in range(2)] == [[2.0, 2.0]] * 2


@pytest.mark.parametrize(
    "call",
    [
        torch.sin,
        torch.zeros_like,
        torch.nn.functional.relu,
        lambda x: torch.nn.functional.linear(x, x),
        lambda x: torch.cat([x, x]),
        lambda x: torch.add(torch.ones(2), x),
    ],
)
def test_a_function_of_torchs_refuses_our_tensor_in_words(call):
    for run in (call, gn.compile(lambda x: call(x))):
        with pytest.raises(TypeError, match="a function of torch was given a tensor of gnomon"):
            run(gn.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: gn.ones(2) + x,
        lambda x: x + gn.ones(2),
        gn.sin,
        lambda x: gn.add(gn.ones(2), x),
        lambda x: gn.cat([gn.ones(2), x]),
        lambda x: gn.nn.functional.linear(x, gn.ones(2, 2)),
        lambda x: gn.nn.Linear(2, 2)(x),
    ],
)
def test_a_function_of_ours_refuses_a_tensor_of_torchs_in_words(call):
    with pytest.raises(DtypeError, match=r"torch\.Tensor gives the call back"):
        call(torch.ones(2))

"""Under `gnomon run` tensors print as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.drop_in.printing import as_printed, printed

PRINTED = (
    (lambda: gn.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: gn.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
    (lambda: gn.tensor(3), "tensor(3)"),
    (lambda: gn.tensor([True, False]), "tensor([ True, False])"),
    (lambda: gn.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
    (lambda: gn.tensor([np.nan, np.inf, 1.0]), "tensor([nan, inf, 1.])"),
    (lambda: gn.zeros(2, 0), "tensor([], size=(2, 0))"),
    (lambda: gn.ones(1, dtype=gn.float64), "tensor([1.], dtype=torch.float64)"),
    (lambda: gn.ones(2, 1), "tensor([[1.],\n        [1.]])"),
    (lambda: gn.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<MulBackward0>)"),
    (
        lambda: gn.nn.Parameter(gn.ones(1)),
        "Parameter containing:\ntensor([1.], requires_grad=True)",
    ),
    (lambda: gn.rand(2, 3, device="meta"), "tensor(..., device='meta', size=(2, 3))"),
    (
        lambda: gn.ones(2, device="meta", dtype=gn.int64, requires_grad=False),
        "tensor(..., device='meta', size=(2,), dtype=torch.int64)",
    ),
    (
        lambda: gn.ones(2, device="meta", requires_grad=True) * 2,
        "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)",
    ),
    (lambda: gn.tensor([1 + 2j, -0.5 - 1.25j]), "tensor([ 1.0000+2.0000j, -0.5000-1.2500j])"),
    (lambda: gn.tensor([[1 + 1j], [0j]]), "tensor([[1.+1.j],\n        [0.+0.j]])"),
    (
        lambda: gn.tensor(1.5 + 2j, dtype=gn.complex128),
        "tensor(1.5000+2.j, dtype=torch.complex128)",
    ),
    (lambda: gn.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
)


@pytest.mark.parametrize(("made", "text"), PRINTED)
def test_a_tensor_prints_as_pytorchs(made, text: str):
    with printed():
        assert str(made()) == as_printed(made()) == text


def test_a_traced_tensor_has_no_values_to_print():
    def noted(x: gn.Tensor) -> gn.Tensor:
        texts.append(repr(x))
        return x * 2

    texts: list[str] = []
    with printed():
        gn.compile(noted, fullgraph=True)(gn.ones(2))
    assert texts == ["Tensor(traced, shape=(2,), dtype=torch.float32)"]


def test_printing_is_gnomons_again_behind_the_block():
    with printed():
        assert (str(gn.float32), repr(gn.ones(1))) == ("torch.float32", "tensor([1.])")
    assert (str(gn.float32), repr(gn.ones(1))) == ("gnomon.float32", "Tensor([1.])")

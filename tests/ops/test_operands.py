"""Operations of two operands: numbers in either place, and gradients of what is broadcast."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.ops.registry import OPS
from gnomon.tensor.functions import as_function

SECOND = [0.5, 1.5, 2.5]


def of_two_operands() -> list[str]:
    """The operations that take two operands and nothing else, and have gradients."""
    found = []
    for name, each in OPS.items():
        kinds = [kind for word, kind in each.function.__annotations__.items() if word != "return"]
        if kinds == ["Operand", "Operand"] and each.__name__ == name and has_gradient(name):
            found.append(name)
    return found


def has_gradient(name: str) -> bool:
    """Whether an operation takes floats and gives what has a gradient."""
    try:
        return any(g is not None for g in gradients(name, gn.full((3,), 2.0), gn.tensor(SECOND)))
    except gn.errors.DtypeError:
        return False


def gradients(name: str, *operands: float | gn.Tensor) -> list[gn.Tensor | None]:
    """The gradients of an operation's sum by its operands; of numbers there is none."""
    xs = [x.clone().requires_grad_() if isinstance(x, gn.Tensor) else x for x in operands]
    made = as_function(OPS[name])(*xs)
    if made.requires_grad:
        made.sum().backward()
    return [x.grad if isinstance(x, gn.Tensor) else None for x in xs]


def test_operations_of_two_operands_are_found():
    assert {"atan2", "fmax", "igamma", "multiply", "pow", "xlogy", "zeta"} <= {*of_two_operands()}


@pytest.mark.parametrize("name", of_two_operands())
def test_a_number_has_the_place_of_a_tensor_of_it(name: str):
    full, other = gn.full((3,), 2.0), gn.tensor(SECOND)
    for place, numbers in ((1, (2.0, other)), (0, (other, 2.0))):
        tensors = [full if isinstance(x, float) else x for x in numbers]
        wanted, found = gradients(name, *tensors)[place], gradients(name, *numbers)[place]
        assert (wanted is None) == (found is None)
        assert wanted is None or found.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", of_two_operands())
def test_gradients_of_what_is_broadcast_are_sums(name: str):
    pair = gn.tensor([[1.25], [2.25]]), gn.tensor(SECOND)
    wholes = gradients(name, *(x.expand(2, 3).clone() for x in pair))
    for x, found, whole in zip(pair, gradients(name, *pair), wholes, strict=True):
        assert (found is None) == (whole is None)
        if found is not None:
            wanted = whole.sum(1, keepdim=True) if x.ndim == 2 else whole.sum(0)
            assert found.shape == x.shape
            assert gn.allclose(found, wanted)

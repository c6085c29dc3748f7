"""Functions of functions give in float64 what torch.func and torch.autograd.functional give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

CALLS = (
    *("lib.func.grad(f)(x)", "lib.func.grad(f, argnums=1)(x, y)", "lib.func.hessian(f)(x)"),
    *("lib.func.jacrev(g)(x)", "lib.func.jacfwd(g)(x)", "lib.func.jvp(g, (x,), (y,))"),
    *("lib.func.vjp(g, x)[1](y)", "lib.func.grad(lambda x: lib.func.grad(f)(x).sum())(x)"),
    *("lib.func.grad_and_value(f, argnums=(0, 1))(x, y)", "lib.func.jacrev(f, (0, 1))(x, y)"),
    *("lib.func.vmap(lib.func.grad(f))(m)", "lib.func.vmap(lib.func.jacrev(g))(m)"),
    *("lib.autograd.functional.jacobian(g, x)", "lib.autograd.functional.hessian(f, (x, y))"),
    *("lib.autograd.functional.vjp(g, x, y)", "lib.autograd.functional.jvp(g, x, y)"),
    *("lib.autograd.functional.hvp(f, x, y)", "lib.autograd.functional.vhp(f, (x, y), (y, x))"),
)


def numbers(value: Any) -> list[np.ndarray]:
    """The tensors of nested results, in order."""
    if isinstance(value, (tuple, list)):
        return [part for x in value for part in numbers(x)]
    return [value.detach().numpy()]


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("call", CALLS)
def test_results_are_torchs(call: str):
    random = np.random.default_rng(0)
    values = {"x": random.standard_normal(3), "y": random.standard_normal(3)}
    values["m"] = random.standard_normal((2, 3))
    ends = []
    for lib in (gnomon, torch):
        names = {name: lib.tensor(value, dtype=lib.float64) for name, value in values.items()}

        def f(x, y=names["y"]):
            return (x.sin() * y * y).sum() * x[0]

        def g(x, lib=lib):
            return lib.exp(x) * x.sum()

        ends.append(numbers(eval(call, {"lib": lib, "f": f, "g": g, **names})))

    for our, their in zip(*ends, strict=True):
        assert our.shape == their.shape
        np.testing.assert_allclose(our, their, rtol=1e-12)

"""torch._foreach_*: every function, with numbers, lists of them, lists of tensors and a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

NAMES = [name for name in dir(torch) if name.startswith("_foreach_")]
SHAPES = ((2, 3), (4,), ())
L = "a list of tensors"
FORMS = {
    **{name: [(L,), (0.75,), ([0.5, 2, 3],)] for name in ("add", "sub", "mul", "div", "pow")},
    **{name: [(L,), (0.75,), ([0.5, 0.25, 1],)] for name in ("maximum", "minimum")},
    **{name: [(L,), (0.75,), ([0.5, 0.25, 1],)] for name in ("clamp_max", "clamp_min")},
    **{name: [(L, L), (L, L, 0.5), (L, L, [1.0, 2.0, 3.0])] for name in ("addcdiv", "addcmul")},
    "copy": [(L,)],
    "lerp": [(L, 0.25), (L, L), (L, [0.25, 0.5, 1.0])],
    "norm": [(), (1,), (float("inf"),)],
    "powsum": [(), (3,)],
}
"""What follows the first list."""


@pytest.mark.parametrize("name", NAMES)
def test_each_function(rng, name: str):
    stem = name.removeprefix("_foreach_").removesuffix("_")
    shapes = ((2, 2), (3, 3), (1, 1)) if stem == "mm" else SHAPES
    forms = [(L,)] if stem == "mm" else FORMS.get(stem, [()])
    for form in forms:
        arrays = [[np.asarray(rng.random(s) + 0.25) for s in shapes] for _ in range(4)]
        results = []
        for library in (gn, torch):
            lists = [[library.tensor(x, dtype=library.float64) for x in each] for each in arrays]
            rest = [lists[k + 1] if x is L else x for k, x in enumerate(form)]
            results.append((getattr(library, name)(lists[0], *rest), lists[0]))
        for ours, theirs in zip(*results, strict=True):
            assert type(ours) is type(theirs)
            for x, y in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-12)


def test_a_tensor_is_everyones():
    for name in ("_foreach_add", "_foreach_mul", "_foreach_div"):
        ours, theirs = (
            getattr(library, name)([library.ones(2), library.ones(3)], library.tensor(4.0))
            for library in (gn, torch)
        )
        assert [x.tolist() for x in ours] == [x.tolist() for x in theirs]

"""autograd.graph beside torch's: what hooks see and in which order, edges, errors."""

from __future__ import annotations

from typing import Any

import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


def numbers(lib: Any, *shape: int) -> Any:
    count = 1
    for n in shape:
        count *= n
    made = lib.linspace(-1, 1.5, count, dtype=lib.float64).reshape(*shape)
    return made.clone().requires_grad_()


def multi(lib: Any, mode: str) -> list:
    """What a hook of several tensors sees, over passes to all and to some leaves."""
    seen: list = []
    a, b = numbers(lib, 2, 3), numbers(lib, 3)
    c, d, e = a * b, (a + b).tanh(), b * 2
    note = (
        (lambda g: seen.append(g.tolist()))
        if mode == "any"
        else (lambda gs: seen.append([None if g is None else g.tolist() for g in gs]))
    )
    handle = lib.autograd.graph.register_multi_grad_hook((a, c, d, e, b), note, mode=mode)
    c.sum().backward(retain_graph=True)
    (c * d).sum().backward(inputs=[a], retain_graph=True)
    (c * d).sum().backward(inputs=[b, d], retain_graph=True)
    (d.sum() + e.sum()).backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    return seen


def altered(lib: Any) -> list:
    """Gradients that read what hooks changed."""
    x, w = numbers(lib, 2, 3), numbers(lib, 3)
    with lib.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t + 1):
        y = x * w
        z = y * y
    z.sum().backward()
    return [x.grad.tolist(), w.grad.tolist()]


def edges(lib: Any) -> list:
    """Gradients by edges."""
    x = numbers(lib, 3)
    y = x * x
    edge = lib.autograd.graph.get_gradient_edge(y)
    leaf = lib.autograd.graph.get_gradient_edge(x)
    found = lib.autograd.grad((y * y).sum(), (edge, leaf), retain_graph=True)
    below = lib.autograd.grad(edge, x, y.detach(), retain_graph=True)
    lib.autograd.backward([edge], [lib.ones(3, dtype=lib.float64)])
    return [g.tolist() for g in (*found, *below, x.grad)]


def walked(lib: Any) -> list:
    """The names on all ways through the graph of a small expression."""
    x, w = numbers(lib, 2, 3), numbers(lib, 3, 2)
    y = (x @ w).exp().sin()
    found, stack = [], [y.grad_fn]
    while stack:
        node = stack.pop()
        found.append(type(node).__name__)
        stack.extend(x for x, _ in node.next_functions if x is not None)
    return [name.replace("MmB", "MatmulB") for name in found]


def post(lib: Any) -> list:
    """What hooks of a leaf's node see."""
    seen: list = []
    x = numbers(lib, 3)
    node = x.expand_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda gs: seen.append([g.tolist() for g in gs]))
    node.register_hook(lambda a, b: seen.append([a, b[0].tolist(), x.grad.tolist()]))
    (x * x).sum().backward()
    return seen


CASES = {
    "all": lambda lib: multi(lib, "all"),
    "any": lambda lib: multi(lib, "any"),
    "altered": altered,
    "edges": edges,
    "walked": walked,
    "post": post,
}


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_torchs(name: str):
    ours, theirs = CASES[name](gn), CASES[name](torch)

    if name == "walked":
        assert ours == theirs
    else:
        assert flat(ours) == pytest.approx(flat(theirs), rel=1e-12, nan_ok=True)


def flat(value: Any) -> list:
    """The numbers in nested lists, with NaN for None."""
    if isinstance(value, (list, tuple)):
        return [float(len(value)), *(x for part in value for x in flat(part))]
    return [float("nan") if value is None else value]


def test_errors_are_torchs():
    for lib in (gn, torch):
        graph, x = lib.autograd.graph, numbers(lib, 3)
        with (
            graph.saved_tensors_hooks(lambda t: t.detach().mul_(2), lambda t: t),
            pytest.raises(RuntimeError, match="in place"),
        ):
            (x * 2).exp()
        with graph.saved_tensors_hooks(lambda t: 3, lambda t: t):
            y = x * x
        with pytest.raises(TypeError, match="expected to be a Tensor"):
            y.sum().backward()
        with pytest.raises(ValueError, match="mode"):
            graph.register_multi_grad_hook((x,), print, mode="none")
        with pytest.raises(RuntimeError, match="does not require"):
            graph.get_gradient_edge(x.detach())

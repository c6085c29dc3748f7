"""gn.autograd.functional: PyTorch's older names for what gn.func computes, on tuples of inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.creation import ones_like
from gnomon.tensor.func import jacrev
from gnomon.tensor.func import jvp as pushed_forward
from gnomon.tensor.func import vjp as pulled_back
from gnomon.tensor.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Inputs = Tensor | tuple[Tensor, ...]


def detach_all(made: Any, create_graph: bool) -> Any:
    """Results, detached unless gradients are to pass through them."""
    if isinstance(made, (tuple, list)):
        return tuple(detach_all(part, create_graph) for part in made)
    return made if create_graph else made.detach()


def listed(inputs: Inputs) -> tuple[Tensor, ...]:
    """One tensor or several as a tuple."""
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)


def like(parts: tuple, given: Inputs) -> Any:
    """A tuple of results, or the one result if one tensor was given."""
    return parts[0] if isinstance(given, Tensor) else parts


def directions(v: Inputs | None, of: Inputs, name: str) -> tuple[Tensor, ...]:
    """The given tangents; 1 for a tensor of one element."""
    if v is None:
        if any(x.numel() != 1 for x in listed(of)):
            raise ArgumentError(f"{name}: v may be left out for one number only. Give it.")
        return tuple(ones_like(x) for x in listed(of))
    shapes = [[tuple(x.shape) for x in listed(part)] for part in (v, of)]
    if shapes[0] != shapes[1]:
        raise ArgumentError(f"{name}: v has shapes {shapes[0]}, not {shapes[1]}.")
    return listed(v)


def vjp(
    func: Callable,
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func's value, and the product of v with its Jacobian.

    >>> import gnomon as gn
    >>> vjp(lambda x: x * x, gn.tensor([1.0, 2.0]), gn.tensor([1.0, 1.0]))
    (Tensor([1., 4.]), Tensor([2., 4.]))
    """
    value, pull = pulled_back(func, *listed(inputs))
    found = pull(like(directions(v, value, "vjp"), value))
    return detach_all((value, like(found, inputs)), create_graph)


def jvp(
    func: Callable,
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func's value, and the product of its Jacobian with v.

    >>> import gnomon as gn
    >>> jvp(lambda x: x.sum(), gn.tensor([1.0, 2.0]), gn.tensor([1.0, 3.0]))
    (Tensor(3.), Tensor(4.))
    """
    given = directions(v, inputs, "jvp")
    return detach_all(pushed_forward(func, listed(inputs), given), create_graph)


def jacobian(
    func: Callable,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """func's Jacobian: a tensor for each output and each input, nested where there are several.

    All rows are one program, whatever vectorize and strategy say.

    >>> import gnomon as gn
    >>> jacobian(lambda x: x * x, gn.tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """
    given = listed(inputs)
    places = 0 if isinstance(inputs, Tensor) else tuple(range(len(given)))
    return detach_all(jacrev(func, places)(*given), create_graph)


def hessian(
    func: Callable,
    inputs: Inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """func's second derivatives; func gives one number.

    >>> import gnomon as gn
    >>> hessian(lambda x: (x**3).sum(), gn.tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    given = listed(inputs)
    places = 0 if isinstance(inputs, Tensor) else tuple(range(len(given)))
    return detach_all(
        jacrev(jacrev(one_number(func, "hessian"), places), places)(*given), create_graph
    )


def one_number(func: Callable, name: str) -> Callable:
    """func with its one number as a scalar, without axes of size 1."""

    def scalar(*inputs: Tensor) -> Tensor:
        value = func(*inputs)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise ArgumentError(f"{name}: the function must give one number: got {value!r}.")
        return value.reshape(())

    return scalar


def hvp(
    func: Callable,
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func's value, and the product of its Hessian with v.

    >>> import gnomon as gn
    >>> hvp(lambda x: (x**3).sum(), gn.tensor([1.0, 2.0]), gn.tensor([1.0, 1.0]))
    (Tensor(9.), Tensor([ 6., 12.]))
    """
    given, scalar = listed(inputs), one_number(func, "hvp")

    def slope(*at: Tensor) -> tuple[Tensor, ...]:
        value, pull = pulled_back(scalar, *at)
        return pull(ones_like(value))

    _, found = pushed_forward(slope, given, directions(v, inputs, "hvp"))
    return detach_all((scalar(*given), like(found, inputs)), create_graph)


def vhp(
    func: Callable,
    inputs: Inputs,
    v: Inputs | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """hvp, since the Hessian is symmetric."""
    return hvp(func, inputs, v, create_graph, strict)

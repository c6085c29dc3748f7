"""gn.autograd.gradcheck, gradgradcheck: gradients beside differences of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import complex128, float64
from gnomon.errors import ArgumentError, GradientError
from gnomon.tensor.complex_creation import view_as_complex, view_as_real
from gnomon.tensor.creation import linspace
from gnomon.tensor.func import jacrev, vjp
from gnomon.tensor.tensor import Tensor, from_array

__all__ = ["gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable,
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    **options: Any,
) -> bool:
    """Whether gradients agree with central differences; inputs that need them have 64 bits.

    A complex number, an input's or a result's, counts as its real and its imaginary part. Options
    of PyTorch's that choose further or faster checks are taken and change nothing.

    >>> import gnomon as gn
    >>> x = gn.tensor([0.5, 1.0], dtype=gn.float64, requires_grad=True)
    >>> gradcheck(lambda x: x.exp() * x, (x,))
    True
    """
    given, places = differentiable_inputs(inputs)
    if not places or any(given[k].dtype not in (float64, complex128) for k in places):
        raise ArgumentError(
            "gradcheck: needs an input that requires grad, and float64 or complex128 for all that "
            "do. Use x.double().requires_grad_()."
        )
    pairs = {k for k in places if given[k].dtype is complex128}

    def of_parts(*values: Any) -> tuple[Tensor, ...]:
        whole = [view_as_complex(x) if k in pairs else x for k, x in enumerate(values)]
        return tuple(outputs_of(func, whole))

    given = [x.detach() if isinstance(x, Tensor) else x for x in given]
    given = [as_real(x) if k in pairs else x for k, x in enumerate(given)]
    found = [text for k in places for text in misfits(of_parts, given, k, (eps, atol, rtol))]
    if found and raise_exception:
        raise GradientError(f"gradcheck: {found[0]}")
    return not found


def gradgradcheck(
    func: Callable,
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    **options: Any,
) -> bool:
    """Whether the gradients of a function's gradients agree with differences; see gradcheck.

    Gradients of results are the numbers between 0.5 and 1.5 where they are not given.

    >>> import gnomon as gn
    >>> x = gn.tensor([0.5, 1.0], dtype=gn.float64, requires_grad=True)
    >>> gradgradcheck(lambda x: x.exp() * x, (x,))
    True
    """
    given, places = differentiable_inputs(inputs)
    if grad_outputs is None:
        shapes = [(y.numel(), tuple(y.shape)) for y in outputs_of(func, given)]
        seeds = [linspace(0.5, 1.5, n, dtype=float64).reshape(shape) for n, shape in shapes]
    else:
        seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else list(grad_outputs)

    def slopes(*values: Tensor) -> tuple[Tensor, ...]:
        def of_inputs(*chosen: Tensor) -> tuple[Tensor, ...]:
            named = dict(zip(places, chosen, strict=True))
            return tuple(outputs_of(func, [named.get(k, x) for k, x in enumerate(given)]))

        _, pull = vjp(of_inputs, *values[: len(places)])
        return pull(*values[len(places) :]) if len(seeds) > 1 else pull((values[-1],))

    wanted = [given[k] for k in places]
    asked = [x.detach().requires_grad_() for x in seeds]
    return gradcheck(slopes, [*wanted, *asked], **options)


def differentiable_inputs(inputs: Tensor | Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The inputs as a list, and the indices of those that require gradients."""
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    return given, [k for k, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]


def outputs_of(func: Callable, given: list) -> list[Tensor]:
    """A function's floating-point results, and the parts of complex ones."""
    made = func(*given)
    made = [made] if isinstance(made, Tensor) else list(made)
    return [as_real(y) for y in made if y.dtype.is_floating_point or y.dtype.is_complex]


def as_real(x: Tensor) -> Tensor:
    """A tensor's real and imaginary parts along a last axis; a real tensor itself."""
    return view_as_real(x).contiguous() if x.dtype.is_complex else x


def misfits(func: Callable, given: list, place: int, bounds: tuple[float, ...]) -> list[str]:
    """Messages on the Jacobians of one input that differ too much from finite differences."""
    eps, atol, rtol = bounds

    def of_one(x: Tensor) -> tuple[Tensor, ...]:
        return func(*given[:place], x, *given[place + 1 :])

    exact = jacrev(of_one)(given[place])
    found = []
    for number, (found_by, gradient) in enumerate(
        zip(differences(of_one, given[place], eps), exact, strict=True)
    ):
        gradient = gradient.detach().numpy().reshape(found_by.shape)
        if not np.allclose(gradient, found_by, rtol=rtol, atol=atol):
            found.append(
                f"the Jacobian of output {number} for input {place} is not that of differences: "
                f"got\n{gradient}\nwhere differences give\n{found_by}"
            )
    return found


def differences(of_one: Callable, x: Tensor, eps: float) -> list[np.ndarray]:
    """The Jacobian of each output by central differences, (elements of output, elements of x)."""
    start, columns = x.numpy().copy(), []
    if not start.size:
        return [np.empty((y.numel(), 0)) for y in of_one(x)]
    for k in range(start.size):
        ends = []
        for step in (eps, -eps):
            moved = start.copy()
            moved.reshape(-1)[k] += step
            ends.append([y.detach().numpy().reshape(-1) for y in of_one(from_array(moved))])
        columns.append([(up - down) / (2 * eps) for up, down in zip(*ends, strict=True)])
    return [np.stack(parts, axis=1) for parts in zip(*columns, strict=True)]

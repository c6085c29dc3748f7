"""gn.func: functions of functions. Gradients, products with Jacobians, Jacobians, Hessians, vmap.

A function runs on tensors of its own that gradients are asked of; what it reads besides stays as it
is. Nested as deep as one likes, and inside gn.vmap.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.autograd.engine import awaited_nodes, recorded
from gnomon.tensor.autograd.grad import grad as gradients_of
from gnomon.tensor.borrowing import history_of
from gnomon.tensor.creation import eye, zeros_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import flatten, unflatten
from gnomon.tensor.state import ModeBlock, grads, inference
from gnomon.tensor.stateless_calls import functional_call
from gnomon.tensor.tensor import Tensor, detached, node_of, wrap
from gnomon.tensor.vmap import vmap

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd"]
__all__ += ["jacrev", "jvp", "linearize", "replace_all_batch_norm_modules_", "stack_module_state"]
__all__ += ["vjp", "vmap"]

Argnums = int | Sequence[int]
_depth: ContextVar[int] = ContextVar("depth", default=0)


class followed(ModeBlock):
    """A context in which gradients are recorded while one of our functions runs a user's."""

    def __enter__(self) -> None:
        self.enter({_depth: _depth.get() + 1, grads: True, inference: False})


def tensors_of(value: Any) -> tuple[Any, list[Tensor]]:
    """The structure of a nested value, and its tensors."""
    found: list[Tensor] = []
    return flatten(value, found), found


def fresh(value: Any) -> Any:
    """Copies of nested tensors as nodes without other readers."""
    tree, found = tensors_of(value)
    nodes = [x.arena.unique("barrier", x) for x in map(recorded, found)]
    return unflatten(tree, [wrap(x, x.dtype.kind == "float") for x in nodes])


def detach_results(value: Any, given: Any) -> Any:
    """Results, detached unless the caller asked for gradients through them."""
    tree, found = tensors_of(value)
    asked = _depth.get() or any(x.requires_grad for x in tensors_of(given)[1])
    if grads.get() and asked:
        return value
    kept = [x if grads.get() and reaches_leaf(x) else cut(x) for x in found]
    return unflatten(tree, kept)


def cut(x: Tensor) -> Tensor:
    """A tensor of the same values, detached from the history."""
    return wrap(detached(node_of(x))) if x.requires_grad else x


def reaches_leaf(x: Tensor) -> bool:
    """Whether some tensor waits for gradients through this one."""
    return any(awaited_nodes(history_of({recorded(x): None})).values())


def vector_jacobian(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor]
) -> list[Tensor]:
    """The vector-Jacobian products of outputs, 0 for independent inputs."""
    pairs = [(y, v) for y, v in zip(outputs, seeds, strict=True) if y.requires_grad]
    if not pairs:
        return [zeros_like(x) for x in inputs]
    roots, given = zip(*pairs, strict=True)
    found = gradients_of(roots, inputs, given, create_graph=True, allow_unused=True)
    return [zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def jacobian_vector(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], directions: Sequence[Tensor]
) -> list[Tensor]:
    """The Jacobian-vector products, as gradients of pulled with respect to its seeds."""
    seeds = [fresh(zeros_like(y)) for y in outputs]
    return vector_jacobian(vector_jacobian(outputs, inputs, seeds), seeds, directions)


def jacobians(output: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """An output's Jacobian for each input; its axes are the output's, then the input's."""
    shape = tuple(output.shape)
    seeds = eye(prod(shape), dtype=output.dtype).reshape(prod(shape), *shape)
    rows = vmap(lambda seed: tuple(vector_jacobian([output], inputs, [seed])))(seeds)
    return [row.reshape((*shape, *x.shape)) for row, x in zip(rows, inputs, strict=True)]


def fresh_arguments(args: tuple, argnums: Argnums) -> tuple[tuple, Any]:
    """The arguments with fresh tensors at argnums, and those tensors."""
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    if any(not -len(args) <= k < len(args) for k in places):
        raise ArgumentError(f"func: argnums {argnums} of {len(args)} positional arguments.")
    given = list(args)
    for k in places:
        given[k] = fresh(args[k])
    asked = [given[k] for k in places]
    return tuple(given), asked[0] if isinstance(argnums, int) else tuple(asked)


def split_auxiliary(made: Any, has_aux: bool) -> tuple[Any, Any]:
    """A function's result, and its auxiliary output if it has one."""
    return made if has_aux else (made, None)


def grad_and_value(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that gives func's gradient and its value.

    >>> import gnomon as gn
    >>> grad_and_value(lambda x: x * x)(gn.tensor(3.0))
    (Tensor(6.), Tensor(9.))
    """

    @functools.wraps(func)
    def both(*args: Any, **named: Any) -> tuple:
        with followed():
            given, asked = fresh_arguments(args, argnums)
            value, more = split_auxiliary(func(*given, **named), has_aux)
            if not isinstance(value, Tensor) or value.numel() != 1:
                raise ArgumentError(
                    f"grad: the function must give one number: got {value!r}. Use jacrev."
                )
            tree, inputs = tensors_of(asked)
            slopes = unflatten(tree, vector_jacobian([value], inputs, [zeros_like(value) + 1]))
        result = (slopes, (value, more) if has_aux else value)
        return detach_results(result, (args, named))

    return both


def grad(func: Callable, argnums: Argnums = 0, has_aux: bool = False) -> Callable:
    """A function that gives func's gradient with respect to the arguments at argnums.

    >>> import gnomon as gn
    >>> grad(grad(lambda x: x**3))(gn.tensor(2.0))
    Tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def slope(*args: Any, **named: Any) -> Any:
        slopes, value = both(*args, **named)
        return (slopes, value[1]) if has_aux else slopes

    return slope


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """func's value, and a function from gradients of the value to gradients of primals.

    >>> import gnomon as gn
    >>> value, pull = vjp(lambda x: x * x, gn.tensor([1.0, 2.0]))
    >>> pull(gn.tensor([1.0, 1.0]))
    (Tensor([2., 4.]),)
    """
    with followed():
        given = fresh(primals)
        value, more = split_auxiliary(func(*given), has_aux)
    tree, inputs = tensors_of(given)
    outputs = tensors_of(value)[1]

    def pull(*seeds: Any) -> tuple:
        nested = seeds[0] if len(seeds) == 1 else seeds
        with followed():
            parts = vector_jacobian(outputs, inputs, tensors_of(nested)[1])
        return detach_results(unflatten(tree, parts), (primals, nested))

    shown = detach_results(value, primals)
    return (shown, pull, more) if has_aux else (shown, pull)


def jvp(
    func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False
) -> tuple:
    """func's value, and how it changes along tangents.

    >>> import gnomon as gn
    >>> jvp(lambda x: x * x, (gn.tensor(3.0),), (gn.tensor(2.0),))
    (Tensor(9.), Tensor(12.))
    """
    with followed():
        given = fresh(tuple(primals))
        value, more = split_auxiliary(func(*given), has_aux)
        tree, outputs = tensors_of(value)
        parts = jacobian_vector(outputs, tensors_of(given)[1], tensors_of(tuple(tangents))[1])
    made = detach_results((value, unflatten(tree, parts)), (primals, tangents))
    return (*made, more) if has_aux else made


def jacrev(
    func: Callable, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable:
    """A function that gives func's Jacobian: the axes of the result, then those of the argument.

    All rows are one program, whatever chunk_size says.

    >>> import gnomon as gn
    >>> jacrev(lambda x: x * x)(gn.tensor([1.0, 2.0]))
    Tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **named: Any) -> Any:
        with followed():
            given, asked = fresh_arguments(args, argnums)
            value, more = split_auxiliary(func(*given, **named), has_aux)
            tree, inputs = tensors_of(asked)
            outer, outputs = tensors_of(value)
            parts = [unflatten(tree, jacobians(y, inputs)) for y in outputs]
        made = detach_results(unflatten(outer, parts), (args, named))
        return (made, more) if has_aux else made

    return jacobian


def jacfwd(
    func: Callable, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable:
    """jacrev under another name: gradients are programs, and both ways give the same Jacobian."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable, argnums: Argnums = 0) -> Callable:
    """A function that gives func's second derivatives.

    >>> import gnomon as gn
    >>> hessian(lambda x: (x**3).sum())(gn.tensor([1.0, 2.0]))
    Tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """func's value, and a function from tangents of primals to how the value changes.

    >>> import gnomon as gn
    >>> value, push = linearize(lambda x: x * x, gn.tensor(3.0))
    >>> value, push(gn.tensor(2.0))
    (Tensor(9.), Tensor(12.))
    """
    return func(*primals), lambda *tangents: jvp(func, primals, tangents)[1]


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function: a program holds no mutation, however it was written.

    >>> functionalize(abs)(-1)
    1
    """
    return func


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one kind, each stacked along a new first axis.

    With vmap and functional_call, all of them are one call.

    >>> import gnomon as gn
    >>> parameters, buffers = stack_module_state([gn.nn.Linear(3, 2) for _ in range(4)])
    >>> parameters["weight"].shape, buffers
    (Size([4, 2, 3]), {})
    """
    kinds = {(type(model), model.training) for model in models}
    if len(kinds) != 1:
        raise ArgumentError(
            "stack_module_state: expected modules of one class, all in training or none: "
            f"got {sorted(f'{kind.__name__} in training: {flag}' for kind, flag in kinds)}."
        )
    parameters = stacked_leaves([dict(model.named_parameters()) for model in models])
    return parameters, stacked_leaves([dict(model.named_buffers()) for model in models])


def stacked_leaves(dicts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The tensors of each name, stacked; a stack requires gradients if its parts do."""
    found = {}
    for name, first in dicts[0].items():
        whole = FUNCTIONS["stack"]([each[name].detach() for each in dicts])
        found[name] = whole.requires_grad_(first.requires_grad)
    return found


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """A module whose batch norms take every batch's own statistics, so that vmap can call it.

    >>> import gnomon as gn
    >>> replace_all_batch_norm_modules_(gn.nn.BatchNorm1d(2)).running_mean is None
    True
    """
    for part in root.modules():
        if any(kind.__name__ == "BatchNorm" for kind in type(part).__mro__):
            part.running_mean = part.running_var = part.num_batches_tracked = None
            part.track_running_stats = False
    return root

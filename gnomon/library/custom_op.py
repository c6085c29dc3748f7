"""gn.library.custom_op: a function of a user's becomes an operation that programs can hold.

The function runs on ordinary tensors, by numpy, ctypes, or anything else. Outside of gn.compile a
call is the function. Inside, it becomes a node of the program, whose results have the shapes that
its fake implementation gives, and native code calls the function at its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gnomon.errors import ArgumentError, GradientError, TraceError
from gnomon.ir.node import Arena, Node
from gnomon.library.arguments import described, restored
from gnomon.library.mutations import (
    DATA,
    METADATA,
    STORAGE,
    declared,
    refuse_undeclared_changes,
    stood,
)
from gnomon.ops.external import EXTERNALS, ExternalOp, external, letters_of
from gnomon.runtime.cache import digest
from gnomon.settings import replacing
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.autograd.function import Function
from gnomon.tensor.creation import empty
from gnomon.tensor.layouts import value_layout
from gnomon.tensor.pytree import tensors_in
from gnomon.tensor.state import (
    KEPT_REFERENCES,
    NOTHING,
    grads,
    is_eager,
    mesh_results,
    program_size,
    state,
)
from gnomon.tensor.tensor import Tensor, alias, array_of, from_array, node_of, wrap

__all__ = ["CustomOp", "custom_op"]


class CustomOp:
    """An operation made of a function: called as the function is.

    Register what compile needs beside it: register_fake, register_autograd, register_vmap.
    """

    def __init__(
        self,
        name: str,
        function: Callable,
        mutates: Iterable[str] | Mapping[str, str],
        sharding: str,
    ) -> None:
        self.name, self.function = name, function
        self.signature = inspect.signature(function)
        self.words = tuple(self.signature.parameters)
        self.mutates = declared(name, mutates, self.words)
        self.letters = letters_of(sharding)
        self.fake: Callable | None = None
        self.samples: Callable | None = None
        self.backward: Callable = self._without_gradient
        self.keep: Callable = keep_nothing
        self.autograd = differentiated(self)
        self.__doc__, self.__name__ = function.__doc__, name

    def register_fake(self, function: Callable) -> Callable:
        """Say what a call gives: tensors of the right shapes and dtypes, their values unused."""
        self.fake = function
        return function

    def register_autograd(
        self, backward: Callable, *, setup_context: Callable | None = None
    ) -> None:
        """Say its gradient, as of gn.autograd.Function: backward(context, *gradients).

        setup_context(context, inputs, output) keeps what backward needs.
        """
        self.backward, self.keep = backward, setup_context or keep_nothing

    def register_vmap(self, function: Callable) -> Callable:
        """Say how it takes samples: function(info, in_dims, *arguments) -> results, their axes.

        Without it, gn.vmap calls the operation for each sample.
        """
        self.samples = function
        return function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The results of a call."""
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        arguments = tuple(bound.arguments.values())
        wanted = grads.get() and any(x.requires_grad for x in tensors_in(arguments))
        return self.autograd.apply(*arguments) if wanted else self._plain(*arguments)

    def _plain(self, *arguments: Any) -> Any:
        """The results, without their history."""
        apart = mesh_results and any(map(value_layout, tensors_in(arguments)))
        if is_eager() and not apart:
            return self._checked(self.function, tuple(map(self._given, self.words, arguments)))
        return self._captured(arguments)

    def _given(self, word: str, value: Any) -> Any:
        """An argument as the function gets it: out of sight of backward passes."""
        if self.mutates.get(word, DATA) != DATA:
            return value  # another storage, or another view, is to be seen on the tensor itself
        if isinstance(value, Tensor):
            return value.detach() if value.requires_grad else value
        return type(value)(self._given(word, x) for x in value) if tensors_in(value) else value

    def _without_gradient(self, context: Any, *gradients: Any) -> None:
        """The backward of an operation without a gradient: an error."""
        raise GradientError(f"{self.name}: it has no gradient. Say it by register_autograd.")

    def _checked(self, function: Callable, arguments: Sequence[Any]) -> Any:
        """The results of a function, which may change of its arguments only what is declared."""
        before = {word: stood(x) for word, x in zip(self.words, arguments, strict=True)}
        with no_grad():
            made = self._call(function, arguments)
        for word, each in before.items():
            refuse_undeclared_changes(self.name, word, each, self.mutates.get(word, "none"))
        return made

    def _call(self, function: Callable, arguments: Sequence[Any]) -> Any:
        """The results of a function that has the operation's parameters."""
        given = dict(zip(self.words, arguments, strict=True))
        bound = inspect.BoundArguments(self.signature, given)
        return function(*bound.args, **bound.kwargs)

    # as a node of a program

    def _captured(self, arguments: Sequence[Any]) -> Any:
        """The results of a call as nodes, and what it does to its arguments."""
        if self.fake is None:
            raise TraceError(
                f"{self.name}: nothing says which shapes it gives, which compile has to know. "
                "Say it by register_fake."
            )
        text, given = described(self.name, arguments), tensors_in(tuple(arguments))
        stand_ins = [empty(tuple(x.shape), dtype=x.dtype) for x in given]
        faked = restored(text, stand_ins)
        with aside():
            made = self._checked(self.fake, faked)
        results = tensors_in(made)
        self._check_results(made, results)
        changing = [*self._changing(arguments, faked)]
        kept = [fake for _, fake, kind in changing if kind != METADATA]
        kinds = tuple((tuple(map(program_size, x.shape)), x.dtype) for x in (*kept, *results))
        nodes = [node_of(x) for x in given]
        found = external(state.arena, nodes, self._key(), text, kinds, self.letters)
        values = iter(map(wrap, found))
        for x, fake, kind in changing:
            self._change(x, fake, kind, values)
        rest = [*values]
        if isinstance(made, Tensor):
            return rest[0]
        return None if made is None else type(made)(rest)

    def _check_results(self, made: Any, results: Sequence[Tensor]) -> None:
        """Refuse results that no program could hold."""
        plain = made is None or isinstance(made, Tensor)
        if not plain and not (isinstance(made, (list, tuple)) and len(results) == len(made)):
            raise ArgumentError(
                f"{self.name}: the fake gives a {type(made).__name__}. "
                "Give a tensor, a list or tuple of tensors, or None."
            )
        if not results and not self.mutates:
            raise TraceError(
                f"{self.name}: it gives nothing and changes nothing, so that a program would leave "
                "it out. Give a tensor, or name in mutates_args what it changes."
            )

    def _changing(
        self, arguments: Sequence[Any], faked: Sequence[Any]
    ) -> Iterator[tuple[Tensor, Tensor, str]]:
        """The tensors that a call changes, their stand-ins after it, and what changes of them."""
        for word, real, fake in zip(self.words, arguments, faked, strict=True):
            if word in self.mutates:
                for pair in zip(tensors_in(real), tensors_in(fake), strict=True):
                    yield (*pair, self.mutates[word])

    def _change(self, x: Tensor, fake: Tensor, kind: str, values: Iterator[Tensor]) -> None:
        """Do to an argument what a call does."""
        if kind == DATA:
            x.copy_(next(values))
        elif not state.recorder.is_made(x):
            raise TraceError(
                f"{self.name}: it changes the {kind} of a tensor from outside of the function "
                "that is captured, which replays could not do. Pass a view or a clone of it."
            )
        else:
            shown = () if fake._view is None else fake._view.chain
            other = next(values) if kind == STORAGE else alias(x, shown, detached=True)
            x._storage, x._view = other._storage, other._view

    def _key(self) -> str:
        """The operation's key in programs: another one when what programs depend on changes."""
        mutates = tuple(sorted(self.mutates.items()))
        known = (self.name, str(self.signature), mutates, self.letters, code_of(self.fake))
        key = f"{self.name}@{digest(repr(known))[:16]}"
        EXTERNALS[key] = ExternalOp(self.name, self._compute, self.samples and self._batched)
        return key

    def _compute(self, text: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """All results of a call in a program, of arrays that are the call's own."""
        with aside():
            arguments = restored(text, [*map(from_array, arrays)])
            made = self._checked(self.function, arguments)
            changed = [x for x, _, kind in self._changing(arguments, arguments) if kind != METADATA]
            return [array_of(x) for x in (*changed, *tensors_in(made))]

    def _batched(
        self, node: Node, inputs: Sequence[Node], flags: Sequence[bool], size: int
    ) -> Node:
        """A result with an axis of samples in front, by what a user registered."""
        assert self.samples is not None, "only what is registered is called"
        given = restored(node.params["said"], [*map(wrap, inputs)])
        axes = restored(node.params["said"], [SampleAxis(0 if has else None) for has in flags])
        places = tuple(x.place if isinstance(x, SampleAxis) else None for x in axes)
        made, out = self.samples(Samples(size), places, *given)
        results, outs = tensors_in(made), out if isinstance(out, (list, tuple)) else (out,)
        k = node.params["index"]
        return node_of(results[k].movedim(outs[k], 0))


def differentiated(op: CustomOp) -> type[Function]:
    """An operation as a function with a gradient of its own."""
    return type(
        op.name,
        (Function,),
        {
            "forward": staticmethod(op._plain),
            "setup_context": staticmethod(lambda *given: op.keep(*given)),
            "backward": staticmethod(lambda *given: op.backward(*given)),
        },
    )


def keep_nothing(context: Any, inputs: tuple, output: Any) -> None:
    """Keep nothing for backward."""


class SampleAxis:
    """Stands for a tensor of samples: the axis that they are along."""

    def __init__(self, place: int | None) -> None:
        self.place = place


class Samples:
    """The first argument of register_vmap's function: how many samples there are."""

    def __init__(self, size: int) -> None:
        self.batch_size, self.randomness = size, "error"


def custom_op(
    name: str,
    function: Callable | None = None,
    /,
    *,
    mutates_args: Iterable[str] | Mapping[str, str] = (),
    device_types: object = None,
    schema: str | None = None,
    sharding: str = "",
) -> Any:
    """Make a function an operation that gn.compile keeps whole; `name` is "library::operation".

    PyTorch's device_types and schema are taken: there is one device, and the function's signature.

    mutates_args: arguments whose data it changes, or argument -> "data", "metadata" or "storage".
    sharding: how its axes follow each other, as "bi,io->bo" (each letter that an input and a result
    share may be split over ranks); without it every rank computes all of it.

    >>> from gnomon.tensor.creation import tensor
    >>> import numpy as np
    >>> @custom_op("examples::sinc")
    ... def sinc(x: Tensor) -> Tensor:
    ...     return tensor(np.sinc(x.numpy()))
    >>> @sinc.register_fake
    ... def _(x):
    ...     return x.new_empty(x.shape)
    >>> sinc(tensor([0.0, 0.5]))
    Tensor([1.    , 0.6366])
    """
    library, separator, own = name.partition("::")
    if not (separator and library.isidentifier() and own.isidentifier()):
        raise ArgumentError(f'custom_op: a name is "library::operation": got {name!r}.')
    if function is None:
        return lambda function: CustomOp(name, function, mutates_args, sharding)
    return CustomOp(name, function, mutates_args, sharding)


def code_of(function: Callable | None) -> tuple[Any, ...]:
    """A function's code as something to compare."""
    code = getattr(function, "__code__", None)
    return () if code is None else (code.co_code, repr(code.co_consts), code.co_names)


def aside() -> replacing:
    """Compute apart from what this thread has under way: it waits for this."""
    own = {"arena": Arena(), "images": WeakKeyDictionary[Node, Node](), "pending": []}
    return replacing(state, **own, unknown=[], recorder=NOTHING, sweep_at=KEPT_REFERENCES)

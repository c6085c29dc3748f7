"""Every operation of the registry as a function of tensors, a method, and a method that writes.

Generated from gnomon/ops/registry.py: an operation that is added there appears here. What must look
at values before it knows a shape is in selection.py, or says so at its declaration (`by_value`).
"""

from __future__ import annotations

import functools
import re
from collections import namedtuple
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import BareCall, DtypeError, GnomonError
from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.lazy import Lazy, out, read_numbers, repeats
from gnomon.ops.registry import OPS, Op, explained, operations
from gnomon.tensor.calls import (
    apply,
    apply_flat,
    apply_shown,
    apply_view,
    apply_views,
    by_weight,
)
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.operators import write_result
from gnomon.tensor.overrides import is_overriding, overridable, public, taken_over
from gnomon.tensor.state import is_eager
from gnomon.tensor.tensor import Paired, Tensor, node_of, pair_of

FIRST = ("x",)
NODE = re.compile(r"\bNode\b")
TENSORS: dict[Any, type] = {Node: Tensor}
_globals: dict[str, dict[str, Any]] = memo({})
"""Names of modules as users see them, for annotations."""


# calls that depend on values: tensors are read, and sizes refused, before there are nodes


def by_value(call: Callable) -> Callable:
    """The call of an operation whose signature has arguments that are read as values."""

    def known(op: Op, args: Sequence, kwargs: dict[str, Any]) -> Any:
        if not args or not isinstance(args[0], Tensor):
            return call(op, args, kwargs)
        if any(map(is_overriding, args)):
            return taken_over(public[op.__name__], args, kwargs)
        if op.facts.meant is not None:
            meant = explained(functools.partial(op.facts.meant, repeats.places), op.__name__)
            found = meant(*args, **op.respell(kwargs))
            if found:
                return call(*found, {})
        args, kwargs = changed(op, array, args, kwargs)
        return call(op, *changed(op, number, args, kwargs))

    return known


def changed(op: Op, kind: Callable, args: Sequence, kwargs: dict) -> tuple[list, dict]:
    """A call's arguments, with those that the operation reads as values converted by `kind`."""
    read, given = op.facts.read, zip(op.words, args, strict=False)
    listed = [kind(x) if word in read else x for word, x in given]
    named = {word: kind(x) if word in read else x for word, x in op.respell(kwargs).items()}
    return [*listed, *args[len(listed) :]], named


def array(value: Any) -> Any:
    """The numpy array of a tensor."""
    return value.numpy(force=True) if isinstance(value, Tensor) else value


def number(value: Any) -> Any:
    """The Python number, or list of numbers, of an array."""
    return value.tolist() if isinstance(value, np.ndarray) else value


def over_all(call: Callable, place: int) -> Callable:
    """The call of an operation for which PyTorch's empty list of axes means all of them.

    place: the number of the operation's argument `axis`.
    """

    def known(op: Op, args: Sequence, kwargs: dict[str, Any]) -> Any:
        if len(args) > place and is_empty(args[place]):
            args = (*args[:place], None, *args[place + 1 :])
        if "dim" in kwargs and is_empty(kwargs["dim"]):
            kwargs = {**kwargs, "dim": None}
        return call(op, args, kwargs)

    return known


def is_empty(value: Any) -> bool:
    """Whether a value is an empty list."""
    return isinstance(value, (list, tuple)) and not value


# operations as functions


def as_function(op: Op, name: str = "") -> Callable:
    """The function on tensors of an operation, under one of its names."""
    facts = op.facts
    call = apply_view if facts.view else prompt if facts.prompt else apply
    call = apply_views if facts.views else call
    if facts.strided and name not in facts.shown:
        call = apply_flat if name in facts.flat else apply_shown
    call = by_value(call) if op.facts.read else call
    call = by_weight(call) if op.facts.layer else call
    call = over_all(call, op.words.index("axis")) if op.facts.none_is_all else call

    def function(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return out.into(function, args, kwargs)
        if not args:
            args, kwargs = with_first(op, kwargs)
        try:
            return call(op, args, kwargs)
        except GnomonError:
            read = read_numbers.read_numbers(op, args, kwargs)
            if read is None:
                raise
        return call(op, *read)

    functools.update_wrapper(function, over_tensors(op.function), updated=())
    function.__module__ = "gnomon"
    return function


def over_tensors(plain: Callable) -> Callable:
    """A function for help() whose annotations say Tensor where the operation's say Node.

    It is never called; its globals hold the names that its annotations refer to.
    """
    names = _globals.get(plain.__module__)
    if names is None:
        names = _globals[plain.__module__] = {**plain.__globals__, "Tensor": Tensor}
    parts = plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__
    made = FunctionType(*parts)
    made.__doc__, made.__kwdefaults__ = plain.__doc__, plain.__kwdefaults__
    made.__module__, made.__qualname__ = plain.__module__, plain.__qualname__
    for word, kind in plain.__annotations__.items():
        text = isinstance(kind, str)  # a user's own operation may have types
        made.__annotations__[word] = NODE.sub("Tensor", kind) if text else TENSORS.get(kind, kind)
    return made


def prompt(op: Op, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call an operation whose results are computed at once, if possible."""
    made = apply(op, args, kwargs)
    if is_eager():
        parts = made if isinstance(made, tuple) else (made,)
        evaluate([node_of(x) for x in map(pair_of, parts) if isinstance(x, Tensor)])
    return made


def with_first(op: Op, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """Keyword arguments, with the one that means the first parameter moved to its position."""
    named = op.respell(kwargs)
    first = op.words[0] if op.words else ""
    if first not in named:
        return (), named
    return (named.pop(first),), named


def in_place(function: Callable, name: str) -> Callable:
    """A method that stores its result in the tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if isinstance(self, Paired):  # Tensor.add_(z, 1) is z.add_(1)
            return getattr(self, name)(*args, **kwargs)
        return write_result(self, function(self, *args, **kwargs), name)

    method.__name__ = name
    method.__doc__ = f"{(function.__doc__ or name).splitlines()[0]} Stored in this tensor."
    return method


def renamed(function: Callable, name: str) -> Callable:
    """Give a function another name."""
    if function.__name__ == name:
        return function

    @overridable
    def alias(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    functools.update_wrapper(alias, function, updated=())
    alias.__name__ = alias.__qualname__ = name
    return alias


def generated() -> dict[str, Callable]:
    """All operations as functions of tensors, by name and alias."""
    made = {op: as_function(op) for op in operations()}
    special = [(name, op) for name, op in OPS.items() if name in (*op.facts.shown, *op.facts.flat)]
    others = {name: as_function(op, name) for name, op in special}
    return {name: renamed(others.get(name, made[op]), name) for name, op in OPS.items()}


def with_arguments(op: Op, function: Callable, name: str) -> Callable:
    """Make a function refuse calls without an argument that PyTorch requires."""

    @overridable
    def form(*args: Any, **kwargs: Any) -> Any:
        if not args:
            args, kwargs = with_first(op, kwargs)
        if args and all(value is None for value in (*args[1:], *kwargs.values())):
            raise BareCall(f"{name}: {op.facts.bare}.")
        return function(*args, **kwargs)

    return functools.update_wrapper(form, function)


FUNCTIONS: dict[str, Callable] = generated()
for _name, _op in OPS.items():
    if _op.facts.bare and _name != _op.__name__:
        FUNCTIONS[_name] = with_arguments(_op, FUNCTIONS[_name], _name)
public.update(FUNCTIONS)


def install() -> None:
    """Give Tensor a method for every operation whose first argument is a tensor."""
    renames = {name: op.__name__ for op in operations() for name in op.facts.methods}
    for name, op in OPS.items():
        if op.words[:1] != FIRST or not op.facts.method or op.facts.alone:
            continue
        function = FUNCTIONS[renames.get(name, name)]
        if op.facts.bare:
            function = with_arguments(op, function, name)
        if not hasattr(Tensor, name):
            setattr(Tensor, name, function)
        if not op.facts.view and not hasattr(Tensor, f"{name}_"):
            setattr(Tensor, f"{name}_", in_place(function, f"{name}_"))


install()


class Values(NamedTuple):
    """Values with their positions along an axis."""

    values: Tensor
    indices: Tensor


def paired(function: Callable, kind: Callable = Values) -> Callable:
    """The function whose results come as a named tuple, by default of values and indices."""

    @overridable
    def named(*args: Any, **kwargs: Any) -> Any:
        return kind(*function(*args, **kwargs))

    return functools.update_wrapper(named, function)


def where_asked(pair: Callable, plain: Callable, of_two: Op | None = None) -> Callable:
    """A function that returns positions too where PyTorch's does, and only values otherwise."""

    @overridable
    def function(input: Tensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
        other = dim if of_two is None else kwargs.get("other", dim)
        if of_two is not None and isinstance(other, Tensor):
            return FUNCTIONS[of_two.__name__](input, other)
        if dim is None:
            return plain(input, *args, **kwargs)
        return Values(*pair(input, dim, *args, **kwargs))

    return functools.update_wrapper(function, plain)


def first_of(pair: Callable) -> Callable:
    """A function that returns the first of a pair."""

    @overridable
    def values(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return pair(x, *args, **kwargs)[0]

    return functools.update_wrapper(values, pair)


def install_pairs() -> None:
    """Define functions that return PyTorch's pair if dim is given, else the standard's result."""
    for op in operations():
        name, facts = op.__name__, op.facts
        function = FUNCTIONS[name]
        if facts.pair_of is not None:
            plain = facts.pair_of
            asked = where_asked(function, FUNCTIONS[plain.__name__], plain.facts.of_two)
            FUNCTIONS[plain.__name__] = asked
            setattr(Tensor, plain.__name__, asked)
        if facts.results:
            FUNCTIONS[name] = paired(function, namedtuple(name, facts.results))
        if facts.pair:
            FUNCTIONS[name] = paired(function)
        if FUNCTIONS[name] is not function and hasattr(Tensor, name):
            setattr(Tensor, name, FUNCTIONS[name])
        if facts.values_alone:
            FUNCTIONS[name] = where_asked(function, first_of(function))


install_pairs()


def metadata_in_place(function: Callable, name: str) -> Callable:
    """A method that changes the tensor's view of its storage in place."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._view = function(self, *args, **kwargs)._view
        return self

    method.__name__ = name
    method.__doc__ = f"{(function.__doc__ or name).splitlines()[0]} This tensor changes."
    return method


for _name in [name for op in operations() for name in op.facts.reshapes]:
    setattr(Tensor, f"{_name}_", metadata_in_place(FUNCTIONS[_name], f"{_name}_"))


LATE: dict[str, tuple[str, ...]] = {
    "composites": (
        *("addbmm", "angle", "conj", "conj_physical", "isreal", "ldexp", "logaddexp2", "msort"),
        *("nanmedian", "nanquantile", "renorm", "resolve_conj", "resolve_neg"),
    ),
    "choices": ("multinomial",),
    "legacy": ("type",),
    "matrices": (*("geqrf", "lu", "lu_solve", "ormqr", "svd", "triangular_solve"),),
    "spectrograms": ("istft", "stft"),
    "questions": (
        *("frexp", "get_device", "histogram", "is_conj", "is_distributed", "is_inference"),
        *("is_neg", "is_nonzero", "is_same_size", "is_signed", "nonzero_static"),
    ),
    "splicing": (
        *("as_strided", "as_strided_scatter", "diagflat", "diagonal_scatter"),
        *("index_reduce", "put", "select_scatter", "slice_scatter", "split_with_sizes"),
        "unsafe_split_with_sizes",
    ),
}
"""Functions that are methods too, by the file of this folder that they are in."""
METHODS = (
    *("apply_", "as_strided_", "map2_", "map_", "narrow_copy", "new", "new_empty_strided"),
    *("resize_", "resize_as_", "set_", "sum_to_size"),
)
"""Methods of splicing.py that are no functions."""
RELATIVES = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
"""Methods of relatives.py."""
OF_STORAGE = ("_typed_storage", "is_set_to", "storage", "untyped_storage")
"""Methods of storage.py."""
WRITING = ("addbmm", "conj_physical", "index_reduce", "ldexp", "put", "renorm")
"""Functions with a method that stores the result."""


OF_SPARSE = ("sparse_mask", "to_sparse", "to_sparse_coo", "to_sparse_csr")
"""Methods of sparse_tensor.py."""
LATE_METHODS = (
    *(("splicing", METHODS), ("storage", OF_STORAGE), ("sparse_tensor", OF_SPARSE)),
    ("relatives", RELATIVES),
)
"""Methods that are no functions, by their files."""


def waiting(home: Lazy, name: str) -> Callable:
    """A method whose module is imported on first use."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(home, name)(self, *args, **kwargs)

    method.__name__, method.home = name, home
    method.__doc__ = f"{name} of this tensor."
    return method


for _file, _names in (*LATE.items(), *LATE_METHODS):
    for _name in _names:
        _waiting = waiting(Lazy(f"gnomon.tensor.{_file}"), _name)
        setattr(Tensor, _name, _waiting)
        if _name in WRITING:
            setattr(Tensor, f"{_name}_", in_place(_waiting, f"{_name}_"))
Tensor.polygamma = lambda self, n: FUNCTIONS["polygamma"](n, self)
Tensor.polygamma_ = in_place(Tensor.polygamma, "polygamma_")


def imaginary_parts(self: Tensor) -> Tensor:
    """The imaginary parts of complex numbers, as a view; DtypeError of real ones."""
    raise DtypeError(f"imag: {self.dtype.name} has no imaginary part. Take zeros_like(x).")


Tensor.imag = property(imaginary_parts)
Tensor._grad = Tensor.grad  # PyTorch's other name of it
Tensor.real = property(Tensor.conj, doc="The tensor itself, where no element is complex.")

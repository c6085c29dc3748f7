"""Names of a captured function's storages: parameters by their paths, arguments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gnomon.ir.provenance import Site
from gnomon.tensor.pytree import LONGEST, TreeLeaf, TreeSpec, dense_parts
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor

__all__ = ["named", "names_of"]


def names_of(
    function: Callable, call: TreeSpec, arguments: Sequence[Tensor], modules: Iterable[Any]
) -> dict[Storage, str]:
    """The names of the tensors that a function may read: parameters' paths, then arguments."""
    found: dict[Storage, str] = {}
    for module in modules:
        for name, x in (*module.named_parameters(), *module.named_buffers()):
            for part in dense_parts(x)[0]:
                found.setdefault(part._storage, name)
    for number, name in of_arguments(function, call):
        found.setdefault(arguments[number]._storage, name)
    return found


def of_arguments(function: Callable, call: TreeSpec) -> Iterator[tuple[int, str]]:
    """Every tensor of a call by number, with its name among the arguments."""
    given, words = call.parts
    names = [*positions(function), *(f"args[{k}]" for k in range(len(given.parts)))]
    for name, part in zip(names, given.parts, strict=False):
        yield from inside(name, part)
    for key, part in zip(words.names, words.parts, strict=True):
        yield from inside(str(key.value), part)


def positions(function: Callable) -> Iterator[str]:
    """The names of positional arguments; none for a function that is not written in Python."""
    try:
        known = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except (TypeError, ValueError):
        return
    for x in known:
        if x.kind is x.VAR_POSITIONAL:
            yield from (f"{x.name}[{k}]" for k in range(LONGEST))
        elif x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD):
            yield x.name


def inside(name: str, tree: Any) -> Iterator[tuple[int, str]]:
    """The number and the name of each tensor in a nested value of that name.

    >>> list(inside("batch", TreeSpec(tuple, (), (TreeLeaf(0), TreeLeaf(1)))))
    [(0, 'batch[0]'), (1, 'batch[1]')]
    """
    if isinstance(tree, TreeLeaf):
        yield tree.number, name
    elif isinstance(tree, TreeSpec):
        keys = [key.value for key in tree.names] or range(len(tree.parts))
        for key, part in zip(keys, tree.parts, strict=True):
            yield from inside(f"{name}[{key!r}]", part)


def named(sites: tuple[Site, ...], name: str) -> tuple[Site, ...]:
    """The source locations of an input with its name, and the module that it belongs to."""
    module = name.rpartition(".")[0]
    return tuple(site._replace(name=name, module=module or site.module) for site in sites)

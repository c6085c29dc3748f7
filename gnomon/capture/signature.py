"""The signature of a call: its arguments as a pytree, and what a program fixes of each tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gnomon.ir.memo import memo
from gnomon.lazy import call_objects
from gnomon.ops.strides import form_of
from gnomon.tensor.pytree import LONGEST, PLACES, TreeSpec, nothing
from gnomon.tensor.strides import strided_view_of
from gnomon.tensor.tensor import Tensor, raw
from gnomon.tensor.views import check_kept, full_chain, is_shown_by_storage

if TYPE_CHECKING:
    from gnomon.capture.call_objects import NamedClasses

EMPTY: NamedClasses = MappingProxyType({})

__all__ = ["signature_of", "structure_of_call"]


def structure_of_call(
    args: tuple, kwargs: dict, named: NamedClasses = EMPTY
) -> tuple[Any, Sequence[Tensor]]:
    """The structure of a call's arguments, and their tensors; most are tensors alone.

    `named` are classes whose objects are taken by their attributes.
    """
    count = len(args)
    if not kwargs and count < LONGEST:
        for x in args:
            if type(x) is not Tensor or x.__dict__:
                break
        else:
            if count < 2 or len(set(map(id, args))) == count:
                return tensors_alone(count), args
    return call_objects.tensors_of_call(args, kwargs, named)


@memo
@cache
def tensors_alone(count: int) -> TreeSpec:
    """The structure of a call whose arguments are `count` different tensors."""
    return TreeSpec(tuple, (), (TreeSpec(tuple, (), PLACES[:count]), nothing(dict)))


def signature_of(tensor: Tensor) -> tuple:
    """The signature of an argument: all that a program fixes about it."""
    rare, leaf = tensor._rare, tensor._requires
    gathered = rare is not None and rare.grad is not None
    storage, view, part = tensor._storage, tensor._view, False
    if view is None:
        node, wanted, form = storage.node, leaf or storage.tracked, storage.form
    else:
        node, wanted = raw(tensor), tensor.requires_grad
        check_kept(view)
        part = storage.tracked or view.base is not None
        form = form_of(strided_view_of(tensor))
        if is_shown_by_storage(view):
            steps = tuple((op, *sorted(params.items())) for op, params in full_chain(tensor))
            part = (part, steps)
    return (node.shape, node.dtype, wanted, leaf, gathered, part, form)

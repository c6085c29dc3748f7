"""Copies and pickles of tensors: values, class, attributes, whether gradients are wanted."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from gnomon.errors import GradientError
from gnomon.tensor.state import is_capturing
from gnomon.tensor.strides import unviewed
from gnomon.tensor.tensor import Tensor, alias, array_of, from_array, method
from gnomon.tensor.views import Chain, full_chain, is_encoded, mesh_layout_of


@method
def __copy__(self: Tensor) -> Tensor:
    """A tensor of the same storage: a leaf that requires gradients if this one does."""
    made = self.__class__.__new__(self.__class__)
    # a view that a capture made is made anew by each replay
    plain = self._view is None and not self.requires_grad and not is_capturing()
    made._view = None if plain else alias(self, (), detached=True)._view
    made._storage, made._rare, made._requires = self._storage, None, self.requires_grad
    if hasattr(self, "__dict__"):
        made.__dict__.update(self.__dict__)
    return made


@method
def __deepcopy__(self: Tensor, memo: dict) -> Tensor:
    """A leaf of its own with the same value."""
    made = twin(self, copied(self, memo), memo)
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made


def twin(tensor: Tensor, value: Tensor, known: dict[int, Any]) -> Tensor:
    """A tensor of another's class and attributes over a value; known: earlier copies."""
    if not tensor.is_leaf:
        raise GradientError(
            "deepcopy: only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment. Use detach()."
        )
    made = tensor.__class__.__new__(tensor.__class__)
    made._storage, made._view, made._rare = value._storage, value._view, None
    made._requires = tensor._requires
    known[id(tensor)] = made
    if hasattr(tensor, "__dict__"):
        made.__dict__.update(copy.deepcopy(tensor.__dict__, known))
    return made


def copied(tensor: Tensor, known: dict[int, Any] | None = None) -> Tensor:
    """A copy of a value; quantized blocks stay quantized.

    known: the memory that was copied: copies of tensors that share memory share it again.
    """
    alone = known is None or mesh_layout_of(tensor._view)
    if alone and not is_encoded(tensor._view):
        return alias(tensor, (), detached=True).clone()
    known, place = {} if known is None else known, id(tensor._storage)
    if place not in known:
        known[place] = alias(unviewed(tensor), (), detached=True).clone()
    made, chain = unviewed(known[place]), full_chain(tensor)
    if chain:
        made._view = alias(known[place], chain, detached=True)._view
        made._view.home = None
    return made


@method
def __reduce_ex__(self: Tensor, protocol: int) -> tuple:
    """Reduce a tensor for pickle to its values, class, and requires_grad."""
    shown = is_encoded(self._view)
    array, chain = array_of(unviewed(self) if shown else self).copy(), full_chain(self)
    said = (self.__class__, array, self._requires, getattr(self, "__dict__", None))
    return (restored, (*said, chain) if shown else said)


def restored(
    kind: type, array: np.ndarray, requires: bool, attributes: dict | None, chain: Chain = ()
) -> Tensor:
    """A tensor from its pickle; chain: the view steps from its quantized blocks, if any."""
    made = kind.__new__(kind)
    fresh = alias(from_array(array), chain, detached=True) if chain else from_array(array)
    made._storage, made._view, made._rare = fresh._storage, fresh._view, None
    made._requires = requires
    if attributes:
        made.__dict__.update(attributes)
    return made

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
    """A tensor of the same storage: a leaf, which wants gradients if this one does."""
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
    if not self.is_leaf:
        raise GradientError(
            "deepcopy: only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment. Use detach()."
        )
    made = self.__class__.__new__(self.__class__)
    twin = copied(self, memo)
    made._storage, made._view, made._rare = twin._storage, twin._view, None
    made._requires = self._requires
    memo[id(self)] = made
    if hasattr(self, "__dict__"):
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made


def copied(tensor: Tensor, known: dict[int, Any]) -> Tensor:
    """A copy of a value; encoded blocks stay blocks.

    Copies of plain tensors that share memory share it again, as those of one dictionary: known has
    the memory that was copied. A parameter's copy has memory of its own.
    """
    view, storage = tensor._view, tensor._storage
    alone = tensor._requires or type(tensor) is not Tensor or mesh_layout_of(view)
    if alone and not is_encoded(view):
        return alias(tensor, (), detached=True).clone()
    whole = known.get(id(storage))
    if whole is None:
        whole = known[id(storage)] = alias(unviewed(tensor), (), detached=True).clone()
    made, chain = unviewed(whole), full_chain(tensor)
    if chain:
        made._view = alias(whole, chain, detached=True)._view
        made._view.home = None
    return made


@method
def __reduce_ex__(self: Tensor, protocol: int) -> tuple:
    """Pickles hold the values, the class, and whether gradients are wanted."""
    shown = is_encoded(self._view)
    array, chain = array_of(unviewed(self) if shown else self).copy(), full_chain(self)
    said = (self.__class__, array, self._requires, getattr(self, "__dict__", None))
    return (restored, (*said, chain) if shown else said)


def restored(
    kind: type, array: np.ndarray, requires: bool, attributes: dict | None, chain: Chain = ()
) -> Tensor:
    """A tensor from its pickle; chain: the steps from its blocks, where these are encoded."""
    made = kind.__new__(kind)
    fresh = alias(from_array(array), chain, detached=True) if chain else from_array(array)
    made._storage, made._view, made._rare = fresh._storage, fresh._view, None
    made._requires = requires
    if attributes:
        made.__dict__.update(attributes)
    return made

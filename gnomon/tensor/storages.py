"""Storages as PyTorch shows them: where the bytes behind a tensor and its views lie, and how many.

Whoever asks may write there, so a storage has memory of its own from then on: memory.py.
"""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any, Self

import numpy as np

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.tensor.creation import from_numpy
from gnomon.tensor.device import Device
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.memory import lend
from gnomon.tensor.tensor import Tensor, method, source


def address_of(node: Node) -> int:
    """The address of a value that is there, which nobody holds meanwhile."""
    return node.value.address


class UntypedStorage:
    """Bytes: those behind a tensor and its views, of a file, or new ones.

    >>> len(UntypedStorage(4)), UntypedStorage(4)[1:3].nbytes()
    (4, 2)
    """

    def __init__(self, size: int = 0) -> None:
        self._over(np.zeros(size, np.uint8))

    def _over(self, owner: np.ndarray, place: int | None = None, count: int | None = None) -> Self:
        """The storage itself, over bytes of an array that is kept."""
        self._owner = owner
        self._place = owner.ctypes.data if place is None else place
        self._bytes = owner.nbytes if count is None else count
        return self

    @classmethod
    def _of(cls, tensor: Tensor) -> Self:
        """The storage of a tensor."""
        owner, node = lend(tensor), source(tensor._storage)
        bytes_of_all = prod(node.shape) * node.dtype.itemsize
        return cls.__new__(cls)._over(owner, address_of(node), bytes_of_all)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> Self:
        """The first bytes of a file: a copy, or, if shared, the file's own."""
        mode = "r+" if shared else "c"
        return cls()._over(np.memmap(filename, np.uint8, mode, shape=(nbytes,)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        kept = (ctypes.c_uint8 * self._bytes).from_address(self._place)
        kept.owner = self._owner
        array = np.frombuffer(kept, np.uint8)
        return array.astype(dtype) if dtype not in (None, array.dtype) else array

    def __getitem__(self, index: Any) -> Any:
        """A byte, or a storage of some of the bytes that follow each other."""
        if not isinstance(index, slice):
            return int(np.asarray(self)[index])
        start, stop, step = index.indices(self._bytes)
        if step != 1:
            raise ArgumentError(f"UntypedStorage: a slice has step 1: got {step}. Copy it first.")
        made = UntypedStorage.__new__(UntypedStorage)
        return made._over(self._owner, self._place + start, max(stop - start, 0))

    @property
    def device(self) -> Device:
        """The place of the bytes."""
        return Device("cpu")

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._place

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._bytes

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def untyped(self) -> UntypedStorage:
        """The bytes themselves."""
        return self[:]


class TypedStorage(UntypedStorage):
    """The elements behind a tensor and its views."""

    dtype: DType

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize


def viewed(self: Tensor, *shape: Any, dtype: object = None) -> Tensor:
    """The same memory in another shape, or its bytes under another dtype."""
    named = shape[0] if len(shape) == 1 and isinstance(shape[0], DType) else dtype
    if named is None:
        return FUNCTIONS["reshape"](self, *shape)
    kind = dtype_of(named)
    try:
        return self if kind is self.dtype else from_numpy(lend(self.detach()).view(kind.numpy))
    except ValueError as cause:
        raise ArgumentError(f"view: {self.dtype} as {kind}: {cause}") from None


Tensor.view = viewed


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes behind this tensor and its views; from now on no other tensor's."""
    return UntypedStorage._of(self)


@method
def storage(self: Tensor) -> TypedStorage:
    """The elements behind this tensor and its views."""
    made = TypedStorage._of(self)
    made.dtype = self.dtype
    return made

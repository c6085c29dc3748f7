"""torch.storage's names: the memory behind tensors, as bytes or as elements of a dtype.

A storage here is a look at the whole memory that a tensor shows a part of. Tensors of one memory
have storages of one data_ptr(); a copy that shared its original's memory until now gets its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from gnomon.dtypes import DType, dtype_of, uint8
from gnomon.errors import ArgumentError
from gnomon.tensor.creation import from_numpy, get_default_dtype, zeros
from gnomon.tensor.device import Device
from gnomon.tensor.memory import lend
from gnomon.tensor.strides import unviewed
from gnomon.tensor.tensor import Tensor, alias, pair_of

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]

Kind = TypeVar("Kind", bound="StorageLook")


class StorageLook:
    """The memory behind a tensor, as a sequence of bytes or elements."""

    is_cuda = is_sparse = is_hpu = False

    def __init__(self, whole: Tensor) -> None:
        self._whole = whole
        self._lent = lend(pair_of(whole))
        """The memory, whose address stays while the storage lives."""

    @property
    def device(self) -> Device:
        """The device of the memory."""
        return self._whole.device

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._lent.ctypes.data

    def nbytes(self) -> int:
        """Bytes in all."""
        return self._whole.nbytes

    def size(self) -> int:
        """The number of elements."""
        return self.nbytes() // self.element_size()

    def element_size(self) -> int:
        """Bytes of one element."""
        raise NotImplementedError

    def tolist(self) -> list:
        """The elements as Python's numbers."""
        raise NotImplementedError

    def untyped(self) -> UntypedStorage:
        """The memory in bytes."""
        return UntypedStorage(pair_of(self._whole))

    _untyped_storage = property(lambda self: self.untyped())

    def is_shared(self) -> bool:
        """Whether other processes see this memory."""
        return bool(self._whole.is_shared())

    def is_pinned(self, device: object = None) -> bool:
        """False: there is no GPU to copy to."""
        return False

    def resize_(self, size: int) -> None:
        """Refuse another size: a storage has the size of its tensors' memory."""
        if size != self.size():
            raise ArgumentError(
                f"resize_: the storage has {self.size()} elements: got {size}. Make a new tensor."
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The memory as an array of bytes, or of elements."""
        return np.array(self._elements(), dtype, copy=copy)

    def __len__(self) -> int:
        return self.size()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, place: Any) -> Any:
        return self.tolist()[place]

    def _elements(self) -> np.ndarray:
        """The memory, of which each element is one of the storage's."""
        return self._lent.reshape(-1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StorageLook):
            return NotImplemented
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))


class UntypedStorage(StorageLook):
    """Memory in bytes: of a tensor, by its method untyped_storage(), or new.

    >>> import gnomon as gn
    >>> x = gn.zeros(2, 3)
    >>> x[1:].untyped_storage().nbytes(), UntypedStorage(4).tolist()
    (24, [0, 0, 0, 0])
    """

    def __init__(self, size: int | Tensor = 0) -> None:
        super().__init__(size if isinstance(size, Tensor) else zeros(size, dtype=uint8))

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file: a copy, or, if shared, the file's own."""
        mode = "r+" if shared else "c"
        return cls(from_numpy(np.memmap(filename, np.uint8, mode, shape=(nbytes,))))

    def __getitem__(self, place: Any) -> Any:
        """A byte, or a storage of a contiguous range of bytes."""
        if not isinstance(place, slice):
            return int(self._elements()[place])
        if place.step not in (None, 1):
            raise ArgumentError(
                f"UntypedStorage: a slice has step 1: got {place.step}. Copy it first."
            )
        return UntypedStorage(from_numpy(self._elements()[place]))

    def tolist(self) -> list[int]:
        """The bytes as Python's numbers."""
        return self._elements().tolist()

    def _elements(self) -> np.ndarray:
        return super()._elements().view(np.uint8)

    def element_size(self) -> int:
        """1."""
        return 1

    def clone(self) -> UntypedStorage:
        """New memory of equal bytes."""
        return UntypedStorage(self._whole.clone())


class TypedStorage(StorageLook):
    """Memory in elements of a dtype: a tensor's, by its method storage(), or new.

    >>> import gnomon as gn
    >>> gn.tensor([1.0, 2.0])[1:].storage().tolist()
    [1.0, 2.0]
    """

    def __init__(self, size: int | Tensor = 0, *, dtype: object = None) -> None:
        kind = get_default_dtype() if dtype is None else dtype_of(dtype)
        super().__init__(zeros(size, dtype=kind) if isinstance(size, int) else size)

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._whole.dtype

    def tolist(self) -> list:
        """The elements as Python's numbers."""
        return self._whole.flatten().tolist()

    def _elements(self) -> np.ndarray:
        return super()._elements().view(self.dtype.numpy)

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def clone(self) -> TypedStorage:
        """New memory of equal elements."""
        return TypedStorage(self._whole.clone())


def of_whole(kind: type[Kind], tensor: Tensor) -> Kind:
    """The storage of a tensor's memory."""
    pair = pair_of(tensor)
    mine = lend(pair)  # now, while nobody else has the memory: so it stays in its place
    whole = alias(unviewed(pair), (), detached=True)
    if pair is not tensor and kind is TypedStorage:
        whole = tensor.plain((whole.reshape(-1, 2),))
    made = kind(whole)
    del mine
    return made


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory behind this tensor, in bytes."""
    return of_whole(UntypedStorage, self)


def storage(self: Tensor) -> TypedStorage:
    """The memory behind this tensor, in elements."""
    return of_whole(TypedStorage, self)


_typed_storage = storage


def is_storage(obj: object) -> bool:
    """Whether an object is a storage: a tensor's memory, in bytes or in elements."""
    return isinstance(obj, StorageLook)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors view the same elements of the same memory."""
    mine, its = (
        (x._storage, tuple(x.shape), x.stride(), x.storage_offset()) for x in (self, tensor)
    )
    return mine == its

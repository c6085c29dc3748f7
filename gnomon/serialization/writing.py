"""Write torch.save's formats: a pickle that uses PyTorch's names, and the bytes of storages.

PyTorch is not imported: names are written as text. Tensors that share a storage share it in the
file; Python's own pickler writes other objects.
"""

from __future__ import annotations

import codecs
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gnomon.dtypes import DType, uint8
from gnomon.errors import ArgumentError, clipped
from gnomon.nn.parameter import Buffer, Parameter
from gnomon.ops.strides import Form, StridedView, row_major
from gnomon.serialization.strided import LARGEST_REPEAT
from gnomon.serialization.torch_files import DTYPES, MAGIC, PROTOCOL, STORAGES
from gnomon.tensor.device import Device
from gnomon.tensor.storage import StorageLook, TypedStorage
from gnomon.tensor.strides import own_places
from gnomon.tensor.tensor import Size, Tensor, alias, array_of, pair_of, source
from gnomon.tensor.views import mesh_layout_of

__all__ = ["write_older", "write_zip"]

ALIGNMENT = 64
"""The alignment of a storage in the file, so that it can be mapped."""
LARGE = 1 << 30
"""The size from which a member of a zip has 64-bit lengths."""
LOCAL, LONG_NUMBERS = 30, 20
"""The bytes of a member's header without its name, and of its 64-bit lengths."""
PADDING = struct.Struct("<2sH")
"""The extra field that pads a member's header: its mark and length."""


class Name:
    """A function or class of PyTorch's, by name alone."""

    def __init__(self, name: str) -> None:
        self.module, _, self.name = name.rpartition(".")

    def __call__(self, *given: Any) -> tuple[Name, tuple]:
        """A call of it, as a pickle reduction."""
        return self, given


TENSOR, OF_DTYPE, PARAMETER, WITH_STATE = (
    Name(f"torch._utils._rebuild_{x}")
    for x in ("tensor_v2", "tensor_v3", "parameter", "parameter_with_state")
)
META_TENSOR = Name("torch._utils._rebuild_meta_tensor_no_storage")
OF_TYPE, PLAIN = Name("torch._tensor._rebuild_from_type_v2"), Name("torch.Tensor")
SIZE, DEVICE = Name("torch.Size"), Name("torch.device")
SPARSE = Name("torch._utils._rebuild_sparse_tensor")
LAYOUT = Name("torch.serialization._get_layout")
UNTYPED = Name("torch.storage.UntypedStorage")
NAMES = {dtype: Name(f"torch.{name}") for name, dtype in DTYPES.items()}
TYPED = {DTYPES[name]: Name(f"torch.{kind}Storage") for kind, name in STORAGES.items()}
"""The classes of storages that have a dtype; others are written as bytes."""


class Layout(str):
    """The name of a tensor's layout."""


@dataclass(frozen=True)
class StoredMemory:
    """A storage in the file, and its key there."""

    key: str
    kind: Name
    count: int
    """The number of elements, or of bytes if the storage's class has no dtype."""
    whole: Tensor
    form: Form | None

    def content(self) -> np.ndarray:
        """The bytes of the storage, in memory order."""
        array = array_of(self.whole)
        order = [axis for axis, _ in reversed(self.form or ())]
        array = array.transpose(order) if order else array
        return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class ShownMemory(NamedTuple):
    """The elements of a storage that a tensor views."""

    strided: StridedView
    whole: Tensor
    form: Form | None


def places_of(pair: Tensor, lanes: int) -> ShownMemory:
    """A tensor's offset and strides in its storage.

    If PyTorch's strides cannot express them, those of a copy. lanes: the numbers per element, which
    is 2 for complex ones.
    """
    strided, storage = None if mesh_layout_of(pair._view) else own_places(pair), pair._storage
    memory = source(storage)
    if strided is None or not is_strided(strided, lanes, memory.size):
        shape = tuple(pair.shape)
        return ShownMemory(
            StridedView(shape, 0, row_major(shape)), alias(pair, (), detached=True), None
        )
    whole = Tensor.__new__(Tensor)
    whole._storage, whole._view, whole._rare, whole._requires = storage, None, None, False
    return ShownMemory(strided, whole, storage.form)


def is_strided(strided: StridedView, lanes: int, count: int) -> bool:
    """Whether PyTorch can express these strides, and `load` accepts them."""
    numbers = (strided.start, *strided.strides)
    if min(numbers) < 0 or prod(strided.shape) > max(count, LARGEST_REPEAT):
        return False
    return lanes == 1 or (numbers[-1] == 1 and not any(x % lanes for x in (count, *numbers[:-1])))


class TorchPickler(pickle._Pickler):
    """Pickles tensors under PyTorch's names, and collects their storages."""

    def __init__(self, file: BinaryIO, protocol: int, older: bool) -> None:
        super().__init__(file, protocol, fix_imports=False)
        self.more = (None,) if older else ()
        """Further parts of a storage's persistent id in this format."""
        self.of_bytes = TYPED[uint8] if older else UNTYPED
        """The class of storages without a dtype."""
        self.memories: dict[int, StoredMemory] = {}

    def persistent_id(self, obj: Any) -> Any:
        """The persistent id of a storage; None for other objects."""
        if isinstance(obj, StorageLook):
            obj = self.storage(obj)
        if type(obj) is StoredMemory:
            return ("storage", obj.kind, obj.key, "cpu", obj.count, *self.more)
        return None

    def storage(self, given: StorageLook) -> StoredMemory:
        """The file's storage for one that is saved by itself."""
        whole = given._whole
        places = places_of(pair_of(whole), 1 if pair_of(whole) is whole else 2)
        return self.memory(places, whole.dtype if isinstance(given, TypedStorage) else uint8)

    def reducer_override(self, obj: Any) -> Any:
        """Reduce tensors, sizes and devices to calls of PyTorch's functions."""
        if isinstance(obj, Tensor):
            return self.tensor(obj)
        kind = type(obj)
        if kind is Size:
            return SIZE(tuple(obj))
        if kind is Layout:
            return LAYOUT(f"torch.{obj}")
        if kind is Device:
            return DEVICE(obj.type, *(() if obj.index is None else (obj.index,)))
        if kind is bytes and not obj and self.proto < 3:
            return codecs.encode, ("", "latin1")  # bytes() itself is not called by PyTorch's reader
        return NotImplemented

    def tensor(self, tensor: Any) -> tuple:
        """Reduce a tensor of any class."""
        kind, attributes = tensor.__class__, vars(tensor)
        if tensor.layout != "strided":
            return SPARSE(Layout(tensor.layout), tensor._saved())
        if kind is Tensor:
            made = self.plain(tensor)
            return OF_TYPE(made[0], PLAIN, made[1], attributes) if attributes else made
        if kind is Parameter:
            made = (tensor.detach(), tensor.requires_grad, OrderedDict())
            return WITH_STATE(*made, attributes) if attributes else PARAMETER(*made)
        make, given = self.plain(tensor)
        if kind is Buffer:
            return OF_TYPE(make, PLAIN, given, attributes | {"_is_buffer": True})
        return OF_TYPE(make, kind, given, attributes)

    def plain(self, tensor: Any) -> tuple:
        """Reduce a tensor as one of the plain class."""
        pair, dtype = pair_of(tensor), tensor.dtype
        if pair.is_meta:
            shape = tuple(tensor.shape)
            return META_TENSOR(NAMES[dtype], shape, row_major(shape), tensor.requires_grad)
        lanes = 1 if pair is tensor else 2
        places = places_of(pair, lanes)
        axes = slice(None) if lanes == 1 else slice(-1)
        shape, start, strides = places.strided
        memory = self.memory(places, dtype)
        given = (
            memory,
            start // lanes,
            tuple(shape[axes]),
            tuple(step // lanes for step in strides[axes]),
            tensor.requires_grad,
            OrderedDict(),
        )
        own = memory.kind is TYPED.get(dtype)
        return TENSOR(*given) if own else OF_DTYPE(*given, NAMES[dtype])

    def memory(self, places: ShownMemory, dtype: DType) -> StoredMemory:
        """The file's storage for a tensor, in bytes if another dtype uses it already."""
        own = places.whole._view is None
        name = id(places.whole._storage if own else places.whole)
        nbytes = source(places.whole._storage).size if own else prod(places.strided.shape)
        nbytes *= pair_of(places.whole).dtype.itemsize
        kind = TYPED.get(dtype, self.of_bytes)
        known = self.memories.get(name)
        if known is None:
            count = nbytes // dtype.itemsize if dtype in TYPED else nbytes
            found = StoredMemory(str(len(self.memories)), kind, count, places.whole, places.form)
            self.memories[name] = found
            return found
        return known if known.kind is kind else replace(known, kind=self.of_bytes, count=nbytes)


def write_name(pickler: TorchPickler, name: Name) -> None:
    """Write a name without looking it up."""
    pickler.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())
    pickler.memoize(name)


TorchPickler.dispatch = {
    **pickle._Pickler.dispatch,
    Name: write_name,
    DType: lambda pickler, dtype: pickler.save(NAMES[dtype]),
}


def pickled(value: Any, protocol: int, older: bool) -> tuple[bytes, Sequence[StoredMemory]]:
    """The pickle of a value, and its storages.

    Raises ArgumentError for an object that Python cannot pickle.
    """
    file = BytesIO()
    pickler = TorchPickler(file, protocol, older)
    try:
        pickler.dump(value)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as cause:
        if isinstance(cause, ArgumentError):
            raise
        raise ArgumentError(
            f"save: cannot save {type(value).__name__}: {clipped(cause).rstrip('.')}. Save "
            "state_dict()s, tensors, numbers, strings, and dicts or lists of them."
        ) from cause
    return file.getvalue(), list(pickler.memories.values())


def write_zip(value: Any, file: Any, protocol: int, order: bool = True) -> None:
    """Write a value as a zip; order: whether it includes the byte order.

    PyTorch's `.format_version` is omitted: it promises the offsets of PyTorch's own zip writer;
    without it PyTorch reads the offsets.
    """
    content, memories = pickled(value, protocol, False)
    with zipfile.ZipFile(file, "w") as archive:
        add_member(archive, "data.pkl", content)
        add_member(archive, ".storage_alignment", str(ALIGNMENT).encode())
        if order:
            add_member(archive, "byteorder", sys.byteorder.encode())
        for memory in memories:
            add_member(archive, f"data/{memory.key}", memory.content().data)
        add_member(archive, "version", b"3\n")


def add_member(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    """Add a member to a zip, with its bytes at a multiple of ALIGNMENT."""
    size, entry = memoryview(content).nbytes, zipfile.ZipInfo(f"archive/{name}")
    assert archive.fp is not None, "the zip is open."
    before = archive.fp.tell() + LOCAL + len(entry.filename) + PADDING.size
    before += LONG_NUMBERS if size > LARGE else 0
    missing = -before % ALIGNMENT
    entry.extra = PADDING.pack(b"FB", missing) + bytes(missing)
    with archive.open(entry, "w", force_zip64=size > LARGE) as member:
        member.write(content)


def write_older(value: Any, file: Any, protocol: int) -> None:
    """Write a value in the older format: pickles, then each storage after its length."""
    content, memories = pickled(value, protocol, True)
    sizes = {"short": 2, "int": 4, "long": 4}
    about = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": sizes}
    for part in (MAGIC, PROTOCOL, about):
        file.write(pickle.dumps(part, 2))
    file.write(content)
    file.write(pickle.dumps([x.key for x in memories], 2))
    for memory in memories:
        file.write(struct.pack("<q", memory.count))
        file.write(memory.content().data)

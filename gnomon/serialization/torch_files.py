"""Read torch.save's files: a zip, or the older format; a pickle with the bytes of its storages.

No name in a file is imported: NAMES lists all that a pickle may call, and a storage's size must
match its dtype and length before a tensor views it.
"""

from __future__ import annotations

import os
import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from io import BytesIO
from math import prod
from operator import index
from typing import Any, BinaryIO

import numpy as np

import gnomon as gn
from gnomon.dtypes import ALL, COMPLEX, DType, bool_
from gnomon.errors import brief
from gnomon.nn.parameter import Buffer, Parameter, adopted
from gnomon.serialization.loose_storages import with_storages
from gnomon.serialization.members import Members, check_truths
from gnomon.serialization.pickled import Interpreter, key, only
from gnomon.serialization.strided import is_whole, strided
from gnomon.tensor.device import CPU, Device
from gnomon.tensor.module_versions import Watched
from gnomon.tensor.placing import on_device
from gnomon.tensor.storage import TypedStorage
from gnomon.tensor.tensor import Size, Tensor, from_array

__all__ = [
    "DTYPES",
    "FACTORIES",
    "MAGIC",
    "PROTOCOL",
    "STORAGES",
    "folder_of",
    "is_older",
    "read_older",
    "read_zip",
]

DTYPES = {dtype.name: dtype for dtype in (*ALL, *COMPLEX)}
STORAGES = {
    **{"BFloat16": "bfloat16", "Bool": "bool", "Byte": "uint8", "Char": "int8"},
    **{"Double": "float64", "Float": "float32", "Half": "float16", "Int": "int32"},
    **{"Long": "int64", "Short": "int16", "ComplexFloat": "complex64"},
    **{"ComplexDouble": "complex128"},
}
"""PyTorch's classes of storages -> the dtypes of their elements."""
LAYOUTS = {f"torch.{name}": name for name in ("strided", "sparse_coo", "sparse_csr")}
MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
"""The two numbers that open a file of the older kind."""
NUMPY_CODE = re.compile(r"[biufc]\d{1,2}")


class SavedStorage:
    """The bytes of a storage, and the tensors that view them."""

    def __init__(self, dtype: DType, content: np.ndarray, device: Device = CPU) -> None:
        self.dtype, self.content, self.device = dtype, content, device
        self.bases: dict[DType, Tensor] = {}
        """Tensors of the whole storage by dtype; those of a second dtype are copies, except complex
        parts.
        """

    def tensor(self, dtype: DType, offset: int, size: tuple, stride: tuple) -> Tensor:
        """A tensor of some elements; the first one is no view if it has the whole storage."""
        size, stride = only(size, tuple), only(stride, tuple)
        known = self.bases.get(dtype)
        known = self.twin(dtype) if known is None else known
        if known is None:
            content = self.content.copy() if self.bases else self.content
            if content.size % dtype.itemsize:
                raise ValueError(f"a storage of {content.size} bytes has elements of {dtype.name}")
            elements = content.view(dtype.numpy)
            if is_whole(elements.size, offset, size, stride):
                self.bases[dtype] = self.placed(elements.reshape(size))
                return self.bases[dtype]
            known = self.bases[dtype] = self.placed(elements)
        return strided(known.detach().reshape(-1), offset, size, stride)

    def alone(self) -> TypedStorage:
        """The storage itself as a value."""
        count = self.content.size // self.dtype.itemsize
        return TypedStorage(self.tensor(self.dtype, 0, (count,), (1,)))

    def placed(self, elements: np.ndarray) -> Tensor:
        """A tensor of an array on the storage's device; on "meta" nothing is read."""
        return on_device("load", from_array(elements), self.device)

    def twin(self, dtype: DType) -> Tensor | None:
        """A view of a loaded real tensor as complex numbers, or the reverse; None if not loaded."""
        real, pairs = dtype.to_real(), dtype.to_complex()
        if pairs.to_real() is not real:
            return None
        if dtype is real and pairs in self.bases:
            return gn.view_as_real(self.bases[pairs].detach()).reshape(-1)
        if dtype is pairs and real in self.bases:
            return gn.view_as_complex(self.bases[real].detach().reshape(-1, 2))
        return None

    def check(self) -> None:
        """Raise ValueError if no tensor uses the storage, or a bool in it is not 0 or 1."""
        if not self.bases:
            raise ValueError("it holds a storage without a tensor")
        if bool_ in self.bases:
            check_truths("a storage", self.content)


class Storages(dict[str, SavedStorage]):
    """The storages of a file by key, each made when a pickle first names it."""

    def __init__(self, content: Callable[[str, int], np.ndarray], device: Device = CPU) -> None:
        super().__init__()
        self.content, self.device = content, device
        """content: reads the bytes of a storage, given its key and size."""

    def named(self, name: Any) -> SavedStorage:
        """The storage of a persistent reference."""
        match name:
            case ("storage", DType() as dtype, str(key), str(), int(numel)):
                pass
            case ("storage", DType() as dtype, str(key), str(), int(numel), None):
                pass
            case _:
                raise ValueError(f"no storage is named like {brief(name)}")
        if key not in self:
            content = self.content(key, numel * dtype.itemsize)
            self[key] = SavedStorage(dtype, content, self.device)
        if self[key].content.size != numel * dtype.itemsize:
            raise ValueError(f"storage {brief(key)} is said to be of two sizes")
        return self[key]

    def read(self, file: Any, trusted: bool) -> Any:
        """Read the value of a pickle."""
        value = Interpreter(NAMES, settle, self.named, trusted).read(file)
        return with_storages(value, SavedStorage, SavedStorage.alone)

    def check(self) -> None:
        """Check every storage."""
        for storage in self.values():
            storage.check()


def folder_of(members: Members) -> str | None:
    """The top folder in a zip of PyTorch's; None for another zip."""
    found = (name for name in members.names if name.endswith("/data.pkl"))
    return next((name.removesuffix("data.pkl") for name in found), None)


def read_zip(members: Members, folder: str, trusted: bool, device: Device = CPU) -> Any:
    """Read the value of a zip, with tensors on a device."""
    if f"{folder}constants.pkl" in members.names:
        raise ValueError("it is a program of torch.jit: save the module's state_dict()")
    order = f"{folder}byteorder"
    if order in members.names and members.read(order) != b"little":
        raise ValueError("its numbers have the other order of bytes")

    def content(key: str, size: int) -> np.ndarray:
        found = members.array(f"{folder}data/{key}")
        if found.size != size:
            raise ValueError(f"storage {brief(key)} has {found.size} bytes in place of {size}")
        return found

    storages = Storages(content, device)
    value = storages.read(BytesIO(members.read(f"{folder}data.pkl")), trusted)
    storages.check()
    return value


def is_older(start: bytes) -> bool:
    """Whether a file's first bytes are those of the older format."""
    return start[:1] == b"\x80" and MAGIC.to_bytes(10, "little") in start[:16]


class Bounded:
    """A file that never reads more bytes at once than it has left."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        start = file.tell()
        self.size = file.seek(0, os.SEEK_END)
        file.seek(start)
        self.tell, self.readline = file.tell, file.readline

    def read(self, size: int) -> bytes:
        """Read `size` bytes, or the rest of the file."""
        return self.file.read(min(size, self.size - self.file.tell()))


def read_older(given: BinaryIO, trusted: bool, device: Device = CPU) -> Any:
    """Read the value of a file of the older format: pickles, then the bytes of storages."""
    file = Bounded(given)

    def nothing(name: Any) -> Any:
        raise ValueError(f"{brief(name)} stands before the value")

    def content(key: str, size: int) -> np.ndarray:
        if sum(x.content.size for x in storages.values()) + size > file.size:
            raise ValueError(f"storage {brief(key)} has more bytes than the file")
        return np.empty(size, np.uint8)

    opening = [Interpreter({}, settle, nothing).read(file) for _ in range(3)]
    if opening[:2] != [MAGIC, PROTOCOL] or not only(opening[2], dict).get("little_endian", True):
        raise ValueError("its first pickles are not those of torch.save")
    storages = Storages(content, device)
    value = storages.read(file, trusted)
    keys = only(Interpreter({}, settle, nothing).read(file), list)
    if set(keys) != set(storages):
        raise ValueError("its storages are not those that its pickle names")
    for name in keys:
        read_into(storages[name], file)
    storages.check()
    return value


def read_into(storage: SavedStorage, file: Bounded) -> None:
    """Read a storage's elements, which follow their number."""
    content = storage.content
    if int.from_bytes(file.read(8), "little") * storage.dtype.itemsize != content.size:
        raise ValueError("a storage has another length than its pickle says")
    found = file.read(content.size)
    if len(found) != content.size:
        raise ValueError("it ends within a storage")
    content[:] = np.frombuffer(found, np.uint8)


# what a pickle may name


def restore(storage: SavedStorage, offset: int, size: tuple, stride: tuple, *more: Any) -> Tensor:
    """A tensor of a storage's dtype. more: requires_grad, hooks, and pending conj and neg."""
    made = only(storage, SavedStorage).tensor(storage.dtype, offset, size, stride)
    waiting = only(more[2], dict) if len(more) > 2 else {}
    made = made.conj() if waiting.get("conj") else made
    made = -made if waiting.get("neg") else made
    return made.requires_grad_() if more and more[0] is True else made


def of_dtype(
    storage: SavedStorage, offset: int, size: tuple, stride: tuple, requires: bool, *more: Any
) -> Tensor:
    """A tensor of its own dtype. more: hooks, then the dtype."""
    dtype = only(more[1], DType)
    made = only(storage, SavedStorage).tensor(dtype, offset, size, stride)
    return made.requires_grad_() if requires is True else made


def parameter(data: Tensor, requires_grad: bool, _: Any = None, state: Any = None) -> Tensor:
    """A parameter with attributes; hooks are dropped."""
    return with_attributes(Parameter(only(data, Tensor), requires_grad is True), state)


def of_type(make: Any, kind: Any, arguments: tuple, state: Any) -> Tensor:
    """A tensor of a class, with attributes."""
    ours = isinstance(kind, type) and issubclass(kind, Tensor)  # a class that was let in
    if make not in (restore, of_dtype, of_no_memory) or not (ours or kind in KINDS):
        raise ValueError("a tensor is made by what makes none")
    made = make(*arguments)
    if ours:
        made = adopted(kind, made, made.requires_grad)
        put = getattr(made, "__setstate__", vars(made).update)
        put(state or {})
        return made
    if kind == "Parameter":
        return with_attributes(Parameter(made, made.requires_grad), state)
    is_buffer = isinstance(state, dict) and state.get("_is_buffer") is True
    return with_attributes(Buffer(made) if is_buffer else made, state)


def of_no_memory(dtype: DType, size: tuple, stride: tuple, requires: bool) -> Tensor:
    """A tensor on device "meta"."""
    made = gn.empty(only(size, tuple), dtype=only(dtype, DType), device="meta")
    return made.requires_grad_() if requires is True else made


def of_sparse(layout: str, parts: tuple) -> Any:
    """A sparse tensor of its positions, values and sizes; behind comes whether it is coalesced."""
    is_csr = layout == "sparse_csr"
    *tensors, size = only(parts, tuple) if is_csr else only(parts, tuple)[:-1]
    given = (*(only(x, Tensor) for x in tensors), only(size, tuple))
    if is_csr:
        return gn.sparse_csr_tensor(*given)
    return gn.sparse_coo_tensor(*given, is_coalesced=parts[-1] is True)


def with_attributes(made: Tensor, state: Any) -> Tensor:
    """Set attributes on a tensor, except those that its class defines."""
    for name, value in only(state or {}, dict).items():
        if not hasattr(type(made), only(name, str)) and name != "_is_buffer":
            vars(made)[name] = value
    return made


def dtype_of_numpy(code: str, *_: Any) -> np.dtype:
    """A NumPy dtype; only numeric ones are allowed."""
    if not NUMPY_CODE.fullmatch(code):
        raise ValueError(f"numpy's dtype {brief(code)} is none of numbers")
    return np.dtype(code)


def number_of_numpy(dtype: np.dtype, content: bytes) -> np.generic:
    """A NumPy scalar from its bytes."""
    return np.frombuffer(content, only(dtype, np.dtype), 1)[0]


def settle(made: Any, state: Any) -> bool:
    """Restore an OrderedDict's, dtype's or array's state; return False for other values."""
    match made, state:
        case OrderedDict(), dict():
            if "_metadata" in state:  # the notes of a state_dict
                vars(made)["_metadata"] = state["_metadata"]
        case np.dtype(), (_, str(order), *_) if order != ">":
            pass
        case np.ndarray(), (_, tuple(shape), np.dtype() as dtype, bool(fortran), bytes(content)):
            if (
                prod(map(index, shape)) * dtype.itemsize != len(content)
                or min(shape, default=0) < 0
            ):
                raise ValueError(f"an array of shape {brief(shape)} has {len(content)} bytes")
            made.__setstate__((1, shape, dtype, fortran, content))
        case _:
            return False
    return True


FACTORIES = {kind.__name__: kind for kind in (list, dict, set, int, float)}
"""The types that may be a defaultdict's factory."""


def with_default(factory: Any = None) -> defaultdict:
    """A defaultdict with an allowed factory."""
    known = next((name for name in PYTHON if PYTHON[name] is factory), factory)
    return defaultdict(None if factory is None else FACTORIES[known])


KINDS = ("Tensor", "Parameter")
PYTHON = {
    "set": lambda items=(): set(map(key, only(items, list))),
    "frozenset": lambda items=(): frozenset(map(key, only(items, list))),
    "complex": lambda real, imag: complex(real, imag),
    "bytes": lambda: b"",
    "bytearray": lambda content=b"": bytearray(only(content, bytes)),
    **{name: name for name in ("list", "dict", "int", "float")},  # named, and not called
}
NAMES: dict[str, Any] = {
    "_codecs.encode": lambda text, code: only(text, str).encode({"latin1": "latin1"}[code]),
    "collections.Counter": lambda counts: Counter(only(counts, dict)),
    "collections.OrderedDict": lambda: OrderedDict(),
    "collections.defaultdict": with_default,
    **{
        f"{home}.{name}": make
        for home in ("builtins", "__builtin__")
        for name, make in PYTHON.items()
    },
    **{f"torch.{name}": dtype for name, dtype in DTYPES.items()},
    **{
        f"{home}.{name}Storage": DTYPES[of]
        for home in ("torch", "torch.cuda")
        for name, of in STORAGES.items()
        if of in DTYPES
    },
    "torch.storage.UntypedStorage": DTYPES["uint8"],
    "torch.Size": lambda sizes: Size(only(sizes, tuple)),
    "torch.device": Device,
    "torch.serialization._get_layout": LAYOUTS.__getitem__,
    "torch.Tensor": "Tensor",
    "torch.nn.parameter.Parameter": "Parameter",
    "torch._tensor._rebuild_from_type_v2": of_type,
    "torch._utils._rebuild_tensor": restore,
    "torch._utils._rebuild_tensor_v2": restore,
    "torch._utils._rebuild_tensor_v3": of_dtype,
    "torch._utils._rebuild_meta_tensor_no_storage": of_no_memory,
    "torch._utils._rebuild_sparse_tensor": of_sparse,
    "torch._utils._rebuild_parameter": parameter,
    "torch._utils._rebuild_parameter_with_state": parameter,
    **{
        f"numpy.{core}.multiarray.{name}": make
        for core in ("core", "_core")
        for name, make in (("scalar", number_of_numpy), ("_reconstruct", lambda *_: np.empty(0)))
    },
    "numpy.dtype": dtype_of_numpy,
    "numpy.ndarray": "ndarray",
    "gnomon.tensor.module_versions.Watched": Watched,  # the tables of a module that is let in
}
"""All names that a file may use, and their values here."""

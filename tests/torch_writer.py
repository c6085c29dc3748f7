"""Files as torch.save writes them, written without it: a zip, and the older kind.

Not a test. The parity tier reads files that torch itself wrote (parity/test_torch_files.py).
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

__all__ = ["Global", "Saved", "older", "pickled", "zipped"]

OPENING = (0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True})
CLASSES = {"float32": "FloatStorage", "int64": "LongStorage", "bool": "BoolStorage"}


class Global:
    """A name of PyTorch's, called with arguments or not."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments = name, arguments


class Saved:
    """A tensor: some elements of a storage."""

    def __init__(
        self,
        storage: np.ndarray,
        size: tuple | None = None,
        stride: tuple | None = None,
        offset: int = 0,
        requires_grad: bool = False,
    ) -> None:
        self.storage, self.offset, self.requires_grad = storage, offset, requires_grad
        self.size = storage.shape if size is None else size
        steps = tuple(n // storage.itemsize for n in storage.strides)
        self.stride = steps if stride is None else stride


class Storage:
    """The elements that tensors show."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


class Writer(pickle._Pickler):
    """A pickler that knows these two, and puts storages aside."""

    def __init__(self, file: Any, modules: dict[str, ModuleType]) -> None:
        super().__init__(file, 2)
        self.modules = modules
        self.storages: list[np.ndarray] = []

    def function(self, name: str) -> Any:
        """Something that is pickled by this name."""
        module, _, own = name.rpartition(".")
        home = self.modules.setdefault(module, ModuleType(module))
        sys.modules.setdefault(module, home)

        def made() -> None:
            """Called by nobody."""

        made.__module__, made.__name__, made.__qualname__ = module, own, own
        return vars(sys.modules[module]).setdefault(own, made)

    def persistent_id(self, obj: Any) -> Any:
        """A storage by its number."""
        if not isinstance(obj, Storage):
            return None
        array = obj.array
        known = [k for k, x in enumerate(self.storages) if x is array]
        if not known:
            self.storages.append(array)
        number = known[0] if known else len(self.storages) - 1
        kind = self.function(f"torch.{CLASSES[array.dtype.name]}")
        return ("storage", kind, str(number), "cpu", array.size)

    def reducer_override(self, obj: Any) -> Any:
        """A name, a call of one, a tensor."""
        if isinstance(obj, Saved):
            rebuild = self.function("torch._utils._rebuild_tensor_v2")
            shape = (obj.offset, obj.size, obj.stride, obj.requires_grad)
            return rebuild, (Storage(obj.storage), *shape, OrderedDict())
        if isinstance(obj, Global):
            return self.function(obj.name), obj.arguments
        return NotImplemented


def pickled(value: Any) -> tuple[bytes, list[np.ndarray]]:
    """The pickle of a value, and its storages."""
    file = io.BytesIO()
    with patch.dict(sys.modules):
        for name in [x for x in sys.modules if x.partition(".")[0] == "torch"]:
            del sys.modules[name]
        sys.modules["torch"] = ModuleType("torch")
        writer = Writer(file, {})
        writer.dump(value)
    return file.getvalue(), writer.storages


def zipped(value: Any, pickle_of_it: bytes | None = None, **members: bytes) -> io.BytesIO:
    """The zip of a value; members may be others."""
    content, storages = pickled(value)
    all_members = {"data.pkl": content if pickle_of_it is None else pickle_of_it}
    all_members |= {"byteorder": b"little", "version": b"3\n"}
    all_members |= {f"data/{k}": x.tobytes() for k, x in enumerate(storages)}
    all_members |= {name.replace("__", "/"): x for name, x in members.items()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in all_members.items():
            archive.writestr(f"archive/{name}", member)
    file.seek(0)
    return file


def older(value: Any) -> io.BytesIO:
    """The older kind of file."""
    content, storages = pickled(value)
    parts = [*(pickle.dumps(x, 2) for x in OPENING), content]
    parts.append(pickle.dumps([str(k) for k in range(len(storages))], 2))
    parts += [struct.pack("<q", x.size) + x.tobytes() for x in storages]
    return io.BytesIO(b"".join(parts))

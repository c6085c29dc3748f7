"""`gn.gguf.load`: map a GGUF file into memory, and read its tensors when they are used."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, brief, clipped
from gnomon.gguf.decoding import DECODERS, decoded
from gnomon.gguf.element_types import ElementType, plain_dtype
from gnomon.gguf.reader import Header, read_header
from gnomon.runtime.files import plain
from gnomon.tensor.tensor import Tensor, from_array

__all__ = ["GGUFFile", "GGUFTensor", "load"]


@dataclass(frozen=True, eq=False, repr=False)
class GGUFTensor:
    """A tensor in a file, read when its values are used."""

    path: str
    name: str
    shape: tuple[int, ...]
    """The sizes in NumPy's order, the reverse of the file's."""
    kind: ElementType
    content: np.ndarray
    """The file's bytes from the tensor's start on."""

    def __repr__(self) -> str:
        return f"GGUFTensor({brief(self.name)}, {self.type}, {self.shape})"

    @property
    def type(self) -> str:
        """The name of the element type, such as "Q4_K"."""
        return self.kind.name

    @property
    def nbytes(self) -> int:
        """The number of bytes in the file.

        Raises ArgumentError if the type is unknown.
        """
        if not self.kind.nbytes:
            raise ArgumentError(self.refused("is unknown"))
        return prod(self.shape) // self.kind.elements * self.kind.nbytes

    @property
    def packed(self) -> np.ndarray:
        """The tensor's bytes as stored in the file, by row and read-only.

        Raises ArgumentError if the type is unknown.
        """
        *rows, length = self.shape or (1,)
        content = self.content[: self.nbytes]
        return content.reshape(*rows, length // self.kind.elements * self.kind.nbytes)

    def part(self, index: int) -> GGUFTensor:
        """The tensor at an index of the first axis, such as one expert of several."""
        whole = self.packed
        if not self.shape[1:] or not 0 <= index < self.shape[0]:
            raise ArgumentError(f"gguf: tensor {brief(self.name)} has no part {index}.")
        content = self.content[index * (whole.nbytes // self.shape[0]) :]
        return replace(self, shape=self.shape[1:], content=content)

    def numpy(self) -> np.ndarray:
        """The values as an array: plain numbers in their own dtype, blocks decoded to float32.

        Plain numbers are a read-only view. Raises ArgumentError for a type that is not decoded
        here.
        """
        dtype = plain_dtype(self.type)
        if dtype is not None:
            return self.packed.reshape(-1).view(dtype).reshape(self.shape)
        if self.type not in DECODERS:
            raise ArgumentError(self.refused("is not decoded here"))
        return decoded(self.type, self.packed, self.shape)

    def dequantize(self) -> Tensor:
        """The values as a float32 tensor.

        Raises ArgumentError for a type that is not decoded here.
        """
        return from_array(self.numpy().astype(np.float32))

    def refused(self, why: str) -> str:
        """The error message about a type that cannot be read."""
        known = "plain numbers, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K"
        return (
            f"gguf: {self.path}: {self.type}, the type of tensor {brief(self.name)}, {why}. "
            f"Convert the file to {known}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class GGUFFile:
    """A file opened by `load`: its metadata, and its tensors by name."""

    path: str
    version: int
    metadata: Mapping[str, Any]
    """NumPy numbers and arrays in the file's types, bools, strings, and lists of them."""
    tensors: Mapping[str, GGUFTensor]

    def __repr__(self) -> str:
        return (
            f"GGUFFile({brief(self.path)}, {len(self.tensors)} tensors, {len(self.metadata)} keys)"
        )


def load(path: str | os.PathLike[str]) -> GGUFFile:
    """Open a GGUF file of version 2 or 3.

    The file is mapped into memory: metadata is read now, tensors when they are used. A missing file
    raises Python's OSError.

    Raises ArgumentError for a file of another kind or a damaged one.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "empty.gguf"
    ...     _ = path.write_bytes(b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16))
    ...     file = load(path)
    >>> file.version, dict(file.metadata), dict(file.tensors)
    (3, {}, {})
    """
    name = os.fspath(path)
    try:
        with plain(Path(path)) as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise ValueError("it is empty")
            content = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        header = read_header(content)
    except (ValueError, OSError) as cause:
        if isinstance(cause, OSError) and cause.errno != errno.EINVAL:
            raise
        raise ArgumentError(
            f"gguf.load: {name} is no GGUF file, or was damaged: {clipped(cause).rstrip('.')}. "
            "Download or convert it again."
        ) from cause
    tensors = tensors_of(name, content, header)
    return GGUFFile(name, header.version, MappingProxyType(header.metadata), tensors)


def tensors_of(name: str, content: mmap.mmap, header: Header) -> Mapping[str, GGUFTensor]:
    """The tensors of a file by name."""
    whole = np.frombuffer(content, np.uint8)
    return MappingProxyType(
        {
            x.name: GGUFTensor(name, x.name, x.shape, x.kind, whole[header.start + x.offset :])
            for x in header.entries
        }
    )

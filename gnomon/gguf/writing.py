"""`gn.gguf.save`: write a file of version 3, under its name only when it is complete."""

from __future__ import annotations

import os
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, brief, clipped
from gnomon.gguf.element_types import (
    ARRAY,
    BY_NAME,
    NUMBERS,
    STRING,
    ElementType,
    plain_dtype,
)
from gnomon.gguf.encoding import ENCODERS, encoded
from gnomon.gguf.file import GGUFTensor
from gnomon.gguf.k_quants import SEARCHES
from gnomon.gguf.reader import ALIGNMENT_KEY, MAGIC, MOST_AXES, alignment_of
from gnomon.runtime.files import publish
from gnomon.tensor.tensor import Tensor

__all__ = ["LaterArray", "array_of_value", "save"]

VERSION = 3
KINDS = {dtype: kind for kind, dtype in NUMBERS.items()}
SMALLER = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}
"""Types for rows that blocks of 256 do not divide; F16 is used if 32 does not either."""


@dataclass(frozen=True)
class LaterArray:
    """An array whose values are made when it is written."""

    shape: tuple[int, ...]
    dtype: np.dtype
    make: Callable[[], np.ndarray]


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor to write, with its type and shape known before its values."""

    name: str
    value: Any
    shape: tuple[int, ...]
    kind: ElementType
    importance: np.ndarray | None = None
    """The weights of columns; None means equal ones."""

    @property
    def nbytes(self) -> int:
        """The tensor's size in bytes."""
        return prod(self.shape) // self.kind.elements * self.kind.nbytes

    def pieces(self) -> Iterator[bytes]:
        """Yield the tensor's bytes in the file."""
        value = self.value
        if isinstance(value, GGUFTensor) and value.kind == self.kind:
            yield value.packed.tobytes()
            return
        numbers = value.numpy() if isinstance(value, GGUFTensor) else array_of_value(value)
        try:
            for piece in encoded(self.kind, numbers, self.importance):
                yield piece.tobytes()
        except ArgumentError as refused:
            raise ArgumentError(
                f"gguf.save: tensor {brief(self.name)}: {refused}. Give it another type."
            ) from refused


def save(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Any],
    metadata: Mapping[str, Any] | None = None,
    *,
    types: Mapping[str, str] | None = None,
    importance: Mapping[str, Any] | None = None,
) -> None:
    """Write tensors and metadata to a GGUF file, which appears whole or not at all.

    tensors: tensors, NumPy arrays, or tensors of another file, which are copied packed. metadata: a
    NumPy number is written in its own type, an int in 32 bits if it fits and a float as float32, in
    lists too. types: element types of tensors by name, such as "Q8_0"; other tensors keep theirs. A
    tensor whose rows do not divide into a k-quant's blocks becomes Q5_0, Q5_1, Q8_0 or F16, with a
    warning. importance: weights of columns of tensors by name, such as the mean square of the
    inputs that a column multiplies; k-quants minimize the squared errors with these weights.

    Raises ArgumentError for values that the format cannot hold.

    >>> import tempfile
    >>> import gnomon as gn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(
    ...         f"{folder}/x.gguf",
    ...         {"w": gn.full((2, 32), 127.0)},
    ...         {"a": [1, 2]},
    ...         types={"w": "Q8_0"},
    ...     )
    ...     file = gn.gguf.load(f"{folder}/x.gguf")
    >>> file.tensors["w"], file.tensors["w"].dequantize().sum().item(), file.metadata["a"].tolist()
    (GGUFTensor('w', Q8_0, (2, 32)), 8128.0, [1, 2])
    """
    given, types, importance = metadata or {}, types or {}, importance or {}
    for word, named in (("types", types), ("importance", importance)):
        strange = set(named) - set(tensors)
        if strange:
            raise ArgumentError(
                f"gguf.save: {word} names {brief(min(strange))}, which is no tensor."
            )
    asked, weights = map(types.get, tensors), map(importance.get, tensors)
    planned = list(map(planned_tensor, tensors, tensors.values(), asked, weights))
    keys = [pack_text(key) + typed_value(key, value) for key, value in given.items()]
    alignment = alignment_for(given)
    publish(Path(path), file_pieces(planned, keys, alignment))


def planned_tensor(name: str, value: Any, type: str | None, importance: Any) -> PlannedTensor:
    """Plan to write a tensor in the requested type, or in its own."""
    if not isinstance(value, GGUFTensor | LaterArray | Tensor | np.ndarray):
        raise ArgumentError(
            f"gguf.save: {brief(name)} is {clipped(value.__class__.__name__)}. Give a tensor or an "
            "array."
        )
    shape, kind = tuple(map(int, value.shape)), own_kind(name, value, type)
    if len(shape) > MOST_AXES:
        raise ArgumentError(
            f"gguf.save: tensor {brief(name)} has {len(shape)} axes, and {MOST_AXES} are the most. "
            "Reshape it."
        )
    columns = shape[-1] if shape else 1
    if columns % kind.elements:
        kind = smaller_blocks(name, shape, kind)
    weights = None if importance is None else column_weights(name, columns, importance)
    return PlannedTensor(name, value, shape, kind, weights)


def smaller_blocks(name: str, shape: tuple[int, ...], kind: ElementType) -> ElementType:
    """Replace a type whose blocks do not divide the rows, with a warning."""
    if kind.name not in SMALLER:
        raise ArgumentError(
            f"gguf.save: tensor {brief(name)} of shape {shape} has rows that are no blocks of "
            f"{kind.elements} as {kind.name} has them. Give it another type."
        )
    taken = BY_NAME[SMALLER[kind.name]]
    taken = BY_NAME["F16"] if shape[-1] % taken.elements else taken
    warnings.warn(
        f"gguf.save: tensor {brief(name)} of shape {shape} is written as {taken.name}: its rows "
        f"are no blocks of {kind.elements} as {kind.name} has them.",
        stacklevel=4,
    )
    return taken


def column_weights(name: str, columns: int, importance: Any) -> np.ndarray:
    """The weights of a tensor's columns, scaled so that the largest is 1."""
    found = np.asarray(importance, np.float64)
    if found.shape != (columns,) or not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError(
            f"gguf.save: importance of tensor {brief(name)} must be {columns} numbers from 0 on, "
            f"one for each column: got {clipped(found)} of shape {found.shape}."
        )
    return (found / (found.max(initial=0) or 1)).astype(np.float32)


def own_kind(name: str, value: Any, type: str | None) -> ElementType:
    """The element type of a tensor in the file."""
    if type is not None:
        kind = BY_NAME.get(type.upper())
        if kind is None or not is_written(value, kind):
            known = ", ".join((*ENCODERS, *SEARCHES))
            raise ArgumentError(
                f"gguf.save: tensor {brief(name)} cannot be written as {brief(type)}. Use {known} "
                "or a type of plain numbers."
            )
        return kind
    if isinstance(value, GGUFTensor):
        return value.kind
    dtype = value.dtype.numpy if isinstance(value, Tensor) else value.dtype
    for kind in BY_NAME.values():
        if plain_dtype(kind.name) == dtype:
            return kind
    raise ArgumentError(
        f"gguf.save: tensor {brief(name)} has dtype {dtype}, which the format lacks. Convert it."
    )


def is_written(value: Any, kind: ElementType) -> bool:
    """Whether a tensor can be written as a type; integer types need integers."""
    if isinstance(value, GGUFTensor) and value.kind == kind:
        return True
    dtype = plain_dtype(kind.name)
    if dtype is None or dtype.kind != "i":
        return dtype is not None or kind.name in ENCODERS or kind.name in SEARCHES
    own = plain_dtype(value.type) if isinstance(value, GGUFTensor) else value.dtype
    return str(own).removeprefix("gnomon.").startswith("int")


def array_of_value(value: Tensor | np.ndarray | LaterArray) -> np.ndarray:
    """The NumPy array of a tensor or an array."""
    if isinstance(value, LaterArray):
        return value.make()
    return value if isinstance(value, np.ndarray) else value.numpy(force=True)


def alignment_for(metadata: Mapping[str, Any]) -> int:
    """The alignment of tensors in the file to write."""
    try:
        return alignment_of({k: number_of(x) for k, x in metadata.items() if k == ALIGNMENT_KEY})
    except ValueError as wrong:
        raise ArgumentError(f"gguf.save: {wrong}. Leave it out.") from wrong


def file_pieces(planned: list[PlannedTensor], keys: list[bytes], alignment: int) -> Iterator[bytes]:
    """Yield the bytes of the whole file, in order."""
    head = [MAGIC, struct.pack("<IQQ", VERSION, len(planned), len(keys)), *keys]
    offset = 0
    for x in planned:
        head += [pack_text(x.name), struct.pack(f"<I{len(x.shape)}Q", len(x.shape), *x.shape[::-1])]
        head += [struct.pack("<IQ", x.kind.number, offset)]
        offset += x.nbytes + -x.nbytes % alignment
    whole = b"".join(head)
    yield whole + bytes(-len(whole) % alignment)
    for x in planned:
        yield from x.pieces()
        yield bytes(-x.nbytes % alignment)


# metadata


def pack_text(said: str) -> bytes:
    """The bytes of a string: its length, then UTF-8."""
    try:
        content = said.encode("utf-8")
    except (UnicodeError, AttributeError) as wrong:
        raise ArgumentError(f"gguf.save: {brief(said)} is no text in UTF-8.") from wrong
    return struct.pack("<Q", len(content)) + content


def number_of(value: Any) -> Any:
    """Convert a Python number to a NumPy number of a type that the format has."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        kinds = (np.uint32, np.int32, np.uint64, np.int64)
        fitting = [x for x in kinds if np.iinfo(x).min <= value <= np.iinfo(x).max]
        return fitting[0](value) if fitting else value
    if type(value) is not float:
        return value
    with np.errstate(over="ignore"):
        narrow = np.float32(value)
    return value if np.isinf(narrow) and not np.isinf(value) else narrow


def typed_value(key: str, value: Any) -> bytes:
    """The bytes of a metadata value: the number of its type, then the value."""
    try:
        kind, content = pack_value(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as wrong:
        if isinstance(wrong, ArgumentError):
            raise
        raise ArgumentError(
            f"gguf.save: {brief(key)} is {brief(value)}, which metadata cannot hold. Use numbers, "
            "bools, strings, and lists or arrays of one kind of them."
        ) from wrong
    return struct.pack("<I", kind) + content


def pack_value(value: Any) -> tuple[int, bytes]:
    """The number of a value's type, and the value's bytes."""
    if isinstance(value, str):
        return STRING, pack_text(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return ARRAY, struct.pack("<IQ", KINDS[little(value.dtype)], value.size) + value.tobytes()
    if isinstance(value, list | tuple):
        return ARRAY, pack_list(list(value))
    if not isinstance(value, int | float | np.generic):
        raise TypeError(f"no value of metadata is {type(value)}")
    found = np.asarray(number_of(value))
    return KINDS[little(found.dtype)], found.tobytes()


def pack_list(values: list[Any]) -> bytes:
    """The bytes of a list of strings, lists or numbers; integers take 32 bits if they fit."""
    kinds = {type(x) for x in values}
    if kinds <= {str}:
        return struct.pack("<IQ", STRING, len(values)) + b"".join(map(pack_text, values))
    if kinds <= {list, tuple, np.ndarray}:
        return struct.pack("<IQ", ARRAY, len(values)) + b"".join(pack_value(x)[1] for x in values)
    if kinds == {bool}:
        return pack_value(np.array(values, np.bool_))[1]
    if kinds == {int}:
        narrow = np.iinfo(np.int32).min <= min(values) and max(values) <= np.iinfo(np.int32).max
        return pack_value(np.array(values, np.int32 if narrow else np.int64))[1]
    if kinds <= {int, float}:
        return pack_value(np.array(values, np.float32))[1]
    raise TypeError("a list is of several kinds")


def little(dtype: np.dtype) -> np.dtype:
    """Return a dtype that metadata supports, or raise TypeError."""
    if dtype not in KINDS:
        raise TypeError(f"no value of metadata is {dtype}")
    return dtype

"""Files of tensors as Hugging Face has them: safetensors, as many as needed, and an index.

The place of each tensor follows from names, shapes and dtypes alone: every rank knows it and
writes its own parts at their places. The files of one model are the same bytes from any mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from gnomon.distributed.checkpoint.parts import DividedTensor, ElementRuns, runs
from gnomon.distributed.checkpoint.sums import MODULUS, element_sum
from gnomon.dtypes import DType, dtype_of
from gnomon.runtime.files import LARGEST_WRITE, opened, write_at

__all__ = [
    "DTYPES",
    "LARGEST_FILE",
    "TensorFile",
    "index",
    "planned",
    "write_headers",
    "write_parts",
]

DTYPES = {
    "BOOL": "bool",
    **{f"I{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"U{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    **{"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"},
}
"""The format's names of element types, and ours."""
NAMES = {ours: name for name, ours in DTYPES.items()}
LARGEST_FILE = 4 << 30
"""Bytes of tensors in a file, if one fits."""
ALIGNED = 8


@dataclass(frozen=True)
class TensorFile:
    """A file to be written: its name, its header, and the byte at which each tensor begins."""

    name: str
    header: bytes
    begins: Mapping[str, int]


def planned(stem: str, tensors: Mapping[str, DividedTensor], largest: int = 0) -> list[TensorFile]:
    """The files for these tensors, named STEM.safetensors or STEM-00001-of-0000N."""
    groups = grouped(tensors, largest or LARGEST_FILE)
    names = [f"{stem}.safetensors"]
    if len(groups) > 1:
        names = [f"{stem}-{i + 1:05d}-of-{len(groups):05d}.safetensors" for i in range(len(groups))]
    return [arranged(name, group) for name, group in zip(names, groups, strict=True)]


def grouped(tensors: Mapping[str, DividedTensor], largest: int) -> list[dict[str, DividedTensor]]:
    """Tensors in the order of names, in groups of at most `largest` bytes, or of one tensor."""
    groups: list[dict[str, DividedTensor]] = [{}]
    filled = 0
    for name in sorted(tensors):
        size = tensors[name].bytes
        if groups[-1] and filled + size > largest:
            groups.append({})
            filled = 0
        groups[-1][name] = tensors[name]
        filled += size
    return groups


def arranged(file: str, tensors: Mapping[str, DividedTensor]) -> TensorFile:
    """Arrange a file's tensors, those with wide elements first, so that all are aligned."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    begins, place = {}, 0
    for name in sorted(tensors, key=lambda x: (-tensors[x].dtype.itemsize, x)):
        tensor = tensors[name]
        begins[name], end = place, place + tensor.bytes
        kind = NAMES[dtype_of(tensor.dtype).name]
        shape = list(tensor.shape)
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [place, end]}
        place = end
    text = msgspec.json.encode(entries)
    text += b" " * (-len(text) % ALIGNED)
    header = len(text).to_bytes(8, "little") + text
    return TensorFile(file, header, {name: len(header) + x for name, x in begins.items()})


def index(files: list[TensorFile], tensors: Mapping[str, DividedTensor]) -> dict[str, object]:
    """The index over files: the file of each tensor, and the bytes of all."""
    where = {name: file.name for file in files for name in file.begins}
    total = sum(tensor.bytes for tensor in tensors.values())
    return {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}


def write_headers(folder: Path, files: list[TensorFile]) -> None:
    """Write what precedes the tensors, which one rank does."""
    for file in files:
        with opened(folder / file.name) as handle:
            write_at(handle, memoryview(file.header), 0)


def write_parts(
    folder: Path,
    files: list[TensorFile],
    tensors: Mapping[str, DividedTensor],
    proceed: Callable[[], None],
) -> dict[str, tuple[int, int]]:
    """Write and flush this rank's parts; returns each tensor's checksum and number of elements.

    proceed: is called now and then, and raises where writing shall end.
    """
    sums: dict[str, tuple[int, int]] = {}
    for file in files:
        own = {name: tensors[name] for name in file.begins if tensors[name].parts}
        if own:
            with opened(folder / file.name) as handle:
                for name, tensor in own.items():
                    total = write_tensor(handle, file.begins[name], tensor, proceed)
                    sums[name] = total, sum(part.array.size for part in tensor.parts)
    return sums


def write_tensor(
    handle: int, begin: int, tensor: DividedTensor, proceed: Callable[[], None]
) -> int:
    """Write the parts of a tensor that begins at a byte of a file; returns their checksum."""
    total, width = 0, tensor.dtype.itemsize
    for part in tensor.parts:
        place = runs(tensor.shape, part.offsets, part.array.shape)
        elements = np.ascontiguousarray(part.array).reshape(-1)
        total += element_sum(elements, place)
        for content, start in pieces_of(elements.view(np.uint8), place, width):
            proceed()
            write_at(handle, memoryview(content), begin + start)
    return total % MODULUS


def pieces_of(
    content: np.ndarray, place: ElementRuns, width: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Bytes of a part run by run, in pieces of a moderate size, and where in the tensor each is."""
    length = place.length * width
    for number, start in enumerate(place.starts.tolist()):
        for low in range(0, length, LARGEST_WRITE):
            high = min(low + LARGEST_WRITE, length)
            yield content[number * length + low : number * length + high], start * width + low


def dtype_called(name: str) -> DType:
    """The dtype of one of the format's names."""
    return dtype_of(DTYPES[name])

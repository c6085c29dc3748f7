"""gn.save and gn.load: nested dicts and lists of tensors and plain values, in one zip file.

Nothing that is read is executed: the tree is JSON, the tensors are raw bytes beside it.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError
from gnomon.tensor.conversions import array_of
from gnomon.tensor.tensor import Tensor, from_array

TREE = "tree.json"
PLAIN = (str, int, float, bool, type(None))


def save(obj: Any, f: Any) -> None:
    """Write nested dicts, lists and tuples of tensors, numbers and strings to a file."""
    if not isinstance(f, (str, os.PathLike)):
        write_zip(obj, f)
        return
    path = Path(f)
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    with aside.open("wb") as file:
        write_zip(obj, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def write_zip(obj: Any, file: Any) -> None:
    """The tree and the tensors as members of a zip."""
    tensors: list[Tensor] = []
    tree = encode(obj, tensors)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(TREE, json.dumps(tree))
        for number, tensor in enumerate(tensors):
            archive.writestr(f"tensors/{number}", array_of(tensor).tobytes())


def encode(value: Any, tensors: list[Tensor]) -> Any:
    """A value as JSON; tensors are put aside and named by number."""
    if isinstance(value, Tensor):
        known = next((k for k, t in enumerate(tensors) if t is value), None)
        if known is None:
            known = len(tensors)
            tensors.append(value)
        shape = list(value.shape)
        return {"tensor": known, "shape": shape, "dtype": value.dtype.name}
    if isinstance(value, DType):
        return {"dtype_of": value.name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, dict):
        return {"dict": [[encode(k, tensors), encode(v, tensors)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(v, tensors) for v in value]}
    raise ArgumentError(
        f"save: cannot save {type(value).__name__}. Save state_dict()s, tensors, numbers, strings, "
        "and dicts or lists of them."
    )


def load(f: Any, map_location: object = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote."""
    try:
        with zipfile.ZipFile(f) as archive:
            tree = json.loads(archive.read(TREE))
            return decode(tree, archive, {})
    except (zipfile.BadZipFile, KeyError) as cause:
        raise ArgumentError(f"load: not a file that gn.save wrote: {cause}.") from cause


def decode(tree: Any, archive: zipfile.ZipFile, made: dict[int, Tensor]) -> Any:
    """A value from its JSON."""
    if not isinstance(tree, dict):
        return tree
    if "tensor" in tree:
        number = tree["tensor"]
        if number not in made:
            values = bytearray(archive.read(f"tensors/{number}"))
            flat = np.frombuffer(values, dtype_of(tree["dtype"]).numpy)
            made[number] = from_array(flat.reshape(tree["shape"]))
        return made[number]
    if "dtype_of" in tree:
        return dtype_of(tree["dtype_of"])
    if "dict" in tree:
        return {decode(k, archive, made): decode(v, archive, made) for k, v in tree["dict"]}
    (kind,) = tree
    parts = [decode(v, archive, made) for v in tree[kind]]
    return tuple(parts) if kind == "tuple" else parts

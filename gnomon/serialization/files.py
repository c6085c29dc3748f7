"""gn.save and gn.load: nested dicts and lists of tensors and plain values, in one zip file.

Nothing that is read is executed: the tree is JSON, the tensors are raw bytes beside it. A file is
not trusted: sizes, kinds and dtypes are compared with what is there before anything is made. What
else Python can pickle is kept as a pickle, which weights_only=False reads, or whoever lets its
classes in by name. PyTorch's own files are read by torch_files.py.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from contextlib import nullcontext
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from gnomon.dtypes import DType, bool_, dtype_of
from gnomon.errors import ArgumentError, brief, clipped
from gnomon.nn.parameter import Parameter
from gnomon.runtime.files import naming, plain
from gnomon.serialization.members import Members, check_truths
from gnomon.serialization.pickled import Interpreter, get_safe_globals, name_of, only
from gnomon.serialization.torch_files import (
    DTYPES,
    FACTORIES,
    NAMES,
    folder_of,
    is_older,
    read_older,
    read_zip,
    settle,
)
from gnomon.tensor.conversions import array_of
from gnomon.tensor.copies import restored
from gnomon.tensor.device import Device, check_device
from gnomon.tensor.module_versions import Watched
from gnomon.tensor.tensor import Size, Tensor, from_array, pair_of

TREE = "tree.json"
PLAIN = (str, int, float, bool, type(None))
BROKEN = (
    *(zipfile.BadZipFile, ValueError, TypeError, LookupError, NotImplementedError, RuntimeError),
    *(OverflowError, EOFError, OSError, struct.error),
)
"""What reading a zip or a tree raises that is none."""


class Content(NamedTuple):
    """The members of a file beside its tree: tensors, and pickles of other objects."""

    tensors: list[Tensor]
    objects: list[bytes]


def save(obj: Any, f: Any) -> None:
    """Write nested dicts, lists and tuples of tensors, numbers and strings to a file.

    Objects of other kinds are pickled; `load(..., weights_only=False)` gives them back, or one
    inside `serialization.safe_globals([their classes])`.

    Raises ArgumentError for what Python cannot pickle.
    """
    if not isinstance(f, (str, os.PathLike)):
        write_zip(obj, f)
        return
    path = Path(f)
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with naming(path), aside.open("wb") as file:
            write_zip(obj, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_zip(obj: Any, file: Any) -> None:
    """The tree and the tensors as members of a zip."""
    content = Content([], [])
    tree = encode(obj, content)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(TREE, json.dumps(tree))
        for number, tensor in enumerate(content.tensors):
            archive.writestr(f"tensors/{number}", array_of(pair_of(tensor)).tobytes())
        for number, pickled in enumerate(content.objects):
            archive.writestr(f"objects/{number}", pickled)


def encode(value: Any, content: Content) -> Any:
    """A value as JSON; tensors are put aside and named by number."""
    if isinstance(value, Tensor):
        known = next((k for k, t in enumerate(content.tensors) if t is value), None)
        if known is None:
            known = len(content.tensors)
            content.tensors.append(value)
        shape = list(value.shape)
        return {"tensor": known, "shape": shape, "dtype": value.dtype.name}
    if isinstance(value, DType):
        return {"dtype_of": value.name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, dict):
        pairs = [[encode(k, content), encode(v, content)] for k, v in value.items()]
        return {"dict": pairs, **kind_of_dict(value, content)}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(v, content) for v in value]}
    content.objects.append(pickled(value))
    return {"object": len(content.objects) - 1, "kind": type(value).__name__}


def kind_of_dict(value: dict, content: Content) -> dict[str, Any]:
    """The notes beside a dict of a kind of its own; a class of somebody else's is written plainly.

    Raises ArgumentError for a defaultdict whose function a file cannot name.
    """
    kind = type(value)
    if kind is OrderedDict and hasattr(value, "_metadata"):
        return {"kind": kind.__name__, "metadata": encode(value._metadata, content)}
    if kind in (OrderedDict, Counter):
        return {"kind": kind.__name__}
    if kind is not defaultdict:
        return {}
    factory = None if value.default_factory is None else name_of_factory(value.default_factory)
    return {"kind": kind.__name__, "factory": factory}


def name_of_factory(factory: Any) -> str:
    """The name of a type that makes the values which a defaultdict lacks."""
    for name, known in FACTORIES.items():
        if factory is known:
            return name
    raise ArgumentError(
        f"save: a defaultdict makes its values by {brief(factory)}, which a file cannot name. Save "
        f"dict() of it, or take one of {', '.join(FACTORIES)}."
    )


def dict_of_kind(made: dict, tree: dict[str, Any], metadata: Any) -> dict:
    """A dict as the kind that is noted beside it."""
    match tree.get("kind"):
        case None:
            return made
        case "OrderedDict":
            ordered = OrderedDict(made)
            if "metadata" in tree:
                vars(ordered)["_metadata"] = metadata
            return ordered
        case "Counter":
            return Counter(made)
        case "defaultdict" if tree.get("factory") is None:
            return defaultdict(None, made)
        case "defaultdict" if tree["factory"] in FACTORIES:
            return defaultdict(FACTORIES[tree["factory"]], made)
    raise ValueError(f"no dict is of kind {brief(tree['kind'])}")


def pickled(value: Any) -> bytes:
    """An object of another kind, as Python writes it."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError) as cause:
        raise ArgumentError(
            f"save: cannot save {type(value).__name__}: {clipped(cause)}. Save state_dict()s, "
            "tensors, numbers, strings, and dicts or lists of them."
        ) from cause


def load(
    f: Any, map_location: object = None, *, weights_only: bool = True, mmap: bool | None = None
) -> Any:
    """Load what `save` wrote, or PyTorch's, from a path or an open file.

    A missing file is Python's own OSError; what is no such file, or was damaged, is refused with
    the reason. Nothing takes more memory than the file has bytes, and a little for the tree; with
    mmap, tensors are read from the file when they are used.

    Objects that only code of theirs could make are refused unless weights_only is False: then
    whoever wrote the file says what runs here.
    """
    if isinstance(map_location, (str, Device)):
        check_device(map_location)
    given = isinstance(f, (str, os.PathLike))
    name = os.fspath(f) if given else "the file"
    if mmap and not given:
        raise ArgumentError(f"load: mmap needs a path: got {type(f).__name__}. Leave it out.")
    try:
        with plain(Path(f)) if given else nullcontext(f) as file:
            return value_of_file(file, not weights_only, bool(mmap))
    except ArgumentError as refused:
        raise ArgumentError(f"load: {name}: {refused}") from refused
    except BROKEN as cause:
        if isinstance(cause, OSError) and cause.errno != errno.EINVAL:
            raise
        why = cause.args[0] if isinstance(cause, KeyError) else cause
        raise ArgumentError(
            f"load: {name} is not a file that gn.save or torch.save wrote, or was damaged: "
            f"{clipped(why).rstrip('.')}. Save it again."
        ) from cause


def value_of_file(file: BinaryIO, trusted: bool, mapped: bool) -> Any:
    """The value of an open file of any of the three kinds."""
    start = file.read(16)
    file.seek(0)
    if is_older(start):
        if mapped:
            raise ArgumentError("only zips can be mapped, and this is PyTorch's older kind.")
        return read_older(file, trusted)
    members = Members(file, mapped)
    folder = folder_of(members)
    if folder is None:
        return Reader(members, trusted).read()
    return read_zip(members, folder, trusted)


class Reader:
    """A zip of ours that is being read."""

    def __init__(self, members: Members, trusted: bool = False) -> None:
        self.members, self.trusted = members, trusted
        self.made: dict[int, tuple[Tensor, str, list[int]]] = {}

    def read(self) -> Any:
        """The tree and its tensors."""
        text = self.members.read(TREE).decode("utf-8")
        return self.decode(json.loads(text, object_pairs_hook=without_twins))

    def decode(self, tree: Any) -> Any:
        """A value from its JSON."""
        match tree:
            case {"tensor": int(number), "shape": list(shape), "dtype": str(name)}:
                return self.tensor(number, shape, name)
            case {"object": int(number), "kind": str(kind)}:
                return self.object(number, kind)
            case {"dtype_of": str(name)} if name in DTYPES:
                return DTYPES[name]
            case {"dict": list(pairs)} if all(isinstance(x, list) and len(x) == 2 for x in pairs):
                made = {hashable(self.decode(k)): self.decode(v) for k, v in pairs}
                return dict_of_kind(made, tree, self.decode(tree.get("metadata")))
            case {"list": list(parts)}:
                return [self.decode(x) for x in parts]
            case {"tuple": list(parts)}:
                return tuple(self.decode(x) for x in parts)
            case dict() | list():
                raise ValueError(f"no value is written like {brief(tree)}")
        return tree

    def object(self, number: int, kind: str) -> Any:
        """An object of another kind, whose code runs where it is let in."""
        content = self.members.read(f"objects/{number}")
        if self.trusted:
            return pickle.loads(content)
        if not get_safe_globals():
            raise ArgumentError(
                f"it holds an object of kind {brief(kind)}, and to make one its code would run. If "
                f"you trust the file, use gn.serialization.add_safe_globals([{kind}]) or "
                "weights_only=False."
            )
        return Interpreter(NAMES | OURS, settle, {}.__getitem__).read(BytesIO(content))

    def tensor(self, number: int, shape: list, name: str) -> Tensor:
        """A tensor by its number; mentioned again, it is the same one."""
        if number not in self.made:
            self.made[number] = self.fresh(number, shape, name), name, shape
        found, *told = self.made[number]
        if told != [name, shape]:
            raise ValueError(f"tensor {number} is said to be of two kinds")
        return found

    def fresh(self, number: int, shape: list, name: str) -> Tensor:
        """A tensor from its member, which must have the bytes that shape and dtype ask for."""
        if name not in DTYPES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"tensor {number} has shape {brief(shape)} and dtype {brief(name)}")
        dtype, content = DTYPES[name], self.members.array(f"tensors/{number}")
        if prod(shape) * dtype.itemsize != content.size:
            raise ValueError(
                f"tensor {number} has {content.size} bytes for shape {brief(shape)} of {name}"
            )
        if dtype is bool_:
            check_truths(f"tensor {number}", content)
        return from_array(content.view(dtype.numpy).reshape(shape))


def tensor_of_pickle(kind: Any, array: Any, requires: Any, attributes: Any) -> Tensor:
    """A tensor inside of an object."""
    if not issubclass(only(kind, type), Tensor):
        raise ValueError(f"its pickle makes a tensor of {kind.__name__}")
    return restored(kind, only(array, np.ndarray), requires is True, attributes)


OURS = {
    name_of(restored): tensor_of_pickle,
    **{name_of(x): x for x in (dtype_of, Device, Size, Tensor, Parameter, Watched)},
}
"""Names of ours that the pickle of an object may hold, and what they mean."""


def hashable(key: Any) -> Any:
    """A value that can be a key."""
    if isinstance(key, (list, dict)):
        raise ValueError(f"{brief(key)} is a key")
    hash(key)
    return key


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, whose keys must differ."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has a key twice")
    return made

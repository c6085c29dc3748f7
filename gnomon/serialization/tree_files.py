"""Read files of an older format of `save`: a zip with a JSON tree and raw tensors.

Other objects in it are pickles, which need weights_only=False or their classes allowed by name.
This format is no longer written.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter, OrderedDict, defaultdict
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import bool_, dtype_of
from gnomon.errors import ArgumentError, brief
from gnomon.nn.parameter import Parameter
from gnomon.serialization.members import Members, check_truths
from gnomon.serialization.pickled import Interpreter, get_safe_globals, name_of, only
from gnomon.serialization.torch_files import DTYPES, FACTORIES, NAMES, settle
from gnomon.tensor.copies import restored
from gnomon.tensor.device import CPU, Device
from gnomon.tensor.module_versions import Watched
from gnomon.tensor.placing import on_device
from gnomon.tensor.tensor import Size, Tensor, from_array

__all__ = ["Reader"]

TREE = "tree.json"


class Reader:
    """Reads a zip of the older format."""

    def __init__(self, members: Members, trusted: bool = False, device: Device = CPU) -> None:
        self.members, self.trusted, self.device = members, trusted, device
        self.made: dict[int, tuple[Tensor, str, list[int]]] = {}

    def read(self) -> Any:
        """Read the tree with its tensors."""
        text = self.members.read(TREE).decode("utf-8")
        return self.decode(json.loads(text, object_pairs_hook=without_twins))

    def decode(self, tree: Any) -> Any:
        """Convert JSON data to a value."""
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
        """Unpickle an object of another class, if its class is allowed."""
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
        """The tensor of a number, the same object each time."""
        if number not in self.made:
            self.made[number] = self.fresh(number, shape, name), name, shape
        found, *known = self.made[number]
        if known != [name, shape]:
            raise ValueError(f"tensor {number} is said to be of two kinds")
        return found

    def fresh(self, number: int, shape: list, name: str) -> Tensor:
        """Read a tensor from its member, whose size must match shape and dtype."""
        if name not in DTYPES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"tensor {number} has shape {brief(shape)} and dtype {brief(name)}")
        dtype, content = DTYPES[name], self.members.array(f"tensors/{number}")
        if prod(shape) * dtype.itemsize != content.size:
            raise ValueError(
                f"tensor {number} has {content.size} bytes for shape {brief(shape)} of {name}"
            )
        if dtype is bool_:
            check_truths(f"tensor {number}", content)
        return on_device("load", from_array(content.view(dtype.numpy).reshape(shape)), self.device)


def tensor_of_pickle(kind: Any, array: Any, requires: Any, attributes: Any) -> Tensor:
    """A tensor inside of a pickled object."""
    if not issubclass(only(kind, type), Tensor):
        raise ValueError(f"its pickle makes a tensor of {kind.__name__}")
    return restored(kind, only(array, np.ndarray), requires is True, attributes)


OURS = {
    name_of(restored): tensor_of_pickle,
    **{name_of(x): x for x in (dtype_of, Device, Size, Tensor, Parameter, Watched)},
}
"""Gnomon's names that the pickle of an object may use, and their values."""


def hashable(key: Any) -> Any:
    """Return a value that can be a key, or raise an error."""
    if isinstance(key, (list, dict)):
        raise ValueError(f"{brief(key)} is a key")
    hash(key)
    return key


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict; ValueError if a key repeats."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has a key twice")
    return made


def dict_of_kind(made: dict, tree: dict[str, Any], metadata: Any) -> dict:
    """Convert a dict to the class that is noted beside it."""
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

"""Places of tensors: new ones are made on the CPU, and moved; on "meta" they have no elements."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.lazy import backends, moves
from gnomon.tensor.device import (
    CPU,
    KINDS,
    META,
    MORE,
    Device,
    check_device,
    default_device,
    device_behind,
    device_of,
    kind_of,
    memory_found,
    missing_leaf,
    refuse_missing,
    settle_device,
)
from gnomon.tensor.state import grads, is_capturing, refusal
from gnomon.tensor.tensor import Paired, Tensor, from_buffer, pair_of, source, value_of, wrap

__all__ = ["get_default_device", "names_device", "on_device", "place", "placing_inside"]
__all__ += ["set_default_device", "with_like", "with_placing", "without_elements"]

PLACING = frozenset({"layout", "memory_format", "pin_memory", "requires_grad"})
"""PyTorch's words for a new tensor's memory: row by row here, whatever they say."""
WORDS = frozenset({"device", "dtype", "memory_format", "non_blocking"})
"""Words of to(), of tensors and of modules."""


def with_placing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A creation function that also takes a device and a memory format."""
    words = list(inspect.signature(function).parameters)
    more, asked, like = PLACING - {*words}, device_among(function), words[0] == "input"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {word: kwargs.pop(word) for word in more & kwargs.keys()}
        if given.get("layout") not in (None, "strided"):
            raise ArgumentError(f"{call.__name__}: layout is strided: got {given['layout']!r}.")
        device = asked(args, kwargs)
        if device is None:  # what is made like a tensor is placed beside it
            device = args[0].device if like and args else default_device()
        if device is CPU or (place := device_of(device)) not in MORE:  # which the function refuses
            made = function(*args, **kwargs)
        else:
            check_device(place, *MORE)
            made = made_elsewhere(function, args, kwargs, kind_of(place))
        return made.requires_grad_() if given.get("requires_grad") else made

    return call


def placing_inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose argument `device`, if it has one, is the device of all tensors it makes."""
    if "device" not in inspect.signature(function).parameters:
        return function
    asked = device_among(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        device = asked(args, kwargs)
        if device is None:
            return function(*args, **kwargs)
        with device_of(device):
            return function(*args, **kwargs)

    return call


def device_among(function: Callable[..., Any]) -> Callable[[tuple, dict[str, Any]], object]:
    """A reader of the device among the arguments of a function's calls."""
    parameters = inspect.signature(function).parameters
    named = parameters.get("device")
    if named is None or named.kind is named.KEYWORD_ONLY:
        return lambda args, kwargs: kwargs.get("device")
    place = list(parameters).index("device")
    return lambda args, kwargs: args[place] if len(args) > place else kwargs.get("device")


def made_elsewhere(function: Callable[..., Any], args: tuple, kwargs: dict, device: Device) -> Any:
    """A creation function's tensor on another device; on "meta" it is never computed."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    for given in (bound.arguments, *bound.arguments.values()):  # options are a dict of their own
        if isinstance(given, dict) and "device" in given:
            given["device"] = CPU  # the function itself knows no other
    with META if device is META else CPU:
        made = function(*bound.args, **bound.kwargs)
    absent = on_device(device.type, made.detach(), device)
    return absent.requires_grad_() if made.requires_grad else absent


def without_elements(tensor: Any) -> Any:
    """A new tensor on device "meta", with the shape and dtype of another."""
    if isinstance(tensor, Paired):
        return tensor.plain((without_elements(tensor._pair),))
    return wrap(missing_leaf(tuple(tensor.shape), tensor.dtype))


def on_device(name: str, tensor: Any, device: object) -> Any:
    """A tensor on a device: itself if it is there, or if no device is given."""
    if device is None:
        return tensor
    check_device(device, *MORE)
    place, pair = kind_of(device), pair_of(tensor)
    if device_behind(pair._storage.node) is place:
        return tensor
    if place is META:
        return without_elements(tensor)
    refuse_missing(name, pair._storage.node)
    if is_capturing():
        if memory_found(source(pair._storage)) is None:  # constants are wherever they are read
            return tensor
        raise refusal(f"{name}: a captured function moves no tensor to another device.")
    if pair.requires_grad and grads.get():
        made = moves.with_gradient(pair, device)
    else:
        value = value_of(pair).copied(backends.BACKENDS[place.type].memory)
        made = from_buffer(value, tuple(pair.shape), pair.dtype)
    return made if pair is tensor else tensor.plain((made,))


def with_like(name: str, args: tuple, named: dict[str, Any], like: str) -> tuple:
    """The arguments of to(), with another tensor's device and dtype; unknown ones are refused."""
    if unknown := named.keys() - WORDS - {like}:
        raise TypeError(f"{name}() got an unexpected keyword argument {min(unknown)!r}")
    return (*args, named[like]) if like in named else args


def place(args: tuple, named: dict[str, Any]) -> object:
    """The device among the arguments of to(); None without one."""
    found = named.get("device")
    for value in args:
        if isinstance(value, Tensor):
            found = value.device
        elif names_device(value):
            found = value
    return found


def names_device(value: object) -> bool:
    """Whether a value is a device, or the name of one."""
    return isinstance(value, Device) or (isinstance(value, str) and is_device(value))


def is_device(name: str) -> bool:
    """Whether a string is a kind of device."""
    return name.partition(":")[0] in KINDS


def get_default_device() -> Device:
    """The device of new tensors: "cpu", "meta" or "reference".

    >>> get_default_device().type
    'cpu'
    """
    return default_device()


def set_default_device(device: object) -> None:
    """Choose the device of new tensors: "cpu", "meta", "reference", or None, which is "cpu".

    Raises ArgumentError of a device that is not there.
    """
    check_device(device, *MORE)
    settle_device(CPU if device is None else kind_of(device))


CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia"), False),
    **dict.fromkeys(("is_nested", "is_quantized", "is_sparse", "is_sparse_csr"), False),
    **dict.fromkeys(("is_vulkan", "is_xla", "is_xpu"), False),
    **{"layout": "strided", "name": None, "output_nr": 0},
}
"""Attributes that every tensor has alike: dense, of numbers."""
for _name, _value in CONSTANTS.items():
    setattr(Tensor, _name, property(lambda self, value=_value: value, doc=f"Always {_value!r}."))
Tensor.is_meta = property(lambda self: self.device == META, doc="Whether it has no elements.")
Tensor.is_cpu = property(lambda self: self.device == CPU, doc="Whether it is in main memory.")

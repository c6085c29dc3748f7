"""Attacks on compiled functions: a history of calls, seen plain and compiled, and what differs.

Not a test. An attack is a generator that is given a way to compile; it makes its own state, calls
its function, changes something, and yields whatever a user could look at. It runs once plain and
once compiled. Values, dtypes, flags, which places hold one object or one memory, and what was
printed must be equal; or the call is refused by an error of ours that names a line of the attack.
"""

from __future__ import annotations

import contextlib
import io
import re
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.dtypes import DType
from gnomon.errors import GnomonError

Way = Callable[[Callable], Any]
Attack = Callable[[Way], Iterator[Any]]
FILES = re.compile(r"attacks(_of_\w+)?\.py:\d+")
REFUSED = "refused"
PLAIN = (bool, int, float, complex, str, bytes, type(None), DType)


def x() -> gn.Tensor:
    """What functions are called with."""
    return gn.tensor([1.25, -0.5])


def turns(f: Callable, *changes: Callable[[], Any], state: Any = None) -> Iterator[Any]:
    """Two calls, then each change with two calls after it; results, and the state beside them."""
    for change in (None, *changes):
        if change is not None:
            change()
        yield f(x()), state
        yield f(x()), state


def tried(f: Callable, *args: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error


class Numbers(dict):
    """Objects by the order in which they were met, so that two runs can be compared."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Any] = []

    def of(self, value: Any) -> tuple[int, bool]:
        """The number of an object, and whether it was met before."""
        met = id(value) in self
        if not met:
            self.alive.append(value)
            self[id(value)] = len(self)
        return self[id(value)], met


def told(value: Any, numbers: Numbers, within: frozenset[int] = frozenset()) -> Any:
    """A value as something to compare: what is inside, and which places hold the same."""
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
        return getattr(value, "__qualname__", value.__name__)
    if isinstance(value, gn.Tensor):
        return of_tensor(value, numbers)
    if isinstance(value, (np.ndarray, np.generic)):
        return (numbers.of(value)[0], str(value.dtype), value.tolist())
    if isinstance(value, BaseException):
        return (type(value).__name__, str(value))
    number = -1 if isinstance(value, tuple) else numbers.of(value)[0]  # an equal one is as good
    name = (type(value).__name__, number)
    if id(value) in within:
        return name
    return (*name, *(told(part, numbers, within | {id(value)}) for part in parts_of(value)))


def of_tensor(value: gn.Tensor, numbers: Numbers) -> tuple:
    """A tensor: itself, its memory, its flags, its values and its gradient."""
    own, memory = numbers.of(value)[0], numbers.of(value._storage)[0]
    flags = (value.requires_grad, value.is_leaf)
    grad = None if not value.is_leaf or value.grad is None else value.grad.tolist()
    tied = sorted(getattr(value, "__dict__", {}))
    return (own, memory, str(value.dtype), tuple(value.shape), flags, value.tolist(), grad, tied)


def parts_of(value: Any) -> Iterable[Any]:
    """What is inside of a container or an object."""
    if isinstance(value, gn.nn.Module):
        plain = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return [plain, dict(value.named_parameters()), dict(value.named_buffers())]
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, (list, tuple, deque)):
        return [*value]
    own = [getattr(value, name) for name in getattr(type(value), "__slots__", ()) or ()]
    return [*own, *sorted(getattr(value, "__dict__", {}).items())]


def seen(attack: Attack, way: Way) -> list[Any]:
    """All that a run shows, up to the error that ends it."""
    numbers, found = Numbers(), []
    gn.manual_seed(0)
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(out),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            for shown in attack(way):
                if any(map(is_refusal, shown if isinstance(shown, tuple) else (shown,))):
                    return [*found, REFUSED]
                found.append((told(shown, numbers), out.getvalue()))
        except Exception as error:
            found.append(REFUSED if is_refusal(error) else told(error, numbers))
    return found


def is_refusal(found: Any) -> bool:
    """Whether a call was refused as it may be: by an error of ours with a line and what to do."""
    text = str(found)
    return isinstance(found, GnomonError) and re.search(r"\. [A-Z]", text) and FILES.search(text)


def differs(attack: Attack, way: Way = gn.compile) -> str:
    """What a compiled run shows otherwise than a plain one; nothing if equal or refused."""
    wanted, got = seen(attack, lambda f: f), seen(attack, way)
    if got[-1] is REFUSED:
        wanted, got = wanted[: len(got) - 1], got[:-1]
    if wanted == got:
        return ""
    pairs = [(k, a, b) for k, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b]
    place, a, b = pairs[0] if pairs else (min(len(wanted), len(got)), wanted[-1:], got[-1:])
    return f"look {place}:\n  plain    {a}\n  compiled {b}"


def stale(function: Callable) -> Callable:
    """A compiled function as none may be: it gives what it gave first, and looks at nothing."""
    kept: list[Any] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not kept:
            kept.append(function(*args, **kwargs))
        return kept[0]

    return call

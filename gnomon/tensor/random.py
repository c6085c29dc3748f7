"""Random tensors. A draw is a function of a seed and of how many draws came before it.

The count travels as a value, not as a constant, so a loop that draws runs one program. Inside
gn.compile it is an input of the program, and draws are the same as outside.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_, dtype_of, float64, int64, uint32
from gnomon.errors import ArgumentError, DtypeError
from gnomon.forking import held
from gnomon.lazy import Lazy
from gnomon.ops.registry import OPS, explained
from gnomon.runtime.buffer import DeviceBuffer, GeneratorWords
from gnomon.settings import Block, holding
from gnomon.tensor.creation import get_default_dtype, like, shape_of, size_checked
from gnomon.tensor.device import META, check_device, default_device
from gnomon.tensor.functions import apply
from gnomon.tensor.operators import write_result
from gnomon.tensor.placing import with_placing
from gnomon.tensor.state import of_complex, state, whole
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, method

ml_dtypes = Lazy("ml_dtypes")
WORD = 2**32
_drawing = held(threading.Lock())


class Generator:
    """A stream of draws: a seed, and the number of draws so far."""

    _followed = None
    """All of it: a replay reads the seed and the count anew."""

    def __init__(self, device: object = None) -> None:
        check_device(device)
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed from its beginning."""
        state.recorder.acted("manual_seed", self)
        self.seeded, self.count = int(seed), 0
        self.words = np.asarray([seed % WORD, seed // WORD % WORD], np.uint32)
        return self

    def seed(self) -> int:
        """Start the stream at an unpredictable seed, which is returned."""
        return self.manual_seed(int.from_bytes(np.random.default_rng().bytes(7), "little")).seeded

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return state.recorder.asked(lambda: self.seeded)

    def get_state(self) -> Tensor:
        """The seed and the count, as a tensor."""
        stood = state.recorder.asked(lambda: (self.seeded % 2**63, self.count), self)
        return from_array(np.asarray(stood, np.int64))

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue a stream at a saved state."""
        seed, count = new_state.tolist()
        self.manual_seed(seed).count = count
        return self

    def words_to_read(self) -> Tensor:
        """The seed as a tensor, readable by programs of every device."""
        return from_buffer(GeneratorWords.of(self.words), (2,), uint32)

    def key(self) -> Tensor:
        """The key of the next draw, which counts it."""
        return apply(OPS["fold_in"], state.recorder.draw(self))

    def drawn(self) -> tuple[Tensor, Tensor]:
        """The seed, and the number of the next draw, which is counted."""
        with _drawing:
            number, self.count = self.count, self.count + 1
        count = DeviceBuffer.of(np.asarray(number % WORD, np.uint32))
        return self.words_to_read(), from_buffer(count, (), uint32)


_own: ContextVar[Generator | None] = ContextVar("generator", default=None)


class DefaultGenerator(Generator):
    """The default generator of random functions; ranks that are threads have one each."""

    def __init__(self) -> None:
        object.__setattr__(self, "shared", Generator())

    def __getattr__(self, name: str) -> Any:
        return getattr(_own.get() or self.shared, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_own.get() or self.shared, name, value)


default_generator = DefaultGenerator()


def own_stream() -> holding[Generator | None]:
    """A context with a default stream of its own, begun as the surrounding one was."""
    own = Generator().manual_seed(default_generator.seeded)
    own.count = default_generator.count
    return holding(_own, own)


class fork_rng(Block):
    """A stretch after which draws go on where they were before it.

    >>> import gnomon as gn
    >>> before = gn.get_rng_state().tolist()
    >>> with fork_rng():
    ...     draws = gn.rand(3)
    >>> gn.get_rng_state().tolist() == before
    True
    """

    def __init__(self, devices: object = None, enabled: bool = True, **options: Any) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.before = default_generator.get_state()

    def leave(self) -> None:
        """Restore the surrounding stream."""
        if self.enabled:
            default_generator.set_state(self.before)


def manual_seed(seed: int) -> Generator:
    """Start the stream that all random functions draw from at a seed."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the stream."""
    return default_generator.initial_seed()


def seed() -> int:
    """Start the default stream at an unpredictable seed, which is returned."""
    return default_generator.seed()


def get_rng_state() -> Tensor:
    """The state of the stream."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore the state of the stream."""
    default_generator.set_state(new_state)


def draw(name: str, args: Sequence, generator: Generator | None, **named: Any) -> Tensor:
    """One draw of an operation of gnomon/ops/random.py."""
    # on device "meta" nothing is drawn: the stream stays where it is
    absent = default_device() is META
    drawn_from = Generator() if absent else generator or default_generator
    return apply(OPS[name], (drawn_from.key(), *args), named)


def floats(dtype: object) -> Any:
    """The dtype of random floats: the given one, or the default one."""
    return get_default_dtype() if dtype is None else dtype


@with_placing
def rand(*size: Any, generator: Generator | None = None, **options: Any) -> Tensor:
    """Uniformly distributed numbers in [0, 1)."""
    return drawn("random_uniform", size, generator, options)


@with_placing
def randn(*size: Any, generator: Generator | None = None, **options: Any) -> Tensor:
    """Numbers from the standard normal distribution."""
    return drawn("random_normal", size, generator, options, 0.5**0.5)


def drawn(name: str, size: tuple, generator: Any, options: dict, scale: float = 1.0) -> Tensor:
    """A random tensor with creation's options; `scale` is that of both parts of complex numbers."""
    check_device(options.pop("device", None))
    shape = shape_of((options["size"],) if "size" in options else size)
    dtype = dtype_of(floats(options.pop("dtype", None)))
    if dtype.is_complex:
        pair = draw(name, ((*shape, 2),), generator, dtype=dtype.to_real()) * scale
        return of_complex("view_as_complex")(pair)
    return size_checked(draw(name, (shape,), generator, dtype=dtype))


rand_like, randn_like = map(like, (rand, randn))


@with_placing
def randint_like(
    input: Tensor,
    low: int = 0,
    high: int | None = None,
    *,
    generator: Generator | None = None,
    dtype: object = None,
) -> Tensor:
    """Integers from low (or 0) up to, not including, high, in the shape of a tensor."""
    return randint(low, high, input.shape, generator=generator, dtype=dtype or input.dtype)


@with_placing
def randint(
    low: int = 0,
    high: Any = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: object = int64,
    device: object = None,
) -> Tensor:
    """Integers from low (or 0) up to, not including, high."""
    check_device(device)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind, ends = int64 if dtype is None else dtype, (whole(low), whole(high))
    return draw("random_integers", (*ends, shape_of((size,))), generator, dtype=kind)


@with_placing
def randperm(
    n: int, *, generator: Generator | None = None, dtype: object = int64, device: object = None
) -> Tensor:
    """0 … n − 1 in a random order."""
    check_device(device)
    n, kind = whole(n), dtype_of(int64 if dtype is None else dtype)
    if kind is not int64 and n > exact_integers(kind):
        raise ArgumentError(
            f"randperm: {kind.name} does not hold all of 0 to {n - 1}. Use a wider dtype."
        )
    return draw("random_permutation", (n,), generator, dtype=dtype)


def exact_integers(dtype: DType) -> int:
    """The number of consecutive integers, from 0, that a dtype represents."""
    if dtype.is_floating_point:
        return round(2 / float(ml_dtypes.finfo(dtype.numpy).eps)) + 1
    return 2 if dtype is bool_ else np.iinfo(dtype.numpy).max + 1


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    **options: Any,
) -> Tensor:
    """Numbers from normal distributions; mean and std are numbers or tensors."""
    check_spread("normal", std)
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise ArgumentError("normal: numbers for mean and std need a size.")
        size, options["dtype"] = tuple(like.shape), options.get("dtype") or like.dtype
    return randn(tuple(size), generator=generator, **options) * std + mean


def check_spread(name: str, std: Any) -> None:
    """Refuse a negative standard deviation."""
    if isinstance(std, (int, float)) and std < 0:
        raise ArgumentError(f"{name}: std is at least 0: got {std}.")


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Ones with the chance given by each element, else zeros."""
    return draw("bernoulli", (input,), generator).to(input.dtype)


# tensors that draw into themselves


def is_held(number: float, dtype: DType) -> bool:
    """Whether a number does not exceed a float dtype's range."""
    with np.errstate(over="ignore"):
        return not dtype.is_floating_point or np.isfinite(np.float64(dtype.numpy.type(number)))


def fill(tensor: Tensor, name: str, generator: Any, shift: float, scale: float) -> Tensor:
    """Write random floats, times scale, plus shift, to a tensor."""
    if not tensor.dtype.is_floating_point:
        raise DtypeError(f"{name}: draws floats: got {tensor.dtype.name}.")
    if tensor.is_meta:
        return tensor
    made = draw(name, (tuple(tensor.shape),), generator, dtype=tensor.dtype)
    # as values, not as constants: then one kernel draws for every bound and every size
    numbers = from_array(np.array([scale, shift], tensor.dtype.numpy))
    return write_result(tensor, made * numbers[0] + numbers[1], name)


@method
@explained
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Set the elements to uniformly distributed numbers in [from, to)."""
    if to < from_:
        raise ArgumentError(f"uniform_: draws from [from, to): got from {from_} to {to}.")
    if not is_held(to - from_, self.dtype):
        raise ArgumentError(f"uniform_: {to} - {from_} is beyond {self.dtype.name}.")
    return fill(self, "random_uniform", generator, from_, to - from_)


@method
@explained
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Set the elements to numbers from a normal distribution."""
    check_spread("normal_", std)
    if self.dtype.is_complex:  # the two parts share the variance
        made = randn(tuple(self.shape), generator=generator, dtype=self.dtype)
        return self.copy_(made * std + mean)
    return fill(self, "random_normal", generator, mean, std)


@method
@explained
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Set the elements to 1 with chance p, else 0; p may be a tensor."""
    if isinstance(p, Tensor) and p.ndim:
        return self.copy_(bernoulli(p.expand(self.shape), generator=generator))
    made = draw("bernoulli", (float(p), tuple(self.shape)), generator)
    return write_result(self, made.to(self.dtype), "bernoulli_")


@method
@explained
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Set the elements to numbers from an exponential distribution."""
    if not lambd > 0:
        raise ArgumentError(f"exponential_: lambd must be above 0: got {lambd}.")
    return transformed(self, "exponential_", lambda u: -u.log() / lambd, generator)


def transformed(self: Tensor, name: str, of: Callable, generator: Any) -> Tensor:
    """Write a function of uniform numbers in (0, 1) to a tensor."""
    made = of(1.0 - rand(tuple(self.shape), generator=generator, dtype=float64))
    return write_result(self, made.to(self.dtype), name)


@method
@explained
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Set the elements to numbers of trials up to the first success, each of chance p."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_: p must be between 0 and 1: got {p}.")
    scale = 1 / math.log1p(-p)
    return transformed(self, "geometric_", lambda u: (u.log() * scale).ceil().clamp(1), generator)


@method
@explained
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Set the elements to numbers from a Cauchy distribution."""
    return transformed(
        self, "cauchy_", lambda u: ((u - 0.5) * math.pi).tan() * sigma + median, generator
    )


@method
@explained
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Set the elements to e to the power of normally distributed numbers."""
    made = randn(tuple(self.shape), generator=generator, dtype=float64) * std + mean
    return write_result(self, made.exp().to(self.dtype), "log_normal_")


@method
@explained
def random_(
    self: Tensor, from_: int | None = None, to: Any = ..., *, generator: Generator | None = None
) -> Tensor:
    """Take integers from `from_` up to, not including, `to`; of one number, from 0 up to it.

    Without an end (to=None, or no number at all) the last is the greatest integer that the dtype
    holds; of floats, the last below which it holds each.

    >>> import gnomon as gn
    >>> gn.zeros(3, dtype=gn.int8).random_(5).max() < 5
    Tensor(True)
    """
    low, high = (0, from_) if to is ... else (from_ or 0, to)
    high = exact_integers(self.dtype) if high is None else high
    made = randint(low, high, tuple(self.shape), generator=generator)
    return write_result(self, made.to(self.dtype), "random_")


Tensor.bernoulli = bernoulli

"""Random tensors. A draw is a function of a seed and of how many draws came before it.

The count travels as a value, not as a constant, so a loop that draws runs one program. Inside
gn.compile it is an input of the program, and draws are the same as outside.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import float64, int64
from gnomon.errors import ArgumentError, DtypeError
from gnomon.ops.registry import OPS
from gnomon.tensor.creation import finished, get_default_dtype, shape_of
from gnomon.tensor.device import check_device
from gnomon.tensor.operators import write_result
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, apply, from_array, method

WORD = 2**32


class Generator:
    """A stream of draws: a seed, and how many came before."""

    def __init__(self, device: object = None) -> None:
        check_device(device)
        self.lock = threading.Lock()
        self.manual_seed(0)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed from its beginning."""
        self.seeded, self.count = int(seed), 0
        self.words = np.asarray([seed % WORD, seed // WORD % WORD], np.uint32)
        return self

    def initial_seed(self) -> int:
        """The seed."""
        return self.seeded

    def get_state(self) -> Tensor:
        """The seed and the count, as a tensor."""
        return from_array(np.asarray([self.seeded % 2**63, self.count], np.int64))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on where a stream was."""
        seed, count = new_state.tolist()
        self.manual_seed(seed)
        self.count = count
        return self

    def key(self) -> Tensor:
        """The key of the next draw."""
        if state.capture is not None:
            words, number = state.capture.draw(self)
        else:
            with self.lock:
                number, self.count = self.count, self.count + 1
            words, number = from_array(self.words), from_array(np.asarray(number % WORD, np.uint32))
        return apply(OPS["fold_in"], (words, number))


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Start the stream that all random functions draw from at a seed."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the stream."""
    return default_generator.initial_seed()


def seed() -> int:
    """Start the stream at a seed that nobody knows, and tell it."""
    chosen = int.from_bytes(np.random.default_rng().bytes(7), "little")
    manual_seed(chosen)
    return chosen


def get_rng_state() -> Tensor:
    """Where the stream is."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Take the stream back to where it was."""
    default_generator.set_state(new_state)


def draw(name: str, args: Sequence, generator: Generator | None, **named: Any) -> Tensor:
    """One draw of an operation of gnomon/ops/random.py."""
    key = (generator or default_generator).key()
    return apply(OPS[name], (key, *args), named)


def floats(dtype: object) -> Any:
    """The dtype of a draw of floats."""
    return get_default_dtype() if dtype is None else dtype


def rand(*size: Any, generator: Generator | None = None, **options: Any) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    return drawn("random_uniform", size, generator, options)


def randn(*size: Any, generator: Generator | None = None, **options: Any) -> Tensor:
    """Numbers of the standard normal distribution."""
    return drawn("random_normal", size, generator, options)


def drawn(name: str, size: tuple, generator: Generator | None, options: dict) -> Tensor:
    """A draw with creation's options."""
    check_device(options.pop("device", None))
    requires = options.pop("requires_grad", False)
    shape = shape_of((options["size"],) if "size" in options else size)
    made = draw(name, (shape,), generator, dtype=floats(options.pop("dtype", None)))
    return finished(made, requires)


def rand_like(input: Tensor, *, dtype: object = None, device: object = None) -> Tensor:
    """Numbers spread evenly over [0, 1), in the shape of a tensor."""
    return rand(tuple(input.shape), dtype=dtype or input.dtype)


def randn_like(input: Tensor, *, dtype: object = None, device: object = None) -> Tensor:
    """Numbers of the standard normal distribution, in the shape of a tensor."""
    return randn(tuple(input.shape), dtype=dtype or input.dtype)


def randint_like(
    input: Tensor, low: int, high: int | None = None, *, dtype: object = None
) -> Tensor:
    """Integers from low (or 0) up to, not including, high, in the shape of a tensor."""
    return randint(low, high, tuple(input.shape), dtype=dtype or input.dtype)


def randint(
    low: int,
    high: Any = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: object = int64,
    device: object = None,
) -> Tensor:
    """Integers from low (or 0) up to, not including, high."""
    check_device(device)
    if not isinstance(high, int):
        low, high, size = 0, low, high if size is None else size
    kind = int64 if dtype is None else dtype
    return draw("random_integers", (low, high, shape_of((size,))), generator, dtype=kind)


def randperm(
    n: int, *, generator: Generator | None = None, dtype: object = int64, device: object = None
) -> Tensor:
    """0 … n − 1 in a random order."""
    check_device(device)
    return draw("random_permutation", (n,), generator, dtype=dtype)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    dtype: object = None,
) -> Tensor:
    """Numbers of normal distributions; mean and std are numbers or tensors."""
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise ArgumentError("normal: numbers for mean and std need a size.")
        size, dtype = tuple(like.shape), dtype or like.dtype
    return randn(tuple(size), generator=generator, dtype=dtype) * std + mean


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the chance that each element says, else 0."""
    return draw("bernoulli", (input,), generator).to(input.dtype)


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Positions along the last axis, drawn with chances in proportion to the elements."""
    if not input.dtype.is_floating_point:
        raise DtypeError(f"multinomial: chances are floats: got {input.dtype.name}. Use float().")
    logits = input.log()
    if replacement:
        shape = (*input.shape[:-1], num_samples, input.shape[-1])
        rows = logits[..., None, :].expand(shape)
        return draw("random_choice", (rows,), generator)
    noise = -(-(rand_like(input) + 2.0**-25).log()).log()
    return (logits + noise).topk(num_samples, dim=-1).indices


# tensors that draw into themselves


def fill(
    tensor: Tensor, name: str, generator: Generator | None, shift: float, scale: float
) -> Tensor:
    """Write a draw of floats, times scale, plus shift, to a tensor."""
    if not tensor.dtype.is_floating_point:
        raise DtypeError(f"{name}: draws floats: got {tensor.dtype.name}.")
    made = draw(name, (tuple(tensor.shape),), generator, dtype=tensor.dtype)
    # as values, not as constants: then one kernel draws for every bound and every size
    numbers = from_array(np.array([scale, shift], tensor.dtype.numpy))
    return write_result(tensor, made * numbers[0] + numbers[1], name)


@method
def uniform_(
    self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Take numbers spread evenly over [from, to)."""
    return fill(self, "random_uniform", generator, from_, to - from_)


@method
def normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Take numbers of a normal distribution."""
    return fill(self, "random_normal", generator, mean, std)


@method
def bernoulli_(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Take 1 with chance p, else 0."""
    made = draw("bernoulli", (float(p), tuple(self.shape)), generator)
    return write_result(self, made.to(self.dtype), "bernoulli_")


@method
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Take numbers of an exponential distribution."""
    made = rand(tuple(self.shape), generator=generator, dtype=float64)
    return write_result(self, (-(1.0 - made).log() / lambd).to(self.dtype), "exponential_")


@method
def random_(
    self: Tensor, from_: int = 0, to: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Take integers from `from_` up to, not including, `to`."""
    low, high = (0, from_) if to is None and from_ else (from_, to or 2**24)
    made = randint(low, high, tuple(self.shape), generator=generator)
    return write_result(self, made.to(self.dtype), "random_")


Tensor.multinomial, Tensor.bernoulli = multinomial, bernoulli

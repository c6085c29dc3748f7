"""Samplers and loaders: the items of a dataset in batches.

Batches are copies with values, put together by NumPy: a loop over them compiles nothing. Workers
are threads of this process.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import GenericAlias
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.tensor.choices import multinomial
from gnomon.tensor.control import evaluate
from gnomon.tensor.creation import as_tensor, tensor
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import Generator, initial_seed, randint, randperm
from gnomon.tensor.tensor import Tensor, array_of, from_array
from gnomon.utils.data.checks import (
    ELSEWHERE,
    SETTLED,
    check_sizes,
    check_workers,
    is_flag,
    positive,
    refuse_kind,
)
from gnomon.utils.data.datasets import IterableDataset, TensorDataset
from gnomon.utils.data.workers import WorkerInfo, begin, interleaved, working

# orders


class Sampler:
    """The base of samplers, which yield the order of a dataset's indices."""

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """Yields indices in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


AT_ONCE = 65536
"""The number of indices drawn at once with replacement, so that 1e10 are drawn as needed."""


class RandomSampler(Sampler):
    """Yields indices in random order, with or without replacement."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.generator = data_source, generator
        self.replacement = is_flag("replacement", replacement, DtypeError)
        self._num_samples = num_samples
        positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices to draw, by default the current length of the data."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, left = len(self.data_source), self.num_samples
        while self.replacement and left > 0:
            size = (min(left, AT_ONCE),)
            yield from randint(0, count, size, generator=self.generator).tolist()
            left -= AT_ONCE
        while count and left > 0:
            yield from randperm(count, generator=self.generator)[:left].tolist()
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Yields given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator).tolist()
        yield from (self.indices[k] for k in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Draws indices with probabilities proportional to weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        self.num_samples = positive("num_samples", num_samples)
        self.replacement = is_flag("replacement", replacement)
        self.weights, self.generator = as_tensor(weights, dtype="float64"), generator
        if self.weights.ndim != 1:
            raise ArgumentError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )

    def __iter__(self) -> Iterator[int]:
        options = (self.num_samples, self.replacement)
        yield from multinomial(self.weights, *options, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Groups another sampler's indices into batches."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size = sampler, positive("batch_size", batch_size)
        self.drop_last = is_flag("drop_last", drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        items = iter(self.sampler)
        while batch := list(islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


# batches


def default_collate(batch: Sequence[Any]) -> Any:
    """Combine items into a batch: tensors are stacked, numbers become tensors, dicts go by key."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stacked(batch)
    if isinstance(first, (np.ndarray, np.generic)):
        return as_tensor(np.stack(batch))
    if isinstance(first, (bool, int)):
        return tensor(list(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype="float64")
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return refill(first, {key: default_collate([item[key] for item in batch]) for key in first})
    if not isinstance(first, Sequence):
        refuse_kind(first)
    check_sizes(batch)
    parts = [default_collate(part) for part in zip(*batch, strict=True)]
    if isinstance(first, tuple):
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return refill(first, parts)


def refill(first: Any, parts: Any) -> Any:
    """Put parts in a container of an item's class, with the item's other attributes."""
    try:
        if not isinstance(first, (MutableMapping, MutableSequence)):
            return type(first)(parts)
        made = copy.copy(first)
        for place, part in parts.items() if isinstance(parts, dict) else enumerate(parts):
            made[place] = part
        return made
    except TypeError:  # the class has no such constructor, or no such places
        return parts


def default_convert(data: Any) -> Any:
    """Convert the NumPy arrays of an item to tensors, in any nesting.

    >>> default_convert({"a": (np.arange(2), "b")})
    {'a': [Tensor([0, 1]), 'b']}
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return refill(data, {key: default_convert(value) for key, value in data.items()})
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        return data
    parts = [*map(default_convert, data)]
    if isinstance(data, tuple):
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return refill(data, parts)


def stacked(batch: Sequence[Tensor]) -> Tensor:
    """Stack tensors along a new first axis."""
    if any(t.requires_grad or t.is_complex() for t in batch) or len({t.dtype for t in batch}) > 1:
        return FUNCTIONS["stack"](list(batch))
    shapes = [tuple(t.shape) for t in batch]
    if len(set(shapes)) > 1:
        k = next(k for k, shape in enumerate(shapes) if shape != shapes[0])
        raise ShapeError(
            "stack expects each tensor to be equal size, the same shape, but got "
            f"{list(shapes[0])} at entry 0 and {list(shapes[k])} at entry {k}"
        )
    evaluate(list(batch))
    return from_array(np.stack([array_of(t) for t in batch]))


class DataLoader:
    """Iterates over a dataset, or any iterable, in batches.

    Each worker reads a whole IterableDataset, unless that divides itself by get_worker_info.
    """

    settled = False
    prefetch_factor: int | None
    worker_init_fn: Callable[[int], Any] | None

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        *,
        generator: Generator | None = None,
        **ignored: Any,
    ) -> None:
        unknown = ignored.keys() - ELSEWHERE.keys()
        if unknown:
            raise TypeError(f"DataLoader takes no argument {', '.join(sorted(unknown))}")
        check_workers(num_workers, ignored)
        if batch_size is not None:
            positive("batch_size", batch_size)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        single = batch_size is None and batch_sampler is None
        self.collate_fn = collate_fn or (default_convert if single else default_collate)
        self.generator, self.pin_memory = generator, pin_memory
        self.by_number = hasattr(dataset, "__getitem__") and not isinstance(
            dataset, IterableDataset
        )
        self.num_workers = num_workers
        for name, unset in ELSEWHERE.items():
            setattr(self, name, ignored.get(name, unset))
        if num_workers and self.prefetch_factor is None:
            self.prefetch_factor = 2
        self.check(shuffle, sampler, batch_sampler)
        if self.by_number and sampler is None:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        self.sampler, self.batch_sampler = sampler, batch_sampler
        if batch_sampler is not None:
            self.batch_size, self.drop_last = None, False
        if self.by_number and batch_sampler is None and batch_size is not None:
            self.batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.settled = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.settled and name in SETTLED:
            raise ArgumentError(
                f"{name} attribute should not be set after DataLoader is initialized. "
                "Make another loader."
            )
        super().__setattr__(name, value)

    def check(self, shuffle: bool | None, sampler: object, batches: object) -> None:
        """Refuse combinations of options that exclude each other."""
        if self.batch_size is None and batches is None and self.drop_last:
            raise ArgumentError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is not None and shuffle:
            raise ArgumentError("sampler option is mutually exclusive with shuffle")
        if not self.by_number and (shuffle or sampler is not None or batches is not None):
            raise ArgumentError(
                "DataLoader with IterableDataset: expected unspecified shuffle, sampler and "
                "batch_sampler options"
            )
        if batches is not None and (self.batch_size != 1 or shuffle or sampler or self.drop_last):
            raise ArgumentError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )

    def __iter__(self) -> Iterator[Any]:
        if not self.by_number:
            return self.streamed_ahead() if self.num_workers else self.streamed(self.dataset)
        orders = self.sampler if self.batch_sampler is None else map(list, self.batch_sampler)
        return self.ahead(orders) if self.num_workers else map(self.fetch, orders)

    def fetch(self, indices: Any) -> Any:
        """The batch of some indices, or the item of one index."""
        if not isinstance(indices, list):
            return self.collate_fn(self.dataset[indices])
        if isinstance(self.dataset, TensorDataset) and self.collate_fn is default_collate:
            return self.dataset.batch(indices)
        return self.collate_fn([self.dataset[k] for k in indices])

    def workers(self, given: Callable[[Any], Any]) -> list[WorkerInfo]:
        """Start the workers; `given` makes each one's dataset."""
        seed, count = initial_seed(), self.num_workers
        infos = [WorkerInfo(k, count, seed + k, given(self.dataset)) for k in range(count)]
        begin(infos, self.worker_init_fn)
        return infos

    def ahead(self, orders: Iterable[Any]) -> Iterator[Any]:
        """Yield batches in order while threads prepare the next ones."""
        waiting: deque[Future] = deque()
        infos = iter(self.workers(lambda dataset: dataset))
        options = {"initializer": lambda: working.set(next(infos))}
        with ThreadPoolExecutor(self.num_workers, **options) as threads:
            for indices in orders:
                waiting.append(threads.submit(self.fetch_now, indices))
                if len(waiting) > self.num_workers * (self.prefetch_factor or 2):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def fetch_now(self, indices: Any) -> Any:
        """The batch of some indices, with its values computed."""
        batch = self.fetch(indices)
        evaluate(batch)
        return batch

    def streamed_ahead(self) -> Iterator[Any]:
        """Yield batches of an iterable dataset, each worker with its own copy."""

        def read(dataset: Any) -> Iterator[Any]:
            for batch in self.streamed(dataset):
                evaluate(batch)
                yield batch

        yield from interleaved(self.workers(copy.copy), read, self.prefetch_factor or 2)

    def streamed(self, dataset: Any) -> Iterator[Any]:
        """Yield batches of an iterable dataset."""
        items = iter(dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, items)
            return
        while batch := list(islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self.by_number or self.batch_size is None:
            return len(self.sampler if self.by_number else self.dataset)
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

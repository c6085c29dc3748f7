"""Datasets, by index or iterable, and their subsets, concatenations and splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import GenericAlias
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.creation import tensor
from gnomon.tensor.random import Generator, randperm
from gnomon.tensor.tensor import Tensor, array_of, from_array
from gnomon.utils.data.checks import check_shares


class Dataset:
    """The base of datasets that are indexed; subclasses define __getitem__ and __len__."""

    def __class_getitem__(cls, item: Any) -> GenericAlias:
        return GenericAlias(cls, item)

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """The base of datasets that can only be iterated; subclasses define __iter__."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Iterable datasets, one after another."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(map(in_order, self.datasets))

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


def in_order(dataset: Dataset) -> IterableDataset:
    """Return an iterable dataset, or raise ArgumentError."""
    if not isinstance(dataset, IterableDataset):
        raise ArgumentError("ChainDataset only supports IterableDataset. Use ConcatDataset.")
    return dataset


class TensorDataset(Dataset):
    """A dataset whose item k is the k-th row of each of several tensors."""

    def __init__(self, *tensors: Tensor) -> None:
        if len({t.shape[0] for t in tensors}) > 1:
            raise ArgumentError(
                f"TensorDataset: Size mismatch between tensors: {[tuple(t.shape) for t in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def batch(self, indices: Sequence[int]) -> list[Tensor]:
        """Several rows of each tensor."""
        return [rows_of(t, list(indices)) for t in self.tensors]


def rows_of(t: Tensor, indices: list[int]) -> Tensor:
    """A copy of some rows of a tensor."""
    if t.requires_grad:
        return t[tensor(indices)]
    return from_array(array_of(t)[indices])


class ConcatDataset(Dataset):
    """Indexed datasets, one after another."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(x, IterableDataset) for x in self.datasets):
            raise ArgumentError("ConcatDataset does not support IterableDataset. Use ChainDataset.")

    def __len__(self) -> int:
        return sum(map(len, self.datasets))

    def __getitem__(self, index: int) -> Any:
        if index < -len(self):
            raise ArgumentError("absolute value of index should not exceed dataset length")
        index = index + len(self) if index < 0 else index
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)
        raise IndexError("dataset index out of range")


class StackDataset(Dataset):
    """Several datasets in parallel; an item is a tuple or dict of theirs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset: give datasets by place, or all by name.")
        self.datasets: Any = kwargs or args
        found = list(kwargs.values() or args)
        if len({len(x) for x in found}) > 1:
            raise ArgumentError(
                f"StackDataset: Size mismatch between datasets: {[len(x) for x in found]}"
            )

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, Mapping):
            return {name: x[index] for name, x in self.datasets.items()}
        return tuple(x[index] for x in self.datasets)

    def __len__(self) -> int:
        return len(
            next(iter(self.datasets.values()))
            if isinstance(self.datasets, Mapping)
            else self.datasets[0]
        )


class Subset(Dataset):
    """The items of a dataset at given indices."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Split a dataset randomly into subsets, whose lengths are counts or fractions."""
    total = len(dataset)
    check_shares(lengths, total)
    counts = [int(n) if sum(lengths) == total else int(n * total) for n in lengths]
    for k in range(total - sum(counts) if sum(lengths) != total else 0):
        counts[k % len(counts)] += 1
    if sum(counts) != total:
        raise ArgumentError("Sum of input lengths does not equal the length of the input dataset!")
    order, parts = randperm(total, generator=generator).tolist(), []
    for count in counts:
        parts.append(Subset(dataset, order[:count]))
        order = order[count:]
    return parts

"""Datasets and loaders with PyTorch's names."""

from gnomon.lazy import modules_below
from gnomon.utils.data import distributed
from gnomon.utils.data.datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from gnomon.utils.data.distributed import DistributedSampler
from gnomon.utils.data.loading import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    default_collate,
    default_convert,
)
from gnomon.utils.data.workers import get_worker_info

__getattr__ = modules_below(__name__)

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset"]
__all__ += ["DistributedSampler", "IterableDataset", "RandomSampler", "Sampler"]
__all__ += ["SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset"]
__all__ += ["WeightedRandomSampler", "default_collate", "default_convert", "distributed"]
__all__ += ["get_worker_info", "random_split"]

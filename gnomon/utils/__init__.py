"""torch.utils' names: data loading, checkpointing, benchmarks."""

from gnomon.lazy import modules_below
from gnomon.utils import checkpoint, data

__getattr__ = modules_below(__name__)

__all__ = ["checkpoint", "data"]

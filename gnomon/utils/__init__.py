"""torch.utils' place: data loading, checkpointing."""

from gnomon.utils import checkpoint, data

__all__ = ["checkpoint", "data"]

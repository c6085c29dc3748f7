"""torch.distributed.checkpoint's place: tensors on the disk, however ranks divide them."""

from gnomon.distributed.checkpoint import state_dict
from gnomon.distributed.checkpoint.loading import (
    BytesStorageMetadata,
    FileSystemReader,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
    load,
)
from gnomon.distributed.checkpoint.nested import Stateful
from gnomon.distributed.checkpoint.planners import DefaultLoadPlanner, DefaultSavePlanner
from gnomon.distributed.checkpoint.saving import (
    CheckpointException,
    FileSystemWriter,
    async_save,
    save,
)

__all__ = [
    "BytesStorageMetadata",
    "CheckpointException",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "Stateful",
    "TensorProperties",
    "TensorStorageMetadata",
    "async_save",
    "load",
    "save",
    "state_dict",
]

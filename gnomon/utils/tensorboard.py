"""Event files for TensorBoard, written by tensorboardX.

It is PyTorch's writer without `add_graph`: `gnomon profile` shows a model's computation line by
line.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from gnomon.tensor.pytree import with_leaves
from gnomon.tensor.tensor import Tensor

try:
    from tensorboardX import SummaryWriter as _Writer
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "utils.tensorboard: tensorboardX writes event files, and is not installed. "
        "pip install tensorboardX",
        name=missing.name,
    ) from missing

__all__ = ["SummaryWriter"]


def arrays(value: Any) -> Any:
    """Replace tensors in a nested value by NumPy arrays, and those of one element by numbers."""

    def of(x: Any) -> Any:
        found = x.numpy(force=True) if isinstance(x, Tensor) else None
        return x if found is None else found.item() if found.size == 1 else found

    return with_leaves(value, of)


def of_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of tensors from a method of NumPy arrays."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        return method(self, *map(arrays, args), **arrays(named))

    return call


class SummaryWriter(_Writer):
    """Writes scalars, histograms, images and texts to a folder for TensorBoard.

    >>> import gnomon as gn, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     writer.add_scalar("loss", gn.tensor(0.5), 1)
    """

    def add_graph(self, model: Any, *inputs: Any, **options: Any) -> None:
        """Warn that no graph is written, since TensorBoard's format has other operations."""
        warnings.warn("add_graph: no graph is written. See gnomon profile.", stacklevel=2)


for _name in [each for each in dir(_Writer) if each.startswith("add_") and each != "add_graph"]:
    setattr(SummaryWriter, _name, of_arrays(getattr(_Writer, _name)))

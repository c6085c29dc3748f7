"""DistributedDataParallel: every rank has the model and its own rows of the batch.

After each backward pass gradients are averaged over the ranks, all of one dtype in one message, in
the order of ranks, so that every rank has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from gnomon.capture import jit
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.nn.module import Module
from gnomon.ops.group_folds import ReduceOp
from gnomon.runtime.comm.groups import ProcessGroup, membership
from gnomon.tensor.collectives import Part, elements, fold_across, move, put
from gnomon.tensor.creation import zeros_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor, node_of, pairs_of, rare

__all__ = ["DataParallel", "DistributedDataParallel", "GradBucket"]
__path__: list[str] = []  # PyTorch has modules below this one: gnomon/lazy.py


class DataParallel(Module):
    """PyTorch's wrapper for several GPUs of one process; it only calls the model.

    Shapes: input (*s) -> (*t)

    >>> from gnomon.nn import Linear
    >>> DataParallel(Linear(3, 2))(ones(4, 3)).shape
    Size([4, 2])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The module's result."""
        return self.module(*inputs, **named)


class GradBucket:
    """A flat buffer of gradients of one dtype, for communication hooks of DDP."""

    def __init__(self, row: Tensor, parameters: Sequence[Tensor], index: int, last: bool) -> None:
        self._row, self._parameters, self._index, self._last = row, parameters, index, last

    def buffer(self) -> Tensor:
        """The flat buffer of all gradients."""
        return self._row

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the flat buffer."""
        self._row = buffer

    def gradients(self) -> list[Tensor]:
        """The gradients of the bucket's parameters, as views of its buffer."""
        sizes = [p.numel() for p in self._parameters]
        parts = zip(self._row.split(sizes), self._parameters, strict=True)
        return [part.view(p.shape) for part, p in parts]

    def parameters(self) -> list[Tensor]:
        """The parameters of the bucket's gradients."""
        return list(self._parameters)

    def index(self) -> int:
        """The number of the bucket in the backward pass."""
        return self._index

    def is_last(self) -> bool:
        """Whether the bucket is the last of a backward pass."""
        return self._last


class DistributedDataParallel(Module):
    """A model whose gradients are averaged over the ranks of a group after each backward pass.

    All ranks start with the first one's parameters and buffers.
    """

    def __init__(
        self,
        module: Module | jit.Compiled,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        static_graph: bool = False,
        **ignored: Any,
    ) -> None:
        super().__init__()
        self.module: Module = module.function if isinstance(module, jit.Compiled) else module
        object.__setattr__(self, "_called", module)  # no second part
        self.process_group = membership().world() if process_group is None else process_group
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.device_ids, self.output_device = None, None
        self.require_backward_grad_sync = True
        """Whether the next backward pass averages gradients; scripts may set it."""
        self._hook: tuple[Any, Callable] | None = None
        ours = pairs_of(p for p in self.module.parameters() if p.requires_grad)
        if not ours:
            raise ArgumentError(
                "DistributedDataParallel: no parameter of the module wants gradients. "
                "Use the module itself."
            )
        if init_sync:
            self._spread([*self.module.parameters(), *self.module.buffers()])
        for p in ours:
            rare(p).ends = self._average

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The module's result; in training, buffers are first set to the first rank's."""
        if self.broadcast_buffers and self.training and self.require_backward_grad_sync:
            self._spread(list(self.module.buffers()))
        return self._called(*inputs, **named)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients accumulate on each rank, without averaging."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _spread(self, tensors: Sequence[Tensor]) -> None:
        """Broadcast the first rank's tensors to all ranks."""
        group = self.process_group
        if group.size() == 1 or not tensors:
            return
        leads = group.rank() == 0
        peers = range(1, group.size()) if leads else (0,)
        parts = [Part(k, x, 0, x.numel()) for k in peers for x in pairs_of(tensors)]
        move(group, *((parts, []) if leads else ([], parts))).wait()

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Average gradients by hook(state, bucket), which returns a Future of the flat buffer."""
        if self._hook is not None:
            raise ArgumentError("register_comm_hook: expected one hook: got a second.")
        self._hook = state, hook

    def _set_static_graph(self) -> None:
        """Record that each pass reaches the same parameters, which has no effect."""
        self.static_graph = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """A part of the facts that PyTorch logs of its wrapper."""
        return {"world_size": self.process_group.size(), "can_set_static_graph": False}

    def _average(self) -> None:
        """Average the gradients over the ranks, one message per dtype."""
        group, hook = self.process_group, self._hook
        if (group.size() == 1 and hook is None) or not self.require_backward_grad_sync:
            return
        ours = [p for p in pairs_of(self.module.parameters()) if self._gradient(p) is not None]
        ours.sort(key=lambda p: p.grad.dtype.name)
        buckets = [list(alike) for _, alike in groupby(ours, lambda p: p.grad.dtype.name)]
        for number, alike in enumerate(buckets):
            gradients = [p.grad for p in alike]
            row = FUNCTIONS["cat"]([g.detach().ravel() for g in gradients])
            if hook is None:
                made = fold_across(group, row, ReduceOp.AVG)
            else:
                made = averaged_by(hook, GradBucket(row, alike, number, alike is buckets[-1]))
            place = 0
            for g in gradients:
                put(g, elements(made, place, g.numel()))
                place += g.numel()

    def _gradient(self, parameter: Tensor) -> Tensor | None:
        """A parameter's gradient or None; with find_unused_parameters zeros for an unused one."""
        if parameter.requires_grad and parameter.grad is None and self.find_unused_parameters:
            parameter.grad = zeros_like(parameter)
        return parameter.grad if parameter.requires_grad else None


def averaged_by(hook: tuple[Any, Callable], bucket: GradBucket) -> Node:
    """The flat buffer of averages that a hook returns."""
    state, call = hook
    found = call(state, bucket).wait()
    return node_of((found[0] if isinstance(found, (list, tuple)) else found).detach())

"""Stages of a pipeline: parts of a model on ranks, and what they send to one another.

The order of their passes is a schedule's: pipelining.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from gnomon.distributed.functional import member
from gnomon.distributed.groups import Group, get_global_rank
from gnomon.distributed.objects import recv_object_list, send_object_list
from gnomon.distributed.point_to_point import irecv, isend
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.tensor.autograd.engine import backward
from gnomon.tensor.creation import empty, zeros_like
from gnomon.tensor.tensor import Tensor

__all__ = ["PipelineStage", "StepOfStage"]

Tensors = tuple[Tensor, ...]


class PipelineStage:
    """One of the stages of a model, which are assigned to ranks in turn.

    device: the stage's device. Shapes need no arguments: a stage sends them to the next one.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: object,
        input_args: object = None,
        output_args: object = None,
        output_grads: object = None,
        input_grads: object = None,
        group: Group = None,
    ) -> None:
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = device, member("PipelineStage", group)
        rank, size = self.group.rank(), self.group.size()
        if num_stages % size or stage_index not in range(rank, num_stages, size):
            raise ArgumentError(
                f"PipelineStage: expected as many stages on each rank, which have them in turn: "
                f"got stage {stage_index} of {num_stages} on rank {rank} of {size}. Make the "
                "stages rank, rank + size, and so on."
            )

    @property
    def is_first(self) -> bool:
        """Whether this is the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether this is the last stage, which computes losses."""
        return self.stage_index == self.num_stages - 1

    def beside(self, step: int) -> int:
        """The global rank of the next stage, or with -1 of the one before."""
        return get_global_rank(self.group, (self.stage_index + step) % self.group.size())


class StepOfStage:
    """A stage's state in one step: awaited messages, values for gradients, and sends under way.

    Messages to a stage have its number for their tag: activations come from the stage before it,
    gradients, whose tags follow, from the one behind.
    """

    def __init__(
        self, stage: PipelineStage, chunks: Sequence[tuple], named: Sequence[dict]
    ) -> None:
        self.stage, self.chunks, self.named = stage, chunks, named
        self.kinds: list[tuple[tuple[int, ...], Any]] | None = None
        """The shapes and dtypes of what comes from the stage before."""
        self.announced = False
        """Whether the next stage knows what it gets."""
        self.waiting: dict[int, tuple[Tensors, Tensors]] = {}
        """Inputs and results of microbatches whose gradients are to come, by their numbers."""
        self.losses: dict[int, Tensor] = {}
        """The losses of microbatches; without their graphs once these were passed."""
        self.sent: list[Any] = []
        self.neighbours: dict[int, StepOfStage] = {}
        """The steps of stages of this rank, by their numbers."""
        self.handed: dict[int, deque[Tensors]] = {}
        """What stages of this rank have handed over, by the tags that messages would have."""

    def inputs(self, number: int) -> Tensors:
        """The arguments of a microbatch: the batch's, or those received from the stage before."""
        stage = self.stage
        if stage.is_first:
            return self.chunks[number]
        if stage.stage_index - 1 in self.neighbours:
            return self.handed[stage.stage_index].popleft()
        before = stage.beside(-1)
        if self.kinds is None:
            found: list[Any] = [None]
            recv_object_list(found, before, stage.group)
            self.kinds = found[0]
        places = [empty(shape, dtype=dtype) for shape, dtype in self.kinds]
        return self.received(places, before, stage.stage_index)

    def received(self, places: Sequence[Tensor], source: int, tag: int) -> Tensors:
        """Tensors received from another stage, in their order."""
        for place in places:
            irecv(place, source, self.stage.group, tag).wait()
        return tuple(places)

    def send(self, tensors: Tensors, step: int) -> None:
        """Start to send tensors to the next stage, or with -1 to the one before."""
        stage, tensors = self.stage, tuple(x.detach() for x in tensors)
        target = stage.stage_index + step
        tag = target if step > 0 else stage.num_stages + target
        if target in self.neighbours:
            self.neighbours[target].handed.setdefault(tag, deque()).append(tensors)
            return
        rank = stage.beside(step)
        self.sent += [isend(x, rank, stage.group, tag) for x in tensors]

    def forward(self, number: int) -> Any:
        """Compute the stage's result for a microbatch, and send it to the next stage."""
        stage, given = self.stage, self.inputs(number)
        if not stage.is_first:
            given = tuple(x.requires_grad_(x.is_floating_point() or x.is_complex()) for x in given)
        made = stage.submod(*given, **self.named[number])
        results = made if isinstance(made, tuple) else (made,)
        if not stage.is_last:
            if not self.announced and stage.stage_index + 1 not in self.neighbours:
                kinds = [(tuple(x.shape), x.dtype) for x in results]
                send_object_list([kinds], stage.beside(1), stage.group)
                self.announced = True
            self.send(results, 1)
        self.waiting[number] = given, results
        return made

    def backward(self, number: int) -> None:
        """Compute the gradients of a microbatch; send those of its inputs to the stage before."""
        stage, (given, results) = self.stage, self.waiting.pop(number)
        if number in self.losses:
            self.losses[number].backward()
            self.losses[number] = self.losses[number].detach()
        else:
            tag = stage.num_stages + stage.stage_index
            if stage.stage_index + 1 in self.neighbours:
                gradients = self.handed[tag].popleft()
            else:
                places = [empty(x.shape, dtype=x.dtype) for x in results]
                gradients = self.received(places, stage.beside(1), tag)
            pairs = [(x, g) for x, g in zip(results, gradients, strict=True) if x.requires_grad]
            if pairs:
                backward(*map(list, zip(*pairs, strict=True)))
        if not stage.is_first:
            none = (zeros_like(x) if x.grad is None else x.grad for x in given)
            self.send(tuple(none), -1)

    def end(self) -> None:
        """Wait until all sends are complete."""
        for work in self.sent:
            work.wait()

"""torch.distributed.pipelining: layers divided over ranks, which work on microbatches in turn.

A stage is a rank's part of a model. A schedule cuts a batch into microbatches, sends activations to
the next stage and gradients to the one before. Gradients are added up in the order of microbatches,
whatever the schedule and the number of stages, so that a step has the bits of one stage that does
all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.distributed.functional import member
from gnomon.distributed.groups import Group, get_global_rank
from gnomon.distributed.objects import recv_object_list, send_object_list
from gnomon.distributed.point_to_point import irecv, isend
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.tensor.autograd.engine import backward, enable_grad, no_grad
from gnomon.tensor.creation import empty, zeros_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import tensors_in, with_leaves
from gnomon.tensor.tensor import Tensor

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]
__path__: list[str] = []  # PyTorch has modules below this one: gnomon/lazy.py

Tensors = tuple[Tensor, ...]


class PipelineStage:
    """A rank's part of a model: the stage of its number among all ranks of a group.

    device: where it is. Shapes need no arguments: a stage tells the next one what it sends.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: object,
        input_args: object = None,
        output_args: object = None,
        group: Group = None,
        **ignored: Any,
    ) -> None:
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device, self.group = device, member("PipelineStage", group)
        if num_stages != self.group.size() or stage_index != self.group.rank():
            raise ArgumentError(
                f"PipelineStage: expected the stage of each rank's number: got stage {stage_index} "
                f"of {num_stages} on rank {self.group.rank()} of {self.group.size()}. Make one "
                "stage for each rank of the group."
            )

    @property
    def is_first(self) -> bool:
        """Whether batches begin here."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether losses are computed here."""
        return self.stage_index == self.num_stages - 1

    def beside(self, step: int) -> int:
        """The number among all ranks of the next stage, or with -1 of the one before."""
        return get_global_rank(self.group, self.stage_index + step)


class StepOfStage:
    """A stage's part of one step: what it waits for, keeps for gradients, and has sent."""

    def __init__(
        self, stage: PipelineStage, chunks: Sequence[tuple], named: Sequence[dict]
    ) -> None:
        self.stage, self.chunks, self.named = stage, chunks, named
        self.kinds: list[tuple[tuple[int, ...], Any]] | None = None
        """The shapes and dtypes of what comes from the stage before."""
        self.announced = False
        """Whether the next stage knows what it gets."""
        self.waiting: deque[tuple[Tensors, Tensors]] = deque()
        """Inputs and results of microbatches whose gradients are to come."""
        self.sent: list[Any] = []

    def inputs(self, number: int) -> Tensors:
        """The arguments of a microbatch: the batch's, or what the stage before has sent."""
        stage = self.stage
        if stage.is_first:
            return self.chunks[number]
        before = stage.beside(-1)
        if self.kinds is None:
            found: list[Any] = [None]
            recv_object_list(found, before, stage.group)
            self.kinds = found[0]
        return self.received([empty(shape, dtype=dtype) for shape, dtype in self.kinds], before)

    def received(self, places: Sequence[Tensor], source: int) -> Tensors:
        """Tensors that another stage has sent, in their order."""
        for place in places:
            irecv(place, source, self.stage.group).wait()
        return tuple(places)

    def send(self, tensors: Tensors, target: int) -> None:
        """Send tensors to another stage, and go on."""
        self.sent += [isend(x.detach(), target, self.stage.group) for x in tensors]

    def forward(self, number: int) -> Any:
        """The stage's result for a microbatch, which the next stage gets."""
        stage, given = self.stage, self.inputs(number)
        if not stage.is_first:
            given = tuple(x.requires_grad_(x.dtype.is_floating_point) for x in given)
        made = stage.submod(*given, **self.named[number])
        results = made if isinstance(made, tuple) else (made,)
        if not stage.is_last:
            if not self.announced:
                kinds = [(tuple(x.shape), x.dtype) for x in results]
                send_object_list([kinds], stage.beside(1), stage.group)
                self.announced = True
            self.send(results, stage.beside(1))
        self.waiting.append((given, results))
        return made

    def backward(self, loss: Tensor | None) -> None:
        """Compute the gradients of the oldest microbatch; the stage before gets its inputs'."""
        stage, (given, results) = self.stage, self.waiting.popleft()
        if loss is not None:
            loss.backward()
        else:
            places = [empty(x.shape, dtype=x.dtype) for x in results]
            gradients = self.received(places, stage.beside(1))
            pairs = [(x, g) for x, g in zip(results, gradients, strict=True) if x.requires_grad]
            if pairs:
                backward(*map(list, zip(*pairs, strict=True)))
        if not stage.is_first:
            none = (zeros_like(x) if x.grad is None else x.grad for x in given)
            self.send(tuple(none), stage.beside(-1))

    def end(self) -> None:
        """Wait until all that was sent has arrived."""
        for work in self.sent:
            work.wait()


class PipelineSchedule:
    """Base of schedules: the order of a stage's forward and backward passes in a step."""

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: object = None,
        kwargs_chunk_spec: object = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
    ) -> None:
        if n_microbatches < 1:
            raise ArgumentError(
                f"{type(self).__name__}: expected one microbatch or more: got {n_microbatches}."
            )
        for value in (args_chunk_spec, kwargs_chunk_spec, output_merge_spec):
            if value is not None:
                raise ArgumentError(
                    f"{type(self).__name__}: batches are cut along their first axis: got {value}. "
                    "Leave chunk and merge specifications out."
                )
        self.stage, self.n_microbatches, self.loss_fn = stage, n_microbatches, loss_fn
        self.scale_grads = scale_grads

    def ahead(self) -> int:
        """The number of microbatches whose forward passes come before the first backward pass."""
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch forward and backward; the last stage's results, None on other stages.

        args: the batch, on the first stage alone; target: on the last one. losses: a list that gets
        the losses of microbatches. Gradients are those of their mean, or sum without `scale_grads`.
        """
        part, targets = self.begun(args, kwargs), self.cut(target)
        outputs, waiting, count = list[Any](), deque[Tensor | None](), self.n_microbatches
        with enable_grad():
            for number in range(count + self.ahead()):
                if number < count:
                    made = part.forward(number)
                    waiting.append(self.loss_of(made, targets[number], loss_kwargs or {}))
                    if self.stage.is_last and return_outputs:
                        outputs.append(with_leaves(made, lambda x: x.detach()))
                if number >= self.ahead() and self.loss_fn is not None:
                    loss = waiting.popleft()
                    part.backward(loss)
                    if self.has_loss and losses is not None:
                        losses.append(loss.detach())
        part.end()
        self.scale()
        return merged(outputs) if outputs else None

    def loss_of(self, made: Any, target: Any, named: dict[str, Any]) -> Tensor | None:
        """The loss of a microbatch; None on stages that compute none."""
        return self.loss_fn(made, target, **named) if self.has_loss else None

    @property
    def has_loss(self) -> bool:
        """Whether losses are computed on this stage."""
        return self.stage.is_last and self.loss_fn is not None

    def scale(self) -> None:
        """Make gradients of a sum of losses those of their mean, if they are to be."""
        if self.scale_grads and self.loss_fn is not None:
            with no_grad():
                for p in self.stage.submod.parameters():
                    if p.grad is not None:
                        p.grad.div_(self.n_microbatches)

    def eval(
        self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any
    ) -> Any:
        """Run a batch forward alone; the last stage's results, None on other stages."""
        part, targets, outputs = self.begun(args, kwargs), self.cut(target), list[Any]()
        with no_grad():
            for number in range(self.n_microbatches):
                outputs.append(part.forward(number))
                part.waiting.clear()
                if self.has_loss and losses is not None:
                    losses.append(self.loss_fn(outputs[-1], targets[number]))
        part.end()
        return merged(outputs) if self.stage.is_last else None

    def begun(self, args: tuple, kwargs: dict[str, Any]) -> StepOfStage:
        """The stage's part of a step over a batch."""
        return StepOfStage(self.stage, self.cut(args), self.cut(kwargs))

    def cut(self, value: Any) -> list[Any]:
        """A nested value cut along the first axes of its tensors into microbatches."""
        count = self.n_microbatches
        for x in tensors_in(value):
            if not x.ndim or x.shape[0] % count:
                raise ArgumentError(
                    f"{type(self).__name__}: expected {count} equal microbatches: got a tensor of "
                    f"shape {tuple(x.shape)}. Give a batch that they divide."
                )
        chunks = {id(x): x.chunk(count) for x in tensors_in(value)}
        return [
            with_leaves(value, lambda x, k=k: chunks[id(x)][k] if id(x) in chunks else x)
            for k in range(count)
        ]


class ScheduleGPipe(PipelineSchedule):
    """All forward passes, then all backward passes: activations of a whole batch are kept.

    >>> import gnomon as gn
    >>> gn.distributed.init_process_group("threads")
    >>> stage = PipelineStage(gn.nn.Linear(2, 2), 0, 1, "cpu")
    >>> schedule, losses = ScheduleGPipe(stage, 2, lambda y, t: ((y - t) ** 2).mean()), []
    >>> schedule.step(gn.ones(4, 2), target=gn.zeros(4, 2), losses=losses).shape, len(losses)
    (Size([4, 2]), 2)
    >>> gn.distributed.destroy_process_group()
    """

    def ahead(self) -> int:
        """All microbatches but one: the last forward pass is followed by the first backward."""
        return self.n_microbatches - 1


class Schedule1F1B(PipelineSchedule):
    """One forward pass, one backward pass, as soon as the first microbatch has come back.

    A stage keeps the activations of as many microbatches as there are stages from it on.
    """

    def ahead(self) -> int:
        """The stages behind this one, whose forward and backward passes come in between."""
        return min(self.stage.num_stages - 1 - self.stage.stage_index, self.n_microbatches - 1)


def merged(outputs: Sequence[Any]) -> Any:
    """The results of microbatches as those of the batch."""
    if isinstance(outputs[0], tuple):
        return tuple(map(merged, zip(*outputs, strict=True)))
    return FUNCTIONS["cat"](list(outputs))

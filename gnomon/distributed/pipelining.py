"""torch.distributed.pipelining: layers divided over ranks, which work on microbatches in turn.

A stage is a part of a model. A schedule cuts a batch into microbatches, sends activations to the
next stage and gradients to the one before. Gradients are added up in the order of microbatches,
whatever the schedule and the number of stages, so that a step has the bits of one stage that does
all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gnomon.distributed.pipeline_stages import PipelineStage, StepOfStage
from gnomon.errors import ArgumentError
from gnomon.tensor.autograd.engine import enable_grad, is_grad_enabled, no_grad
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import tensors_in, with_leaves
from gnomon.tensor.tensor import Tensor

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "PipelineStage",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]
__path__: list[str] = []  # PyTorch has modules below this one: gnomon/lazy.py

Pass = tuple[bool, int, int]
"""Whether it goes forward, the place of its stage among those of its rank, and the microbatch."""


class PipelineSchedule:
    """Base of schedules: the order of forward and backward passes of a rank's stages in a step."""

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: object = None,
        kwargs_chunk_spec: object = None,
        output_merge_spec: object = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:
        name, numbers = type(self).__name__, [x.stage_index for x in stages]
        if n_microbatches < 1:
            raise ArgumentError(f"{name}: expected one microbatch or more: got {n_microbatches}.")
        for value in (args_chunk_spec, kwargs_chunk_spec, output_merge_spec):
            if value is not None:
                raise ArgumentError(
                    f"{name}: batches are cut along their first axis: got {value}. Leave chunk and "
                    "merge specifications out."
                )
        group, count = (stages[0].group, stages[0].num_stages) if stages else (None, 0)
        if group is None or numbers != [*range(group.rank(), count, group.size())]:
            raise ArgumentError(
                f"{name}: expected all stages of this rank in order: got {numbers} of {count}. "
                "ScheduleInterleaved1F1B takes a list of them, ScheduleGPipe and Schedule1F1B one."
            )
        self.stages, self.n_microbatches, self.loss_fn = list(stages), n_microbatches, loss_fn
        self.scale_grads = scale_grads

    def passes(self) -> Iterator[Pass]:
        """The passes of a step in their order."""
        raise NotImplementedError

    def one_by_one(self, warmup: int, forward: list[int], backward: list[int]) -> Iterator[Pass]:
        """Some forward passes, then alternating backward and forward passes.

        forward, backward: the stages' places in order. A place occurs once for each microbatch.
        """
        begun, ended = [0] * len(self.stages), [0] * len(self.stages)
        for k in range(len(forward) + warmup):
            if k < len(forward):
                place = forward[k]
                yield True, place, begun[place]
                begun[place] += 1
            if k >= warmup:
                place = backward[k - warmup]
                yield False, place, ended[place]
                ended[place] += 1

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run a batch forward and backward; the last stage's results, None on other ranks.

        args: the batch, on the first stage alone; target: on the last one. losses: a list that gets
        the losses of microbatches. Gradients are those of their mean, or sum without `scale_grads`.
        """
        with enable_grad():
            made = self._run((args, kwargs), target, losses, return_outputs, loss_kwargs or {})
        self.scale()
        return made

    def _run(
        self, batch: tuple, target: Any, losses: list | None, returns: bool, named: dict[str, Any]
    ) -> Any:
        """Run the passes of a batch; backward ones where gradients are recorded.

        batch: the arguments, by place and by name; named: those of the loss function.
        """
        parts, targets, outputs = self.begun(*batch), self.cut(target), list[Any]()
        trains = is_grad_enabled() and self.loss_fn is not None
        for is_forward, place, number in self.passes():
            part = parts[place]
            if is_forward:
                made = part.forward(number)
                if self.has_loss(part) and (trains or losses is not None):
                    part.losses[number] = self.loss_fn(made, targets[number], **named)
                if part.stage.is_last and returns:
                    outputs.append(with_leaves(made, lambda x: x.detach()))
            elif trains:
                part.backward(number)
            if not trains:
                part.waiting.clear()
        self.ended(parts, losses)
        return merged(outputs) if outputs else None

    def has_loss(self, part: StepOfStage) -> bool:
        """Whether losses are computed on a stage."""
        return part.stage.is_last and self.loss_fn is not None

    def ended(self, parts: Sequence[StepOfStage], losses: list | None) -> None:
        """Wait for all sends, and store the microbatches' losses in order in `losses`, if given."""
        for part in parts:
            part.end()
            if losses is not None and self.has_loss(part):
                losses[:] = [loss for _, loss in sorted(part.losses.items())]

    def scale(self) -> None:
        """Divide the parameters' gradients by the number of microbatches, if scale_grads is set."""
        if self.scale_grads and self.loss_fn is not None:
            with no_grad():
                for p in (p for x in self.stages for p in x.submod.parameters()):
                    if p.grad is not None:
                        p.grad.div_(self.n_microbatches)

    def eval(
        self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any
    ) -> Any:
        """Run a batch forward alone; the last stage's results, None on other ranks."""
        with no_grad():
            return self._run((args, kwargs), target, losses, True, {})

    def begun(self, args: tuple, kwargs: dict[str, Any]) -> list[StepOfStage]:
        """The states of this rank's stages for a step over a batch."""
        chunks, named = self.cut(args), self.cut(kwargs)
        parts = [StepOfStage(x, chunks, named) for x in self.stages]
        if self.stages[0].group.size() == 1:
            for part in parts:
                part.neighbours = dict(enumerate(parts))
        return parts

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


class PipelineScheduleSingle(PipelineSchedule):
    """Base of schedules of one stage on each rank."""

    def __init__(self, stage: PipelineStage, n_microbatches: int, *given: Any, **named: Any):
        super().__init__([stage], n_microbatches, *given, **named)

    def passes(self) -> Iterator[Pass]:
        """The passes of a step: `ahead` forward passes first, then alternating ones."""
        places = [0] * self.n_microbatches
        return self.one_by_one(self.ahead(), places, places)

    def ahead(self) -> int:
        """The number of microbatches whose forward passes come before the first backward pass."""
        raise NotImplementedError


class ScheduleGPipe(PipelineScheduleSingle):
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


class Schedule1F1B(PipelineScheduleSingle):
    """One forward pass, one backward pass, alternating after the first microbatch returns.

    A stage keeps the activations of as many microbatches as there are stages from it on.
    """

    def ahead(self) -> int:
        """The number of stages after this one, at most one less than the microbatches."""
        (stage,) = self.stages
        return min(stage.num_stages - 1 - stage.stage_index, self.n_microbatches - 1)


class PipelineScheduleMulti(PipelineSchedule):
    """Base of schedules of several stages on each rank: one of the first, one of the next, ..."""

    def rounds(self, size: int) -> Iterator[int]:
        """The stages' places by rounds of `size` microbatches through one stage before the next."""
        for begin in range(0, self.n_microbatches, size):
            for place in range(len(self.stages)):
                yield from [place] * min(size, self.n_microbatches - begin)


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches through a rank's first stage, then through its next; backward likewise.

    The schedule is that of "Breadth-First Pipeline Parallelism" (Lamy-Poirier, 2023,
    https://arxiv.org/abs/2211.05953).
    """

    def passes(self) -> Iterator[Pass]:
        """All forward passes, then all backward passes."""
        places = [*self.rounds(self.n_microbatches)]
        return self.one_by_one(len(places) - 1, places, places[::-1])


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """Rounds of microbatches through all stages of a rank, forward and backward by turns.

    Ranks wait less for one another at the ends of a step than with one stage each, and send more.
    The schedule is that of Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
    Clusters Using Megatron-LM" (2021, https://arxiv.org/abs/2104.04473). Microbatches are to be a
    multiple of the rounds, of which there are as many as ranks go into microbatches.

    >>> import gnomon as gn
    >>> gn.distributed.init_process_group("threads")
    >>> stages = [PipelineStage(gn.nn.Linear(2, 2), k, 2, "cpu") for k in range(2)]
    >>> schedule = ScheduleInterleaved1F1B(stages, 2, lambda y, t: ((y - t) ** 2).mean())
    >>> schedule.step(gn.ones(4, 2), target=gn.zeros(4, 2)).shape
    Size([4, 2])
    >>> gn.distributed.destroy_process_group()
    """

    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int, *given: Any, **named):
        super().__init__(stages, n_microbatches, *given, **named)
        rounds = max(1, n_microbatches // self.stages[0].group.size())
        self.of_round = n_microbatches // rounds
        if n_microbatches % rounds:
            raise ArgumentError(
                f"ScheduleInterleaved1F1B: expected microbatches in {rounds} equal rounds: got "
                f"{n_microbatches}. Give a multiple of the number of ranks."
            )

    def passes(self) -> Iterator[Pass]:
        """Forward passes until the first microbatch returns, then alternating ones."""
        group, forward = self.stages[0].group, [*self.rounds(self.of_round)]
        behind = 2 * (group.size() - 1 - group.rank())
        warmup = (len(self.stages) - 1) * self.of_round + behind
        backward = [len(self.stages) - 1 - x for x in forward]
        return self.one_by_one(min(warmup, len(forward) - 1), forward, backward)


SCHEDULES = {
    "1F1B": Schedule1F1B,
    "GPipe": ScheduleGPipe,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "LoopedBFS": ScheduleLoopedBFS,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "PipelineScheduleSingle": PipelineScheduleSingle,
}


def get_schedule_class(schedule_name: str) -> type[PipelineSchedule]:
    """The class of a schedule by its name, in letters of either case.

    >>> get_schedule_class("interleaved1f1b").__name__
    'ScheduleInterleaved1F1B'
    """
    found = [x for name, x in SCHEDULES.items() if name.lower() == schedule_name.lower()]
    if not found:
        raise ArgumentError(
            f"get_schedule_class: expected one of {', '.join(SCHEDULES)}: got {schedule_name!r}."
        )
    return found[0]


def merged(outputs: Sequence[Any]) -> Any:
    """The results of microbatches, concatenated to those of the batch."""
    if isinstance(outputs[0], tuple):
        return tuple(map(merged, zip(*outputs, strict=True)))
    return FUNCTIONS["cat"](list(outputs))

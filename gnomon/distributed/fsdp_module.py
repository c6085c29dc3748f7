"""FSDPModule: what fully_shard makes of a module's class, and the settings of its messages.

A program's order decides when parameters are gathered, used and let go, and every backward pass
reduces its gradients. So settings that say when do nothing here, since no value depends on them,
and each says why; what would change how values are moved or summed is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

from gnomon.distributed.mixed_precision import MixedPrecisionPolicy, cast_floats, computing_in
from gnomon.distributed.plans import bound_of
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.ops.layouts import Unit
from gnomon.tensor.layouts import in_unit, own_rows, unit_of
from gnomon.tensor.tensor import Tensor

__all__ = ["FSDPModule", "UnshardHandle", "outermost", "sharded_class"]

outermost: ContextVar[Module | None] = ContextVar("outermost", default=None)
"""The fully sharded module whose forward runs, in which others are."""


class UnshardHandle:
    """The handle of an asynchronous `unshard`, which is always complete."""

    def wait(self) -> None:
        """Do nothing: programs gather what they read."""


class FSDPModule:
    """A module that was passed to fully_shard."""

    _unit_number: int
    """The number of the unit that its own parameters are."""
    _precision: MixedPrecisionPolicy
    """The dtypes in which its unit computes."""

    def set_reduce_scatter_max_input_buffers(
        self, max_input_buffers: int | str, *, recurse: bool = True
    ) -> None:
        """Limit the reductions of gradients that may be under way when one of these starts.

        A reduction holds its operand until all ranks have it: more of them let the backward pass go
        on, and take memory. "auto" takes the fewest with which a simulated run of the program waits
        no longer than with all; gn.distributed.explain lists what was compared. No value depends on
        it.

        >>> import gnomon as gn
        >>> from gnomon.distributed.fsdp import fully_shard
        >>> model = fully_shard(gn.nn.Linear(4, 2))
        >>> model.set_reduce_scatter_max_input_buffers("auto")
        >>> gn.distributed.destroy_process_group()
        """
        where = "set_reduce_scatter_max_input_buffers"
        if bound_of(where, max_input_buffers) == 0:
            raise ArgumentError(f"{where}: expected 1 or more: got 0.")
        for module in self._sharded(recurse):
            for p in module._own_parameters():
                p.data = in_unit(p.detach(), Unit(module._unit_number, max_input_buffers))

    def _sharded(self, recurse: bool) -> Iterator[FSDPModule]:
        """The module, and those inside that were passed to fully_shard."""
        assert isinstance(self, Module), "a fully sharded module is a module"
        inner = self.modules() if recurse else (self,)
        return (each for each in inner if isinstance(each, FSDPModule))

    def _own_parameters(self) -> list[Tensor]:
        """The parameters of its own unit."""
        assert isinstance(self, Module), "a fully sharded module is a module"
        return [p for p in self.parameters() if unit_of(p).number == self._unit_number]

    def _hooked(self, inputs: tuple, named: dict[str, Any]) -> Any:
        """Call forward() between its hooks, and clean up after an exception."""
        assert isinstance(self, Module), "a fully sharded module is a module"
        module, rows, policy = outermost.get(), own_rows.get(), self._precision
        dtype = policy.param_dtype
        given = cast_floats((inputs, named), dtype if policy.cast_forward_inputs else None)
        try:
            with computing_in(self, self._own_parameters() if dtype else (), policy):
                return cast_floats(Module._hooked(self, *given), policy.output_dtype)
        finally:
            outermost.set(module)
            own_rows.set(rows)

    # when parameters are there: the program's order says it

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Do nothing: programs gather the parameters that they read. See p.full_tensor()."""
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Do nothing: between two programs each rank has only its part."""

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Do nothing: gathered parameters are freed after their last reader in each pass."""

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Do nothing: gathered parameters are freed after their last reader in each pass."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Do nothing: a backward pass gathers only parameters that it reads."""

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Do nothing: a unit is gathered when the unit two before it is no longer read."""

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Do nothing: a unit is gathered when the unit two before it is no longer read."""

    def set_post_optim_event(self, event: Any) -> None:
        """Do nothing: parameters are up to date when a program starts."""

    def set_separate_reduce_scatter_group(
        self, enable: bool = True, *, recurse: bool = True
    ) -> None:
        """Do nothing: transfers of one group do not wait for each other."""

    def reset_iter_state(self) -> None:
        """End a forward pass that an error interrupted."""
        outermost.set(None)
        own_rows.set(())

    # when gradients are reduced: in every backward pass

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Do nothing: every backward pass reduces its gradients, with equal sums.

        One message for several microbatches is gn.accumulate(loss, batch, microbatches=n).
        """

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Do nothing: see set_requires_gradient_sync."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: see set_requires_gradient_sync."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Do nothing: ranks always send sums, and divide nothing on the way."""

    # how values move and are summed: what one curve rests on

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Refuse: gradients are averaged over ranks, like one process's over all rows."""
        raise ArgumentError(
            f"set_gradient_divide_factor: expected none: got {factor}. Gradients are those of the "
            "mean over all ranks' rows, to the bit. Multiply the loss instead."
        )

    def set_all_reduce_hook(self, hook: Any, *, stream: Any = None) -> None:
        """Refuse: programs determine their own messages."""
        refuse("set_all_reduce_hook", "change gradients between backward() and step()")

    def set_custom_all_gather(self, comm: Any) -> None:
        """Refuse: programs determine their own messages."""
        refuse("set_custom_all_gather", "choose a backend by init_process_group")

    def set_custom_reduce_scatter(self, comm: Any) -> None:
        """Refuse: programs determine their own messages."""
        refuse("set_custom_reduce_scatter", "choose a backend by init_process_group")


def refuse(name: str, instead: str) -> None:
    """Raise an error for user functions that would move or fold values."""
    raise ArgumentError(
        f"{name}: expected nothing: got a function. Ranks fold in one order, which gives one "
        f"process's bits, and programs are native code; {instead}."
    )


@cache
def sharded_class(kind: type[Module]) -> type[Module]:
    """A module's class with FSDPModule as a base; unchanged if it has that base."""
    if issubclass(kind, FSDPModule):
        return kind

    def plain(cls: type, *settings: Any, **named: Any) -> Module:
        # a slice of a container is not given to fully_shard, nor are its parts
        return kind(*settings, **named)

    names = {"__new__": plain, "__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(f"FSDP{kind.__name__}", (FSDPModule, kind), names)

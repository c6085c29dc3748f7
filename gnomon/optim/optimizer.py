"""Optimizer: parameter groups, their state, and one program that updates all of them.

Each optimizer's update is a rule over nodes, in its own file: sgd.py, adam.py, ...
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from gnomon.capture.object_state import Same
from gnomon.dtypes import DType, float32, float64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import cast
from gnomon.ir.provenance import from_one_line, phase
from gnomon.ops.arguments import wide
from gnomon.ops.layouts import divided
from gnomon.ops.registry import Op
from gnomon.ops.scalars import where
from gnomon.optim.numbers import NumberTensors, unshare_states
from gnomon.optim.step_hooks import HookedSteps, call_hooks
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.tensor.autograd.engine import enable_grad, no_grad
from gnomon.tensor.autograd.hooks import Handle, attach
from gnomon.tensor.creation import empty, get_default_dtype
from gnomon.tensor.device import META, memory_behind
from gnomon.tensor.evaluate import evaluate_all
from gnomon.tensor.layouts import layout_of, sharded_like, spread
from gnomon.tensor.module_versions import Watched, latest
from gnomon.tensor.state import is_capturing, state, with_grads
from gnomon.tensor.tensor import Paired, Tensor, from_array, from_buffer, node_of, pairs_of, raw
from gnomon.tensor.writing import write

Groups = Iterable[Tensor] | Iterable[dict[str, Any]]
Nodes = Sequence[Node]
Switches = tuple[tuple[str, Any], ...]
"""Options of a rule that are part of the program; every rule has `maximize`."""
NEVER = (-1, -1)
"""A version that equals no other, so that entries are read again."""

IGNORED = {"foreach": None, "capturable": False, "differentiable": False, "fused": None}
"""PyTorch's options that choose implementations; accepted without effect."""


NUMBERS = ("mu_product", "eta", "mu")
"""State entries that are scalars in a dtype of their own."""


def rule(function: Callable[..., Nodes | Node]) -> Op:
    """Make an operation of a function of nodes, built once per shape."""
    return Op(function, inline=False, reference=None, gradient=None)


def update(function: Callable[..., Nodes]) -> Op:
    """Make a rule (p, gradient, state, numbers, switches) -> (p, *state).

    The function gets and returns values in the dtype of the update.
    """

    def widened(p: Node, gradient: Node, kept: Nodes, numbers: Nodes, switches: Switches) -> Nodes:
        named = dict(switches)
        x, g = wide(p), wide(-gradient if named.pop("maximize") else gradient)
        made = function(x, g, [wide(v) for v in kept], numbers, **named)
        return tuple(cast(new, old.dtype) for new, old in zip(made, (p, *kept), strict=True))

    widened.__name__, widened.__doc__ = function.__name__, function.__doc__
    return rule(widened)


class Optimizer(HookedSteps):
    """The base of all optimizers; a subclass defines a parameter's state and its update."""

    hidden: tuple[str, ...] = ()
    """Names of state entries that are not saved."""
    _followed = frozenset(
        {"state", "param_groups", "_numbers", "_version", "_known", "defaults", "_hooks"}
    )
    """Attributes that captures need not guard, since _guarded or inputs cover them."""

    def __init__(self, params: Groups, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: dict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._numbers, self._version = NumberTensors(), 0
        self._known: tuple[tuple[int, int], Same, Same] = NEVER, Same(), Same()
        self._patch_step_function()
        self._hooks: dict[str, dict[int, Callable]] = {}
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got Tensor"
            )
        given = list(params)
        if not given:
            raise ArgumentError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with options of their own."""
        listed = param_group["params"]
        listed = [listed] if isinstance(listed, Tensor) else list(listed)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for p in listed:
            check_parameter(p)
            if id(p) in known:
                raise ArgumentError("some parameters appear in more than one parameter group")
            known.add(id(p))
        self.param_groups.append({"params": listed, **self.defaults, **without(param_group)})
        self._version += 1

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set all gradients to None, or to 0."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    with no_grad():
                        p.grad.detach_().zero_()

    # what subclasses say

    def _counts(self, group: dict[str, Any]) -> bool:
        """Whether the state of a group's parameters includes a step count."""
        return True

    def _begin(self, group: dict[str, Any], p: Tensor) -> dict[str, Any]:
        """Make the initial state of a parameter, without its step count."""
        raise NotImplementedError

    def _update(self, number: int, count: Node | None) -> tuple:
        """The rule of a group's step, and the names of its state, numbers and switches.

        A parameter whose state lacks a name is updated without it.
        """
        raise NotImplementedError

    def _guarded(self) -> tuple:
        """The values on which a captured program depends."""
        switches = [
            tuple([bool(v) for v in group.values() if isinstance(v, (int, float))])
            for group in self.param_groups
        ]
        now, entries = (latest(), self._version), Same(self.state.values())
        if (now, entries) != self._known[:2]:
            # what an entry holds is written by methods that say so, but for users' own
            asked = now if all(type(entry) is Watched for entry in entries) else NEVER
            self._known = asked, entries, Same(chain.from_iterable(map(dict.values, entries)))
        return (self._version, *self._known[1:], *switches)

    # a step

    def step(
        self, closure: Callable[[], Any] | None = None, *, only_if: Tensor | None = None
    ) -> Any:
        """Update every parameter that has a gradient, all in one program.

        only_if: a bool tensor, read when the program runs; if it is false, nothing changes.
        """
        call_hooks(self._shared.before, self._before, self, closure)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with phase("optimizer"), from_one_line():
            for number in range(len(self.param_groups)):
                with_grads(False, self._step_group, number, only_if)
        if not is_capturing():
            # all that is pending, not the parameters alone: the loss reads values of before
            evaluate_all()
        else:
            # afterwards: the state that a first step makes is the state that replays find
            state.recorder.asked(self._guarded)
        call_hooks(self._after, self._shared.after, self, closure)
        return loss

    def _step_group(self, number: int, only_if: Tensor | None) -> None:
        """Update the parameters of a group."""
        gate = None if only_if is None else node_of(only_if)
        group = self.param_groups[number]
        gradients = {p: p.grad for p in group["params"]}
        active = [p for p, gradient in gradients.items() if gradient is not None]
        self._begin_all(group, active)
        for count, members in self._counted(group, active):
            if count is not None:
                taken = 1 if gate is None else cast(gate, raw(count).dtype)
                write(count, raw(count) + taken, False)
            of = None if count is None else node_of(count)
            how, names, numbers, switches = self._update(number, of)
            step = how.with_last(numbers, tuple(switches.items()))
            for p in members:
                entry = self.state[p]
                g, *all_of = gradients[p], p, *[entry[name] for name in names if name in entry]
                if isinstance(p, Paired):
                    g, *all_of = pairs_of((g, *all_of))
                before, *kept = map(raw, all_of)
                for target, value in zip(all_of, step(before, raw(g), kept), strict=True):
                    value = value if gate is None else where(gate, value, raw(target))
                    write(target, value, False, alone=True)

    def _begin_all(self, group: dict[str, Any], active: list[Tensor]) -> None:
        """Initialize the state of parameters without one; they share a step count."""
        fresh = [p for p in active if p not in self.state]
        if not fresh:
            return
        with state.recorder.outside():
            shared = {"step": count_of(0)} if self._counts(group) else {}
            for p in fresh:
                self.state[p] = Watched({**shared, **self._begin(group, p)})
        self._version += 1

    def _counted(
        self, group: dict[str, Any], active: list[Tensor]
    ) -> Iterator[tuple[Tensor | None, list[Tensor]]]:
        """Group the active parameters by their step count; yield each count with its parameters.

        If other parameters share a count but have no gradient, the active ones get their own.
        """
        if not self._counts(group):
            yield None, active
            return
        holders = [id(self.state[p]["step"]) for p in group["params"] if p in self.state]
        together: dict[int, list[Tensor]] = {}
        for p in active:
            together.setdefault(id(self.state[p]["step"]), []).append(p)
        for key, members in together.items():
            count = self.state[members[0]]["step"]
            if len(members) < len(holders) and len(members) < holders.count(key):
                with state.recorder.outside():
                    count = count_of(count.item())
                for p in members:
                    self.state[p]["step"] = count
                self._version += 1
            yield count, members

    def _number(self, group: int, name: str, part: int | None = None) -> Node:
        """A hyperparameter of a group as an input of the program."""
        return node_of(self._numbers.get(self.param_groups, (group, name, part)))

    # saving and loading

    def state_dict(self) -> dict[str, Any]:
        """The state by parameter number, and the groups with numbers in place of parameters."""
        self._called("before saving")
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({**without(group), "params": [numbers[id(p)] for p in group["params"]]})
        kept = {
            numbers[id(p)]: {k: v for k, v in entry.items() if k not in self.hidden}
            for p, entry in self.state.items()
            if entry
        }
        made = {"state": unshare_states(kept), "param_groups": groups}
        return self._called("after saving", made)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load the state and the groups' options."""
        state_dict = self._called("before loading", {**state_dict})
        given = state_dict["param_groups"]
        sizes = [len(group["params"]) for group in given]
        if sizes != [len(group["params"]) for group in self.param_groups]:
            raise ArgumentError(
                f"load_state_dict: loaded state dict has groups of {sizes} parameters, the "
                f"optimizer {[len(group['params']) for group in self.param_groups]}."
            )
        entries, found = state_dict["state"], {}
        for group, loaded in zip(self.param_groups, given, strict=True):
            counts: dict[float, Tensor] = {}
            for p, number in zip(group["params"], loaded["params"], strict=True):
                if number in entries:
                    entry = {**dict.fromkeys(self.hidden, 1), **entries[number]}
                    made = {k: restored(k, v, p, counts) for k, v in entry.items()}
                    found[p] = Watched(made)
            params = group["params"]
            group.clear()
            group.update({"params": params, **copy.deepcopy(without(loaded))})
        self.state = defaultdict(dict, found)
        self._version += 1
        self._called("after loading")

    def _called(self, moment: str, given: Any = None) -> Any:
        """Call the hooks of a kind; return their argument, or a hook's replacement."""
        for hook in [*self._hooks.get(moment, {}).values()]:
            answer = hook(self) if given is None else hook(self, given)
            given = given if answer is None or given is None else answer
        return given

    def _hooked(self, moment: str, hook: Callable, prepend: bool) -> Handle:
        """Register a hook of a kind, after the others or before them."""
        hooks = self._hooks.setdefault(moment, {})
        others = dict(hooks)
        handle = attach(hooks, hook)
        if prepend:
            for key, other in others.items():
                del hooks[key]
                hooks[key] = other
        return handle

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer) before state_dict."""
        return self._hooked("before saving", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) after state_dict; its result replaces the state."""
        return self._hooked("after saving", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) before loading; its result is loaded instead."""
        return self._hooked("before loading", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer) after a state is loaded."""
        return self._hooked("after loading", hook, prepend)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {value}" for name, value in sorted(without(group).items())]
        return "\n".join([*lines, ")"])


def check_parameter(p: object) -> None:
    """Raise an error for a value that cannot be optimized."""
    if not isinstance(p, Tensor):
        raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p)}")
    if not p.is_leaf:
        raise ArgumentError("can't optimize a non-leaf Tensor")


def without(group: dict[str, Any]) -> dict[str, Any]:
    """The options of a group, without its parameters."""
    return {name: value for name, value in group.items() if name != "params"}


def count_of(steps: float) -> Tensor:
    """A step count as a tensor."""
    kind = float64 if get_default_dtype() is float64 else float32
    return from_array(np.asarray(steps, kind.numpy))


def filled(
    p: Tensor, value: float = 0.0, dtype: DType | None = None, shape: Shape | None = None
) -> Tensor:
    """A constant tensor of a parameter's shape, in memory that steps overwrite.

    For complex numbers both parts have the value.
    """
    if isinstance(p, Paired):
        return p.plain((filled(p._pair, value, dtype, shape),))
    layout, kind = layout_of(p), dtype or p.dtype
    shape = divided(tuple(p.shape) if shape is None else shape, layout, "optimizer")
    if p.is_meta:
        return spread(empty(shape, dtype=kind, device=META), layout)
    memory = memory_behind(raw(p))
    buffer = DeviceBuffer(prod(shape) * kind.itemsize, memory, zeros=not value)
    if value:
        memory.write(buffer, np.broadcast_to(np.asarray(value, kind.numpy), shape))
    return spread(from_buffer(buffer, shape, kind), layout)


def restored(name: str, value: Any, p: Tensor, counts: dict[float, Tensor]) -> Any:
    """A loaded state entry, in the parameter's dtype; equal step counts share a tensor."""
    if name == "step":
        steps = float(value)
        return counts.setdefault(steps, count_of(steps))
    if not isinstance(value, Tensor):
        return value
    if name in NUMBERS:
        return value.detach().clone()
    made = value.detach().to(p)
    return sharded_like(raw(made), p) if layout_of(p) else made.clone()


def check_range(name: str, value: Any, low: float, high: float = float("inf")) -> None:
    """Raise ArgumentError for a number outside [low, high)."""
    if not isinstance(value, Tensor) and not low <= value < high:
        raise ArgumentError(f"Invalid {name}: {value}")

"""Calls of modules with their forward hooks; hooks of all modules come first."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from gnomon.nn.backward_hooks import HookedCall
from gnomon.tensor.autograd.hooks import Handle
from gnomon.tensor.module_versions import everywhere

_hook_numbers = count()


class SharedHook(NamedTuple):
    """A hook of all modules: its kind, the function, and the options that were set."""

    place: str
    hook: Callable
    words: tuple[str, ...]


class Hooked:
    """Base of Module with the registration and calls of hooks."""

    _forward_hooks: dict[int, Callable]
    _forward_pre_hooks: dict[int, Callable]
    _backward_hooks: dict[int, Callable]
    _backward_pre_hooks: dict[int, Callable]
    _hook_words: dict[int, tuple[str, ...]]
    forward: Callable

    def _hooked(self, inputs: tuple, named: dict[str, Any]) -> Any:
        """Call forward() between its hooks; hooks with always_call also run after an error."""
        called: set[int] = set()
        try:
            return self._between(inputs, named, called)
        except Exception:
            for number, hook in self._hooks_of("_forward_hooks"):
                if self._said_of(number, "always_call") and number not in called:
                    self._call_after(number, hook, inputs, named, None)
            raise

    def _between(self, inputs: tuple, named: dict[str, Any], called: set[int]) -> Any:
        """Call the pre-hooks, forward() and the hooks; record the numbers of the called ones."""
        for number, hook in self._hooks_of("_forward_pre_hooks"):
            if self._said_of(number, "with_kwargs"):
                answer = hook(self, inputs, named)
                inputs, named = (inputs, named) if answer is None else answer
                continue
            answer = hook(self, inputs)
            if answer is not None:
                inputs = answer if isinstance(answer, tuple) else (answer,)
        call = None
        before, after = map(dict, map(self._hooks_of, ("_backward_pre_hooks", "_backward_hooks")))
        if before or after:
            call = HookedCall(self, before, after)
        inputs = inputs if call is None else call.inputs_of(inputs)
        output = self.forward(*inputs, **named)
        for number, hook in self._hooks_of("_forward_hooks"):
            called.add(number)
            output = self._call_after(number, hook, inputs, named, output)
        return output if call is None else call.output_of(output)

    def _call_after(
        self, number: int, hook: Callable, inputs: tuple, named: dict[str, Any], output: Any
    ) -> Any:
        """Call a hook after forward(); returns the output to continue with."""
        given = (inputs, named) if self._said_of(number, "with_kwargs") else (inputs,)
        answer = hook(self, *given, output)
        return output if answer is None else answer

    def _said_of(self, number: int, word: str) -> bool:
        """Whether an option was set for a hook."""
        kept = (
            everywhere[number].words if number in everywhere else self._hook_words.get(number, ())
        )
        return word in kept

    def _hooks_of(self, place: str) -> list[tuple[int, Callable]]:
        """The hooks of a kind with their numbers: those of all modules, then this one's."""
        shared = [(number, x.hook) for number, x in everywhere.items() if x.place == place]
        return [*shared, *getattr(self, place).items()]

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Handle:
        """Call hook(module, inputs, output) after every forward.

        always_call: after one that fails too, with None for the output.
        """
        words = {"with_kwargs": with_kwargs, "always_call": always_call}
        return self._attached(self._forward_hooks, hook, prepend, words)

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call hook(module, inputs) before every forward."""
        words = {"with_kwargs": with_kwargs}
        return self._attached(self._forward_pre_hooks, hook, prepend, words)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, gradients of inputs, gradients of outputs) when they are known.

        A returned value replaces the gradients of the inputs.
        """
        return self._attached(self._backward_hooks, hook, prepend, {})

    def register_backward_hook(self, hook: Callable) -> Handle:
        """Register a full backward hook, by PyTorch's deprecated name.

        In PyTorch such hooks get the gradients of the module's last operation only.
        """
        return self.register_full_backward_hook(hook)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(module, gradients of outputs) first; a returned value replaces these."""
        return self._attached(self._backward_pre_hooks, hook, prepend, {})

    def _attached(
        self, hooks: dict, hook: Callable, prepend: bool, words: dict[str, bool]
    ) -> Handle:
        """Add a hook after the others, or before them with `prepend`."""
        key = next(_hook_numbers)
        if any(words.values()):
            self._hook_words[key] = those_given(words)
        others = dict(hooks) if prepend else {}
        for each in others:
            del hooks[each]
        hooks.update({key: hook, **others})
        return Handle(hooks, key)


def those_given(words: dict[str, bool]) -> tuple[str, ...]:
    """The names of the options that are set."""
    return tuple(word for word, given in words.items() if given)


def register_for_all(place: str, hook: Callable, **words: bool) -> Handle:
    """Register a hook of a kind for all modules."""
    key = next(_hook_numbers)
    everywhere[key] = SharedHook(place, hook, those_given(words))
    return Handle(everywhere, key)


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> Handle:
    """Call hook(module, inputs, output) after every forward of any module, before its own hooks.

    >>> shown = register_module_forward_hook(lambda m, inputs, output: print(type(m).__name__))
    >>> _ = gn.nn.Sequential(gn.nn.ReLU())(ones(1))
    ReLU
    Sequential
    >>> shown.remove()
    """
    words = {"with_kwargs": with_kwargs, "always_call": always_call}
    return register_for_all("_forward_hooks", hook, **words)


def register_module_forward_pre_hook(hook: Callable) -> Handle:
    """Call hook(module, inputs) before every forward of any module.

    >>> shown = register_module_forward_pre_hook(lambda m, inputs: print(type(m).__name__))
    >>> _ = gn.nn.Sequential(gn.nn.ReLU())(ones(1))
    Sequential
    ReLU
    >>> shown.remove()
    """
    return register_for_all("_forward_pre_hooks", hook)


def register_module_full_backward_hook(hook: Callable) -> Handle:
    """Call hook(module, gradients of inputs, gradients of outputs) of any module.

    >>> shown = register_module_full_backward_hook(
    ...     lambda m, inputs, outputs: print(inputs[0].tolist())
    ... )
    >>> gn.nn.ReLU()(ones(1, requires_grad=True)).sum().backward()
    [1.0]
    >>> shown.remove()
    """
    return register_for_all("_backward_hooks", hook)


def register_module_backward_hook(hook: Callable) -> Handle:
    """Register a full backward hook for any module, by PyTorch's deprecated name.

    In PyTorch such hooks get the gradients of each module's last operation only.

    >>> shown = register_module_backward_hook(lambda m, inputs, outputs: print(type(m).__name__))
    >>> gn.nn.ReLU()(ones(1, requires_grad=True)).sum().backward()
    ReLU
    >>> shown.remove()
    """
    return register_module_full_backward_hook(hook)


def register_module_full_backward_pre_hook(hook: Callable) -> Handle:
    """Call hook(module, gradients of outputs) of any module, before its own hooks.

    >>> shown = register_module_full_backward_pre_hook(
    ...     lambda m, outputs: print(outputs[0].tolist())
    ... )
    >>> gn.nn.ReLU()(ones(1, requires_grad=True)).sum().backward()
    [1.0]
    >>> shown.remove()
    """
    return register_for_all("_backward_pre_hooks", hook)

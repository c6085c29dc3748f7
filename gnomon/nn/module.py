"""Module: named parameters, buffers and submodules, calls with hooks, training modes.

Saving and loading are in states.py, traversals in walks.py, conversions of the values in
converted.py, containers of modules in containers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import CO_VARARGS
from typing import Any

from gnomon.capture.jit import Compiled
from gnomon.capture.jit import compile as compile_function
from gnomon.errors import ArgumentError
from gnomon.ir.provenance import scope
from gnomon.nn.converted import Converted
from gnomon.nn.hooked import Hooked
from gnomon.nn.parameter import Buffer, Parameter
from gnomon.nn.states import SavedParts
from gnomon.nn.walks import Walked
from gnomon.ops.registry import explained
from gnomon.tensor import module_versions as changes
from gnomon.tensor.evaluate import evaluate_kept, relieve_between_calls
from gnomon.tensor.module_versions import Watched, everywhere
from gnomon.tensor.placing import placing_inside
from gnomon.tensor.pytree import dense_parts
from gnomon.tensor.state import grads, keep, state
from gnomon.tensor.tensor import Tensor

HOOKS = (
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
    "_hook_words",
)
"""The attributes with a module's hooks by number, and the options of hooks."""
PLACES = ("_parameters", "_buffers", "_modules")
own, own_put = vars(SavedParts)["__dict__"].__get__, vars(SavedParts)["__dict__"].__set__
"""Read and write a module's plain attribute dictionary."""


class Module(SavedParts, Walked, Converted, Hooked):
    """Base class of models: assign parameters and modules to attributes, and define forward."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        # of our own layers with named settings alone: what others raise is theirs
        own = cls.__dict__.get("__init__")
        if cls.__module__.startswith("gnomon.") and own and not own.__code__.co_flags & CO_VARARGS:
            cls.__init__ = placing_inside(explained(own, cls.__name__))

    call_super_init = False
    """Whether Module's constructor calls that of the next class in the order of bases."""

    def __init__(self, *given: Any, **named: Any) -> None:
        refuse_settings(self, given, named)
        put = object.__setattr__
        put(self, "training", True)
        for name in PLACES:
            put(self, name, Watched())
        for name in HOOKS:
            put(self, name, Watched())
        put(self, "_non_persistent_buffers_set", set())
        put(self, "_label", "")
        if self.call_super_init:
            super().__init__(*given, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Compute the module's output; every module defines its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Call forward() with hooks; source locations name the module."""
        before = scope.modules
        scope.modules = (*before, self._label) if self._label else before
        try:
            if state.kept_waits:
                evaluate_kept()
            before_or_after = self._forward_pre_hooks or self._forward_hooks
            hooked = before_or_after or self._backward_hooks or self._backward_pre_hooks
            hooked = hooked or everywhere
            output = self._hooked(inputs, named) if hooked else self.forward(*inputs, **named)
        finally:
            scope.modules = before
        if not (before or self._label or grads.get()):
            relieve_between_calls()
        return output

    # attributes

    @property
    def __dict__(self) -> dict[str, Any]:
        """The attributes as a dictionary that records changes."""
        kept = own(self)
        if type(kept) is not Watched:
            kept = Watched(kept)
            own_put(self, kept)
        return kept

    @__dict__.setter
    def __dict__(self, attributes: dict[str, Any]) -> None:
        own_put(self, Watched(attributes))
        changes.note()

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules")
            self.add_module(name, value)
        elif isinstance(value, Buffer):
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        else:
            self._set_plain(name, value)

    def _set_plain(self, name: str, value: Any) -> None:
        """Assign a plain value; None clears a parameter, buffer or module of that name."""
        kept = own(self)
        for place in PLACES:
            if name in kept.get(place, ()):
                if value is not None and not (place == "_buffers" and isinstance(value, Tensor)):
                    raise TypeError(
                        f"cannot assign '{type(value).__name__}' as {place[1:-1]} '{name}' "
                        f"({place[1:-1]} or None expected)"
                    )
                kept[place][name] = value
                return
        object.__setattr__(self, name, value)
        changes.note()

    def _forget(self, name: str, kept: str) -> None:
        """Remove a name from other kinds of attributes; one of kind `kept` keeps its position."""
        if "_parameters" not in own(self):
            raise AttributeError("cannot assign before Module.__init__() call")
        own(self).pop(name, None)
        for place in {*PLACES} - {kept}:
            own(self)[place].pop(name, None)
        if kept != "_buffers":
            own(self)["_non_persistent_buffers_set"].discard(name)

    def __getattr__(self, name: str) -> Any:
        for place in PLACES:
            found = own(self).get(place, {})
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                return
        object.__delattr__(self, name)
        changes.note()

    def __dir__(self) -> list[str]:
        found = [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]
        return [name for name in found if not name[:1].isdigit()]

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        check_name(self, name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that optimizers do not change; persistent: whether state_dict has it."""
        check_name(self, name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(Tensor or None required)"
            )
        self._buffers[name] = tensor
        for part in () if tensor is None else dense_parts(tensor)[0]:
            keep(part._storage)
        (
            self._non_persistent_buffers_set.discard
            if persistent
            else self._non_persistent_buffers_set.add
        )(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name; None reserves the name."""
        check_name(self, name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module
        if module is not None:
            name_part(self, module, name)

    register_module = add_module

    # changes

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call fn on every module inside, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Set training mode, which dropout and batch norm depend on, for all modules inside."""
        if not isinstance(mode, bool):
            raise ArgumentError(f"train: training mode is expected to be boolean: got {mode!r}.")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        changes.note()
        return self

    def eval(self) -> Module:
        """Set evaluation mode for all modules inside."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set whether gradients of all parameters are computed."""
        for value in self.parameters():
            value.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to 0."""
        for value in self.parameters():
            if set_to_none:  # no host read: a captured step must not depend on what it was
                value.grad = None
            elif value.grad is not None:
                value.grad = value.grad.detach().zero_()

    def compile(self, *args: Any, **options: Any) -> None:
        """Compile this module's forward in place."""
        object.__setattr__(self, "forward", compile_function(self.forward, *args, **options))

    # text

    def extra_repr(self) -> str:
        """The settings in the module's text; empty by default."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def _lines(self) -> Iterable[tuple[str, str]]:
        """The names and texts of the submodules."""
        return ((name, repr(module)) for name, module in self._modules.items())

    def __repr__(self) -> str:
        inside = [f"({name}): {indented(text)}" for name, text in self._lines()]
        extra = self.extra_repr()
        if not inside:
            return f"{self._get_name()}({extra})"
        lines = "".join(f"  {line}\n" for line in ([extra] if extra else []) + inside)
        return f"{self._get_name()}(\n{lines})"


def refuse_settings(module: Module, given: tuple, named: dict[str, Any]) -> None:
    """Refuse constructor arguments of a module that does not pass them to its base class."""
    if module.call_super_init or not (given or named):
        return
    problem = f"takes 1 positional argument but {len(given) + 1} were given"
    if named:
        problem = f"got an unexpected keyword argument '{next(iter(named))}'"
    raise TypeError(f"{type(module).__name__}.__init__() {problem}")


def name_part(owner: Module, module: Module, name: str) -> None:
    """Set a module's label; modules in containers that are not called get the container's too."""
    module = module.function if type(module) is Compiled else module
    before = "" if is_called(owner) or not owner._label else f"{owner._label}."
    object.__setattr__(module, "_label", before + name)
    if not is_called(module):
        for inner, part in module._modules.items():
            if part is not None:
                name_part(module, part, inner)


def is_called(module: Module) -> bool:
    """Whether a module computes something, or is only a container of others."""
    return module.__class__.forward is not Module.forward


def check_name(module: Module, name: str, place: str) -> None:
    """Refuse names that cannot be part of a path, or mean something else in a module."""
    if "." in name:
        raise KeyError(f'a name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError('a name can\'t be empty string ""')
    kept, known = own(module), getattr(type(module), name, None)
    others = (kept, *(kept[each] for each in PLACES if each != place))
    if any(name in each for each in others) or not (known is None or isinstance(known, property)):
        raise KeyError(f"attribute '{name}' already exists")


def indented(text: str) -> str:
    """A text with all lines but the first indented."""
    return text.replace("\n", "\n  ")

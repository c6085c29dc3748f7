"""torch.distributed.fsdp.wrap: which modules of a model are put into wrappers of their own.

A policy is a function of a module, whether its children are asked about, and the elements of its
parameters that no wrapper has; or an object that maps modules to the settings of their wrappers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar

from gnomon.errors import ArgumentError, brief
from gnomon.nn.attention import MultiheadAttention
from gnomon.nn.containers import ModuleDict, ModuleList
from gnomon.nn.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "WrapPolicy",
    "WrapperModule",
    "always_wrap_policy",
    "apply_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

Settings = dict[str, Any]
Policy = Callable[..., bool]
_wrapper: ContextVar[partial | None] = ContextVar("wrapper", default=None)
"""The wrapper, with its settings, of the modules that are annotated by `wrap`."""


class WrapperModule(Module):
    """A module around another, whose attributes and parameter names it shows as its own."""

    inner: ClassVar[str]
    """The name of the module inside."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        setattr(self, self.inner, module)
        self._register_state_dict_hook(without_inner)
        self.register_load_state_dict_pre_hook(with_inner)

    @property
    def module(self) -> Module:
        """The wrapped module, through several wrappers if there are."""
        found = self._modules[self.inner]
        return found.module if isinstance(found, WrapperModule) else found

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            found = vars(self).get("_modules", {}).get(self.inner)
            if found is None:
                raise
            return getattr(found, name)

    def __getitem__(self, key: Any) -> Any:
        return self._modules[self.inner][key]


def without_inner(module: WrapperModule, state: Settings, prefix: str, notes: object) -> None:
    """Remove the wrapper's part from the names of a state dict."""
    renamed(state, f"{prefix}{module.inner}.", prefix)


def with_inner(module: WrapperModule, state: Settings, prefix: str, *rest: object) -> None:
    """Add the wrapper's part to the names of a plain module's state dict."""
    renamed(state, prefix, f"{prefix}{module.inner}.")


def renamed(state: Settings, before: str, now: str) -> None:
    """Replace a prefix of a state dict's keys."""
    for key in [key for key in state if key.startswith(before)]:
        state[now + key[len(before) :]] = state.pop(key)


class WrapPolicy(ABC):
    """A policy that finds the modules to wrap, and the settings of each."""

    @abstractmethod
    def settings_of(self, module: Module, given: Mapping[str, Any]) -> Settings | None:
        """The settings of a module's wrapper, given the outermost's; None if it is not wrapped."""

    def targets(
        self, root: Module, ignored: Collection[Module], given: Mapping[str, Any]
    ) -> dict[Module, Settings]:
        """The modules inside of a model that are wrapped, and their settings."""
        found = {m: self.settings_of(m, given) for m in root.modules() if m not in ignored}
        return {m: s for m, s in found.items() if s is not None and m is not root}


class ModuleWrapPolicy(WrapPolicy):
    """A policy that wraps every module of some classes.

    >>> from gnomon.nn import Linear, ReLU, Sequential
    >>> model = Sequential(Linear(2, 2), ReLU())
    >>> [type(m).__name__ for m in ModuleWrapPolicy({Linear}).targets(model, (), {})]
    ['Linear']
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self.module_classes = tuple(set(module_classes))

    def settings_of(self, module: Module, given: Mapping[str, Any]) -> Settings | None:
        """The outermost wrapper's settings for a module of the classes, None for others."""
        return dict(given) if isinstance(module, self.module_classes) else None

    def __call__(self, module: Module, recurse: bool, *args: Any, **named: Any) -> bool:
        """Whether to wrap a module; with `recurse` whether to look inside it, always True."""
        return recurse or isinstance(module, self.module_classes)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({sorted(kind.__name__ for kind in self.module_classes)})"


class CustomPolicy(WrapPolicy):
    """A policy that wraps modules for which a function gives True, or a dict of settings.

    >>> from gnomon.nn import Linear, Sequential
    >>> policy = CustomPolicy(lambda m: {"level": 1} if isinstance(m, Linear) else False)
    >>> list(policy.targets(Sequential(Linear(2, 2)), (), {"level": 0}).values())
    [{'level': 1}]
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | Settings]) -> None:
        self.lambda_fn = lambda_fn

    def settings_of(self, module: Module, given: Mapping[str, Any]) -> Settings | None:
        """The outermost wrapper's settings with the function's; None where it gives False."""
        said = self.lambda_fn(module)
        if not isinstance(said, (bool, dict)):
            raise ArgumentError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {brief(said)}"
            )
        return {**given, **(said if isinstance(said, dict) else {})} if said else None


def always_wrap_policy(*args: Any, **named: Any) -> bool:
    """Wrap every module: always True."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Whether to wrap a module: as a function says; with `recurse` always True."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: Collection[type[Module]],
) -> bool:
    """Whether to wrap a module: if it is of some classes, a transformer's layers."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: Collection[type[Module]] | None = None,
    exclude_wrap_modules: Collection[type[Module]] | None = None,
) -> bool:
    """Whether to wrap a module: if it has so many unwrapped elements, and is no container.

    force_leaf_modules: classes whose children are not asked about.
    exclude_wrap_modules: classes that are not wrapped themselves.

    >>> from gnomon.nn import Linear
    >>> size_based_auto_wrap_policy(Linear(2, 2), False, 6, min_num_params=6)
    True
    """
    leaves = FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    excluded = EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    return nonwrapped_numel >= min_num_params and not isinstance(
        module, tuple(leaves if recurse else excluded)
    )


FORCE_LEAF_MODULES = frozenset({MultiheadAttention})
EXCLUDE_WRAP_MODULES = frozenset({ModuleList, ModuleDict})
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = set(FORCE_LEAF_MODULES)
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = set(EXCLUDE_WRAP_MODULES)


@contextmanager
def enable_wrap(*, wrapper_cls: Callable, **wrapper_kwargs: Any) -> Iterator[None]:
    """A context in which `wrap` puts modules into wrappers with these settings."""
    if _wrapper.get() is not None:
        raise NotImplementedError("enable_wrap: one is open already, and does not hold another.")
    before = _wrapper.set(partial(wrapper_cls, **wrapper_kwargs))
    try:
        yield
    finally:
        _wrapper.reset(before)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module inside of `enable_wrap`; return it unchanged elsewhere."""
    wrapper = _wrapper.get()
    return module if wrapper is None else wrapper(module, **wrap_overrides)


def apply_policy(
    model: Module,
    policy: Policy | WrapPolicy,
    wrapper: Callable[..., Module],
    ignored: Collection[Module] = (),
    given: Mapping[str, Any] | None = None,
) -> None:
    """Put modules inside of a model into wrappers, innermost first."""
    settings = given or {}
    if isinstance(policy, WrapPolicy):
        targets = policy.targets(model, ignored, settings)
        replaced(model, targets, wrapper, {model})
    elif callable(policy):
        kept = {id(p) for m in ignored for p in m.parameters()}
        wrapped_by(model, policy, partial(wrapper, **settings), set(ignored), kept, outermost=True)
    else:
        raise ArgumentError(
            f"Expected {brief(policy)} to be callable or be a pre-defined wrap policy"
        )


def replaced(
    module: Module,
    targets: Mapping[Module, Settings],
    wrapper: Callable[..., Module],
    seen: set[Module],
) -> None:
    """Replace the listed modules inside of one by wrappers, each once."""
    for name, child in list(module.named_children()):
        if child in seen:
            continue
        seen.add(child)
        replaced(child, targets, wrapper, seen)
        if child in targets:
            setattr(module, name, wrapper(child, **targets[child]))


def wrapped_by(
    module: Module,
    policy: Policy,
    wrapper: Callable[[Module], Module],
    ignored: set[Module],
    kept: Collection[int],
    outermost: bool = False,
) -> tuple[Module, int]:
    """Wrap a module and those inside by a policy function; the result, and the wrapped elements.

    kept: parameters that do not count, by their id.
    """
    whole, inside = sum(p.numel() for p in module.parameters() if id(p) not in kept), 0
    if not policy(module=module, recurse=True, nonwrapped_numel=whole):
        return module, 0
    for name, child in list(module.named_children()):
        if child not in ignored:
            made, size = wrapped_by(child, policy, wrapper, ignored, kept)
            setattr(module, name, made)
            inside += size
    if outermost or not policy(module=module, recurse=False, nonwrapped_numel=whole - inside):
        return module, inside
    return wrapper(module), whole

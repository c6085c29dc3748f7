"""state_dict and load_state_dict, and reports of keys and shapes that do not fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.errors import CheckpointError
from gnomon.nn.parameter import Parameter, is_lazy
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.autograd.hooks import Handle, attach
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from gnomon.nn.module import Module

EXTRA = "_extra_state"
"""The suffix of the key for the extra state."""


class Report(NamedTuple):
    """The missing and the unexpected keys of a loaded state."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        missing, unexpected = self
        return f"_IncompatibleKeys(missing_keys={missing}, unexpected_keys={unexpected})"


class SavedParts:
    """Base of Module with state_dict and load_state_dict."""

    _version = 1
    """The version of a module's saved format, stored in a state's metadata."""
    dump_patches = False
    """PyTorch's obsolete switch, without effect."""

    def state_dict(
        self,
        *older: Any,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """The parameters and persistent buffers by path; they share the module's memory."""
        if older:  # in this order, before they were named
            words = ("destination", "prefix", "keep_vars")
            return self.state_dict(**dict(zip(words, older, strict=False)))
        state = destination
        if state is None:
            state = OrderedDict()
            state._metadata = OrderedDict()
        note = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = note
        for hook in hooks_of(self, "_state_dict_pre_hooks"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in hooks_of(self, "_state_dict_hooks"):
            answer = hook(self, state, prefix, note)
            state = state if answer is None else answer
        return state

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Store the module's own parameters and buffers in a state, without submodules'."""
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                kept = keep_vars or is_lazy(value)
                destination[prefix + name] = value if kept else value.detach()
        if type(self).get_extra_state is not SavedParts.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """The state beside tensors to save, for classes that define it."""
        raise NotImplementedError(f"get_extra_state: {type(self).__name__} does not define it.")

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of get_extra_state, for classes that define it."""
        raise NotImplementedError(f"set_extra_state: {type(self).__name__} does not define it.")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Report:
        """Load values by path; misfits are errors, if strict also missing and unexpected keys."""
        if not isinstance(state_dict, Mapping):
            kind = type(state_dict).__name__
            raise TypeError(f"load_state_dict: needs a dict of tensors by path: got {kind}.")
        found, wrong = Report([], []), list[str]()
        load(self, state_dict, assign, (*found, wrong))
        if strict and found.unexpected_keys:
            names = quoted_keys(found.unexpected_keys)
            wrong.insert(0, f"Unexpected key(s) in state_dict: {names}.")
        if strict and found.missing_keys:
            wrong.insert(0, f"Missing key(s) in state_dict: {quoted_keys(found.missing_keys)}.")
        if wrong:
            lines = "\n\t".join(wrong)
            raise CheckpointError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}"
            )
        return found

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the module's own values, without submodules'; record what does not fit."""
        for hook in hooks_of(self, "_load_state_dict_pre_hooks"):
            given = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys)
            hook(self, *given, error_msgs)
        places = own_places(self)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, place in places.items():
            path = prefix + name
            if path in state_dict:
                error_msgs += store_value(place, name, state_dict[path], path, assign)
            elif strict and not is_batch_count(name, local_metadata):
                missing_keys.append(path)
        extra = prefix + EXTRA
        wants = type(self).set_extra_state is not SavedParts.set_extra_state
        if wants and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif strict and wants is not (extra in state_dict):
            (missing_keys if wants else unexpected_keys).append(extra)
        if strict:
            known = {*places, EXTRA}
            unexpected_keys += [
                path for path in state_dict if not is_known(path, prefix, known, self._modules)
            ]

    # hooks

    def register_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, prefix, keep_vars) before a state is collected."""
        return attach(vars(self).setdefault("_state_dict_pre_hooks", {}), hook)

    def register_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, state_dict, prefix, metadata) at the end; it may change the state."""

        def called(*given: Any) -> None:
            if hook(*given) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return self._register_state_dict_hook(called)

    def _register_state_dict_hook(self, hook: Callable) -> Handle:
        """Register a hook after state_dict whose result, if any, replaces it."""
        return attach(vars(self).setdefault("_state_dict_hooks", {}), hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(module, ...) before _load_from_state_dict, with its arguments."""
        return attach(vars(self).setdefault("_load_state_dict_pre_hooks", {}), hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> Handle:
        """Register a load_state_dict pre-hook that gets the module only with `with_module`."""
        called = hook if with_module else lambda module, *given: hook(*given)
        return self.register_load_state_dict_pre_hook(called)

    def register_load_state_dict_post_hook(self, hook: Callable) -> Handle:
        """Call hook(module, report) once a module and its submodules are loaded.

        The hook may remove keys from the report's lists.
        """
        return attach(vars(self).setdefault("_load_state_dict_post_hooks", {}), hook)


def hooks_of(module: SavedParts, kind: str) -> list[Callable]:
    """A module's hooks of one kind."""
    return [*vars(module).get(kind, {}).values()]


def load(
    module: Module, state_dict: Mapping[str, Any], assign: bool, found: tuple[list[str], ...]
) -> None:
    """Load a state into a module and its submodules; each may change its own part."""
    notes: Any = getattr(state_dict, "_metadata", None) or {}

    def enter(module: Module, state: dict[str, Any], prefix: str) -> None:
        note = {**notes.get(prefix[:-1], {})}
        if assign:
            note["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, note, True, *found)
        for name, inner in module._modules.items():
            if inner is not None:
                path = f"{prefix}{name}."
                part = {key: x for key, x in state.items() if key.startswith(path)}
                enter(inner, part, path)
        for hook in hooks_of(module, "_load_state_dict_post_hooks"):
            if hook(module, report) is not None:
                raise RuntimeError("load_state_dict post-hook must return None")

    report = Report(*found[:2])
    own = OrderedDict(state_dict)
    own._metadata = notes
    enter(module, own, "")


def is_known(path: str, prefix: str, known: set[str], modules: Mapping[str, Any]) -> bool:
    """Whether a key under a prefix belongs to a module or to one of its submodules."""
    if not path.startswith(prefix):
        return True
    name, dot, _ = path[len(prefix) :].partition(".")
    return name in modules if dot else name in known


def is_batch_count(name: str, notes: Mapping[str, Any]) -> bool:
    """Whether a key is the count of batches, which older files lack."""
    return name == "num_batches_tracked" and (notes.get("version") or 0) < 2


def quoted_keys(keys: list[str]) -> str:
    """The keys as text, in quotes."""
    return ", ".join(f'"{key}"' for key in keys)


def own_places(module: Any) -> dict[str, dict[str, Any]]:
    """The dictionaries with a module's own saved values, by name."""
    return {
        name: place
        for place in (module._parameters, module._buffers)
        for name, value in place.items()
        if value is not None and name not in module._non_persistent_buffers_set
    }


def store_value(place: dict[str, Any], name: str, value: Any, path: str, assign: bool) -> list[str]:
    """Store one value of a state in a module; returns error messages."""
    kept = place[name]
    if not isinstance(value, Tensor):
        return [f"While copying {path}: expected a Tensor, got {type(value).__name__}."]
    if is_lazy(kept):
        if is_lazy(value):
            return []
        kept.materialize(value.shape)
    if is_lazy(value):
        return [f"While copying {path}: the state's is uninitialized and has no shape."]
    if not kept.shape and tuple(value.shape) == (1,):  # numbers were vectors in old files
        value = value[0]
    if tuple(value.shape) != tuple(kept.shape):
        return [
            f"size mismatch for {path}: copying a param with shape {tuple(value.shape)} from "
            f"checkpoint, the shape in current model is {tuple(kept.shape)}."
        ]
    with no_grad():
        if not assign:
            kept.copy_(value)
        elif isinstance(kept, Parameter):
            place[name] = Parameter(value, kept.requires_grad)
        else:
            place[name] = value
    return []


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the keys of a state, such as that of a wrapped model.

    >>> state = {"module.weight": 1}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    notes = getattr(state_dict, "_metadata", {})
    for kept, ending in ((state_dict, ""), (notes, ".")):
        for key in [*kept]:
            if f"{key}{ending}".startswith(prefix):
                kept[f"{key}{ending}"[len(prefix) :].removesuffix(ending)] = kept.pop(key)

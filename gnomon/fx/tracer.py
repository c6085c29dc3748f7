"""Symbolic tracing: a module or function is run on proxies, and what it calls becomes a graph."""

from __future__ import annotations

import builtins
import inspect
import math
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock, get_ident
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gnomon.errors import TraceError
from gnomon.fx.graph import Graph
from gnomon.fx.graph_module import GraphModule
from gnomon.fx.node import Node, map_aggregate
from gnomon.fx.proxy import ParameterProxy, Proxy, TracerBase
from gnomon.ir.provenance import current_sites
from gnomon.nn.containers import Sequential
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor

__all__ = ["Tracer", "symbolic_trace", "wrap"]

OWN = ("gnomon.nn", "torch.nn")
"""Where modules come from that are one call of a graph each."""

wrapped: list[tuple[dict[str, Any], str]] = []
"""Names of modules of users, whose functions are one call each: see `wrap`."""
tracing = RLock()
"""While a thread traces, calls of modules and some functions are its own."""


def wrap(fn_or_name: str | Callable) -> Any:
    """Record a function of the calling file as one call, without tracing into it.

    At the top of a file: `wrap("function")`, or as a decorator.

    Errors: TraceError where it is called inside of a function.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    assert caller is not None, "wrap is called by somebody"
    if caller.f_code.co_name != "<module>":
        raise TraceError("wrap: expected at the top of a file: got it inside of a function.")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    wrapped.append((caller.f_globals, name))
    return fn_or_name


def has_proxy(value: Any) -> Proxy | None:
    """A proxy inside of a structure."""
    found: list[Proxy] = []

    def find(x: Any) -> Any:
        found.extend([x] if isinstance(x, Proxy) else [])
        return x

    map_aggregate(value, find)
    return found[0] if found else None


def as_one_call(function: Callable) -> Callable:
    """A function that is written down where one of its arguments is traced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = has_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", function, args, kwargs)

    call.__name__ = getattr(function, "__name__", "call")
    call.__wrapped_by_fx__ = function  # type: ignore[attr-defined]
    return call


class Patches:
    """Names that have other values for a while."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a class or module."""
        before = getattr(owner, name)
        setattr(owner, name, value)
        self.undo.append(lambda: setattr(owner, name, before))

    def one_call(self, names: dict[str, Any], name: str) -> None:
        """Record a function in a namespace as one call."""
        is_there = name in names
        function = names[name] if is_there else getattr(builtins, name)
        if hasattr(function, "__wrapped_by_fx__"):
            return
        names[name] = as_one_call(function)
        self.undo.append(lambda: names.update({name: function}) if is_there else names.pop(name))

    def end(self) -> None:
        """Undo all, the latest first."""
        while self.undo:
            self.undo.pop()()


class Tracer(TracerBase):
    """Traces a module or a function; subclasses say what stays one call.

    autowrap_modules: of these, functions that are given a proxy are one call each.
    autowrap_functions: so are these, under whichever names the traced functions have them.
    param_shapes_constant: sizes of parameters are numbers, and not part of the graph.
    """

    root: Module

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable, ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        plain = (
            x for m in autowrap_modules for n, x in vars(m).items() if callable(x) and n[0] != "_"
        )
        self.autowrapped = {id(x) for x in (*plain, *autowrap_functions)}
        self.autowrap_modules = autowrap_modules
        self.param_shapes_constant = param_shapes_constant
        self.module_stack: dict[str, type] = {}

    # what subclasses replace

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is one call: those of `gnomon.nn` but for Sequential."""
        return type(m).__module__.startswith(OWN) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module below the root."""
        path = self.path_of(mod)
        if path is not None:
            return path
        raise TraceError(f"trace: {type(mod).__name__} is called, but is no part of the root.")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        """Call a module: one node where it is a leaf, else all that it does."""
        path = self.path_of_module(m)
        self.module_stack[path] = type(m)
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            del self.module_stack[path]

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a module: parameters become nodes that read them."""
        path = self.path_of(attr_val) if isinstance(attr_val, Parameter) else None
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            kind = partial(ParameterProxy, tracer=self, param=attr_val)
            made = kind if self.param_shapes_constant else None
            read = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=made)
            parameter_proxy_cache[path] = read
        return parameter_proxy_cache[path]

    # how it works

    def begin(self, graph: Graph, root: Module) -> None:
        """Write into a graph what happens below a root."""
        self.graph, self.root = graph, root
        self.constants = {k: x for k, x in vars(root).items() if k.startswith("_tensor_const")}
        self.paths: dict[int, tuple[str, Any]] = {}

    def path_of(self, value: Any) -> str | None:
        """The path of a module, parameter or buffer below the root.

        All are looked up once, and again where one is new.
        """
        if id(value) not in self.paths:
            parts = (*self.root.named_buffers(), *self.root.named_parameters())
            modules = self.root.named_modules(remove_duplicate=False)
            for path, x in (*parts, *modules):
                self.paths.setdefault(id(x), (path, x))
        return self.paths.get(id(value), (None,))[0]

    def leaf(self, value: Any) -> Any:
        """A part of an argument: tensors are read from the root."""
        if not isinstance(value, Tensor):
            return super().leaf(value)
        found = next((name for name, x in self.constants.items() if x is value), None)
        path = found or self.path_of(value) or self._constant(value)
        return self.create_node("get_attr", path, (), {})

    def _constant(self, value: Tensor) -> str:
        """The name of a tensor that the program made of nothing, as an attribute of the root."""
        name = f"_tensor_constant{len(self.constants)}"
        self.constants[name] = value
        setattr(self.root, name, value)
        return name

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node, with the user's line and the modules in which it is made."""
        made = super().create_node(kind, target, args, kwargs, name, type_expr)
        made.meta["site"] = current_sites()[0]
        if self.module_stack:
            made.meta["nn_module_stack"] = dict(self.module_stack)
        if self.record_stack_traces:
            made.stack_trace = "".join(traceback.format_stack()[:-3])
        return made

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable, list[Any]]:
        """A function that is run by position, and its arguments: proxies, or values as given."""
        given, known = concrete_args or {}, inspect.signature(root_fn).parameters
        names = argument_names(inspect.unwrap(root_fn).__code__)
        args: list[Any] = [self.root] if is_module else []
        for full in names[len(args) :]:
            name = full.lstrip("*")
            default = known[name].default if name in known else inspect.Parameter.empty
            found = () if default is inspect.Parameter.empty else (default,)
            proxy = self.create_proxy("placeholder", full, found, {})
            args.append(given.get(name, proxy))
        return flat(root_fn), args

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module or function.

        concrete_args: values of arguments by name, which are what they are in the graph.

        Errors: TraceError where Python decides by a traced value.
        """
        is_module = isinstance(root, Module)
        root_module = root if is_module else Module()
        function = type(root).forward if is_module else root
        if is_module and type(root).__module__.startswith(OWN) and takes_any(function):
            function = forward_of_one
        self.begin(Graph(root_module, type(self)), root_module)
        with tracing, self._calls_seen(getattr(function, "__globals__", {})):
            run, args = self.create_args_for_root(function, is_module, concrete_args)
            found = run(*args)
            self.create_node("output", "output", (self.create_arg(found),), {})
        return self.graph

    @contextmanager
    def _calls_seen(self, names: dict[str, Any]) -> Iterator[None]:
        """A context that intercepts calls and attributes of modules, and wrapped functions."""
        patches, me, seen = Patches(), get_ident(), set[int]()
        call, read = Module.__call__, Module.__getattr__
        known: dict[str, Any] = {}

        def module_call(module: Module, *args: Any, **kwargs: Any) -> Any:
            if get_ident() != me:
                return call(module, *args, **kwargs)
            around = getattr(type(module).forward, "__globals__", {})
            if id(around) not in seen:  # a file's names, once
                seen.add(id(around))
                self._wrap_names(patches, around)
            return self.call_module(module, partial(call, module), args, kwargs)

        def module_getattr(module: Module, name: str) -> Any:
            found = read(module, name)
            return found if get_ident() != me else self.getattr(name, found, known)

        try:
            patches.attribute(Module, "__call__", module_call)
            patches.attribute(Module, "__getattr__", module_getattr)
            for module in self.autowrap_modules:
                self._wrap_names(patches, vars(module))
            self._wrap_names(patches, names)
            for where, name in wrapped:
                patches.one_call(where, name)
            yield
        finally:
            patches.end()

    def _wrap_names(self, patches: Patches, names: dict[str, Any]) -> None:
        """Wrap the functions in a namespace that are to be recorded as one call."""
        for name, value in [*names.items()]:
            if id(value) in self.autowrapped and not name.startswith("_"):
                patches.one_call(names, name)


def flat(function: Callable) -> Callable:
    """A function that takes all its arguments by position, those behind stars as one value each."""
    inner = inspect.unwrap(function)
    code: CodeType = inner.__code__
    stars = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    plain = code.replace(
        co_flags=code.co_flags & ~stars,
        co_argcount=len(argument_names(code)),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
    )
    return FunctionType(plain, inner.__globals__, inner.__name__, None, inner.__closure__)


def argument_names(code: CodeType) -> list[str]:
    """The names of all arguments, with the stars of those that take several."""
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
        if code.co_flags & flag:
            names.append(f"{stars}{code.co_varnames[len(names)]}")
    return names


def takes_any(function: Callable) -> bool:
    """Whether a function takes any arguments by position."""
    return bool(inspect.unwrap(function).__code__.co_flags & inspect.CO_VARARGS)


def forward_of_one(self: Module, input: Any) -> Any:
    """The forward of a module that is made from a table of functions: with its one input."""
    return type(self).forward(self, input)


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module or function as a graph of its calls, which is a module of the same result.

    concrete_args: values of arguments by name, which are what they are in the graph.

    Errors: TraceError where Python decides by a traced value.

    >>> import gnomon as gn
    >>> traced = symbolic_trace(lambda x: gn.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = gnomon.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> traced(gn.tensor([-1.0, 2.0]))
    Tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "traced")
    return GraphModule(tracer.root, graph, name)

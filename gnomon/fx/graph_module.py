"""GraphModule: a module whose forward is a graph."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, finalize

from gnomon.errors import TraceError
from gnomon.fx.graph import Graph, PythonCode
from gnomon.ir.provenance import forget, stand_for
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor

__all__ = ["GraphModule"]

graphs: WeakKeyDictionary[Module, Graph] = WeakKeyDictionary()
"""The graphs of modules: they are no attributes, which captures would look into at each call."""
numbers = count()
"""The numbers of texts, one after the other."""


class GraphModule(Module):
    """A module whose forward is a graph; setting `graph`, or `recompile()`, writes it anew.

    root: the module, or the dictionary of paths, from which what the graph names is taken.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Make a class of its own, on which its forward stands."""
        plain = next(x for x in cls.__mro__ if not vars(x).get("_is_of_one", False))
        names = {"_is_of_one": True, "__module__": "graphs"}  # captures look into a user's classes
        made: Any = type(plain.__name__, (plain,), names)
        return super().__new__(made)

    def __init__(
        self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        paths = [x.target for x in graph.nodes if x.op in ("call_module", "get_attr")]
        for path in dict.fromkeys(paths):
            set_at(self, path, attribute_at(root, path) if isinstance(root, Module) else root[path])
        self.train(getattr(root, "training", True))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; after changes call `recompile()`."""
        return graphs[self]

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TraceError(f"GraphModule: expected a Graph: got {type(graph).__name__}.")
        graphs[self] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of forward."""
        return self._code

    def recompile(self) -> PythonCode:
        """Write forward anew, from the graph as it is now.

        What its lines compute names the lines that were traced.
        """
        made = self.graph.python_code("self")
        names, file = dict(made.globals), f"<graph {next(numbers)}>"
        exec(compile(made.src, file, "exec"), names)
        traced = {line: x.meta["site"] for line, x in made.nodes.items() if "site" in x.meta}
        stand_for(file, {k: (x.file, x.line, x.function, x.module) for k, x in traced.items()})
        finalize(names["forward"], forget, file)
        type(self).forward = names["forward"]
        object.__setattr__(self, "_code", made.src)
        return made

    # modules below it

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; whether all above it are modules."""
        *above, name = target.split(".")
        owner: Any = self
        for part in above:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; whether there was one."""
        *above, name = target.split(".")
        try:
            owner = attribute_at(self, ".".join(above)) if above else self
        except AttributeError:
            return False
        if not isinstance(owner._modules.get(name) if isinstance(owner, Module) else None, Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not call, nor anything below them."""
        used = {x.target for x in self.graph.nodes if x.op in ("call_module", "get_attr")}
        above = {".".join(path.split(".")[:n]) for path in used for n in range(path.count(".") + 1)}
        for path, _ in [*self.named_modules()][::-1]:
            inside = any(path.startswith(f"{each}.") for each in used)
            if path and path not in used | above and not inside:
                self.delete_submodule(path)

    # copies

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        root = Module()
        memo[id(self.graph.owning_module)] = root
        for name, value in vars(self).items():
            root.__dict__[name] = deepcopy(value, memo)
        made = GraphModule(root, deepcopy(self.graph), type(self).__name__)
        for name, value in vars(root).items():
            made.__dict__[name] = value
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> tuple:
        return load_module, (vars(self), self.graph, type(self).__name__)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Print the text of forward as a class; it is given too.

        options: PyTorch's others, for strides, devices and colours, which are not printed here.
        """
        body = "".join(f"    {line}\n" for line in self.code.strip().splitlines())
        found = f"class {type(self).__name__}(gnomon.nn.Module):\n{body}"
        if print_output:
            print(found)
        return found

    def __str__(self) -> str:
        return f"{super().__repr__()}\n\n{self.code.strip()}\n"


def load_module(state: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    """A module from a file: its attributes and its graph."""
    root = Module()
    root.__dict__.update(state)
    made = GraphModule(root, graph, name)
    made.__dict__.update(state)
    return made


def attribute_at(root: Any, path: str) -> Any:
    """The attribute at a path."""
    for name in path.split("."):
        root = getattr(root, name)
    return root


def set_at(module: Module, path: str, value: Any) -> None:
    """Put a value at a path, with modules above it."""
    *above, name = path.split(".")
    owner: Any = module
    for part in above:
        if getattr(owner, part, None) is None:
            setattr(owner, part, Module())
        owner = getattr(owner, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)

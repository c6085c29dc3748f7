"""Interpreter and Transformer: graphs that are run node by node, as they are or into another."""

from __future__ import annotations

from typing import Any

from gnomon.errors import TraceError
from gnomon.fx.graph import Graph
from gnomon.fx.graph_module import GraphModule, attribute_at
from gnomon.fx.node import Node, map_arg
from gnomon.fx.proxy import Proxy
from gnomon.fx.tracer import Tracer
from gnomon.ir.provenance import inherit
from gnomon.nn.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; subclasses replace what they want to see or change.

    >>> import gnomon as gn
    >>> from gnomon.fx.tracer import symbolic_trace
    >>> Interpreter(symbolic_trace(lambda x: x * 2)).run(gn.ones(2))
    Tensor([2., 2.])
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.graph: Graph = graph or module.graph
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.args_iter: Any = iter(())
        last = {x: node for node in self.graph.nodes for x in node.all_input_nodes}
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        for x, node in last.items():
            self.user_to_last_uses.setdefault(node, []).append(x)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """The graph's result; values of nodes in `initial_env` are not computed.

        What is computed names the lines that were traced. enable_io_processing: PyTorch's, for
        arguments that are flattened; they never are here.
        """
        self.env, self.args_iter = dict(initial_env or {}), iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                site = node.meta.get("site")
                with inherit(site and (site,)):
                    self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            if self.garbage_collect_values:
                for x in self.user_to_last_uses.get(node, ()):
                    del self.env[x]
        return None

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """A structure with values where nodes stand."""

        def value(x: Node) -> Any:
            if x not in self.env:
                raise TraceError(f"Interpreter: {n} reads {x}, which has no value. Lint the graph.")
            return self.env[x]

        return map_arg(args, value)

    def fetch_attr(self, target: str) -> Any:
        """The attribute at a path."""
        return attribute_at(self.module, target)

    # by the kind of a node

    def placeholder(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The next argument of the run."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise TraceError(
                f"Interpreter: no argument for {target!r}. Give it to run()."
            ) from None

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A parameter, buffer or other attribute."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A function's result."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        first, *rest = args
        return getattr(first, target)(*rest, **kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A module's result."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The program's result."""
        return args[0]


class TransformerTracer(Tracer):
    """Writes down what a Transformer calls, modules as one call each."""

    def __init__(self, graph: Graph, root: Module) -> None:
        super().__init__()
        self.begin(graph, root)

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Every module is one call."""
        return True


class Transformer(Interpreter):
    """Runs a graph on proxies: what its methods give becomes another graph."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = TransformerTracer(self.new_graph, module)

    def placeholder(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """An argument of the new graph."""
        return Proxy(self.new_graph.placeholder(target, default_value=(*args, ...)[0]), self.tracer)

    def get_attr(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The reading of an attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call of a module in the new graph."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        found = super().run(enable_io_processing=False)
        if found is not None:
            self.new_graph.output(self.tracer.create_arg(found))
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)

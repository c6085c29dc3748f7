"""Programs as graphs of calls that users read and change: PyTorch's `torch.fx`."""

from gnomon.fx import subgraph_rewriter
from gnomon.fx.graph import Graph
from gnomon.fx.graph_module import GraphModule
from gnomon.fx.interpreter import Interpreter, Transformer
from gnomon.fx.node import Node, map_arg
from gnomon.fx.proxy import Proxy
from gnomon.fx.subgraph_rewriter import replace_pattern
from gnomon.fx.tracer import Tracer, symbolic_trace, wrap

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "map_arg",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "wrap",
]

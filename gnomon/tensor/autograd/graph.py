"""gn.autograd.graph: the graph behind a tensor, hooks of several tensors, and saved tensors.

A Node shows a node of the program: equal expressions are one node here, a broadcast may be a node
of its own, and a layer that is one operation in PyTorch may be several, or the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, Literal, NamedTuple
from weakref import WeakValueDictionary

from gnomon.errors import ArgumentError, GradientError
from gnomon.ir import node as ir
from gnomon.ir.memo import memo
from gnomon.ops.histories import has_other_history
from gnomon.ops.registry import rule_of
from gnomon.settings import holding
from gnomon.tensor.autograd.hooks import Handle, recorded, under_way
from gnomon.tensor.autograd.saved import Pack, Unpacking, leads_to_leaves
from gnomon.tensor.autograd.versions import allowing
from gnomon.tensor.state import ModeBlock, is_capturing, refusal, saving, state
from gnomon.tensor.tensor import Tensor, leaf_node, pair_of, pairs_of, raw, wrap

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


# nodes

EITHER = frozenset({"add", "mul"})
"""Operations whose operands may change places."""


class Node:
    """An operation that gradients pass, as `Tensor.grad_fn` and `next_functions` give it.

    >>> import gnomon as gn
    >>> x = gn.ones(2, requires_grad=True)
    >>> (x * 3).grad_fn.name(), (x * 3).grad_fn.next_functions[0][0].name()
    ('MulBackward0', 'torch::autograd::AccumulateGrad')
    """

    def __init__(self, node: ir.Node) -> None:
        self._node = node
        self.metadata: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        """An operand or the result, by PyTorch's name of a saved tensor."""
        operands = (*operands_of(self._node), None, None)
        saved = {"_saved_self": operands[0], "_saved_other": operands[1]}
        node = {**saved, "_saved_result": self._node}.get(name)
        if node is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        leaf = leaf_of(node)
        return wrap(node, leads_to_leaves(node)) if leaf is None else leaf

    def name(self) -> str:
        """The operation's name."""
        return numbered_name(self._node)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each operand, the next node of its gradient, and the number of that node's result."""
        operands = operands_of(self._node)
        passes = [leads_to_leaves(x) and self._node.op != "detach" for x in operands]
        return tuple(
            (graph_object(x), 0 if leaf_of(x) is not None else x.params.get("index", 0))
            if there
            else (None, 0)
            for x, there in zip(operands, passes, strict=True)
        )

    def register_prehook(self, fn: Callable[[tuple], Any]) -> Handle:
        """Call fn((gradient,)) before gradients pass; a returned tuple replaces the gradient."""
        return end_of(GradientEdge(self, 0)).register_hook(of_one(fn))

    def register_hook(self, fn: Callable[[tuple, tuple], Any]) -> Handle:
        """Refuse: gradients of several operations may be derived as one, without those in between.

        Leaves do have such hooks.
        """
        raise GradientError(
            f"register_hook: {self!r} has no gradients of operands of its own. Use register_prehook"
            " of the nodes in next_functions, or register_hook of tensors."
        )

    def __repr__(self) -> str:
        return f"<{plain_name(self._node)}>"


class AccumulateGrad(Node):
    """The graph node of a leaf, in which gradients are gathered."""

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        found = leaf_of(self._node)
        if found is None:
            raise GradientError("AccumulateGrad: its leaf is gone. Hold the tensor.")
        return found

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, fn: Callable[[tuple, tuple], Any]) -> Handle:
        """Call fn((), (gradient,)) after the gradient was gathered."""
        seen: list[Any] = []
        first = self.variable.register_hook(seen.append)
        last = self.variable.register_post_accumulate_grad_hook(
            lambda _: fn((), (seen.pop() if seen else None,)) and None
        )
        return Handles([first, last])

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


class WholeView(Node):
    """The graph node of a view of a whole leaf, which is no node of the program."""

    next_functions = property(lambda self: ((graph_object(self._node), 0),))

    def name(self) -> str:
        """PyTorch's name."""
        return "AliasBackward0"

    def __repr__(self) -> str:
        return "<AliasBackward>"


_shown: WeakValueDictionary[ir.Node, Node] = memo(WeakValueDictionary())


def shown_of(tensor: Tensor) -> Node:
    """The graph node of a result's operation."""
    node = recorded(tensor) if not is_capturing() else raw(tensor)
    return WholeView(node) if leaf_of(node) is not None else graph_object(node)


def operands_of(node: ir.Node) -> tuple[ir.Node, ...]:
    """The operands of an operation; a number, which may be either of two, comes last."""
    operands = node.inputs
    if has_other_history(node):
        return operands[:1]
    if rule_of(node) is not None:  # values of a rule's own are no operands
        return tuple(x for x in operands if leads_to_leaves(x))
    turned = node.params.get("f") in EITHER and operands[0].op == "const"
    return operands[::-1] if turned else operands


def graph_object(node: ir.Node) -> Node:
    """The one graph object that represents a node of the program."""
    while node.op == "barrier" and leaf_of(node) is None:
        (node,) = node.inputs
    found = _shown.get(node)
    if found is None:
        leaf = leaf_of(node) is not None
        found = (AccumulateGrad if leaf else kind_of(numbered_name(node)))(node)
        _shown[node] = found
    return found


@memo
@cache
def kind_of(name: str) -> type[Node]:
    """The class of an operation's graph nodes, since programs read the class's name."""
    return type(name, (Node,), {"__module__": __name__})


def plain_name(node: ir.Node) -> str:
    """The operation's name, as values show it."""
    rule = rule_of(node)
    name = rule.called if isinstance(rule, Unpacking) else node.called
    if node.op == "input" and node.sites and node.sites[0].op:
        name = node.sites[0].op  # its history went with a backward pass
    if is_written(node):
        return f"{name.removesuffix('.apply')}Backward"
    return f"{name.title().replace('_', '')}Backward"


def numbered_name(node: ir.Node) -> str:
    """The operation's name with PyTorch's number suffix."""
    return f"{plain_name(node)}{'' if is_written(node) else 0}"


def is_written(node: ir.Node) -> bool:
    """Whether a user's Function computes the gradient."""
    return node.params.get("name", "").endswith(".apply")


def leaf_of(node: ir.Node) -> Tensor | None:
    """The leaf that a node represents."""
    found = (reference() for reference in node.watch or ())
    return next((x for x in found if x is not None and x._requires), None)


def of_one(fn: Callable[[tuple], Any]) -> Callable[[Any], Any]:
    """A hook of tuples, as one of a single gradient."""

    def hook(gradient: Any) -> Any:
        made = fn((gradient,))
        return made[0] if isinstance(made, tuple) else made

    return hook


class GradientEdge(NamedTuple):
    """An edge of the graph, where a gradient can be requested or started without the tensor."""

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that stands for a tensor in `autograd.grad` and `backward`.

    >>> import gnomon as gn
    >>> x = gn.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> edge = get_gradient_edge(y)
    >>> gn.autograd.grad((y * y).sum(), edge)
    (Tensor([4., 4.]),)
    """
    tensor = pair_of(tensor)
    if not tensor.requires_grad:
        raise GradientError(
            "get_gradient_edge: it is not possible to get the gradient edge for a Tensor that does "
            "not require gradients. Set requires_grad_() first."
        )
    node = recorded(tensor)
    return GradientEdge(graph_object(node), node.params.get("index", 0))


def end_of(edge: GradientEdge) -> Tensor:
    """A tensor at an edge of the graph."""
    node = edge.node
    if isinstance(node, AccumulateGrad):
        return node.variable
    tensor = wrap(node._node, True)
    tensor._storage.used = True
    return tensor


# hooks of several tensors


class Handles(Handle):
    """The handle of several hooks."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hooks."""
        for each in self.handles:
            each.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Any], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> Handle:
    """Call fn once per backward pass, when gradients of several tensors are known.

    "all": with a list of them, None for what the pass does not reach, after the last one.
    "any": with the first one.

    >>> import gnomon as gn
    >>> a, b = gn.ones(2, requires_grad=True), gn.ones(2, requires_grad=True)
    >>> seen = []
    >>> handle = register_multi_grad_hook((a, b), lambda gs: seen.append([g is None for g in gs]))
    >>> (a * 2).sum().backward()
    >>> seen
    [[False, True]]
    """
    if mode not in ("all", "any"):
        raise ArgumentError(f"register_multi_grad_hook: mode is 'all' or 'any': got {mode!r}.")
    if mode == "any":
        hook = first_alone(fn)
        return Handles([x.register_hook(hook) for x in tensors if x.requires_grad])
    group = Group(fn)
    return Handles([group.join(place, x) for place, x in enumerate(tensors)])


def first_alone(fn: Callable[[Any], None]) -> Callable[[Any], None]:
    """A hook that is called once per pass."""

    @wraps(fn)
    def hook(gradient: Any) -> None:
        now = under_way.get()
        if now is None or now.kept.setdefault(hook, True) is True:
            if now is not None:
                now.kept[hook] = False
            fn(gradient)

    return hook


class Group:
    """The tensors of one hook, each with the watcher of its present value."""

    def __init__(self, fn: Callable[[Any], None]) -> None:
        self.fn = fn
        self.watchers: list[object] = []

    def join(self, place: int, tensor: Tensor) -> Handle:
        """Register a hook that records a tensor's gradient at a position."""
        handle = tensor.register_hook(lambda gradient: self.note(place, gradient))
        pair = pair_of(tensor)
        self.watchers.append(pair if pair._requires else pair._rare.watcher)
        return handle

    def note(self, place: int, gradient: Any) -> None:
        """Record a gradient; the last one of the pass calls the group's hook."""
        now = under_way.get()
        assert now is not None, "hooks are called inside of a pass"
        if self not in now.kept:
            waits = sum(id(each) in now.watching for each in self.watchers)
            now.kept[self] = [waits, [None] * len(self.watchers)]
        kept = now.kept[self]
        kept[0], kept[1][place] = kept[0] - 1, gradient
        if kept[0] == 0:
            self.fn(kept[1])
            del now.kept[self]


# saved tensors

_disabled: ContextVar[str | None] = ContextVar("gnomon_saving_disabled", default=None)


class saved_tensors_hooks(ModeBlock):
    """Inside of the block, what gradients read of each operation goes through two functions.

    pack_hook is called with it when the operation is; unpack_hook, in a backward pass, gives a
    tensor in its place. What is packed is what Gnomon's gradients read: sometimes an operand where
    PyTorch keeps a result. The graph keeps what was packed alive too, so no memory is saved.

    >>> import gnomon as gn
    >>> x = gn.full((2,), 3.0, requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t * 10, lambda t: t):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    Tensor([60., 60.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        message = _disabled.get()
        if message is not None:
            raise GradientError(message)
        if is_capturing():
            raise refusal(
                "compile: saved_tensors_hooks inside of a compiled function: its program decides "
                "what is kept for gradients. Open the block around the call."
            )
        self.enter({saving: Pack(self.pack_hook, self.unpack_hook)})


class save_on_cpu(saved_tensors_hooks):
    """A context in which saved tensors are in the CPU's memory, where they are anyway."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda x: x.detach(), lambda x: x)


def disable_saved_tensors_hooks(error_message: str) -> holding[str | None]:
    """A context in which saved_tensors_hooks raises an error with this message."""
    return holding(_disabled, error_message)


class SavedMutations:
    """The context of allow_mutation_on_saved_tensors; graphs keep old values anyway."""

    def clear(self) -> None:
        """Do nothing: old values are part of graphs."""


class allow_mutation_on_saved_tensors(ModeBlock):
    """Inside of the block, tensors that gradients read may be written over: graphs have the old.

    >>> import gnomon as gn
    >>> x = gn.full((2,), 3.0, requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = y * y
    ...     _ = y.zero_()
    ...     z.sum().backward()
    >>> x.grad
    Tensor([6., 6.])
    """

    def __enter__(self) -> SavedMutations:
        made = SavedMutations()
        self.enter({allowing: True})
        return made


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Mark tensors as written to elsewhere: gradients that read the old values are refused."""
    for x in pairs_of([tensor] if isinstance(tensor, Tensor) else tensor):
        since = next(state.arena._serial)
        nodes = (x._storage.node, raw(x), *([leaf_node(x)] if x._requires else []))
        state.overwritten.update(dict.fromkeys(nodes, since))
        x._storage.version += 1

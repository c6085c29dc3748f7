"""Thread state: arena, modes, recorder and pending operations of a thread that builds tensors.

No graph is walked here: see evaluate.py. Nothing is shared between threads but buffers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from operator import index
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, ref

from gnomon.dtypes import DType
from gnomon.errors import CollectiveError, TraceError
from gnomon.ir.node import Arena, Graph, Node, Shape, Sites
from gnomon.lazy import here
from gnomon.ops.layouts import note_constant
from gnomon.settings import Block

if TYPE_CHECKING:
    from gnomon.runtime.buffer import DeviceBuffer
    from gnomon.tensor.tensor import Tensor
    from gnomon.tensor.views import View

KEPT_REFERENCES = 4096
"""The number of dead references at which the list of pending storages is swept."""


# modes belong to a thread, and in it to each task by itself: one that waits inside a block leaves
# others their own. A block inside a generator holds for whoever resumes it, as in PyTorch.
grads: ContextVar[bool] = ContextVar("gnomon_grads", default=True)
"""Whether gradients are recorded."""
inference: ContextVar[bool] = ContextVar("gnomon_inference", default=False)
"""Whether an inference_mode is open."""
narrow: ContextVar[DType | None] = ContextVar("gnomon_narrow", default=None)
"""The dtype that products take."""

saving: ContextVar[Any] = ContextVar("gnomon_saving", default=None)
"""The user's hooks for saved tensors (autograd/saved.py); None outside of their context."""

Modes = tuple[tuple[ContextVar, Any], ...]
_entered: ContextVar[tuple[tuple[object, Modes], ...]] = ContextVar("gnomon_entered", default=())


mesh_results: list[Callable[[Node, bool], Tensor]] = []
"""The function that makes tensors of results; empty until a tensor is divided over ranks, and never
cleared again."""
meets_later: ContextVar[list[Any] | None] = ContextVar("gnomon_meets_later", default=None)
"""Tensors for which ranks must meet, in a block at whose end they are computed together."""


complexes: list[Any] = []
"""The module that answers for complex numbers, which loads when it is first asked."""


def of_complex(name: str) -> Callable[..., Any]:
    """A function on complex numbers, by its name in complex_calls.py."""
    return getattr(complexes[0], name)


class Recorder:
    """A thread's recorder, informed of tensors made, read and written; this one records nothing.

    A capture (gnomon/capture/tracing.py) records what its program needs. Values that only a run
    knows are requested of captures alone (gnomon/capture/looks.py).
    """

    hides_values = False
    """Whether a function is captured that may not look at values: tensors print without them."""

    def claim(self, storage: Storage) -> Node:
        """The node in this arena for a storage of another one."""
        return storage.node

    def assign(self, storage: Storage, node: Node) -> bool:
        """Record a write to a storage from outside; False if it is to be done at once."""
        return False

    def takes(self, tensor: Tensor, value: Tensor) -> bool:
        """Record a write of a value to a tensor; False if it may alias the value's storage."""
        return False

    def shows(self, view: Any, before: Any, asked: bool) -> None:
        """Record a new view of another one, or of none; asked: detached from it."""

    def is_made(self, tensor: Tensor) -> bool:
        """Whether a tensor was made here."""
        return True

    def need_whole(self, storage: Storage) -> None:
        """Require the memory behind a storage as a whole."""

    def outside(self) -> Any:
        """A context in which tensors are ordinary, as if nothing was captured."""
        return nullcontext()

    def read_grad(self, tensor: Tensor) -> Tensor | None:
        """A tensor's gradient."""
        return None if tensor._rare is None else tensor._rare.grad

    def write_grad(self, tensor: Tensor, value: Tensor | None) -> bool:
        """Set a tensor's gradient; False where that is to be done at once."""
        return False

    def stand_in(self, tensor: Tensor) -> Node | None:
        """The input that represents a leaf; None for a leaf that was made here."""

    def read_as(self, node: Node) -> Iterable[Node]:
        """The nodes by which leaves read a value that was written to them."""
        return ()

    def switch(self, tensor: Tensor) -> None:
        """Record that requires_grad of a tensor changes from here on."""

    def keep_flag(self, tensor: Tensor) -> None:
        """Record that requires_grad of a tensor is off permanently."""

    def go_back(self, roots: Iterable[Node], leaves: Iterable[Node]) -> None:
        """Record a backward pass from roots, whose values it frees, to leaves."""

    def keep_inside(self, roots: Iterable[Node]) -> None:
        """Record that gradients of roots go on behind the leaves that were found."""

    def asked(self, read: Callable[[], Any], generator: Any = None) -> Any:
        """The present value of a setting, recorded as a dependence."""
        return read()

    def acted(self, name: str, generator: Any = None) -> None:
        """Record that a setting changes permanently."""

    def draw(self, generator: Any) -> tuple[Tensor, Tensor]:
        """The key words and the number of the next draw of a generator."""
        return generator.drawn()

    def assert_that(self, condition: Any, message: str) -> None:
        """Raise an AssertionError where a condition does not hold."""
        if not condition:
            raise AssertionError(message)

    def at_end(self, groups: Any, step: Callable[[], None]) -> None:
        """Change numbers of an optimizer's groups, after all pending work has run."""
        step()

    def violates(self, text: str) -> None:
        """Refuse a collective that cannot be done."""
        raise CollectiveError(text)

    def note_number(self, number: Any) -> None:
        """Record a new traced number."""


NOTHING = Recorder()


class ThreadState(threading.local):
    """The state of one thread; captures (gnomon/capture/jit.py) replace it temporarily."""

    def __init__(self) -> None:
        self.arena = Arena(shared=True)
        self.images: WeakKeyDictionary[Node, Node] = WeakKeyDictionary()
        self.looks_ahead = False
        self.unknown: list[Node] = []
        self.recorder: Any = NOTHING
        self.shown: Callable[[Shape], Sequence[Any]] | None = None
        """Gives sizes as Python code sees them, while a function is captured for all of them."""
        self.refused: TraceError | None = None
        self.pending: list[ref[Storage]] = []
        self.overwritten: WeakKeyDictionary[Node, int] = WeakKeyDictionary()
        self.histories: WeakSet[Storage] = WeakSet()
        """Storages whose values were computed while gradients may pass them."""
        self.histories_at = 1
        """So many of them are looked over, whether tensors are left that may ask for them."""
        self.detached: list[ref[Node]] = []
        """Nodes that detach a value which is not known yet."""
        self.origins: WeakKeyDictionary[Storage, Any] = WeakKeyDictionary()
        """Of storages with results of captured functions: the result, and those beside it."""
        self.beside: WeakKeyDictionary[Node, list[Node]] = WeakKeyDictionary()
        """Of such results, what stands for others of their call that were written over."""
        self.failed: WeakSet[Node] = WeakSet()
        """What could not be computed when somebody asked for it."""
        self.forced: set[Graph] = set()
        """Bodies of captured functions whose values were wanted before their gradients.

        A thread may be a rank: programs follow from these, and those of ranks must agree.
        """
        self.sweep_at = KEPT_REFERENCES
        self.look_at = self.evaluated_at = 0
        self.passed = 0
        """The number of nodes at the end of the last backward pass that freed its graph."""
        self.kept_waits = False
        """Whether a model's tensor was made, and nothing computed since."""


state = ThreadState()


class ModeBlock(Block):
    """A context that sets modes, also consistent if interrupted by Ctrl-C."""

    def enter(self, modes: Mapping[ContextVar, Any]) -> None:
        """Set modes until the context's end."""
        try:
            before = tuple([(mode, mode.get()) for mode in modes])
            _entered.set((*_entered.get(), (self, before)))
            for mode, value in modes.items():
                mode.set(value)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Restore the surrounding modes; does nothing if another task entered the context.

        It can be repeated if it was interrupted, since the context is forgotten last.
        """
        entered = _entered.get()
        for k in reversed(range(len(entered))):
            if entered[k][0] is self:
                for mode, value in entered[k][1]:
                    mode.set(value)
                _entered.set((*entered[:k], *entered[k + 1 :]))
                return


class Storage:
    """A mutable holder of a tensor's current node, shared by all of its aliases."""

    __slots__ = (
        "__weakref__",
        "cut",
        "form",
        "kept",
        "node",
        "released",
        "tracked",
        "used",
        "version",
    )

    node: Node
    tracked: bool
    version: int
    released: bool
    cut: WeakSet[View] | None
    """The views of detached tensors, where it has a history."""
    kept: bool
    """Whether it is a model's: computed before the first step, and no part of it."""
    form: Hashable
    """The strides of a copy that represents a view (strides.py); else None."""
    used: bool
    """Whether something was computed from its value that gradients pass."""

    def set(self, node: Node) -> None:
        """Replace the node; every alias sees it."""
        if self.node.arena is not state.arena and state.recorder.assign(self, node):
            return
        self.node, self.used = node, False
        self.version += 1
        if node.value is None or is_capturing():
            note(self)


def with_grads(mode: bool, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function while gradients are recorded, or are not."""
    before = grads.get()
    try:
        grads.set(mode)
        return function(*args)
    finally:
        grads.set(before)


def storage_of(node: Node, tracked: bool) -> Storage:
    """A new storage, made without a constructor, which would take twice as long."""
    made = Storage.__new__(Storage)
    made.node, made.tracked, made.version = node, tracked, 0
    made.released = made.kept = made.used = False
    made.form = made.cut = None
    if node.value is None:
        note(made)
    return made


def keep(storage: Storage) -> None:
    """Mark a storage as a model's."""
    storage.kept = True
    if storage.node.value is None:
        state.kept_waits = True


def note(storage: Storage) -> None:
    """Record that a storage has no value yet."""
    pending = state.pending
    pending.append(ref(storage))
    if len(pending) > state.sweep_at:
        waiting()
        state.sweep_at = 2 * len(state.pending) + KEPT_REFERENCES


def waiting() -> dict[Node, list[Storage]]:
    """The pending nodes that are still referenced, and the storages that hold them."""
    found: dict[Node, list[Storage]] = {}
    kept: dict[int, ref[Storage]] = {}
    for reference in state.pending:
        storage = reference()
        if storage is not None and storage.node.value is None and id(storage) not in kept:
            kept[id(storage)] = reference
            found.setdefault(storage.node, []).append(storage)
    state.pending = list(kept.values())
    return found


def is_capturing() -> bool:
    """Whether this thread captures a function."""
    return state.recorder is not NOTHING


def is_eager() -> bool:
    """Whether values can be computed: there is no capture, and no placeholder."""
    return state.recorder is NOTHING and not state.unknown


def refusal(message: str) -> TraceError:
    """An error of a capture, raised again at its end if the function caught it."""
    error = TraceError(message)
    if state.refused is None and not is_eager():
        state.refused = error
    return error


class strict(Block):
    """A context that raises refusals at its end that the function inside caught."""

    def __enter__(self) -> None:
        self.around = not is_eager()
        self.before, state.refused = state.refused, None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        refused = state.refused
        state.refused = self.before or (refused if self.around else None)
        if refused is None:
            return
        if error is None:
            raise refused
        if error is refused:
            refused.__cause__ = None  # nor is what it was raised in shown
        elif isinstance(error, Exception):
            raise refused from None


def program_size(value: Any) -> Any:
    """A symbolic size in a program's form; any other value unchanged."""
    return value._symint if hasattr(type(value), "_symint") else value


def whole(value: Any) -> Any:
    """An integer or a symbolic size, checked."""
    return program_size(value) if hasattr(type(value), "_symint") else index(value)


def leaf(shape: Shape, dtype: DType, buffer: DeviceBuffer, sites: Sites | None = None) -> Node:
    """A leaf of this thread's arena that holds a value."""
    return state.arena.leaf(shape, dtype, buffer, sites)


def own_leaf(tensor: Tensor) -> Node | None:
    """The node of a leaf, if it is its storage's own, as `leaf_node` gives it; else None."""
    node, kept = tensor._storage.node, tensor._rare
    here = tensor._view is None and node.arena is state.arena and state.recorder is NOTHING
    if not here or node.op != "input" or node.value is None or node.value.lent or not grads.get():
        return None
    if kept is None or kept.source is node:
        return None
    if node.watch is None:
        node.watch = [ref(tensor)]
    return node if node.watch and node.watch[0]() is tensor else None


def leaf_of_value(node: Node, kept: bool = False) -> Node:
    """A leaf in place of a node with a value; kept: whether it is constant need not be known."""
    made = state.arena.leaf(node.shape, node.dtype, node.value, node.sites)
    if not kept and here.links():
        note_constant(made, node)
    return made


def leaf_like(known: Node, buffer: DeviceBuffer) -> Node:
    """A leaf of this thread's arena with another leaf's shape and a buffer of parts."""
    arena, node = state.arena, Node.__new__(Node)
    node.arena, node.serial, node.value, node.watch = arena, next(arena._serial), buffer, None
    node.op, node.inputs, node.kind, node.params = "input", (), known.kind, known.params
    node.shape, node.size, node.dtype = known.shape, known.size, known.dtype
    node.sites = known.sites
    return node

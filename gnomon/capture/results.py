"""Results of a captured function, returned or left behind: old or new, sharing memory or not.

A tensor from outside is given as it is, and a view of its storage shows that storage. What was made
inside is an output of the program: one for each storage, whoever shows it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

from gnomon.capture.inputs import Always, GivenInput, Read, storage_tensor
from gnomon.capture.tracing import Capture
from gnomon.ir.node import Node, topological
from gnomon.ir.provenance import user_site
from gnomon.ops.registry import rule_of
from gnomon.ops.strides import Form, form_of
from gnomon.tensor.autograd.hooks import hooks_of
from gnomon.tensor.layouts import layout_of
from gnomon.tensor.state import Storage, grads, refusal
from gnomon.tensor.strides import strided_view_of
from gnomon.tensor.tensor import Tensor, View, alias, node_of, source, wrap
from gnomon.tensor.views import Chain, full_chain
from gnomon.tensor.watchers import FREED, GradientWatcher, is_watched
from gnomon.tensor.writing import drop_history_of

__all__ = ["Results", "refuse_hooks"]

HELD = 3
"""References to a storage that only one tensor shows: the tensor, a dictionary, the count."""

Make = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""A function that makes a tensor from a replay's arguments and the tensors over its outputs."""


class Fresh(NamedTuple):
    """The recipe of a tensor over an output: differentiable, freed by a pass, or a leaf."""

    tracked: bool
    released: bool
    leaf: bool
    form: Form | None = None
    """The form of its strides."""

    @property
    def is_passed(self) -> bool:
        """Whether gradients can still pass back through the tensor."""
        return self.tracked and not (self.released or self.leaf)

    def over(self, node: Node) -> Tensor:
        """The tensor of a replay, over its output node."""
        made = wrap(node if self.tracked else drop_history_of(node), self.tracked and grads.get())
        made._storage.released, made._requires = self.released, self.leaf
        made._storage.form = self.form
        if self.tracked and self.released and not self.leaf:
            node.watch = FREED
        return made


class Output(NamedTuple):
    """The recipe of a tensor over an output without history."""

    number: int

    def __call__(self, _: Sequence[Tensor], fresh: Sequence[Tensor]) -> Tensor:
        return fresh[self.number]


class Shown(NamedTuple):
    """The recipe of a tensor that existed before the call: an argument, or one that was read."""

    read: Read

    def __call__(self, arguments: Sequence[Tensor], _: Sequence[Tensor]) -> Tensor:
        return self.read(arguments)


class PartOf(NamedTuple):
    """The recipe of a view of another tensor: view steps, whether detached, whether a leaf."""

    whole: Make
    chain: Chain
    cut: bool
    leaf: bool

    def __call__(self, arguments: Sequence[Tensor], fresh: Sequence[Tensor]) -> Tensor:
        return part_of(self.whole(arguments, fresh), self.chain, self.cut, self.leaf)


class PartOfStorage(NamedTuple):
    """The recipe of a view of a storage from outside."""

    storage: Storage
    chain: Chain
    base: Tensor | None
    cut: bool
    leaf: bool

    def __call__(self, *_: Sequence[Tensor]) -> Tensor:
        return showing(self.storage, View(self.chain, self.base, self.cut), self.leaf)


class Results:
    """The recipes by which replays make visible tensors; each tensor is made once."""

    def __init__(self, capture: Capture, shown: Sequence[Tensor]) -> None:
        self.nodes: list[Node] = []
        """The outputs over which there are tensors."""
        self.fresh: list[Fresh] = []
        self.storages: list[Storage] = []
        """The storages of these outputs in the capture."""
        self._capture = capture
        objects = {id(t): t for t in shown}
        places = {key: k for k, key in enumerate(objects)}
        counts = Counter(t._storage for t in objects.values())
        held = {t._storage for t in objects.values() if sys.getrefcount(t._storage) > HELD}
        sharded = {t._storage for t in objects.values() if layout_of(t)}
        self._shared = {s for s in counts if counts[s] > 1} | held | sharded
        """Storages that are outputs as they are, whatever shows them."""
        self._outputs: dict[Storage, int] = {}
        # a storage is an output under the tensor that shows all of it, if one does
        for t in sorted(objects.values(), key=lambda t: t._view is not None):
            if self._is_fresh(t):
                self._output(t)
        self._refuse_leaves(objects)
        makes = [self._make(t) for t in objects.values()]
        self._order = [places[id(t)] for t in shown]
        plain = [self._outputs.get(t._storage) for t in objects.values()] == [*range(len(makes))]
        plain = plain and not any(t._view and t._storage in self._shared for t in objects.values())
        self._makes: list[Make] | None = None if plain else makes
        self._repeats = self._order != [*range(len(makes))]
        del self._capture

    def _is_fresh(self, tensor: Tensor) -> bool:
        """Whether the function made a tensor's storage."""
        return tensor._storage.node.arena is self._capture.arena

    def _refuse_leaves(self, shown: dict[int, Tensor]) -> None:
        """Refuse leaves that were made inside where gradients reach them from other results."""
        made = {k for k, t in shown.items() if t._requires and self._capture.is_made(t)}
        passed = [x for x, of in zip(self.nodes, self.fresh, strict=True) if of.is_passed]
        for node in topological(passed) if made else ():
            if any(id(found()) in made for found in node.watch or ()):
                raise refusal(
                    "compile: a leaf that the function makes is given back beside what is computed "
                    "from it, and gradients would not reach it. Make it before the call, or give "
                    f"detach() of it.   [{node.sites[0] if node.sites else ''}]"
                )

    def _output(self, tensor: Tensor) -> None:
        """Make a new storage an output, or only the view if nothing else refers to the storage."""
        storage, shared = tensor._storage, tensor._storage in self._shared
        if storage in self._outputs:
            return
        self._outputs[storage] = len(self.nodes)
        part = tensor._view is not None and shared
        leaf = tensor._requires and not part
        node = source(storage) if part or leaf else node_of(tensor)
        tracked = storage.tracked if part or leaf else tensor.requires_grad
        released = self._capture.is_freed(storage)
        self.nodes.append(node)
        form = storage.form if part or leaf else form_of(strided_view_of(tensor))
        self.fresh.append(Fresh(tracked, released, leaf, form))
        self.storages.append(storage)

    def _make(self, tensor: Tensor) -> Make:
        """The recipe by which replays make a tensor."""
        storage, view, leaf = tensor._storage, tensor._view, tensor._requires
        number = self._outputs.get(storage)
        if number is not None:
            if view is None or storage not in self._shared:
                return Output(number)
            return PartOf(Output(number), full_chain(tensor), view.detached, leaf)
        stood = self._capture.stands.get(storage)
        if stood is not None:
            found = self._capture.standing_at(storage)
            if stood[0] is tensor:
                return Shown(found)
            return PartOf(Shown(found), view.chain, self._capture.views[view], leaf)
        given = next((k for k, x in enumerate(self._capture.arguments) if x is tensor), None)
        if given is not None:
            return Shown(GivenInput(given))
        if (held := self._capture.held_grads.get(id(tensor))) is not None:
            return Shown(held[1])
        if view is None or view not in self._capture.views:
            return Shown(Always(tensor))
        read = self._capture.reads.get(storage)
        chain, base, cut = view.chain, view.base, view.detached
        if read is not None:
            chain = full_chain(tensor)
            cut = self._capture.views[view] if storage in self._capture.by_value else cut
            return PartOf(Shown(read), chain, cut, leaf)
        return PartOfStorage(storage, chain, base, cut, leaf)

    def settled(self, plain: Callable[[Any], Any]) -> Results:
        """A copy with plain numbers in place of sizes that vary."""
        made = copy(self)
        made._makes = plain(self._makes)
        return made

    @property
    def chains(self) -> list[Chain]:
        """The view steps of results that are views of other results."""
        return [x.chain for x in self._makes or () if isinstance(x, (PartOf, PartOfStorage))]

    def places(self) -> list[int] | None:
        """For each tensor its output, or -1 - k for argument k; None if a tensor is neither."""
        makes = [Output(k) for k in range(len(self.fresh))] if self._makes is None else self._makes
        found = [place_of(make) for make in makes]
        return None if None in found else [found[k] for k in self._order]

    def over(self, nodes: Sequence[Node], arguments: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of a replay, from its output nodes and its arguments."""
        made = list(map(Fresh.over, self.fresh, nodes))
        if self._makes is not None:
            made = [make(arguments, made) for make in self._makes]
        return [made[k] for k in self._order] if self._repeats else made


def refuse_hooks(capture: Capture, roots: Sequence[Node]) -> None:
    """Refuse a capture whose tensors have hooks that a later backward pass would have to call."""
    for node in topological(roots):
        if node not in capture.inputs and is_hooked(capture, node):
            raise refusal(
                "register_hook: a function that is captured hooks a tensor that it makes, and "
                "gradients reach it only after the call. Go backward inside, or hook what the "
                f"function gives back.   [{node.sites[0] if node.sites else user_site()}]"
            )


def is_hooked(capture: Capture, node: Node) -> bool:
    """Whether hooks of tensors made here, or of modules, wait for a node's gradient."""
    rule = rule_of(node)
    if rule is not None and rule.calls_hooks:
        return True
    if is_watched(node):
        return any(capture.is_made(x.tensor) for x in node.watch if type(x) is GradientWatcher)
    found = [t for at in node.watch or () if (t := at()) is not None and capture.is_made(t)]
    return any(map(hooks_of, found))


def place_of(make: Make) -> int | None:
    """The number of the output or, as -1 - k, of the argument whose memory a tensor has."""
    if isinstance(make, Output):
        return make.number
    given = isinstance(make, Shown) and isinstance(make.read, GivenInput)
    return -1 - make.read.number if given else None


def part_of(tensor: Tensor, chain: Chain, cut: bool, leaf: bool) -> Tensor:
    """A view of a tensor, by these view steps."""
    made = alias(tensor, chain, cut)
    made._requires = leaf
    return made


def showing(storage: Storage, view: View, leaf: bool) -> Tensor:
    """A tensor that views a storage from outside."""
    made = storage_tensor(storage)
    made._view, made._requires = view, leaf
    return made

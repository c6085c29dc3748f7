"""Numbers of Python's that vary from call to call: inputs of programs from their second value on.

An argument that is a float, or a small integer, is a constant of the first program. Where a call
comes with another value, the function is captured with a stand-in for it; where the function needs
the number itself (a size, an axis, a count of iterations), it is a constant for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.capture.code_names import words_of
from gnomon.capture.looks import integers, one_value
from gnomon.ir.provenance import Site, user_site
from gnomon.lazy import call_objects, recompile_reasons
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, is_number
from gnomon.tensor.state import refusal
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.traced_numbers import (
    StandInRefused,
    kind_of_number,
    tensor_of,
)

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.number_places import NumberPlace
    from gnomon.capture.paths import Path
    from gnomon.capture.trees import NewAnswer

__all__ = ["VaryingNumbers", "check_classes", "refuses"]


MOST_TRIES = 3
"""The most captures with placeholders at places that end without a program."""


class VaryingNumbers:
    """The varying numbers of a function: among its arguments and among its host reads."""

    def __init__(self) -> None:
        self.lifted: dict[Any, set[int]] = {}
        """For a structure without its numbers: which of them are inputs, if any are."""
        self.sites: set[Site] = set()
        """Lines whose item() gave one value and then another."""
        self.reasons: list[str] = []
        """Reasons for the next capture, as numbers tell them."""
        self.is_given_up = False
        """Whether the function takes no stand-ins."""
        self.places: dict[tuple[int, Any], NumberPlace] = {}
        """Attributes, variables and entries whose numbers are inputs."""
        self._fixed: set[tuple[int, Any]] = set()
        """Places whose numbers are constants for good."""
        self._tries = MOST_TRIES
        self._known: dict[Any, tuple[list[Any], set[int]]] = {}
        """The first values of a structure's numbers, and which of them are constants for good."""

    def lines(self, met: NewAnswer | None) -> set[Site]:
        """The lines whose item() gives varying numbers, with one that has done so just now."""
        look = met.steps[-1].segment.look if met is not None and met.is_answer else None
        is_single = look is not None and (look.kind is one_value or look.kind is integers)
        if is_single and len(met.steps[-1].sizes) < 2 and not self.is_given_up:
            self.sites.add(look.site)
        return self.sites

    def give_up(self) -> None:
        """Stop passing numbers as inputs: the function does not accept placeholders."""
        self.is_given_up = True
        self.lifted.clear()
        self.sites.clear()
        self.places.clear()

    def learn_places(self, guard: Guard) -> None:
        """Make numbers inputs that differ from those in a program's guard."""
        if self._tries and not self.is_given_up:
            found = recompile_reasons.changed_numbers(guard)
            self.places |= {x.entry: x for x in found if x.entry not in self._fixed}

    def settle_places(self, capture: Any, numbers: Sequence[NumberPlace], is_kept: bool) -> None:
        """Make numbers constants whose values the function needs; all if nothing can be kept."""
        asked = {id(tensor) for tensor in capture.constants_needed}
        fixed = {x for x, tensor in capture.standing.items() if id(tensor) in asked}
        fixed |= {place.entry for place in numbers if place.is_gone}
        self._fixed |= fixed
        for entry in fixed:
            self.places.pop(entry, None)
        if numbers and not fixed and not is_kept:
            self._tries -= 1
            if not self._tries:
                self.places.clear()

    def lift(self, tree: Any, tensors: Sequence[Tensor]) -> tuple[Any, Sequence[Tensor]]:
        """A call with its varying numbers replaced by tensors."""
        bare, _ = without_numbers(tree)
        chosen = self.lifted.get(bare)
        if not chosen:
            return tree, tensors
        found = call_objects.copied(tensors)
        return with_inputs(tree, chosen, found, [0]), found

    def learn(self, tree: Any) -> bool:
        """Record a call's numbers; returns whether some became inputs by it."""
        bare, values = without_numbers(tree)
        if bare not in self._known:
            self._known[bare] = (values, set())
            return False
        first, constants = self._known[bare]
        if self.is_given_up:
            return False
        pairs = enumerate(zip(first, values, strict=True))
        varying = {k for k, (a, b) in pairs if Constant(a) != Constant(b)} - constants
        before = self.lifted.get(bare, set())
        if varying:
            self.lifted[bare] = before | varying
        return not varying <= before

    def keep_constant(self, tree: Any, tensors: Sequence[Tensor], needed: Iterable[Any]) -> None:
        """Make the numbers behind these tensors constants from now on."""
        bare, _ = without_numbers(plain_tree(tree, tensors))
        chosen = self.lifted.pop(bare, set())
        asked = {id(t) for t in needed}
        count = len(tensors) - len(chosen)
        found = {k for k, t in zip(sorted(chosen), tensors[count:], strict=True) if id(t) in asked}
        if bare in self._known:
            self._known[bare][1].update(found)
        if chosen - found:
            self.lifted[bare] = chosen - found


def without_numbers(tree: Any) -> tuple[Any, list[Any]]:
    """A structure with numbers replaced by their classes, and the numbers in order."""
    values: list[Any] = []

    def bare(part: Any) -> Any:
        if isinstance(part, Constant):
            kind = kind_of_number(part.value)
            if kind is None:
                return part
            values.append(part.value)
            return kind
        if not isinstance(part, TreeSpec):
            return part
        return part._replace(parts=tuple(map(bare, part.parts)))

    return bare(tree), values


def with_inputs(tree: Any, chosen: set[int], tensors: list[Tensor], count: list[int]) -> Any:
    """A structure with tensors, which are added to the list, in place of the chosen numbers."""
    if isinstance(tree, TreeSpec):
        parts = tuple([with_inputs(part, chosen, tensors, count) for part in tree.parts])
        return tree._replace(parts=parts)
    kind = kind_of_number(tree.value) if isinstance(tree, Constant) else None
    if kind is None:
        return tree
    count[0] += 1
    if count[0] - 1 not in chosen:
        return tree
    tensors.append(tensor_of(tree.value))
    return TreeSpec(kind, (), (TreeLeaf(len(tensors) - 1),))


def plain_tree(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """A structure with its varying numbers as constants."""
    if not isinstance(tree, TreeSpec):
        return tree
    if is_number(tree):
        return Constant(tensors[tree.parts[0].number].item())
    return tree._replace(parts=tuple([plain_tree(part, tensors) for part in tree.parts]))


def refuses(path: Path, guard: Guard, seen: Any) -> bool:
    """Whether an error may come from placeholders, before the function had any effect."""
    sizes = path.capture.sizes
    if sizes is not None and (path.error is not None or sizes.is_left):
        return True
    made = path.capture.traced_numbers and isinstance(path.error, (TypeError, AttributeError))
    return bool(made) and is_repeatable(guard, seen)


def is_repeatable(guard: Guard, seen: Any) -> bool:
    """Whether a function has had no effect yet that a second run would repeat."""
    return all(asked in guard.walked for _, asked in seen.effects) and guard.holds()


def check_classes(path: Path, guard: Guard, seen: Any) -> None:
    """Refuse placeholders, or the call, where code checks the class of a number."""
    if not path.capture.traced_numbers or not tells_apart(guard, seen):
        return
    if not is_repeatable(guard, seen):
        raise refusal(
            "compile: a number that varies from call to call is asked for its type() in a function "
            "that also changes Python values. Ask isinstance(), or do one of both outside."
            f"   [{user_site()}]"
        )
    raise StandInRefused("a function asks for the class of a number")


def tells_apart(guard: Guard, seen: Any) -> bool:
    """Whether code that ran checks classes: a placeholder has another one."""
    named = [(name, x) for _, name, x in guard._places._names]
    named += [("", x) for _, x in guard._places._cells]
    renamed = any(x is type and name != "type" for name, x in named)
    return renamed or any("type" in words_of(code).names for code in seen.codes)

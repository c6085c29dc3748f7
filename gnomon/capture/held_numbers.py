"""Numbers that vary, in whatever somebody holds when their capture is over: plain numbers then.

Lists, dictionaries, sets, variables and attributes are given the plain number. Tuples, frozen sets
and slices cannot change: one is made anew, and stands in place of the old one wherever that stood.
What holds numbers in another way keeps them: there they are over, and behave as plain ones.
"""

from __future__ import annotations

import gc
import types
from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gnomon.tensor.traced_numbers import alive, varies

if TYPE_CHECKING:
    from gnomon.capture.paths import Path

__all__ = ["replace_held", "replace_traced_numbers"]

Others = dict[int, Any]
"""The id of a value -> the value to put in its place."""


def replace_traced_numbers(path: Path) -> None:
    """Replace traced numbers by plain ones in all objects that hold one after a capture."""
    if path.error is not None:
        path.error.args = tuple([x.value() if varies(x) else x for x in path.error.args])
    if path.capture.sizes is not None:
        path.capture.sizes.shown.clear()
    numbers = alive(path.capture)
    if not numbers:
        return
    path.is_torn = True
    for number in numbers:
        number.settled = number.value() if number.formula is None else number.formula()
    gc.unfreeze()  # holders that were frozen are not looked through
    replace_held(numbers, [number.settled for number in numbers])


def replace_held(old: Sequence[Any], new: Sequence[Any]) -> None:
    """Replace values by others in all objects that refer to them."""
    while old:
        others = {id(x): y for x, y in zip(old, new, strict=True)}
        unchanging, anew = [], []
        for holder in gc.get_referrers(*old):
            if is_a(holder, (tuple, frozenset, slice)):
                unchanging.append(holder)
                anew.append(rebuilt_with(holder, others))
            elif holder is not old and holder is not new:
                put(holder, others)
        old, new = unchanging, anew


def rebuilt_with(holder: Any, others: Others) -> Any:
    """A copy of an immutable container with values replaced."""
    if is_a(holder, slice):
        ends = holder.start, holder.stop, holder.step
        return slice(*[others.get(id(x), x) for x in ends])
    base: Any = tuple if is_a(holder, tuple) else frozenset
    made = base.__new__(type(holder), [others.get(id(x), x) for x in base.__iter__(holder)])
    names = attributes_of(holder)
    if names:
        attributes_of(made).update(names)
        put_in_names(attributes_of(made), others)
    return made


def put(holder: Any, others: Others) -> None:
    """Replace numbers in an object's content, attributes and slots, past its class's overrides."""
    if is_a(holder, types.CellType):
        if id(holder.cell_contents) in others:
            holder.cell_contents = others[id(holder.cell_contents)]
    elif is_a(holder, (list, deque)):
        base: Any = list if is_a(holder, list) else deque
        for k, found in enumerate([*base.__iter__(holder)]):
            if id(found) in others:
                base.__setitem__(holder, k, others[id(found)])
    elif is_a(holder, set):
        for found in [x for x in set.__iter__(holder) if id(x) in others]:
            set.discard(holder, found)
            set.add(holder, others[id(found)])
    elif is_a(holder, dict):
        put_in_names(holder, others)
    names = attributes_of(holder)
    if is_a(names, dict):
        put_in_names(names, others)
    put_in_slots(holder, others)


def attributes_of(holder: Any) -> Any:
    """The attributes of an object, whose class is not asked: it may answer in its own way."""
    try:
        return object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return None


def put_in_names(names: dict[Any, Any], others: Others) -> None:
    """Replace numbers in a dictionary, in place and in order."""
    base: Any = OrderedDict if isinstance(names, OrderedDict) else dict
    items = [*base.items(names)]
    if any(id(key) in others for key, _ in items):
        base.clear(names)
        for key, found in items:
            base.__setitem__(names, others.get(id(key), key), others.get(id(found), found))
        return
    changed = [(key, others[id(found)]) for key, found in items if id(found) in others]
    owner = owner_of(names) if changed else None
    for key, value in changed:
        if owner is None:
            base.__setitem__(names, key, value)
        else:
            type.__setattr__(owner, key, value)  # which also forgets what it looked up before


def is_a(holder: Any, kinds: Any) -> bool:
    """Whether an object's true class, which it cannot fake, derives from one of these."""
    return issubclass(type(holder), kinds)


def owner_of(names: dict[Any, Any]) -> type | None:
    """The class whose attributes a dictionary holds, or None."""
    found = gc.get_referrers(names) if "__doc__" in names else ()
    return next((x for x in found if isinstance(x, type) and x.__name__), None)


def put_in_slots(holder: Any, others: Others) -> None:
    """Replace numbers in the slots of an object."""
    members = [x for kind in type.mro(type(holder)) for x in vars(kind).values()]
    for member in members:
        if isinstance(member, types.MemberDescriptorType):
            with suppress(AttributeError, TypeError):  # an empty one, or one that stays
                found = member.__get__(holder)
                if id(found) in others:  # another thread may write to all that is none of them
                    member.__set__(holder, others[id(found)])

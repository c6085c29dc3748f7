"""Mutants of captures: each kind of guard is left out in turn. Not a test.

Kinds follow from the package: what a walk keeps to look at again, what a guard keeps, the modes and
the parts of an argument's signature that are in a key.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from gnomon.capture import aliasing, guards, jit
from gnomon.capture.guards import Guard
from gnomon.capture.replay import CapturedProgram
from gnomon.capture.snapshot import Looks
from gnomon.errors import ShapeError
from tests.capture import test_aliasing as aliases
from tests.capture import test_every_guard as every
from tests.capture import test_guards as kept
from tests.capture import test_jit as jits
from tests.mutants import Mutant, Plant, Refusal, changed, instead


def leaving_out(kind: type, method: str, field: str) -> Plant:
    """A look that does not see one field."""

    def change(right: Callable) -> Callable:
        def wrong(self, *given: object) -> object:
            known = getattr(self, field)
            setattr(self, field, type(known)())
            try:
                return right(self, *given)
            finally:
                setattr(self, field, known)

        return wrong

    return changed(kind, method, change)


def settings_stay(patch: pytest.MonkeyPatch) -> None:
    """Settings that are looked at once."""
    settings = guards.current()
    patch.setattr(guards, "current", lambda: settings)


def unsigned(number: int) -> Plant:
    """Signatures of arguments in which one part says nothing; the first is sizes."""

    def change(right: Callable) -> Callable:
        silent = () if number == 0 else None
        return lambda x: tuple([silent if k == number else y for k, y in enumerate(right(x))])

    def plant(patch: pytest.MonkeyPatch) -> None:
        for place in (jit, guards):
            changed(place, "signature_of", change)(patch)

    return plant


def mode(name: str) -> Plant:
    """A mode that is no part of a key."""
    if callable(getattr(jit, name)):
        return instead(jit, name, lambda: None)
    return instead(jit, name, SimpleNamespace(get=lambda: None))


def case(name: str) -> Callable[[], None]:
    """The check of one kind of guard."""
    return partial(every.follows, getattr(every, name))


LOOKED_AT = {
    "_cells": "cell",
    "_names": "attribute",
    "_lacking": "missing",
    "_parts": "part",
    "_functions": "function",
    "_objects": "instance",
    "_kinds": "kind",
    "_tensors": "tensor",
    "_states": "numbers",
}
MODES = {
    "grads": "gradients",
    "inference": "inference",
    "narrow": "narrow",
    "get_default_dtype": "default",
}
ARGUMENTS = ("shape", "dtype", "wanted", "leaf", "gathered")
KEPT = kept.test_a_tensor_that_a_module_keeps_from_call_to_call_is_never_stale

GUARDS = {
    **{
        f"a look leaves out {field}": Mutant(leaving_out(Looks, "hold", field), case(name))
        for field, name in LOOKED_AT.items()
    },
    **{f"a key leaves out {name}": Mutant(mode(name), case(of)) for name, of in MODES.items()},
    **{
        f"a signature leaves out {name}": Mutant(unsigned(k), case(name))
        for k, name in enumerate(ARGUMENTS)
    },
    "a signature leaves out part": Mutant(
        unsigned(len(ARGUMENTS)),
        aliases.test_a_part_of_a_leaf_that_is_written_is_refused_whatever_was_passed_before,
    ),
    "a signature leaves out the form of strides": Mutant(
        unsigned(len(ARGUMENTS) + 1),
        aliases.test_a_copy_that_has_other_strides_is_another_argument,
    ),
    "tensors in attributes are not looked at": Mutant(leaving_out(Guard, "holds", "_read"), KEPT),
    "tensors that are read anew may be any": Mutant(
        leaving_out(Guard, "holds", "_alike"),
        KEPT,
        Refusal(ShapeError, "add: shapes do not broadcast: (2, 3) and"),
    ),
    "what changes itself is replayed": Mutant(
        leaving_out(Guard, "holds", "lost"),
        kept.test_a_switch_that_a_function_flips_is_never_stale,
    ),
    "settings are looked at once": Mutant(settings_stay, case("setting")),
    "modules are all alike": Mutant(
        instead(guards, "module_snapshot", lambda *_: ()), case("module")
    ),
    "hooks are not looked at": Mutant(instead(guards, "hooks_of", lambda x: ()), case("hook")),
    "what was read of tensors is not compared": Mutant(
        leaving_out(CapturedProgram, "holds", "guards"),
        jits.test_a_step_is_captured_again_when_its_optimizer_gets_another_state,
    ),
    "arguments from outside are not looked for": Mutant(
        instead(aliasing, "outside", lambda *given: ()),
        aliases.test_an_argument_may_be_what_the_function_reads_from_outside,
    ),
}

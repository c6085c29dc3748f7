"""What a compilation is asked: one value, of which a part says which program it is."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from gnomon.codegen.machine import AVX2, NEON
from gnomon.program.context import CompileContext, Moments
from gnomon.settings import override

PLAIN = CompileContext(AVX2)


def test_programs_differ_by_processor_settings_measuring_and_what_is_kept():
    with override(without="fuse"):
        others = [CompileContext(AVX2), CompileContext(NEON)]
    asked = [{"seconds": 1.0}, {"kept": (0,)}, {"kept": None}, {"machine": NEON}]

    keys = {x.key for x in (PLAIN, *others, *(replace(PLAIN, **each) for each in asked))}

    assert len(keys) == 7


def test_how_long_when_and_for_which_sizes_make_no_other_program():
    asked = [{"seconds": 1.0}, {"seconds": 2.0, "moments": Moments(), "sizes_vary": True}]

    assert len({replace(PLAIN, **each).key for each in asked}) == 1


def test_what_the_model_chooses_is_the_program_without_measurements():
    assert replace(PLAIN, seconds=1.0).by_model.key == PLAIN.key


def test_graphs_inside_keep_nothing_of_the_programs_inputs():
    assert replace(PLAIN, kept=(0, 2)).inside.kept == ()
    assert replace(PLAIN, kept=None).inside.kept is None


def test_nothing_of_it_changes():
    with pytest.raises(FrozenInstanceError):
        PLAIN.seconds = 1.0

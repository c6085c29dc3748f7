"""Segments: what they read, what is asked at their ends, and which are alike."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.capture.looks import integers, truth
from gnomon.capture.segments import Look, Step
from gnomon.ir.provenance import user_site
from gnomon.tensor.host_calls import HostCall
from gnomon.tensor.masks import position_arrays

pytestmark = pytest.mark.unit


def first(values: list[gn.Tensor]) -> gn.Tensor:
    return values[0]


def test_the_answer_to_a_call_of_numpy_is_the_shapes_of_its_results():
    look = Look(first, HostCall(position_arrays, ()), user_site(), (0, 0))
    answer, found = look.asked([gn.tensor([[0.0, 1.0], [1.0, 1.0]])])

    assert look.is_host_call
    assert answer == ((3,), (3,))
    assert [x.tolist() for x in found] == [[0, 1, 1], [1, 0, 1]]


def test_other_answers_are_values():
    assert Look(first, truth, user_site()).asked([gn.tensor([2.0])]) == (True, ())
    assert Look(first, integers, user_site()).asked([gn.tensor([[2], [3]])]) == ((2, 3), ())


@pytest.mark.parametrize(
    ("kind", "counted", "answer", "sizes"),
    [
        (truth, None, True, ()),
        (integers, None, (2, 3), (2, 3)),
        (HostCall(position_arrays, ()), (1, 0), ((5, 2), (7,)), (7,)),
        (HostCall(position_arrays, ()), None, ((5,),), ()),
    ],
)
def test_sizes_that_follow_from_values(kind, counted, answer, sizes):
    class Asked:
        look = Look(first, kind, user_site(), counted)

    step = Step(Asked(), Asked(), [], [], answer, [])
    assert tuple(step.sizes) == sizes
    assert step.bare.answer == answer
    assert step.bare.made == []


def test_stretches_are_alike_by_what_they_compute_and_what_is_asked():
    def looked(x: gn.Tensor) -> gn.Tensor:
        if (x * 2).sum() > 0:
            return x + 1
        return x - 1

    roots = []
    for function in (gn.compile(looked), gn.compile(looked)):
        function(gn.ones(2))
        ((_, tree),) = next(iter(function.programs.values()))
        roots.append(tree.root)
    assert roots[0].is_like(roots[1])
    assert roots[0].at(()) is roots[0]

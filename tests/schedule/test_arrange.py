"""The order of kernels: operands come first, never more memory than before, few stages."""

from __future__ import annotations

import pytest

from gnomon.schedule.arrange import KernelWork, arranged, peak, stages
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[KernelWork], dict[object, int]]:
    """Kernels that read what others before them made."""
    works: list[KernelWork] = []
    sizes: dict[object, int] = {}
    for k in range(draw(st.integers(0, 14))):
        made = [v for work in works for v in work.writes]
        reads = draw(st.lists(st.sampled_from(made), max_size=3, unique=True)) if made else []
        writes = tuple((k, part) for part in range(draw(st.integers(1, 2))))
        sizes.update((v, draw(st.integers(1, 40)) * 64) for v in writes if draw(st.booleans()))
        works.append(KernelWork(writes, tuple(reads)))
    return works, sizes


@given(programs())
def test_every_kernel_runs_once_and_after_what_it_reads(program: tuple[list[KernelWork], dict]):
    works, sizes = program
    order = arranged(works, sizes)

    made: set[object] = set()
    for k in order:
        assert made.issuperset(works[k].reads)
        made.update(works[k].writes)
    assert sorted(order) == list(range(len(works)))


@given(programs())
def test_no_order_needs_more_memory_than_the_programs_own(program: tuple[list[KernelWork], dict]):
    works, sizes = program

    assert peak(works, sizes, arranged(works, sizes)) <= peak(works, sizes, range(len(works)))


@given(programs())
def test_a_stage_reads_nothing_that_it_makes(program: tuple[list[KernelWork], dict]):
    works, _ = program
    found = stages(works)

    for work, stage in zip(works, found, strict=True):
        same = {
            v for other, k in zip(works, found, strict=True) if k == stage for v in other.writes
        }
        assert same.isdisjoint(work.reads)
    assert found == sorted(found)


def test_what_frees_memory_does_not_wait_for_the_end():
    big = {f"a{k}": 6400 for k in range(4)}
    works = [KernelWork((f"a{k}",), ()) for k in range(4)]
    works += [KernelWork((f"b{k}",), (f"a{k}",)) for k in range(4)]
    works.append(KernelWork((), tuple(f"b{k}" for k in range(4))))
    small = {f"b{k}": 64 for k in range(4)}

    assert peak(works, {**big, **small}, arranged(works, {**big, **small})) == 6400 + 4 * 64


def test_where_memory_does_not_matter_independent_kernels_stand_together():
    works = [
        KernelWork(("a",), ()),
        KernelWork(("b",), ("a",)),
        KernelWork(("c",), ()),
        KernelWork(("d",), ("c",)),
    ]

    assert arranged(works, {}) == [0, 2, 1, 3]


def test_what_is_made_for_one_reader_waits_for_all_that_it_reads():
    # a, as its large copy for one reader who needs c as well, which is made of b
    works = [KernelWork(("a",), ()), KernelWork(("copy",), ("a",)), KernelWork(("b",), ("a",))]
    works += [KernelWork(("c",), ("b",)), KernelWork((), ("copy", "c"))]
    sizes = {"a": 640, "b": 6400, "copy": 1280, "c": 64}

    order = arranged(works, sizes)

    assert order == [0, 2, 3, 1, 4]
    assert peak(works, sizes, order) == 640 + 6400 + 64


def test_a_reader_waits_for_every_part_of_what_it_reads():
    works = [
        KernelWork(("a",), ("x",)),
        KernelWork(("a",), ("y",)),
        KernelWork(("x",), ()),
        KernelWork((), ("a",)),
    ]
    works += [KernelWork(("y",), ())]

    order = arranged(works, {"a": 640, "x": 64, "y": 6400})

    assert order.index(3) > max(order.index(0), order.index(1))

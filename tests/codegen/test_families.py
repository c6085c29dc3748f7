"""Codes that serve several sizes: who gets one, and what it is given."""

from __future__ import annotations

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.families import Families
from gnomon.codegen.lifted import Lifted
from gnomon.ir.sizes import ShapeEnv
from gnomon.ir.specializations import KERNELS


def emit(module: LLVMModule, name: str, size: int | Lifted, step: int | Lifted) -> int | Lifted:
    """A kernel that decides by its size whether it is large."""
    e = module.function(name, KERNEL)
    if size > 100:
        e.do("fence seq_cst")
    e.store(str(size * step), e.load("%buffers", "ptr", 8), "i64", 8)
    e.ret()
    return size * 8


def emit_table(module: LLVMModule, name: str, size: int | Lifted, step: int | Lifted) -> int:
    """A kernel that needs its size where code cannot read it."""
    module.define(f"@table = constant i64 {size}")
    return 0


def grown(*kernels: tuple[int, int]) -> Families:
    """A family of kernels that were written for their own sizes."""
    families = Families()
    for kernel in kernels:
        families.add(*kernel)
    return families


def test_a_kernel_without_relatives_has_code_of_its_own():
    assert Families().find(emit, 1, 20, 4) is None


def test_a_second_size_gives_code_for_all():
    families = grown((10, 4))
    second, third = families.find(emit, 1, 20, 4), families.find(emit, 1, 30, 4)

    assert second.code.symbol == third.code.symbol
    assert (second.numbers, third.numbers) == ((20,), (30,))
    assert (second.code.scratch, third.code.scratch) == (160, 240)


def test_what_stays_the_same_stays_in_the_text():
    families = grown((10, 4))
    found = families.find(emit, 1, 20, 4)

    assert found.code.text.count("load i64") == 1


def test_a_further_number_that_varies_is_read_as_well():
    families = grown((10, 4))
    families.find(emit, 1, 20, 4)
    found = families.find(emit, 1, 20, 5)
    again = families.find(emit, 1, 99, 7)

    assert found.numbers == (20, 5)
    assert again.code.symbol == found.code.symbol


def test_a_decision_that_falls_otherwise_gives_another_code():
    families = grown((10, 4))
    small, large = families.find(emit, 1, 20, 4), families.find(emit, 1, 200, 4)
    larger = families.find(emit, 1, 300, 4)

    assert small.code.symbol != large.code.symbol == larger.code.symbol


def test_what_cannot_be_read_at_run_time_keeps_its_sizes():
    families = grown((10, 4))
    assert families.find(emit_table, 1, 20, 4) is None


def test_a_kernel_that_loses_nothing_shares_its_code_from_the_start():
    families = Families()

    first, second = families.share(emit, 1, 20, 4), families.share(emit, 1, 30, 5)

    assert first.code.symbol == second.code.symbol
    assert (first.numbers, second.numbers) == ((20, 4), (30, 5))
    assert Families().share(emit, 1, 20, 1).numbers == (20,)
    assert Families().share(emit_table, 1, 20, 4) is None


def test_a_size_that_varies_takes_the_place_of_the_oldest_code():
    families = grown((10, 4))
    families._known.limits = KERNELS._replace(kept=1)
    small = families.find(emit, 1, 20, 4)

    assert families.find(emit, 1, 200, 4) is None
    large = families.find(emit, 1, ShapeEnv().symbol(200), 4)
    assert large.code.symbol != small.code.symbol
    assert families.find(emit, 1, 300, 4).code.symbol == large.code.symbol

"""What kernels call is compiled once, whoever calls it."""

from __future__ import annotations

from gnomon.codegen.apart import LEAST, outline_functions
from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.loops import Code
from gnomon.runtime import cpu


def kernel(name: str, lines: int, *, alone: bool = True) -> tuple[LLVMModule, tuple[Code, ...]]:
    """A kernel that calls a function of its own, which adds 1 so many times."""
    module = LLVMModule()
    e = module.function(name, KERNEL)
    own = module.function(f"{name}.add", [("i64", "x")], linkage="internal", returns="i64")
    value = "%x"
    for _ in range(lines):
        value = own.add(value, 1)
    if not alone:
        own.call("i64", name, ("i64", value))
    own.ret(f"i64 {value}")
    found = e.call("i64", f"{name}.add", ("i64", "%thread"))
    e.store(found, e.load("%buffers", "ptr", 8), "i64", 8)
    e.ret()
    return module, outline_functions(module, name)


def test_equal_functions_of_two_kernels_are_one():
    (first, ours), (second, theirs) = kernel("one", LEAST), kernel("other", LEAST)

    assert ours == theirs
    assert f"define i64 @{ours[0].symbol}(i64 %x)" in ours[0].text
    for module in (first, second):
        assert f"declare i64 @{ours[0].symbol}(i64)" in module.text()
        assert "define internal" not in module.text()


def test_a_short_function_or_one_that_needs_others_stays():
    for module, parts in (kernel("short", 3), kernel("bound", LEAST, alone=False)):
        assert not parts
        assert "define internal" in module.text()


def test_a_part_is_found_by_kernels_that_are_linked_later():
    (first, parts), (second, _) = kernel("sooner", 2 * LEAST), kernel("later", 2 * LEAST)
    held = cpu.load({"sooner": first.text(), parts[0].symbol: parts[0].text})

    found = cpu.load({"later": second.text()})

    assert held["sooner"]
    assert found["later"]

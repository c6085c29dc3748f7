"""No float operation that a compiler may change is ever written: in golden text or by a generator.

Looks at text only. That results do not change is what the bit tests show.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.house import ROOT, short, sources, tree

pytestmark = pytest.mark.unit

FORBIDDEN = {
    "a fast-math flag": re.compile(
        r"\b(fneg|fadd|fsub|fmul|fdiv|frem|fcmp|call|select|phi|fptrunc|fpext)\s+"
        r"(fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b"
    ),
    "a fast-math attribute": re.compile(
        r"unsafe-fp-math|no-(nans|infs|signed-zeros)-fp-math|approx-func-fp-math|-ffast-math"
    ),
    "an fma that may or may not be one": re.compile(
        r"llvm\.fmuladd|fp-contract|enable_fp_fusion=True"
    ),
    "a minimum that drops NaN": re.compile(
        r"llvm\.(vector\.reduce\.)?f?(minnum|maxnum|fmin\b|fmax\b)"
    ),
    "an approximate reciprocal": re.compile(r"\.(rcp|rsqrt)(14|28)?\.(ss|ps)\b|\bfr(ecp|sqrt)e\b"),
    "a rounding to bfloat that differs between CPUs": re.compile(
        r"fptrunc\b[^\n]*\bto\b[^\n]*bfloat"
    ),
}


def test_a_generator_writes_nothing_inexact():
    writers = [p for p in sources() if short(p).startswith(("gnomon/codegen", "gnomon/runtime"))]
    found = {short(path): faults("\n".join(texts(tree(path)))) for path in writers}

    assert not {name: what for name, what in found.items() if what}


def test_golden_text_holds_nothing_inexact():
    kept = (ROOT / "tests" / "golden").glob("*.txt")
    found = {path.name: faults(path.read_text(encoding="utf-8")) for path in kept}

    assert not {name: what for name, what in found.items() if what}


@pytest.mark.parametrize(
    "line",
    [
        "%c = fadd fast <16 x float> %a, %b",
        "%c = fmul contract double %a, %b",
        'attributes #0 = { "unsafe-fp-math"="true" }',
        "%c = call float @llvm.fmuladd.f32(float %a, float %b, float %d)",
        "%c = call float @llvm.minnum.f32(float %a, float %b)",
        "%c = call <8 x float> @llvm.x86.avx.rcp.ps.256(<8 x float> %a)",
        "%c = fptrunc <16 x float> %a to <16 x bfloat>",
    ],
)
def test_each_forbidden_spelling_would_be_seen(line):
    assert faults(line)


def test_what_we_do_write_is_allowed():
    assert not faults("%c = call float @llvm.fma.f32(float %a, float %b, float %d)")
    assert not faults("%c = call float @llvm.minimum.f32(float %a, float %b)")


def faults(text: str) -> list[str]:
    """What a piece of generated text does that it must not."""
    return [what for what, pattern in FORBIDDEN.items() if pattern.search(text)]


def texts(syntax: ast.Module) -> list[str]:
    """The string constants of a file, without its docstrings."""
    spoken = {id(node.value) for node in ast.walk(syntax) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(syntax)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken
    ]

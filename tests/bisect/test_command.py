"""`gnomon bisect` names the optimisation and the application that make a script wrong or slow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gnomon.bisect.case import load_case
from gnomon.bisect.command import Question, of_optimisations
from gnomon.bisect.runs import RunOutcome, Script
from gnomon.settings import OPTIMISATIONS
from tests.children import environment

HASH, ERROR, SLOW = (
    Question(None, False, None),
    Question(None, True, None),
    Question(None, False, 1),
)
WRONG_RULE = """
import gnomon as gn
import gnomon.compiler.pipeline as pipeline
from gnomon.ir.rewrite import remade

rule = pipeline.simplify


def rebuild(arena, node, inputs):
    params = {"f": "cos"} if node.params.get("f") == "sin" else {}
    return arena.node(node.op, inputs, **params) if params else arena.with_inputs(node, inputs)


pipeline.simplify = lambda graph: remade(rule(graph), rebuild)
x = gn.arange(6.0)
for k in range(3):
    x = (x + 1.5).reshape(1, -1, *[1] * k)
    gn.evaluate([x])
gn.testing.witness(x.sin())
"""


class Pretended(Script):
    """A script whose runs are computed: `wrong(left out, applications from)` says what differs."""

    def __init__(self, fault: Callable[[set[str], dict[str, int]], bool], **wrong: object) -> None:
        super().__init__(Path("pretended.py"))
        object.__setattr__(self, "fault", fault)
        object.__setattr__(self, "wrong", wrong)
        object.__setattr__(self, "cases", [])

    def run(self, without: str = "", case: str = "", at: tuple[str, int] = ("", 0)) -> RunOutcome:
        pairs = [each.partition("@") for each in without.split(",") if each]
        whole = {name for name, at, _ in pairs if not at}
        since = {name: int(text.rstrip("+")) for name, at, text in pairs if at}
        self.cases.extend([(case, at)] if case else [])
        right = {"code": 0, "witness": "abc", "norms": (1.0,), "seconds": 0.5, "error": ""}
        found = right | (self.wrong if self.fault(whole, since) else {})
        return RunOutcome(**found, counts=dict.fromkeys(OPTIMISATIONS, 50))


def at_37(name: str) -> Callable[[set[str], dict[str, int]], bool]:
    """A fault in the 37th application of an optimisation."""
    return lambda whole, since: name not in whole and since.get(name, 99) > 37


@pytest.mark.parametrize(
    ("question", "wrong"),
    [
        (HASH, {"witness": "xyz"}),
        (Question("abc", False, None), {"witness": "xyz"}),
        (ERROR, {"code": 1}),
        (SLOW, {"seconds": 3.0}),
    ],
)
@pytest.mark.parametrize("name", [name for name in OPTIMISATIONS if name != "claim"])
def test_the_application_is_found(name: str, question: Question, wrong: dict, tmp_path: Path):
    script, said = Pretended(at_37(name), **wrong), []

    assert of_optimisations(script, question, tmp_path, said.append) == 0
    assert said[0] == f"It is right without {name}."
    assert said[1].startswith(f"{name}: application 37 of 50: ")
    assert script.cases == [(str(tmp_path / f"bisect-{name}-37.npz"), (name, 37))]


def test_a_script_that_is_wrong_anyway_is_no_optimisations(tmp_path: Path):
    said = []
    script = Pretended(lambda whole, since: True, code=1, error="ValueError: no")

    assert of_optimisations(script, ERROR, tmp_path, said.append) == 1
    assert said == [
        "It is wrong without any optimisation: look in the core, or in the script. ValueError: no"
    ]


def test_a_right_script_has_nothing_to_find(tmp_path: Path):
    said = []

    assert of_optimisations(Pretended(lambda *_: False), HASH, tmp_path, said.append) == 1
    assert said == ["With all optimisations it is right: nothing to find."]


def test_several_optimisations_together_are_named(tmp_path: Path):
    script, said = Pretended(lambda whole, since: {"fuse", "stream"} - whole, witness="xyz"), []

    assert of_optimisations(script, HASH, tmp_path, said.append) == 0
    assert said == ["It is right without fuse, stream."]


COMPILE_ERROR = """
import os
import gnomon as gn
import gnomon.compiler.pipeline as pipeline

rule = pipeline.simplify


def refusing(graph):
    if any(x.params.get("f") == "sin" for x in graph):
        {fault}
    return rule(graph)


pipeline.simplify = refusing
for k in range(3):
    x = (gn.arange(6.0) + 1.5).reshape(1, -1, *[1] * k)
    gn.evaluate([x])
gn.testing.witness(x.sin())
"""


@pytest.mark.proof
@pytest.mark.parametrize("fault", ["raise AssertionError('planted')", "os.abort()"])
@pytest.mark.parametrize("flags", [(), ("--error",)])
def test_an_error_of_the_compiler_is_found_and_shown(
    fault: str, flags: tuple[str, ...], tmp_path: Path
):
    script = tmp_path / "script.py"
    script.write_text(COMPILE_ERROR.format(fault=fault), encoding="utf-8")
    words = [sys.executable, "-m", "gnomon", "bisect", str(script), *flags, "--out", str(tmp_path)]

    made = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)

    assert made.returncode == 0, made.stderr
    assert "It is right without simplify." in made.stdout
    (case,) = tmp_path.glob("bisect-simplify-*.npz")
    assert any(x.params.get("f") == "sin" for x in load_case(case).graph)
    assert len(case.with_suffix(".py").read_text(encoding="utf-8").splitlines()) <= 10


@pytest.mark.proof
def test_a_wrong_rewrite_rule_is_found_and_shown(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(WRONG_RULE, encoding="utf-8")
    words = [sys.executable, "-m", "gnomon", "bisect", str(script), "--out", str(tmp_path)]

    made = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)

    assert made.returncode == 0, made.stderr
    assert "It is right without simplify." in made.stdout
    (case,) = tmp_path.glob("bisect-simplify-*.npz")
    assert any(x.params.get("f") == "sin" for x in load_case(case).graph)
    shown = [sys.executable, str(case.with_suffix(".py"))]
    told = subprocess.run(shown, capture_output=True, text=True, env=environment(), check=True)
    *_, one, other = told.stdout.splitlines()
    assert one.split()[-1] == other.split()[-1], "without the planted rule both are right"

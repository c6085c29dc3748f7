"""What a replay would not do is seen while a function is captured, named, and done by each call."""

import cProfile
import functools
import gc
import importlib
import io
import os
import pstats
import sys
import threading
import time

import pytest

import gnomon as gn
from gnomon.capture.effects import acts, watching
from gnomon.runtime import events

OUT = io.StringIO()


def timed(x):
    return x * (time.perf_counter() > 0)


def told(x):
    print("a line", file=OUT)
    return x


def written(x):
    OUT.write("a line")
    return x


def asked(x):
    return x * len(threading.current_thread().name)


def handed(x):
    list(map(print, ()))
    return x


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (timed, "`time.perf_counter` was called"),
        (told, "`print` was called"),
        (written, "`StringIO.write` was called"),
        (asked, "`threading.name` was called"),
        (handed, "`print`, given to another function, cannot be looked into,"),
        (functools.partial(told), "`print` was called"),
    ],
)
def test_an_effect_is_named_with_its_line_and_what_to_do(function, name):
    compiled = gn.compile(function)
    for _ in range(2):
        with pytest.warns(UserWarning, match="captured anew. Do it outside") as seen:
            compiled(gn.ones(1))
        texts = [str(x.message) for x in seen]
        assert any(name in text and "test_effects.py:" in text for text in texts)
    assert compiled.captures == 2


def test_what_only_computes_is_no_effect():
    with watching() as seen:
        sorted({"a": [1, 2]}.items())
        f"{max(1, 2)}".join(["a"]).encode()

    assert seen.effects == {}
    assert not any(map(acts, (len, [].append, "".join, {}.get)))
    assert all(map(acts, (print, time.time, os.getcwd, OUT.write)))


def test_what_is_done_by_text_that_is_run_is_seen():
    names = {"gn": gn}
    exec("def step(x):\n    print('a line')\n    return x\n", names)
    step = gn.compile(names["step"])

    for _ in range(2):
        with pytest.warns(UserWarning, match=r"`print` was called.*<string>:2"):
            step(gn.ones(1))
    assert step.captures == 2


def test_what_is_done_while_a_file_is_imported_is_seen(tmp_path, monkeypatch):
    text = "import gnomon as gn\nstep = gn.compile(lambda x: print('a line') or x)\n"
    (tmp_path / "loaded_by_a_test.py").write_text(text + "step(gn.ones(1))\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.warns(UserWarning, match=r"`print` was called.*loaded_by_a_test.py:2"):
        importlib.import_module("loaded_by_a_test")


def test_who_listens_is_no_part_of_a_function():
    def hear(kind, fields):
        heard.append(time.time())

    heard = []
    stop = events.subscribe(hear)
    step = gn.compile(lambda x: gn.evaluate(gn.ones(2) + 1) or x * 2)
    try:
        for _ in range(2):
            step(gn.ones(1))
    finally:
        stop()

    assert heard
    assert step.captures == 1


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="since Python 3.12 both can be")
def test_beside_a_profiler_in_c_the_first_run_is_left_to_it_and_not_replayed():
    def said(x):
        print("a line")
        return x

    other, step = cProfile.Profile(), gn.compile(said)
    other.enable()
    try:
        step(gn.ones(1))
        with pytest.warns(UserWarning, match="`print` was called"):
            step(gn.ones(1))
        assert sys.getprofile() is other
    finally:
        other.disable()

    assert step.captures == 2
    assert any(name == "said" for _, _, name in pstats.Stats(other).stats)


def test_another_tools_hook_hears_all_and_stays():
    heard = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, called: heard.append(event))
    hook = sys.getprofile()
    try:
        with watching():
            len("")
        assert sys.getprofile() is hook
    finally:
        sys.setprofile(before)
    assert "c_call" in heard


def test_a_function_to_which_no_name_leads_is_named():
    x = gn.ones(1)
    found = gn.compile(lambda x: x * next(f for f in SECRET.__dict__["found"]())())

    with pytest.warns(UserWarning, match="captured anew"):
        assert found(x).item() == 2.0


class Secret:
    """Gives code that no name leads to."""

    def __init__(self):
        self.found = lambda: eval("[lambda: 2.0]")


SECRET = Secret()


class Dying:
    """Garbage that only a look for cycles finds, and that prints as it goes."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        print("gone", file=io.StringIO())


def test_garbage_of_others_is_no_part_of_a_function():
    before, held = gc.get_threshold(), [Dying() for _ in range(100)]
    gc.set_threshold(20)
    try:
        with watching() as seen:
            held.clear()
            made = [[k] for k in range(1000)]
    finally:
        gc.set_threshold(*before)

    assert len(made) == 1000
    assert not [code.co_qualname for code in seen.codes if "__del__" in code.co_qualname]
    assert gc.isenabled()
